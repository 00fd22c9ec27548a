#include "engine/eval/theta_scorer.h"

#include <algorithm>
#include <chrono>

#include "engine/as_size.h"
#include "engine/eval/quantize_report.h"

namespace offstage::engine {
namespace {

// Sums of the layers' events since it was last asked.
class ActiveNeurons {
  public:
    explicit ActiveNeurons(LoadedModel& model)
        : recorder_(model.dispatcher().recorder()),
          next_(recorder_.n_events()),
          neurons_(as_size(model.spec().experts.n_layers), 0),
          active_(neurons_) {}

    // At least every Recorder::kEvents events.
    void take() {
        for (; next_ < recorder_.n_events(); ++next_) {
            const LayerEvent& event = recorder_.event(next_);
            neurons_[as_size(event.layer)] += event.neurons;
            active_[as_size(event.layer)] += event.active_neurons;
        }
    }
    void fill(ThetaRow& row) const {
        std::uint64_t neurons = 0, active = 0;
        const auto share = [](std::uint64_t part, std::uint64_t all) {
            return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : -1.0;
        };
        for (std::size_t layer = 0; layer < neurons_.size(); ++layer) {
            row.layer_shares.push_back(row.theta > 0 ? share(active_[layer], neurons_[layer]) : 1.0);
            neurons += neurons_[layer];
            active += active_[layer];
        }
        row.active_share = row.theta > 0 ? share(active, neurons) : 1.0;
    }

  private:
    const Recorder& recorder_;
    std::uint64_t next_;
    std::vector<std::uint64_t> neurons_, active_;
};

}  // namespace

std::span<const TokenId> ThetaScorer::scorable(const LoadedModel& model, std::span<const TokenId> tokens) {
    const std::uint64_t most =
        kLargestReference / (sizeof(float) * static_cast<std::uint64_t>(model.spec().vocab_size));
    return tokens.first(std::min<std::size_t>(tokens.size(), std::max<std::uint64_t>(2, most)));
}

ThetaScorer::ThetaScorer(LoadedModel& model, std::span<const TokenId> tokens, const WindowSettings& windows)
    : model_(model), tokens_(tokens), windows_(windows), reference_(as_size(model.spec().vocab_size)) {}

ThetaRow ThetaScorer::score(const ExpertThetas& thetas, const std::stop_token& stop) {
    const bool fills = reference_.n_rows() == 0;
    if (fills && thetas.leaves_out()) static_cast<void>(score({}, stop));
    const auto start = std::chrono::steady_clock::now();
    const auto width = as_size(model_.spec().vocab_size);
    ThetaRow row;
    row.theta = static_cast<double>(thetas.mean());
    model_.forward().moe().set_theta(thetas);
    ActiveNeurons neurons(model_);
    std::size_t index = 0;
    std::int64_t n_same = 0;
    score_text(
        model_, tokens_, windows_,
        [&](std::size_t first, std::span<const float> logits) {
            neurons.take();
            if (fills && !thetas.leaves_out()) reference_.take(logits, model_.pool());
            const std::size_t n = logits.size() / width;
            for (const LogitComparison& token :
                 reference_.compare(index, logits, tokens_.subspan(first, n), model_.pool())) {
                row.perplexity.negative_log_likelihood -= token.log_probability;
                row.mean_kl += token.kl;
                n_same += token.same_top ? 1 : 0;
                ++row.perplexity.n_tokens;
            }
            index += n;
        },
        stop);
    neurons.take();
    neurons.fill(row);
    row.perplexity.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const auto n = static_cast<double>(std::max<std::int64_t>(1, row.perplexity.n_tokens));
    row.mean_kl = std::max(0.0, row.mean_kl / n);  // what is kept rounded may say less than nothing
    row.same_top = static_cast<double>(n_same) / n;
    return row;
}

}  // namespace offstage::engine
