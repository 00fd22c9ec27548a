#include "engine/run/next_layer_guesses.h"

#include "engine/as_size.h"
#include "engine/experts/prefetcher.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {

NextLayerGuesses::NextLayerGuesses(const ExpertGrid& grid, Backend& device) : grid_(grid), device_(device) {
    const std::size_t n = as_size(Prefetcher::kGuessingTokens * grid.n_active);
    if (device.shares_host_memory()) {
        own_guesses_.resize(n);
        own_weights_.resize(n);
        return;
    }
    guesses_ = Mirror<std::int32_t>(device, n, MemoryUse::kWorkspace, messages::guesses);
    weights_ = device.memory().allocate(n * sizeof(float), MemoryUse::kWorkspace, messages::guesses);
}

void NextLayerGuesses::begin_layer() {
    const auto made = next();
    expected_.assign(made.begin(), made.end());
    n_ = 0;
}

void NextLayerGuesses::make(const RouterWeights& next, const StepContext& step) {
    const bool own = !own_guesses_.empty();
    device_.submit(ops::Route{next.spec, next.arrays_in(step), next.input(step), step.n_tokens, step.hidden_dim,
                              own ? own_guesses_.data() : guesses_.device(),
                              own ? own_weights_.data() : weights_.as<float>()});
    n_ = step.n_tokens * grid_.n_active;
}

void NextLayerGuesses::fetch() {
    if (n_ > 0 && own_guesses_.empty()) guesses_.store(0, as_size(n_));
}

std::span<const std::int32_t> NextLayerGuesses::next() {
    return {own_guesses_.empty() ? guesses_.host() : own_guesses_.data(), as_size(n_)};
}

}  // namespace offstage::engine
