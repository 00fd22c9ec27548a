#include "engine/eval/activations.h"

#include <algorithm>
#include <cmath>

#include "engine/as_size.h"
#include "engine/eval/gate_activations.h"
#include "engine/eval/text_sequences.h"
#include "engine/print.h"
#include "engine/report_table.h"

namespace offstage::engine {
namespace {

class ActivationProbe final : public StepProbe {
  public:
    ActivationProbe(LoadedModel& model, std::int64_t max_step, ActivationReport& report)
        : model_(model),
          grid_(model.spec().experts),
          report_(report),
          activations_(model, max_step),
          rows_of_(as_size(grid_.n_experts)) {
        inputs_.resize(as_size(max_step * grid_.hidden_dim));
    }

    void begin_step(std::int64_t n_tokens) override { n_tokens_ = n_tokens; }

    void submit(std::int64_t /*layer*/, const DeviceWeights& /*weights*/, const StepContext& step) override {
        model_.device().download(inputs_.data(), step.expert_inputs(),
                                 as_size(n_tokens_ * grid_.hidden_dim) * sizeof(float));
    }

    void collect(std::int64_t layer, const std::int32_t* routing, std::int64_t stride) override {
        for (std::vector<std::int64_t>& rows : rows_of_) rows.clear();
        for (std::int64_t t = 0; t < n_tokens_; ++t) {
            for (std::int64_t a = 0; a < grid_.n_active; ++a) rows_of_[as_size(routing[t * stride + a])].push_back(t);
        }
        for (std::int64_t expert = 0; expert < grid_.n_experts; ++expert) {
            if (!rows_of_[as_size(expert)].empty()) add(layer, expert, rows_of_[as_size(expert)]);
        }
    }

  private:
    void add(std::int64_t layer, std::int64_t expert, std::span<const std::int64_t> rows) {
        const auto n = static_cast<std::int64_t>(rows.size());
        const std::span<const float> values = activations_.of(layer, expert, inputs_.data(), rows);
        const std::size_t n_bounds = report_.bounds.size();
        for (std::int64_t r = 0; r < n; ++r) {
            const float* const row = values.data() + r * grid_.ffn_dim;
            for (std::size_t b = 0; b < n_bounds; ++b) {
                const auto bound = static_cast<float>(report_.bounds[b]);
                report_.n_below[as_size(layer) * n_bounds + b] += static_cast<std::uint64_t>(
                    std::count_if(row, row + grid_.ffn_dim, [&](float value) { return std::abs(value) < bound; }));
            }
        }
        report_.n_values[as_size(layer)] += static_cast<std::uint64_t>(n * grid_.ffn_dim);
    }

    LoadedModel& model_;
    const ExpertGrid& grid_;
    ActivationReport& report_;
    GateActivations activations_;
    std::int64_t n_tokens_ = 0;
    std::vector<float> inputs_;                       // (n_tokens, hidden_dim)
    std::vector<std::vector<std::int64_t>> rows_of_;  // for each expert: the tokens that chose it
};

std::string bound_name(double bound) {
    return print("< %g", bound);
}

}  // namespace

double ActivationReport::share(std::int64_t layer, std::size_t bound) const {
    std::uint64_t below = 0, all = 0;
    for (std::int64_t l = 0; l < n_layers; ++l) {
        if (layer >= 0 && l != layer) continue;
        below += n_below[as_size(l) * bounds.size() + bound];
        all += n_values[as_size(l)];
    }
    return static_cast<double>(below) / static_cast<double>(std::max<std::uint64_t>(1, all));
}

ActivationReport measure_activations(LoadedModel& model, std::span<const std::vector<TokenId>> sequences,
                                     std::span<const double> bounds,
                                     const std::function<void(std::int64_t done)>& progress,
                                     const std::stop_token& stop) {
    ActivationReport report;
    report.model = model.summary().name;
    report.n_layers = model.spec().experts.n_layers;
    report.bounds.assign(bounds.begin(), bounds.end());
    report.n_values.assign(as_size(report.n_layers), 0);
    report.n_below.assign(as_size(report.n_layers) * bounds.size(), 0);
    const std::int64_t max_step = std::min<std::int64_t>(model.forward().max_step(), 256);
    ActivationProbe probe(model, max_step, report);
    const auto done = [&](std::int64_t /*first*/, std::int64_t n_tokens) {
        report.n_tokens += n_tokens;
        if (progress) progress(report.n_tokens);
    };
    run_sequences(model, sequences, max_step, &probe, done, stop);
    return report;
}

nlohmann::ordered_json to_json(const ActivationReport& report) {
    nlohmann::ordered_json json = {{"model", report.model},
                                   {"n_layers", report.n_layers},
                                   {"n_tokens", report.n_tokens},
                                   {"bounds", report.bounds}};
    const auto shares = [&](std::int64_t layer) {
        nlohmann::ordered_json list = nlohmann::ordered_json::array();
        for (std::size_t b = 0; b < report.bounds.size(); ++b) list.push_back(rounded(report.share(layer, b)));
        return list;
    };
    json["overall"] = shares(-1);
    json["layers"] = nlohmann::ordered_json::array();
    for (std::int64_t layer = 0; layer < report.n_layers; ++layer) {
        json["layers"].push_back(
            {{"layer", layer}, {"n_values", report.n_values[as_size(layer)]}, {"below", shares(layer)}});
    }
    return json;
}

std::string to_text(const ActivationReport& report) {
    Table table({{"layer", 7}});
    for (const double bound : report.bounds) table.add_column({bound_name(bound), 10, 2, 100});
    for (std::int64_t layer = 0; layer <= report.n_layers; ++layer) {
        const bool is_sum = layer == report.n_layers;
        std::vector<Cell>& row = table.add({is_sum ? "all" : std::to_string(layer)});
        for (std::size_t b = 0; b < report.bounds.size(); ++b) row.emplace_back(report.share(is_sum ? -1 : layer, b));
    }
    return std::to_string(report.n_tokens) +
           " tokens; share in % of the values after the experts' activation function whose absolute value is\n\n" +
           table.text();
}

}  // namespace offstage::engine
