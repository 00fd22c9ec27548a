#include "engine/plan/neuron_thresholds.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "engine/files/file_writer.h"
#include "engine/files/text_file.h"
#include "engine/json.h"
#include "engine/plan/plan_messages.h"

namespace offstage::engine {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t kLargestThresholdsFile = std::size_t{1} << 20;
constexpr double kLargestThreshold = 1e6;
constexpr double kLargestLoss = 1e9;

NeuronThreshold read_row(const json& row, std::size_t number, const std::string& source) {
    const JsonFields fields(row, source, "rows[" + std::to_string(number) + "].");
    NeuronThreshold read;
    read.theta = fields.number("theta", 0, kLargestThreshold);
    read.active_share = fields.number("active_share", 0, 1);
    read.perplexity = fields.number("perplexity", 0, kLargestLoss);
    read.mean_kl = fields.number("mean_kl", 0, kLargestLoss);
    read.same_top = fields.number("same_top", 0, 1);
    return read;
}

}  // namespace

ThresholdLoss expected_loss(const NeuronThresholds& measured, double theta) {
    NeuronThreshold before;
    if (theta <= 0) return {true, 1, 0, 1};
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

NeuronThresholds parse_neuron_thresholds(std::string_view text, const std::string& source) {
    const json document = parse_json(text, source, {.max_depth = 8});
    const JsonFields fields(document, source);
    if (fields.text("format") != "offstage-neuron-thresholds") fields.reject("format", "\"offstage-neuron-thresholds\"");
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
    return thresholds;
}

NeuronThresholds read_neuron_thresholds(const std::filesystem::path& file) {
    const std::optional<std::string> text = read_small_file(file, kLargestThresholdsFile);
    if (!text) throw Error(ErrorKind::kNotFound, messages::no_such_neuron_thresholds(shown_path(file)));
    return parse_neuron_thresholds(*text, shown_path(file));
}

void write_neuron_thresholds(const NeuronThresholds& thresholds, const std::filesystem::path& file) {
    ordered_json document = {{"format", "offstage-neuron-thresholds"},
                             {"version", 1},
                             {"model", thresholds.model},
                             {"text", thresholds.text},
                             {"weight_type", thresholds.weight_type},
                             {"n_tokens", thresholds.n_tokens},
                             {"perplexity", thresholds.perplexity},
                             {"rows", ordered_json::array()}};
    for (const NeuronThreshold& row : thresholds.rows) {
        document["rows"].push_back({{"theta", row.theta},
                                    {"active_share", row.active_share},
                                    {"perplexity", row.perplexity},
                                    {"mean_kl", row.mean_kl},
                                    {"same_top", row.same_top}});
    }
    const std::string text = document.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
    if (const std::string failure = write_file(file, text); !failure.empty()) {
        throw Error(ErrorKind::kInvalidInput, messages::file_cannot_be_written(shown_path(file), failure));
    }
}

}  // namespace offstage::engine
