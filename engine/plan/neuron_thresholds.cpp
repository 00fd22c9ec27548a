#include "engine/plan/neuron_thresholds.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/error.h"
#include "engine/files/file_writer.h"
#include "engine/files/text_file.h"
#include "engine/json.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/plan_messages.h"
#include "engine/print.h"
#include "engine/report_table.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t kLargestThresholdsFile = std::size_t{4} << 20;
constexpr double kLargestThreshold = 1e6;
constexpr double kLargestLoss = 1e9;

// What both kinds of thresholds were measured to give.
template <typename Thresholds>
void read_figures(const JsonFields& fields, Thresholds& read) {
    read.active_share = fields.number("active_share", 0, 1);
    read.perplexity = fields.number("perplexity", 0, kLargestLoss);
    read.mean_kl = fields.number("mean_kl", 0, kLargestLoss);
    read.same_top = fields.number("same_top", 0, 1);
}

// And the text of chosen ones and of formats.
template <typename Measured>
void read_text(const JsonFields& fields, Measured& read) {
    read.text = fields.text("text", "");
    read.n_tokens = fields.integer("n_tokens", 1, std::int64_t{1} << 50);
}

NeuronThreshold read_row(const json& row, std::size_t number, const std::string& source) {
    const JsonFields fields(row, source, "rows[" + std::to_string(number) + "].");
    NeuronThreshold read;
    read.theta = fields.number("theta", 0, kLargestThreshold);
    read_figures(fields, read);
    return read;
}

bool is_list(const json* value, std::size_t most) {
    return value != nullptr && value->is_array() && !value->empty() && value->size() <= most;
}

std::optional<double> number_in(const json& value, double most) {
    if (!value.is_number()) return {};
    const double number = value.get<double>();
    return number >= 0 && number <= most ? std::optional(number) : std::nullopt;
}

ChosenThresholds read_chosen(const json& row, std::size_t number, const std::string& source) {
    const JsonFields fields(row, source, "chosen[" + std::to_string(number) + "].");
    ChosenThresholds read;
    read.loss = fields.number("loss", 0, kLargestLoss);
    read_text(fields, read);
    read_figures(fields, read);
    const json* const layers = fields.find("layers");
    if (!is_list(layers, std::size_t{kMostLayers})) fields.reject("layers", messages::a_share_for_each_layer);
    for (const json& layer : *layers) {
        const auto share = number_in(layer, 1);
        if (!share) fields.reject("layers", messages::a_share_for_each_layer);
        read.layer_shares.push_back(*share);
    }
    const json* const thetas = fields.find("thetas");
    const auto wrong_thetas = [&] { fields.reject("thetas", messages::a_theta_for_each_expert); };
    if (!is_list(thetas, std::size_t{kMostLayers}) || thetas->size() != layers->size()) wrong_thetas();
    for (const json& layer : *thetas) {
        if (!is_list(&layer, std::size_t{kMostExperts}) || layer.size() != thetas->front().size()) wrong_thetas();
        for (const json& theta : layer) {
            const auto value = number_in(theta, kLargestThreshold);
            if (!value) wrong_thetas();
            read.thetas.push_back(static_cast<float>(*value));
        }
    }
    read.n_experts = static_cast<std::int64_t>(thetas->front().size());
    return read;
}

FormatLoss read_format_loss(const json& row, std::size_t number, const std::string& source) {
    const JsonFields fields(row, source, "formats[" + std::to_string(number) + "].");
    FormatLoss read;
    const std::string name = fields.text("format");
    const std::vector<FormatRow> known = expert_formats();
    const auto found = std::find_if(known.begin(), known.end(), [&](const FormatRow& f) { return f.option == name; });
    if (found == known.end()) {
        fields.reject("format", list_formats([](const FormatRow& f) { return f.for_experts; },
                                             [](const FormatRow& f) { return std::string(f.option); }));
    }
    read.format = found->id;
    read.mean_kl = fields.number("mean_kl", 0, kLargestLoss);
    read_text(fields, read);
    return read;
}

// With as few digits as give the same number again.
double short_number(float value) {
    return std::strtod(print("%.6g", static_cast<double>(value)).c_str(), nullptr);
}

ordered_json json_of(const ChosenThresholds& chosen) {
    ordered_json row;
    ADD_FIELDS(row, chosen, loss, text, n_tokens, active_share, perplexity, mean_kl, same_top);
    row["layers"] = chosen.layer_shares;
    row["thetas"] = ordered_json::array();
    for (std::size_t i = 0; i < chosen.thetas.size(); ++i) {
        if (i % static_cast<std::size_t>(chosen.n_experts) == 0) row["thetas"].push_back(ordered_json::array());
        row["thetas"].back().push_back(short_number(chosen.thetas[i]));
    }
    return row;
}

}  // namespace

std::optional<double> NeuronThresholds::kl_of(FormatId format) const {
    const auto found = std::ranges::find(formats, format, &FormatLoss::format);
    return found != formats.end() ? std::optional(found->mean_kl) : std::nullopt;
}

const ChosenThresholds* thresholds_for(const NeuronThresholds& measured, double loss) {
    const ChosenThresholds* found = nullptr;
    for (const ChosenThresholds& chosen : measured.chosen) {
        if (chosen.loss <= loss) found = &chosen;
    }
    return found;
}

void add_chosen(NeuronThresholds& kept, ChosenThresholds chosen) {
    std::erase_if(kept.chosen, [&](const ChosenThresholds& other) { return other.loss == chosen.loss; });
    const auto place = std::find_if(kept.chosen.begin(), kept.chosen.end(),
                                    [&](const ChosenThresholds& other) { return other.loss > chosen.loss; });
    kept.chosen.insert(place, std::move(chosen));
    if (kept.chosen.size() > kMostChosen) kept.chosen.erase(kept.chosen.begin());
}

ThresholdLoss expected_loss(const NeuronThresholds& measured, const ThetaChoice& choice) {
    if (choice.loss > 0) {
        const ChosenThresholds* const chosen = thresholds_for(measured, choice.loss);
        if (chosen == nullptr) return {};
        return {true, chosen->active_share, chosen->mean_kl, chosen->same_top};
    }
    const double theta = choice.theta;
    if (theta <= 0) return {true, 1, 0, 1};
    NeuronThreshold before;
    for (const NeuronThreshold& row : measured.rows) {
        if (theta <= row.theta) {
            const double share = (theta - before.theta) / (row.theta - before.theta);
            const auto between = [&](double from, double to) { return from + share * (to - from); };
            return {true, between(before.active_share, row.active_share), between(before.mean_kl, row.mean_kl),
                    between(before.same_top, row.same_top)};
        }
        before = row;
    }
    return {};
}

ActiveShares expected_shares(const NeuronThresholds& measured, const ThetaChoice& choice) {
    const ChosenThresholds* const chosen = choice.loss > 0 ? thresholds_for(measured, choice.loss) : nullptr;
    const ThresholdLoss expected = expected_loss(measured, choice);
    return {choice.leaves_out() && expected.known ? expected.active_share : 0,
            chosen != nullptr ? chosen->layer_shares : std::vector<double>()};
}

void leave_out(CostModel& cost, const ThetaChoice& choice, const NeuronThresholds& measured, SparseLoading loading) {
    const ActiveShares prior = expected_shares(measured, choice);
    // The theta as the kernels get it; with thetas by expert, the dispatcher's, or,
    // before any were chosen, one above 0.
    const ChosenThresholds* const chosen = choice.loss > 0 ? thresholds_for(measured, choice.loss) : nullptr;
    const float theta = chosen != nullptr ? chosen->of_experts().mean()
                                          : static_cast<float>(choice.loss > 0 ? choice.loss : choice.theta);
    cost.set_theta(static_cast<double>(theta), loading, prior.of_model, prior.of_layers);
}

NeuronThresholds parse_neuron_thresholds(std::string_view text, const std::string& source) {
    const json document = parse_json(text, source, {.max_depth = 8});
    const JsonFields fields(document, source);
    if (fields.text("format") != "offstage-neuron-thresholds")
        fields.reject("format", "\"offstage-neuron-thresholds\"");
    fields.integer("version", 1, 1);
    NeuronThresholds thresholds;
    thresholds.model = fields.text("model", "");
    thresholds.text = fields.text("text", "");
    thresholds.weight_type = fields.text("weight_type", "");
    thresholds.n_tokens = fields.integer("n_tokens", 1, std::int64_t{1} << 50);
    thresholds.perplexity = fields.number("perplexity", 0, kLargestLoss);
    const json* const rows = fields.find("rows");
    if (rows == nullptr || !rows->is_array()) fields.reject("rows", messages::a_list_of_threshold_rows);
    double last = 0;
    for (const json& row : *rows) {
        if (!row.is_object()) fields.reject("rows", messages::a_list_of_threshold_rows);
        thresholds.rows.push_back(read_row(row, thresholds.rows.size(), source));
        if (!(thresholds.rows.back().theta > last)) fields.reject("rows", messages::ascending_thresholds);
        last = thresholds.rows.back().theta;
    }
    if (const json* const formats = fields.find("formats"); formats != nullptr) {
        if (!formats->is_array() || formats->size() > format_rows().size())
            fields.reject("formats", messages::a_list_of_threshold_rows);
        for (const json& row : *formats) {
            if (!row.is_object()) fields.reject("formats", messages::a_list_of_threshold_rows);
            const FormatLoss read = read_format_loss(row, thresholds.formats.size(), source);
            if (thresholds.kl_of(read.format)) fields.reject("formats", messages::each_format_once);
            thresholds.formats.push_back(read);
        }
    }
    const json* const chosen = fields.find("chosen");
    if (chosen == nullptr) return thresholds;
    if (!chosen->is_array() || chosen->size() > kMostChosen)
        fields.reject("chosen", messages::a_list_of_chosen_thresholds);
    double loss = 0;
    for (const json& row : *chosen) {
        if (!row.is_object()) fields.reject("chosen", messages::a_list_of_chosen_thresholds);
        thresholds.chosen.push_back(read_chosen(row, thresholds.chosen.size(), source));
        if (!(thresholds.chosen.back().loss > loss)) fields.reject("chosen", messages::ascending_losses);
        loss = thresholds.chosen.back().loss;
    }
    return thresholds;
}

NeuronThresholds read_neuron_thresholds(const std::filesystem::path& file) {
    const std::optional<std::string> text = read_small_file(file, kLargestThresholdsFile);
    if (!text) throw Error(ErrorKind::kNotFound, messages::no_such_neuron_thresholds(shown_path(file)));
    return parse_neuron_thresholds(*text, shown_path(file));
}

void write_neuron_thresholds(const NeuronThresholds& thresholds, const std::filesystem::path& file) {
    ordered_json document = {{"format", "offstage-neuron-thresholds"}, {"version", 1}};
    ADD_FIELDS(document, thresholds, model, text, weight_type, n_tokens, perplexity);
    document["rows"] = ordered_json::array();
    for (const NeuronThreshold& row : thresholds.rows) {
        ordered_json& out = document["rows"].emplace_back();
        ADD_FIELDS(out, row, theta, active_share, perplexity, mean_kl, same_top);
    }
    if (!thresholds.formats.empty()) document["formats"] = ordered_json::array();
    for (const FormatLoss& format : thresholds.formats) {
        ordered_json& out = document["formats"].emplace_back();
        out["format"] = format_row(format.format).option;
        ADD_FIELDS(out, format, mean_kl, text, n_tokens);
    }
    if (!thresholds.chosen.empty()) document["chosen"] = ordered_json::array();
    for (const ChosenThresholds& chosen : thresholds.chosen) document["chosen"].push_back(json_of(chosen));
    const std::string text = document.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
    if (const std::string failure = write_file(file, text); !failure.empty()) {
        throw Error(ErrorKind::kInvalidInput, messages::file_cannot_be_written(shown_path(file), failure));
    }
}

}  // namespace offstage::engine
