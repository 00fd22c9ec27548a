#include "engine/run/conversation_cache.h"

namespace offstage::engine {

void ConversationCache::open(LoadedModel& model) {
    model_ = &model;
    running_ = {model.new_sequence(), {}, 0};
    model.text().context = running_.sequence.capacity();
    model.kv().set_give_up([this](KvCache::GiveUp what) {
        return kept_.give_up(what) || (what == KvCache::GiveUp::kEnds && running_.sequence.give_up_checkpoint());
    });
    const ExpertGrid& grid = model.spec().experts;
    routing_.reshape(grid.n_layers, grid.n_experts, grid.n_active);
}

void ConversationCache::close() {
    kept_.clear();
    running_ = CachedPrefix();
    routing_.reshape(0, 0, 0);
    model_ = nullptr;
}

void ConversationCache::begin_anew() {
    if (model_ != nullptr) kept_.begin_anew(running_);
    routing_.reset();
}

void ConversationCache::reset() {
    kept_.clear();
    running_.sequence.truncate(0);
    running_.tokens.clear();
    routing_.reset();
}

void ConversationCache::begin_empty(std::int64_t n_prompt) {
    kept_.begin_anew(running_);
    running_.n_prompt = n_prompt;
}

void ConversationCache::follow_context(std::int64_t context) {
    if (context == running_.sequence.capacity() || context < running_.sequence.size()) return;
    running_.sequence.set_capacity(context);
    model_->text().context = context;
}

void ConversationCache::add_step(std::span<const Segment> segments, std::span<const std::int32_t> routing,
                                 std::int64_t n_tokens) {
    routing_.record(routing, n_tokens);
    for (const Segment& segment : segments) {
        if (segment.sequence != &running_.sequence) continue;
        running_.tokens.insert(running_.tokens.end(), segment.tokens.begin(), segment.tokens.end());
    }
}

SnapshotPublisher::Conversation ConversationCache::state(double overhead_us) const {
    return {routing_,   running_.sequence.size(), running_.sequence.capacity(), kept_.n_sequences(), kept_.n_tokens(),
            overhead_us};
}

}  // namespace offstage::engine
