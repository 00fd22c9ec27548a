#include "engine/run/conversation_cache.h"

#include <algorithm>
#include <utility>

namespace offstage::engine {

void ConversationCache::open(LoadedModel& model) {
    model_ = &model;
    running_.clear();
    running_.push_back({model.new_sequence(), {}, 0});
    model.text().context = running_.front().sequence.capacity();
    model.kv().set_give_up([this](KvCache::GiveUp what) {
        if (what == KvCache::GiveUp::kRunning) return last_resort_ && last_resort_();
        if (kept_.give_up(what)) return true;
        const auto gives_checkpoint = [](CachedPrefix& one) { return one.sequence.give_up_checkpoint(); };
        if (what == KvCache::GiveUp::kEnds && std::ranges::any_of(running_, gives_checkpoint)) return true;
        return file_.drop();
    });
    file_.open(model);
    const ExpertGrid& grid = model.spec().experts;
    routing_.reshape(grid.n_layers, grid.n_experts, grid.n_active);
}

void ConversationCache::close() {
    file_.close();
    kept_.clear();
    running_.clear();
    routing_.reshape(0, 0, 0);
    model_ = nullptr;
}

void ConversationCache::begin_anew() {
    if (model_ != nullptr) kept_.begin_anew(running_.front());
    routing_.reset();
}

void ConversationCache::reset() {
    file_.drop();
    kept_.clear();
    for (CachedPrefix& one : running_) {
        one.sequence.truncate(0);
        one.tokens.clear();
    }
    routing_.reset();
}

ConversationCache::Running ConversationCache::run() {
    if (n_running_ > 0) {
        running_.emplace_back();
        running_.back().sequence = model_->new_sequence();
        running_.back().sequence.set_capacity(model_->text().context);
    }
    ++n_running_;
    return {&running_.back(), End{this}};
}

void ConversationCache::end(CachedPrefix* prefix) {
    prefix->n_aside = 0;
    if (--n_running_ == 0) return;
    kept_.begin_anew(*prefix);
    running_.remove_if([&](const CachedPrefix& one) { return &one == prefix; });
}

std::int64_t ConversationCache::begin(CachedPrefix& running, std::span<const TokenId> prompt,
                                      const std::string& kept_in, PromptReading& reading, const std::stop_token& stop) {
    std::vector<const CachedPrefix*> beside;
    for (const CachedPrefix& one : running_) {
        if (&one != &running) beside.push_back(&one);
    }
    const std::int64_t n_reused = kept_.begin(running, prompt, beside);
    const std::int64_t n_more = n_reused + kernels::kKvBlockTokens;  // fewer are not worth it
    if (kept_in.empty() || n_more > static_cast<std::int64_t>(prompt.size())) return n_reused;
    const std::optional<KeptPrefix> found = file_.find(kept_in, prompt, n_more);
    if (!found) return n_reused;
    kept_.begin_anew(running);
    file_.read(kept_in, *found, prompt, n_more, running.sequence, reading, stop);
    for (const WrittenToken& one : running.sequence.written()) running.tokens.push_back(one.token);
    return kept_.begin(running, prompt, beside);
}

void ConversationCache::begin_empty(CachedPrefix& running, std::int64_t n_prompt) {
    kept_.begin_anew(running);
    running.n_prompt = n_prompt;
}

void ConversationCache::follow_context(std::int64_t context) {
    for (CachedPrefix& one : running_) {
        if (context == one.sequence.capacity() || context < std::max(one.sequence.size(), one.n_aside)) continue;
        one.sequence.set_capacity(context);
        model_->text().context = context;
    }
}

void ConversationCache::add_step(std::span<const Segment> segments, std::span<const std::int32_t> routing) {
    std::size_t n_tokens = 0, n_certain = 0;
    for (const Segment& segment : segments) {
        n_tokens += segment.tokens.size();
        n_certain += segment.certain().size();
    }
    routing_.record(routing.first(routing.size() / n_tokens * n_certain), static_cast<std::int64_t>(n_certain));
    for (const Segment& segment : segments) {
        const auto found =
            std::ranges::find_if(running_, [&](const CachedPrefix& one) { return &one.sequence == segment.sequence; });
        if (found == running_.end()) continue;
        found->tokens.insert(found->tokens.end(), segment.certain().begin(), segment.certain().end());
    }
}

std::int64_t ConversationCache::most_tokens() const {
    std::int64_t most = 0;
    for (const CachedPrefix& one : running_) most = std::max({most, one.sequence.size(), one.n_aside});
    return most;
}

// The longest one, and the others as kept ones.
SnapshotPublisher::Conversation ConversationCache::state(double overhead_us) const {
    std::int64_t most = 0, capacity = 0, n_others = 0, n_tokens = 0;
    for (const CachedPrefix& one : running_) {
        most = std::max(most, one.sequence.size());
        capacity = std::max(capacity, one.sequence.capacity());
        n_others += one.sequence.size() > 0 ? 1 : 0;
        n_tokens += one.sequence.size();
    }
    n_others = std::max<std::int64_t>(0, n_others - 1);
    return {routing_, most, capacity, kept_.n_sequences() + n_others, kept_.n_tokens() + n_tokens - most, overhead_us};
}

}  // namespace offstage::engine
