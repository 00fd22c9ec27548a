#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/formats.h"
#include "engine/plan/load_settings.h"

namespace offstage::engine {

// kernels::ExpertSpec::theta of a model's routed experts: one for all of them, or one for
// each. A value; copies share the array.
class ExpertThetas {
  public:
    ExpertThetas(double of_all = 0) : mean_(static_cast<float>(of_all)) {}
    // (n_layers, n_experts)
    ExpertThetas(std::vector<float> of_each, std::int64_t n_experts) : n_experts_(n_experts) {
        mean_ = of_each.empty()
                    ? 0
                    : std::accumulate(of_each.begin(), of_each.end(), 0.0f) / static_cast<float>(of_each.size());
        of_each_ = std::make_shared<const std::vector<float>>(std::move(of_each));
    }

    float at(std::int64_t layer, std::int64_t expert) const {
        return of_each_ == nullptr ? mean_ : (*of_each_)[static_cast<std::size_t>(layer * n_experts_ + expert)];
    }
    bool one_for_all() const { return of_each_ == nullptr; }
    bool leaves_out() const { return mean_ > 0; }
    float mean() const { return mean_; }  // the one, where it is that of all

    bool operator==(const ExpertThetas& other) const {
        return mean_ == other.mean_ &&
               (of_each_ == other.of_each_ ||
                (of_each_ != nullptr && other.of_each_ != nullptr && *of_each_ == *other.of_each_));
    }

  private:
    float mean_ = 0;
    std::shared_ptr<const std::vector<float>> of_each_;
    std::int64_t n_experts_ = 1;
};

class CostModel;

// The measured savings and costs of leaving out neurons (LoadRequest::theta), over some
// text (CORM, figure 4).
struct NeuronThreshold {
    double theta = 0;         // above 0
    double active_share = 1;  // of a token's neurons, 0 .. 1
    double perplexity = 0;
    double mean_kl = 0;   // nats, from theta 0
    double same_top = 1;  // share of the tokens whose most likely one is that of theta 0, 0 .. 1

    bool operator==(const NeuronThreshold&) const = default;
};

// Thresholds of every expert of a model, chosen so that a loss leaves out the most
// neurons (engine/eval/threshold_choice.h), and their measured costs over the text that
// they were chosen on.
struct ChosenThresholds {
    double loss = 0;   // nats per token from theta 0 that were allowed
    std::string text;  // its name, for the user
    std::int64_t n_tokens = 0;
    double active_share = 1;
    double perplexity = 0;
    double mean_kl = 0;  // at most `loss`
    double same_top = 1;
    std::vector<double> layer_shares;  // active, (n_layers)
    std::int64_t n_experts = 0;        // of a layer
    std::vector<float> thetas;         // (n_layers, n_experts), 0 or more

    ExpertThetas of_experts() const { return {thetas, n_experts}; }

    bool operator==(const ChosenThresholds&) const = default;
};

// The measured loss of all experts in one format (engine/eval/quantize_report.h).
struct FormatLoss {
    FormatId format{};
    double mean_kl = 0;  // nats per token, from the model as it is in its files
    std::string text;    // its name, for the user
    std::int64_t n_tokens = 0;

    bool operator==(const FormatLoss&) const = default;
};

// One model's; a plain value.
struct NeuronThresholds {
    std::string model;
    std::string text;                      // its name, for the user
    std::string weight_type;               // of the experts: "BF16"
    std::int64_t n_tokens = 0;             // scored
    double perplexity = 0;                 // of theta 0
    std::vector<NeuronThreshold> rows;     // by theta, ascending
    std::vector<ChosenThresholds> chosen;  // by loss, ascending
    std::vector<FormatLoss> formats{};     // each once

    bool empty() const { return rows.empty(); }
    // Of all experts in this format; nothing: not measured.
    std::optional<double> kl_of(FormatId format) const;
};

// The most ChosenThresholds that are kept.
inline constexpr std::size_t kMostChosen = 16;

// The thresholds of the largest loss up to this one; nullptr: none.
const ChosenThresholds* thresholds_for(const NeuronThresholds& measured, double loss);
// Inserts the thresholds by loss. They replace those of the same loss; if there are too
// many, those with the smallest loss are removed.
void add_chosen(NeuronThresholds& kept, ChosenThresholds chosen);

// Of thresholds by expert as measured; of one theta interpolated between the two measured
// ones next to it; theta 0 has no loss. Unknown above the largest measured theta and
// without measurements.
struct ThresholdLoss {
    bool known = false;
    double active_share = 1;
    double mean_kl = 0;
    double same_top = 1;
};
ThresholdLoss expected_loss(const NeuronThresholds& measured, const ThetaChoice& choice);

// The expected share of a token's active neurons; 0: not known.
struct ActiveShares {
    double of_model = 0;
    std::vector<double> of_layers;  // empty: not known
};
ActiveShares expected_shares(const NeuronThresholds& measured, const ThetaChoice& choice);

// Makes a cost model's forecasts account for this choice, by its measured shares.
void leave_out(CostModel& cost, const ThetaChoice& choice, const NeuronThresholds& measured, SparseLoading loading);

// JSON: {"format": "offstage-neuron-thresholds", "version": 1, "model": "...", "text":
// "...", "weight_type": "BF16", "n_tokens": N, "perplexity": P, "rows": [{"theta": T,
// "active_share": S, "perplexity": P, "mean_kl": K, "same_top": A}], "chosen": [{"loss":
// L, "text": "...", "n_tokens": N, "active_share": S, "perplexity": P, "mean_kl": K,
// "same_top": A, "layers": [S, ...], "thetas": [[T, ...], ...]}], "formats": [{"format":
// "hqq4", "mean_kl": K, "text": "...", "n_tokens": N}]}; "chosen" and "formats" may be
// missing. At most 4 MiB. Reading throws Error with file, key and expected value; writing
// is atomic.
NeuronThresholds parse_neuron_thresholds(std::string_view json, const std::string& source);
NeuronThresholds read_neuron_thresholds(const std::filesystem::path& file);
void write_neuron_thresholds(const NeuronThresholds& thresholds, const std::filesystem::path& file);

}  // namespace offstage::engine
