#include "engine/run/snapshot_publisher.h"

#include <utility>

#include "engine/run/loaded_model.h"

namespace offstage::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kPublishInterval = std::chrono::milliseconds(16);

std::int64_t now_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count();
}

std::vector<float> shares_of(const Popularity& popularity) {
    if (popularity.n_tokens == 0) return {};
    std::vector<float> shares;
    for (std::int64_t layer = 0; layer < popularity.n_layers; ++layer) {
        for (std::int64_t expert = 0; expert < popularity.n_experts; ++expert)
            shares.push_back(static_cast<float>(popularity.share(layer, expert)));
    }
    return shares;
}

}  // namespace

void SnapshotPublisher::open(LoadedModel& model) {
    model_ = &model;
    filler_.reset();
    const std::lock_guard lock(mutex_);
    events_ = model.dispatcher().shared_recorder();
    popularity_ = shares_of(model.popularity());
}

void SnapshotPublisher::close() {
    model_ = nullptr;
    const std::lock_guard lock(mutex_);
    events_.reset();
    popularity_.clear();
}

Snapshot SnapshotPublisher::latest() const {
    looked_at_ms_.store(now_ms(), std::memory_order_relaxed);
    return board_.latest();
}

LayerEvents SnapshotPublisher::layer_events(std::uint64_t i) const {
    std::shared_ptr<const Recorder> events;
    {
        const std::lock_guard lock(mutex_);
        events = events_;
    }
    return events ? events->copy(i) : LayerEvents{i, {}, {}};
}

std::vector<float> SnapshotPublisher::planned_popularity() const {
    const std::lock_guard lock(mutex_);
    return popularity_;
}

void SnapshotPublisher::publish(When when, const Conversation& conversation) {
    const auto now = Clock::now();
    if (when == When::kWhenDue && now - last_published_ < kPublishInterval) return;
    last_published_ = now;
    Snapshot snapshot;
    conversation.routing.fill(snapshot);
    snapshot.revision = ++revision_;
    const bool looked_at =
        now_ms() - looked_at_ms_.load(std::memory_order_relaxed) < std::chrono::milliseconds(kLookedAt).count();
    if (model_ != nullptr && (looked_at || when == When::kNow)) {
        filler_.fill(*model_, snapshot);
    }
    snapshot.context_used = conversation.n_tokens;
    snapshot.context_size = conversation.capacity;
    snapshot.kept_prefixes = conversation.n_kept;
    snapshot.kept_tokens = conversation.n_kept_tokens;
    if (model_ != nullptr) {
        snapshot.kept_context = model_->plan().kept_context;
        snapshot.kept_context_bytes = model_->plan().kept_bytes;
    }
    snapshot.decode_overhead_us = conversation.overhead_us;
    board_.publish(std::move(snapshot));
}

}  // namespace offstage::engine
