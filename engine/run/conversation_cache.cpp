#include "engine/run/conversation_cache.h"

namespace offstage::engine {

void ConversationCache::open(LoadedModel& model) {
    model_ = &model;
    running_ = {model.new_sequence(), {}, 0};
    model.text().context = running_.sequence.capacity();
    model.kv().set_give_up([this](KvCache::GiveUp what) {
        return kept_.give_up(what) || (what == KvCache::GiveUp::kEnds && running_.sequence.give_up_checkpoint()) ||
               file_.drop();
    });
    file_.open(model);
    const ExpertGrid& grid = model.spec().experts;
    routing_.reshape(grid.n_layers, grid.n_experts, grid.n_active);
}

void ConversationCache::close() {
    file_.close();
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
    file_.drop();
    kept_.clear();
    running_.sequence.truncate(0);
    running_.tokens.clear();
    routing_.reset();
}

std::int64_t ConversationCache::begin(std::span<const TokenId> prompt, const std::string& kept_in,
                                      PromptReading& reading, const std::stop_token& stop) {
    const std::int64_t n_reused = kept_.begin(running_, prompt);
    const std::int64_t n_more = n_reused + kernels::kKvBlockTokens;  // fewer are not worth it
    if (kept_in.empty() || n_more > static_cast<std::int64_t>(prompt.size())) return n_reused;
    const std::optional<KeptPrefix> found = file_.find(kept_in, prompt, n_more);
    if (!found) return n_reused;
    kept_.begin_anew(running_);
    file_.read(kept_in, *found, prompt, n_more, running_.sequence, reading, stop);
    for (const WrittenToken& one : running_.sequence.written()) running_.tokens.push_back(one.token);
    return kept_.begin(running_, prompt);
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
