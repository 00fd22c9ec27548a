#include "engine/run/routing_probe.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "engine/as_size.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {

RoutingProbe::RoutingProbe(const ModelSpec& spec, Backend& device, std::vector<std::int64_t> distances,
                           std::int64_t n_guesses, std::int64_t max_step)
    : spec_(spec), device_(device), distances_(std::move(distances)), n_guesses_(n_guesses) {
    assert(n_guesses >= 1 && n_guesses <= spec.experts.n_experts);
    const std::size_t rows = as_size(max_step * n_guesses);
    chosen_ = Mirror<std::int32_t>(device, std::max<std::size_t>(1, distances_.size()) * rows, MemoryUse::kWorkspace,
                                   messages::guesses);
    weights_ = device.memory().allocate(rows * sizeof(float), MemoryUse::kWorkspace, messages::guesses);
}

void RoutingProbe::begin_step(std::int64_t n_tokens) {
    n_tokens_ = n_tokens;
    guesses_.assign(as_size(n_tokens * spec_.experts.n_layers * n_guesses_) * distances_.size(), -1);
}

void RoutingProbe::submit(std::int64_t layer, const DeviceWeights& weights, const StepContext& step) {
    const std::size_t rows = as_size(n_tokens_ * n_guesses_);
    for (std::size_t d = 0; d < distances_.size(); ++d) {
        const std::int64_t target = layer + distances_[d];
        if (target >= spec_.experts.n_layers) continue;
        RouterWeights router = router_of(spec_, weights, target);
        router.spec.n_active = static_cast<std::int32_t>(n_guesses_);
        router.spec.n_groups_used = router.spec.n_groups;  // more guesses than the chosen groups may hold
        device_.submit(ops::Route{router.spec, router.arrays_in(step), router.input(step), n_tokens_, spec_.hidden_dim,
                                  chosen_.device() + d * rows, weights_.as<float>()});
        chosen_.download(d * rows, rows);
    }
}

void RoutingProbe::collect(std::int64_t layer, const std::int32_t* /*routing*/, std::int64_t /*stride*/) {
    const std::size_t rows = as_size(n_tokens_ * n_guesses_);
    const auto n_distances = static_cast<std::int64_t>(distances_.size());
    for (std::int64_t d = 0; d < n_distances; ++d) {
        const std::int64_t target = layer + distances_[as_size(d)];
        if (target >= spec_.experts.n_layers) continue;
        const std::int32_t* chosen = chosen_.host() + as_size(d) * rows;
        for (std::int64_t t = 0; t < n_tokens_; ++t) {
            std::copy_n(chosen + t * n_guesses_, n_guesses_,
                        guesses_.data() + ((t * n_distances + d) * spec_.experts.n_layers + target) * n_guesses_);
        }
    }
}

}  // namespace offstage::engine
