#include "engine/telemetry/routing_recorder.h"

#include <algorithm>
#include <cassert>

namespace offstage::engine {

RoutingRecorder::RoutingRecorder(std::int64_t n_layers, std::int64_t n_experts, std::int64_t n_active) {
    reshape(n_layers, n_experts, n_active);
}

void RoutingRecorder::reshape(std::int64_t n_layers, std::int64_t n_experts, std::int64_t n_active) {
    n_layers_ = n_layers;
    n_experts_ = n_experts;
    n_active_ = n_active;
    window_.assign(static_cast<std::size_t>(kRoutingWindow * n_layers * n_active), 0);
    window_counts_.assign(static_cast<std::size_t>(n_layers * n_experts), 0);
    conversation_counts_.assign(static_cast<std::size_t>(n_layers * n_experts), 0);
    n_tokens_ = 0;
    ++revision_;
}

void RoutingRecorder::record(std::span<const std::int32_t> experts, std::int64_t n_tokens) {
    const std::int64_t per_token = n_layers_ * n_active_;
    assert(static_cast<std::int64_t>(experts.size()) == n_tokens * per_token);
    for (std::int64_t t = 0; t < n_tokens; ++t) {
        const bool full = n_tokens_ >= kRoutingWindow;
        std::int32_t* slot = window_.data() + n_tokens_ % kRoutingWindow * per_token;
        for (std::int64_t i = 0; i < per_token; ++i) {
            const std::int64_t row = i / n_active_ * n_experts_;
            if (full) --window_counts_[static_cast<std::size_t>(row + slot[i])];
            slot[i] = experts[static_cast<std::size_t>(t * per_token + i)];
            ++window_counts_[static_cast<std::size_t>(row + slot[i])];
            ++conversation_counts_[static_cast<std::size_t>(row + slot[i])];
        }
        ++n_tokens_;
    }
    ++revision_;
}

void RoutingRecorder::reset() {
    std::fill(window_counts_.begin(), window_counts_.end(), 0u);
    std::fill(conversation_counts_.begin(), conversation_counts_.end(), 0u);
    n_tokens_ = 0;
    ++revision_;
}

void RoutingRecorder::fill(Snapshot& snapshot) const {
    snapshot.revision = revision_;
    snapshot.n_layers = n_layers_;
    snapshot.n_experts = n_experts_;
    snapshot.n_active = n_active_;
    snapshot.window_counts = window_counts_;
    snapshot.conversation_counts = conversation_counts_;
    snapshot.window_tokens = std::min(n_tokens_, kRoutingWindow);
    snapshot.conversation_tokens = n_tokens_;
}

}  // namespace offstage::engine
