#include "engine/run/answer_batch.h"

#include <algorithm>
#include <utility>

#include "engine/error.h"
#include "kernels/cpu_product_table.h"

namespace offstage::engine {
namespace {

// A prompt's step while answers wait for theirs. Prompts up to kSmallestStep must be read
// in one.
constexpr std::size_t kSliceTokens = 128;
static_assert(kSliceTokens >= kSmallestStep);

// The CPU's kernels for few rows take so many. The order of their sums depends on the
// number of rows.
static_assert(kernels::kFewCpuRows <= Forward::kMaxSegments);
std::size_t rows_together(const LoadRequest& request) {
    return request.compute == ComputeMode::kF32 ? 1 : kernels::kFewCpuRows;
}

bool is_traced(const GenerationRequest& request) {
    return !request.trace_file.empty();  // the routing of steps with others is not its own
}

}  // namespace

AnswerBatch::AnswerBatch(const SessionParts& parts, int most)
    : parts_(parts),
      most_(static_cast<std::size_t>(std::max(1, most))),
      rows_together_(rows_together(parts.model.request())),
      steps_(parts) {
    parts_.conversation.set_last_resort([this] { return set_aside_newest(); });
}

AnswerBatch::~AnswerBatch() {
    parts_.conversation.set_last_resort({});
}

// What concerns one answer ends that one alone.
template <typename Work>
void AnswerBatch::attempt(RunningAnswer& answer, const Work& work) {
    try {
        work();
    } catch (...) {
        answer.fail(std::current_exception());
    }
}

void AnswerBatch::run(const NextAnswerFn& next) {
    while (true) {
        end_stopped();
        finish_ended();
        try {
            take(next);
        } catch (...) {  // of `next`
            fail_all();
            throw;
        }
        if (running_.empty()) return;
        try {
            read();
            write();
        } catch (...) {  // of a step, so of the model or the device
            fail_all();
        }
    }
}

void AnswerBatch::take(const NextAnswerFn& next) {
    while (!aside_.empty() && (running_.empty() || n_places_ > 0)) {
        n_places_ = std::max<std::int64_t>(0, n_places_ - 1);
        running_.push_back(std::move(aside_.front()));
        aside_.erase(aside_.begin());
        attempt(*running_.back(), [&] { running_.back()->take_up(); });
    }
    while (aside_.empty() && running_.size() < most_) {
        if (!waiting_) waiting_ = next();
        if (!waiting_ || !may_join(*waiting_)) return;
        const AnswerCall call = *std::exchange(waiting_, std::nullopt);
        try {
            running_.push_back(std::make_unique<RunningAnswer>(call, parts_));
            steps_.begin_answer();
        } catch (...) {
            call.end({}, std::current_exception());
        }
    }
}

bool AnswerBatch::may_join(const AnswerCall& call) const {
    if (running_.empty()) return true;
    if (parts_.machines.any() || is_traced(*call.request) || is_traced(running_.front()->request())) return false;
    // Only answers of one sequence can be set aside.
    return !RunningAnswer::has_several(*call.request) || std::ranges::none_of(running_, [](const auto& answer) {
        return RunningAnswer::has_several(answer->request());
    });
}

// A slice of one prompt; then it is the next one's turn.
void AnswerBatch::read() {
    const auto reads = [](const auto& answer) { return !answer->ended() && answer->reads(); };
    if (std::ranges::none_of(running_, reads)) return;
    steps_.begin();
    const auto last = std::ranges::find_if(running_, [&](const auto& one) { return one.get() == last_read_; });
    auto found = last == running_.end() ? running_.end() : std::find_if(last + 1, running_.end(), reads);
    if (found == running_.end()) found = std::ranges::find_if(running_, reads);
    if (found == running_.end()) return;
    RunningAnswer& answer = **found;
    const bool others_wait = std::ranges::any_of(running_, [](const auto& one) { return !one->reads(); });
    const RunningAnswer::Slice slice =
        answer.next_slice(others_wait ? std::min(kSliceTokens, steps_.max_tokens()) : steps_.max_tokens());
    if (answer.exceeds({&slice.segment, 1})) return answer.end(FinishReason::kStopped);
    if (std::exchange(last_read_, &answer) != &answer || !progress_) {
        progress_.emplace(parts_.reading, answer.n_to_read());
    }
    parts_.reading.begin_step(std::ssize(slice.segment.tokens));
    const Forward::Outcome outcome = steps_.run({&slice.segment, 1}, slice.wanted, answer.stop(), slice.n_prompt);
    if (outcome == Forward::Outcome::kFull) return make_room(answer, FinishReason::kStopped);
    if (outcome != Forward::Outcome::kDone) return answer.end(FinishReason::kStopped);
    if (!answer.reads()) progress_.reset();
    attempt(answer, [&] { answer.add_slice(slice, steps_.last_us()); });
    finish_ended();
}

// A token for each answer that has begun, in as few steps as rows allow.
void AnswerBatch::write() {
    turns_.clear();
    for (const auto& answer : running_) {
        if (!answer->ended() && !answer->reads()) turns_.push_back(answer.get());
    }
    while (!turns_.empty()) {
        const bool has_step = turns_.size() == 1 || rows_together_ == 1;  // each answer of its own
        steps_.begin(running_.size() == 1);
        together_.clear();
        segments_.clear();
        std::erase_if(turns_, [&](RunningAnswer* answer) {
            if (answer->is_aside()) return true;
            const std::span<const Segment> next = answer->next();
            if (answer->exceeds(next)) {
                answer->end(FinishReason::kContextFull);
                return true;
            }
            if (!together_.empty() && segments_.size() + next.size() > rows_together_) return false;
            together_.push_back(answer);
            if (has_step) answer->draft();
            segments_.insert(segments_.end(), answer->next().begin(), answer->next().end());
            return true;
        });
        if (!together_.empty()) write_together();
        finish_ended();
    }
}

void AnswerBatch::write_together() {
    RunningAnswer& first = *together_.front();
    const bool alone = running_.size() == 1;
    // Moving experts make the next step another one.
    TokenChooser* const chooser = alone && !parts_.replans.replanner().moving() ? first.chooser() : nullptr;
    const std::stop_token stop = together_.size() == 1 ? first.stop() : std::stop_token();
    const Forward::Logits wanted = segments_.front().n_drafted > 0 ? Forward::Logits::kAll : Forward::Logits::kLast;
    const Forward::Outcome outcome = steps_.run(segments_, wanted, stop, 0, chooser);
    if (outcome == Forward::Outcome::kFull) {
        if (!first.drop_draft()) return make_room(first, FinishReason::kContextFull);
        segments_.assign(first.next().begin(), first.next().end());
        return write_together();
    }
    if (outcome != Forward::Outcome::kDone) return first.end(FinishReason::kStopped);
    const std::span<const float> logits = parts_.model.forward().logits();  // none where the device has chosen
    const std::size_t of_segment = logits.size() / segments_.size();
    std::size_t at = 0;
    for (RunningAnswer* const answer : together_) {
        const std::size_t n = answer->next().size() * of_segment;
        const bool is_alone = segments_.size() == 1;
        attempt(*answer, [&] { answer->add_step(logits.subspan(at, n), steps_, is_alone); });
        at += n;
    }
}

// ---------------------------------------------------------------- room in the KV cache

// False: there is no other one.
bool AnswerBatch::set_aside_newest() {
    const auto runs = [](const auto& answer) { return !answer->ended(); };
    if (std::ranges::count_if(running_, runs) < 2) return false;
    const auto newest = std::find_if(running_.rbegin(), running_.rend(),
                                     [](const auto& answer) { return !answer->ended() && answer->can_be_set_aside(); });
    if (newest == running_.rend()) return false;
    (*newest)->set_aside();
    aside_.insert(aside_.begin(), std::move(*newest));
    running_.erase(std::next(newest).base());
    n_places_ = 0;
    return true;
}

// `alone`: how an answer ends for which there is no room although no other runs. Its step
// is tried again otherwise.
void AnswerBatch::make_room(RunningAnswer& answer, FinishReason alone) {
    if (std::ranges::any_of(running_, [](const auto& one) { return one->ended(); })) return finish_ended();
    if (!set_aside_newest()) answer.end(alone);
}

// ---------------------------------------------------------------- ends

void AnswerBatch::end_stopped() {
    const auto end = [](const auto& answer) {
        if (!answer->ended() && answer->stop().stop_requested()) answer->end(FinishReason::kStopped);
    };
    std::ranges::for_each(running_, end);
    std::ranges::for_each(aside_, end);
    if (!waiting_ || !waiting_->stop.stop_requested()) return;
    const AnswerCall call = *std::exchange(waiting_, std::nullopt);
    GenerationResult nothing;
    nothing.finish = FinishReason::kStopped;
    call.end(std::move(nothing), nullptr);
}

void AnswerBatch::finish_ended() {
    std::vector<std::unique_ptr<RunningAnswer>> ended;
    for (auto* const answers : {&running_, &aside_}) {
        std::erase_if(*answers, [&](std::unique_ptr<RunningAnswer>& answer) {
            if (!answer->ended()) return false;
            ended.push_back(std::move(answer));
            return true;
        });
    }
    for (const auto& answer : ended) {
        if (answer.get() == last_read_) {
            last_read_ = nullptr;
            progress_.reset();
        }
        ++n_places_;
        answer->finish();
    }
}

void AnswerBatch::fail_all() {
    for (auto* const answers : {&running_, &aside_}) {
        for (const auto& answer : *answers) answer->fail(std::current_exception());
    }
    finish_ended();
}

}  // namespace offstage::engine
