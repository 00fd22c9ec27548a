#include "engine/eval/prediction_report.h"

#include <algorithm>

#include "engine/as_size.h"
#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/eval/gate_activations.h"
#include "engine/eval/text_sequences.h"
#include "engine/print.h"
#include "engine/report_table.h"
#include "engine/run/load_planner.h"
#include "engine/run/routing_probe.h"

namespace offstage::engine {
namespace {

double share(std::uint64_t part, std::uint64_t all) {
    return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : -1;
}

class PredictionProbe final : public StepProbe {
  public:
    PredictionProbe(LoadedModel& model, std::int64_t max_step, PredictionReport& report)
        : model_(model),
          grid_(model.spec().experts),
          report_(report),
          guesses_(model.spec(), model.device(), {1}, grid_.n_active, max_step),
          activations_(model, max_step) {
        inputs_.resize(as_size(max_step * grid_.hidden_dim));
        inputs_before_.resize(inputs_.size());
    }

    void begin_step(std::int64_t n_tokens) override {
        n_tokens_ = n_tokens;
        guesses_.begin_step(n_tokens);
    }

    void submit(std::int64_t layer, const DeviceWeights& weights, const StepContext& step) override {
        std::swap(inputs_, inputs_before_);
        guesses_.submit(layer, weights, step);
        model_.device().download(inputs_.data(), step.expert_inputs(),
                                 as_size(n_tokens_ * grid_.hidden_dim) * sizeof(float));
    }

    void collect(std::int64_t layer, const std::int32_t* routing, std::int64_t stride) override {
        // The guesses for this layer were made in the layer before.
        for (std::int64_t expert = 0; layer > 0 && expert < grid_.n_experts; ++expert) {
            rows_.clear();
            for (std::int64_t t = 0; t < n_tokens_; ++t) {
                const bool chosen = has({routing + t * stride, as_size(grid_.n_active)}, expert);
                const bool guessed = has(guessed_for(t, layer), expert);
                PredictionReport::Experts& sums = report_.experts[as_size(layer)];
                sums.chosen += chosen;
                sums.guessed += guessed;
                sums.both += chosen && guessed;
                if (chosen && guessed) rows_.push_back(t);
            }
            if (!rows_.empty()) compare_neurons(layer, expert);
        }
        guesses_.collect(layer, routing, stride);
    }

  private:
    static bool has(std::span<const std::int32_t> experts, std::int64_t expert) {
        return std::find(experts.begin(), experts.end(), expert) != experts.end();
    }
    std::span<const std::int32_t> guessed_for(std::int64_t token, std::int64_t layer) const {
        return guesses_.guesses().subspan(as_size((token * grid_.n_layers + layer) * grid_.n_active),
                                          as_size(grid_.n_active));
    }

    void compare_neurons(std::int64_t layer, std::int64_t expert) {
        const auto before = activations_.of(layer, expert, inputs_before_.data(), rows_);
        guessed_.assign(before.begin(), before.end());
        const std::span<const float> values = activations_.of(layer, expert, inputs_.data(), rows_);
        for (PredictionReport::OfTheta& of_theta : report_.thetas) {
            const auto theta = static_cast<float>(of_theta.theta);
            PredictionReport::Neurons& sums = of_theta.layers[as_size(layer)];
            for (std::size_t i = 0; i < values.size(); ++i) {
                const bool active = !kernels::is_left_out(values[i], theta);
                const bool guessed = !kernels::is_left_out(guessed_[i], theta);
                sums.active += active;
                sums.guessed += guessed;
                sums.both += active && guessed;
            }
            sums.all += values.size();
        }
    }

    LoadedModel& model_;
    const ExpertGrid& grid_;
    PredictionReport& report_;
    RoutingProbe guesses_;
    GateActivations activations_;
    std::int64_t n_tokens_ = 0;
    std::vector<float> inputs_, inputs_before_;  // (n_tokens, hidden_dim): of this layer, of the one before
    std::vector<std::int64_t> rows_;
    std::vector<float> guessed_;  // (rows, ffn_dim)
};

nlohmann::ordered_json to_json(const PredictionReport::Neurons& neurons) {
    const auto number = [](double value) {
        return value < 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(rounded(value));
    };
    return {{"recall", number(neurons.recall())},
            {"precision", number(neurons.precision())},
            {"agreement", number(neurons.agreement())},
            {"active_share", number(neurons.active_share())}};
}

}  // namespace

double PredictionReport::Neurons::recall() const {
    return share(both, active);
}
double PredictionReport::Neurons::precision() const {
    return share(both, guessed);
}
double PredictionReport::Neurons::agreement() const {
    return share(all - (active - both) - (guessed - both), all);
}
double PredictionReport::Neurons::active_share() const {
    return share(active, all);
}
PredictionReport::Neurons& PredictionReport::Neurons::operator+=(const Neurons& other) {
    all += other.all;
    active += other.active;
    guessed += other.guessed;
    both += other.both;
    return *this;
}

PredictionReport::Neurons PredictionReport::OfTheta::sum() const {
    Neurons sum;
    for (const Neurons& layer : layers) sum += layer;
    return sum;
}

PredictionReport measure_prediction(LoadedModel& model, std::span<const std::vector<TokenId>> sequences,
                                    std::vector<double> thetas, const std::function<void(std::int64_t done)>& progress,
                                    const std::stop_token& stop) {
    for (const double theta : thetas) check_theta(theta);
    std::sort(thetas.begin(), thetas.end());
    thetas.erase(std::unique(thetas.begin(), thetas.end()), thetas.end());
    std::erase(thetas, 0.0);  // leaves out nothing, so there is nothing to guess
    if (thetas.empty()) throw Error(ErrorKind::kInvalidInput, messages::no_theta_to_predict);
    const ExpertGrid& grid = model.spec().experts;
    PredictionReport report;
    report.model = model.summary().name;
    report.n_layers = grid.n_layers;
    report.n_experts = grid.n_experts;
    report.n_active = grid.n_active;
    report.experts.resize(as_size(grid.n_layers));
    for (const double theta : thetas)
        report.thetas.push_back({theta, std::vector<PredictionReport::Neurons>(as_size(grid.n_layers))});
    const std::int64_t max_step = std::min<std::int64_t>(model.forward().max_step(), 256);
    PredictionProbe probe(model, max_step, report);
    const auto done = [&](std::int64_t /*first*/, std::int64_t n_tokens) {
        report.n_tokens += n_tokens;
        if (progress) progress(report.n_tokens);
    };
    run_sequences(model, sequences, max_step, &probe, done, stop);
    return report;
}

nlohmann::ordered_json to_json(const PredictionReport& report) {
    nlohmann::ordered_json json;
    ADD_FIELDS(json, report, model, text, n_layers, n_experts, n_active, n_tokens);
    json["experts"] = nlohmann::ordered_json::array();
    for (const PredictionReport::Experts& layer : report.experts) {
        const double recall = share(layer.both, layer.chosen);
        json["experts"].push_back(
            recall < 0 ? nlohmann::ordered_json(nullptr)
                       : nlohmann::ordered_json(
                             {{"recall", rounded(recall)}, {"precision", rounded(share(layer.both, layer.guessed))}}));
    }
    json["thetas"] = nlohmann::ordered_json::array();
    for (const PredictionReport::OfTheta& of_theta : report.thetas) {
        nlohmann::ordered_json layers = nlohmann::ordered_json::array();
        for (const PredictionReport::Neurons& layer : of_theta.layers) layers.push_back(to_json(layer));
        json["thetas"].push_back(
            {{"theta", of_theta.theta}, {"all", to_json(of_theta.sum())}, {"layers", std::move(layers)}});
    }
    return json;
}

std::string to_text(const PredictionReport& report) {
    std::string groups = "                experts";
    Table table({{"layer", 7}, {"recall", 8, 1, 100}, {"precis.", 8, 1, 100}});
    for (const PredictionReport::OfTheta& of_theta : report.thetas) {
        groups += print("  %-30s", print("neurons, theta %g", of_theta.theta).c_str());
        for (const char* name : {"recall", "precis.", "agree", "active"}) table.add_column({name, 8, 1, 100});
    }
    const auto add = [&](std::string name, const PredictionReport::Experts& experts, const auto& neurons) {
        std::vector<Cell>& row = table.add({std::move(name), if_known(share(experts.both, experts.chosen)),
                                            if_known(share(experts.both, experts.guessed))});
        for (const PredictionReport::OfTheta& of_theta : report.thetas) {
            const PredictionReport::Neurons of = neurons(of_theta);
            for (const double value : {of.recall(), of.precision(), of.agreement(), of.active_share()}) {
                row.push_back(if_known(value));
            }
        }
    };
    PredictionReport::Experts sum;
    for (std::size_t layer = 1; layer < report.experts.size(); ++layer) {
        const PredictionReport::Experts& of = report.experts[layer];
        sum.chosen += of.chosen;
        sum.guessed += of.guessed;
        sum.both += of.both;
        add(std::to_string(layer), of, [&](const auto& of_theta) { return of_theta.layers[layer]; });
    }
    add("all", sum, [](const auto& of_theta) { return of_theta.sum(); });
    return std::to_string(report.n_tokens) + " tokens, " + shape_text(report) +
           "; known one layer ahead, in %\n"
           "(CORM's figure 5, Mixtral 8x7B and DeepSeekMoE 16B: experts 75 to 90, neurons 80 to 90)\n\n" +
           groups + "\n" + table.text();
}

}  // namespace offstage::engine
