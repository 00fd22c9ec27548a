#include "engine/eval/threshold_choice.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include <queue>

#include "engine/as_size.h"
#include "engine/device/mirror.h"
#include "engine/eval/gate_activations.h"
#include "engine/eval/loaded_step_model.h"
#include "engine/eval/theta_scorer.h"
#include "engine/model/pack_neurons.h"
#include "engine/print.h"
#include "engine/run/layers/router.h"
#include "engine/run/moe_layer.h"
#include "engine/run/step_probe.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kMostProbed = 256;  // tokens of a step
constexpr int kMostTrials = 6;             // of a loss
constexpr double kCloseEnough = 0.97;      // of the allowed loss
constexpr double kFirstShare = 0.5;        // of a layer's pairs: for the first measurement of its loss

// kThresholdSteps: never left out.
int step_of(float activated) {
    if (std::isnan(activated)) return kThresholdSteps;
    const double steps = std::ceil(16 * (std::log2(std::abs(static_cast<double>(activated))) + 10) / 1.15);
    int step = std::clamp(static_cast<int>(std::max(steps, 0.0)), 0, kThresholdSteps - 1);
    // As the kernels compare; the step's end was rounded.
    while (step > 0 && std::abs(activated) <= threshold_step(step - 1)) --step;
    while (step < kThresholdSteps && std::abs(activated) > threshold_step(step)) ++step;
    return step;
}

// The contributions of each expert's neurons, over all observed steps.
class ContributionProbe final : public StepProbe {
  public:
    explicit ContributionProbe(LoadedModel& model)
        : model_(model),
          grid_(model.spec().experts),
          most_(std::min<std::int64_t>(model.forward().max_step(), kMostProbed)),
          activations_(model, most_),
          norms_(as_size(grid_.size())) {
        const std::size_t pairs = as_size(most_ * grid_.n_active);
        chosen_ = Mirror<std::int32_t>(model.device(), pairs, MemoryUse::kWorkspace, std::string("routing"));
        weights_ = Mirror<float>(model.device(), pairs, MemoryUse::kWorkspace, std::string("routing"));
        inputs_.resize(as_size(most_ * grid_.hidden_dim));
        ups_.resize(as_size(most_ * grid_.ffn_dim));
        LeftOutCurve empty;
        empty.pairs.assign(kThresholdSteps, 0);
        empty.worth.assign(kThresholdSteps, 0);
        curves_.assign(as_size(grid_.size()), empty);
    }
    std::int64_t most() const { return most_; }

    // Sums up to each step.
    std::vector<LeftOutCurve> take_curves() {
        for (LeftOutCurve& curve : curves_) {
            for (std::size_t i = 1; i < as_size(kThresholdSteps); ++i) {
                curve.pairs[i] += curve.pairs[i - 1];
                curve.worth[i] += curve.worth[i - 1];
            }
        }
        return std::move(curves_);
    }

    void begin_step(std::int64_t n_tokens) override { n_tokens_ = n_tokens; }

    void submit(std::int64_t layer, const DeviceWeights& weights, const StepContext& step) override {
        const RouterWeights router = router_of(model_.spec(), weights, layer);
        model_.device().submit(ops::Route{router.spec, router.arrays_in(step), router.input(step), n_tokens_,
                                          step.hidden_dim, chosen_.device(), weights_.device()});
        const std::size_t pairs = as_size(n_tokens_ * grid_.n_active);
        chosen_.download(0, pairs);
        weights_.download(0, pairs);
        model_.device().download(inputs_.data(), step.expert_inputs(),
                                 as_size(n_tokens_ * grid_.hidden_dim) * sizeof(float));
    }

    void collect(std::int64_t layer, const std::int32_t* /*routing*/, std::int64_t /*stride*/) override {
        for (std::int64_t expert = 0; expert < grid_.n_experts; ++expert) {
            rows_.clear();
            row_weights_.clear();
            for (std::int64_t t = 0; t < n_tokens_; ++t) {
                for (std::int64_t i = t * grid_.n_active; i < (t + 1) * grid_.n_active; ++i) {
                    if (chosen_.host()[i] != expert) continue;
                    rows_.push_back(t);
                    row_weights_.push_back(weights_.host()[i]);
                }
            }
            if (!rows_.empty()) add(layer, expert);
        }
    }

  private:
    void add(std::int64_t layer, std::int64_t expert) {
        const auto n = static_cast<std::int64_t>(rows_.size());
        const std::int64_t ffn = grid_.ffn_dim;
        const auto index = as_size(layer * grid_.n_experts + expert);
        const std::span<const float> norms = norms_of(index, layer, expert);
        const std::span<const float> values = activations_.of(layer, expert, inputs_.data(), rows_);
        const kernels::ExpertView view = activations_.with_rows_apart(model_.experts().on_host(layer, expert));
        model_.host().run(ops::Multiply{view.up(), activations_.gathered(), n, ups_.data()});
        if (view.biases().up != nullptr) model_.host().run(ops::AddBias{view.biases().up, n, ffn, ups_.data()});
        const kernels::ExpertSpec& spec = view.layout.spec;
        const bool adds_one = spec.activation == kernels::Activation::kClamped;
        LeftOutCurve& curve = curves_[index];
        for (std::int64_t r = 0; r < n; ++r) {
            const double weight = row_weights_[as_size(r)];
            for (std::int64_t j = 0; j < ffn; ++j) {
                const float value = values[as_size(r * ffn + j)];
                const int step = step_of(value);
                if (step == kThresholdSteps) continue;
                float up = ups_[as_size(r * ffn + j)];
                if (spec.clamps_up()) up = std::clamp(up, -spec.limit, spec.limit) + (adds_one ? 1.0f : 0.0f);
                const double taken = weight * value * up;
                curve.pairs[as_size(step)] += 1;
                curve.worth[as_size(step)] += taken * taken * norms[as_size(j)];
            }
        }
    }

    // |w2 column|^2 of each neuron.
    std::span<const float> norms_of(std::size_t index, std::int64_t layer, std::int64_t expert) {
        std::vector<float>& norms = norms_[index];
        if (!norms.empty()) return norms;
        const kernels::ExpertLayout wide = grid_.layout(kernels::WeightType::kF32);
        block_.resize(wide.bytes());
        unpack_expert(activations_.with_rows_apart(model_.experts().on_host(layer, expert)), wide, block_.data(),
                      model_.pool());
        const kernels::WeightView down = kernels::ExpertView{block_.data(), wide}.down();
        for (std::int64_t j = 0; j < grid_.ffn_dim; ++j) {
            const auto* const row = reinterpret_cast<const float*>(down.row(j));
            double sum = 0;
            for (std::int64_t h = 0; h < grid_.hidden_dim; ++h) sum += static_cast<double>(row[h]) * row[h];
            norms.push_back(static_cast<float>(sum));
        }
        return norms;
    }

    LoadedModel& model_;
    const ExpertGrid& grid_;
    std::int64_t most_;
    GateActivations activations_;
    std::vector<std::vector<float>> norms_;  // by expert
    std::vector<std::byte> block_;
    Mirror<std::int32_t> chosen_;  // (n_tokens, n_active)
    Mirror<float> weights_;
    std::int64_t n_tokens_ = 0;
    std::vector<float> inputs_;  // (n_tokens, hidden_dim)
    std::vector<float> ups_;     // (rows, ffn_dim)
    std::vector<std::int64_t> rows_;
    std::vector<float> row_weights_;
    std::vector<LeftOutCurve> curves_;
};

// In the windows' steps, limited by the model's largest step.
std::vector<LeftOutCurve> measure_curves(LoadedModel& model, std::span<const TokenId> tokens, std::int64_t window,
                                         const std::stop_token& stop) {
    ContributionProbe probe(model);
    model.forward().moe().set_theta({});
    model.forward().set_probe(&probe);
    try {
        while (!tokens.empty()) {
            KvSequence sequence = model.new_sequence();
            std::span<const TokenId> part = tokens.first(std::min(tokens.size(), as_size(window)));
            tokens = tokens.subspan(part.size());
            while (!part.empty()) {
                const std::size_t n = std::min(part.size(), as_size(probe.most()));
                const Segment segment{&sequence, part.first(n)};
                require_done(model.forward().step({&segment, 1}, Forward::Logits::kNone, stop), model.device());
                part = part.subspan(n);
            }
        }
    } catch (...) {
        model.forward().set_probe(nullptr);
        throw;
    }
    model.forward().set_probe(nullptr);
    return probe.take_curves();
}

// Chooses for one loss after the other; with each, the layers' worth in nats is known
// better.
class ThresholdChooser {
  public:
    ThresholdChooser(LoadedModel& model, ThetaScorer& scorer, std::vector<LeftOutCurve> worth,
                     const std::stop_token& stop)
        : model_(model), grid_(model.spec().experts), scorer_(scorer), worth_(std::move(worth)), stop_(stop) {
        std::vector<int> steps(worth_.size(), 0);
        for (std::size_t i = 0; i < worth_.size(); ++i) steps[i] = step_of_share(i / as_size(grid_.n_experts));
        measure_layers(steps);
    }

    std::pair<std::vector<int>, ThetaRow> choose(double loss) {
        auto found = search(loss);
        measure_layers(found.first);
        auto again = search(loss);
        return again.second.active_share < found.second.active_share ? again : found;
    }
    ExpertThetas thetas_of(const std::vector<int>& steps) const {
        std::vector<float> thetas;
        for (const int step : steps) thetas.push_back(threshold_step(step));
        return {std::move(thetas), grid_.n_experts};
    }

  private:
    // The first step that leaves out kFirstShare of the layer's pairs.
    int step_of_share(std::size_t layer) const {
        const auto sum = [&](int step) {
            double pairs = 0;
            for (std::size_t i = 0; i < as_size(grid_.n_experts); ++i) {
                pairs += worth_[layer * as_size(grid_.n_experts) + i].pairs[as_size(step)];
            }
            return pairs;
        };
        int step = 0;
        while (step + 1 < kThresholdSteps && sum(step) < kFirstShare * sum(kThresholdSteps - 1)) ++step;
        return step;
    }

    // Measures the loss (nats) for a unit of worth in each layer, one layer at a time,
    // with these thresholds.
    void measure_layers(const std::vector<int>& steps) {
        curves_ = worth_;
        const std::size_t n = as_size(grid_.n_experts);
        for (std::size_t layer = 0; layer < worth_.size() / n; ++layer) {
            std::vector<float> thetas(worth_.size(), 0);
            double worth = 0;
            for (std::size_t i = layer * n; i < (layer + 1) * n; ++i) {
                thetas[i] = threshold_step(steps[i]);
                worth += worth_[i].worth[as_size(steps[i])];
            }
            const double kl = scorer_.score({std::move(thetas), grid_.n_experts}, stop_).mean_kl;
            const double nats = worth > 0 ? std::max(kl, kLeastLoss) / worth : 0;
            for (std::size_t i = layer * n; i < (layer + 1) * n; ++i) {
                for (double& value : curves_[i].worth) value *= nats;
            }
        }
    }

    // The budget at which the measured loss is just below the allowed one.
    std::pair<std::vector<int>, ThetaRow> search(double loss) {
        std::pair<std::vector<int>, ThetaRow> best;
        double low = 0, high = 0;  // budgets whose loss is below and above it
        double budget = loss;
        for (int trial = 0; trial < kMostTrials; ++trial) {
            const std::vector<int> steps = choose_steps(curves_, budget);
            ThetaRow row = scorer_.score(thetas_of(steps), stop_);
            const double kl = row.mean_kl;
            if (kl <= loss) {
                if (best.first.empty() || row.active_share < best.second.active_share) best = {steps, std::move(row)};
                low = budget;
                if (kl >= kCloseEnough * loss) break;
            } else {
                high = budget;
            }
            // The loss is about a power of the budget near to 1.
            const double next = budget * std::clamp(kTarget * loss / std::max(kl, kLeastLoss), 0.1, 4.0);
            budget = next;
            if (low > 0 && budget <= low) budget = high > 0 ? std::sqrt(low * high) : low * 1.3;
            if (high > 0 && budget >= high) budget = low > 0 ? std::sqrt(low * high) : high / 2;
        }
        if (!best.first.empty()) return best;
        // Even little was too much.
        const std::vector<int> none(curves_.size(), 0);
        return {none, scorer_.score(thetas_of(none), stop_)};
    }

    static constexpr double kLeastLoss = 1e-9;  // below that it is rounding
    static constexpr double kTarget = 0.985;    // of the loss

    LoadedModel& model_;
    const ExpertGrid& grid_;
    ThetaScorer& scorer_;
    std::vector<LeftOutCurve> worth_;   // as measured
    std::vector<LeftOutCurve> curves_;  // in nats per token
    const std::stop_token& stop_;
};

}  // namespace

float threshold_step(int i) {
    static const std::vector<float> steps = [] {
        std::vector<float> ends;
        for (int step = 0; step < kThresholdSteps; ++step) {
            const double end = std::exp2(-10 + 1.15 * step / 16);
            ends.push_back(static_cast<float>(std::strtod(print("%.4g", end).c_str(), nullptr)));
        }
        return ends;
    }();
    return steps[as_size(i)];
}

std::vector<int> choose_steps(std::span<const LeftOutCurve> curves, double budget) {
    struct Piece {
        std::size_t curve;
        int to;
        double pairs, worth;  // added
    };
    const auto is_worse = [](const Piece& a, const Piece& b) { return a.pairs * b.worth < b.pairs * a.worth; };
    std::priority_queue<Piece, std::vector<Piece>, decltype(is_worse)> next(is_worse);
    // The segment of the convex hull that follows a step.
    const auto add = [&](std::size_t c, int from) {
        const LeftOutCurve& curve = curves[c];
        Piece best{c, -1, 0, 0};
        for (int to = from + 1; to < kThresholdSteps; ++to) {
            const Piece segment{c, to, curve.pairs[as_size(to)] - curve.pairs[as_size(from)],
                                curve.worth[as_size(to)] - curve.worth[as_size(from)]};
            if (segment.pairs > 0 && (best.to < 0 || !is_worse(segment, best))) best = segment;
        }
        if (best.to >= 0) next.push(best);
    };
    std::vector<int> steps(curves.size(), 0);
    double used = 0;
    for (std::size_t c = 0; c < curves.size(); ++c) {
        used += curves[c].worth.front();
        add(c, 0);
    }
    while (!next.empty()) {
        const Piece segment = next.top();
        next.pop();
        if (used + segment.worth > budget) continue;  // a cheaper one of another curve may still fit
        used += segment.worth;
        steps[segment.curve] = segment.to;
        add(segment.curve, segment.to);
    }
    return steps;
}

std::vector<ChosenThresholds> choose_thresholds(LoadedModel& model, std::span<const TokenId> tokens,
                                                const WindowSettings& windows, std::vector<double> losses,
                                                const std::function<void(const std::string& line)>& progress,
                                                const std::stop_token& stop) {
    for (const double loss : losses) check_theta_loss(loss);
    std::sort(losses.begin(), losses.end());
    losses.erase(std::unique(losses.begin(), losses.end()), losses.end());
    tokens = ThetaScorer::scorable(model, tokens);
    std::vector<ChosenThresholds> all;
    try {
        ThetaScorer scorer(model, tokens, windows);
        ThresholdChooser chooser(model, scorer, measure_curves(model, tokens, windows.window, stop), stop);
        for (const double loss : losses) {
            const auto [steps, row] = chooser.choose(loss);
            ChosenThresholds& chosen = all.emplace_back();
            chosen.loss = loss;
            chosen.n_tokens = row.perplexity.n_tokens;
            chosen.active_share = row.active_share;
            chosen.perplexity = row.perplexity.value();
            chosen.mean_kl = row.mean_kl;
            chosen.same_top = row.same_top;
            chosen.layer_shares = row.layer_shares;
            chosen.n_experts = model.spec().experts.n_experts;
            for (const int step : steps) chosen.thetas.push_back(threshold_step(step));
            if (progress) {
                progress(print("loss %g: measured %.5f, %.1f %% active", loss, row.mean_kl, 100 * row.active_share));
            }
        }
    } catch (...) {
        model.use_theta({});
        throw;
    }
    model.use_theta({});
    return all;
}

}  // namespace offstage::engine
