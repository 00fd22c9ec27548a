#include "engine/run/running_answer.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "engine/error.h"
#include "engine/run/run_messages.h"
#include "engine/run/sampler.h"

namespace offstage::engine {
namespace {

std::uint64_t random_seed() {
    std::random_device device;
    return (std::uint64_t{device()} << 32 | device()) | 1u;  // never 0, which requests a new seed
}

// Throws Error (kInvalidInput).
void check(const GenerationRequest& request) {
    validate(request.sampler);
    validate(request.beam);
    if (request.n_answers < 1 || request.n_answers > Forward::kMaxSegments) {
        throw Error(ErrorKind::kInvalidInput, messages::answers_out_of_range(request.n_answers, Forward::kMaxSegments));
    }
    if (request.n_answers > 1 && request.beam.width > 1) {
        throw Error(ErrorKind::kInvalidInput, messages::beams_and_answers);
    }
    if (request.grammar != nullptr && request.beam.width > 1) {
        throw Error(ErrorKind::kInvalidInput, messages::beams_and_grammar);
    }
    if (request.grammar != nullptr && request.ignore_end) {
        throw Error(ErrorKind::kInvalidInput, messages::endless_and_grammar);
    }
    if (request.tools.any() && (request.n_answers > 1 || request.beam.width > 1)) {
        throw Error(ErrorKind::kInvalidInput, messages::tools_and_answers);
    }
    if (request.n_alternatives < -1 || request.n_alternatives > kMostAlternatives) {
        throw Error(ErrorKind::kInvalidInput,
                    messages::alternatives_out_of_range(request.n_alternatives, kMostAlternatives));
    }
}

}  // namespace

std::string_view name_of(FinishReason reason) {
    constexpr std::string_view kNames[] = {"end_of_turn", "max_tokens", "stopped", "context_full"};
    return kNames[static_cast<std::size_t>(reason)];
}

RunningAnswer::RunningAnswer(const AnswerCall& call, const SessionParts& parts)
    : call_(call), parts_(parts), text_(parts.model), started_us_(parts.model.device().now_us()) {
    check(request());
    target_ = text_.prompt_in_context(request());
    n_prompt_ = target_.size();
    if (parts.conversation.n_running() == 0) {
        parts.machines.join_again(parts.model, stop());
        parts.model.dispatcher().reset_totals();
    }
    replans_before_ = parts.replans.mark();
    record_ = AnswerRecord(parts.model, request());
    result_.prompt_tokens = static_cast<std::int64_t>(n_prompt_);
    result_.seed = request().sampler.seed != 0 ? request().sampler.seed : random_seed();
    if (!parts.machines.any()) kept_in_ = request().kept_in;
    prefix_ = parts.conversation.run();
    if (request().score_prompt) {  // every token must be computed to have a probability
        parts.conversation.begin_empty(*prefix_, result_.prompt_tokens);
    } else {
        result_.reused_tokens = parts.conversation.begin(*prefix_, target_, kept_in_, parts.reading, stop());
    }
    n_known_ = prefix_->tokens.size();
    find_state_place();
    if (LayerDrafter* const layer = parts.model.layer_drafter(); layer != nullptr && wants_drafts()) {
        is_followed_ = layer->follow(prefix_->sequence, prefix_->tokens);
    }
    if (stop().stop_requested()) end(FinishReason::kStopped);
}

void RunningAnswer::end(FinishReason reason) {
    if (strategy_ != nullptr) strategy_->end(reason);
    if (strategy_ == nullptr) result_.finish = reason;
    ended_ = true;
}

void RunningAnswer::fail(std::exception_ptr problem) {
    problem_ = std::move(problem);
    ended_ = true;
}

void RunningAnswer::finish() {
    try {
        if (problem_ == nullptr) report();
    } catch (...) {
        problem_ = std::current_exception();
    }
    strategy_.reset();
    if (is_followed_) parts_.model.layer_drafter()->leave(prefix_->sequence);
    prefix_.reset();
    call_.end(std::move(result_), problem_);
}

// ---------------------------------------------------------------- the prompt

// States are kept for a place shortly before the prompt's end: another answer begins
// there, and so does the next turn if the template writes the prompt's end differently.
void RunningAnswer::find_state_place() {
    keeps_state_ = prefix_->sequence.cache().has_states() && !request().score_prompt &&
                   prefix_->tokens.size() + static_cast<std::size_t>(kPromptEndTokens) < n_prompt_;
}

RunningAnswer::Slice RunningAnswer::next_slice(std::size_t most_tokens) {
    // A step keeps the logits of all its tokens.
    constexpr std::size_t kLogitsAtOnce = std::size_t{16} << 20;  // 64 MiB
    const std::size_t at = prefix_->tokens.size();
    const std::span<const TokenId> left = std::span<const TokenId>(target_).subspan(at);
    Slice slice{{&prefix_->sequence, left.first(1)}, Forward::Logits::kLast, 0};
    if (at >= n_prompt_) return slice;
    std::size_t n = std::min(n_prompt_ - at, most_tokens);
    if (at < n_known_) n = std::min(n, n_known_ - at);  // a short prompt's bits depend on its step
    if (keeps_state_) {
        const std::size_t place = n_prompt_ - static_cast<std::size_t>(kPromptEndTokens);
        if (at == place) prefix_->sequence.checkpoint();
        if (at < place) n = std::min(n, place - at);
    }
    slice.n_prompt = static_cast<std::int64_t>(n_prompt_ - n_known_);
    if (request().score_prompt) {
        const auto vocab = static_cast<std::size_t>(parts_.model.spec().vocab_size);
        n = std::min(n, std::max(kLogitsAtOnce / vocab, std::size_t{1}));
        slice.wanted = Forward::Logits::kAll;
    } else if (strategy_ != nullptr || at + n < n_prompt_) {
        slice.wanted = Forward::Logits::kNone;
    }
    slice.segment.tokens = left.first(n);
    return slice;
}

void RunningAnswer::add_slice(const Slice& slice, double us) {
    record_.add_step({&slice.segment, 1}, us);
    if (strategy_ != nullptr) return;
    if (request().score_prompt) score(slice);
    if (!reads()) begin_answer();
}

// A token's row has the probabilities of the next token. The row of the prompt's last
// token belongs to the answer.
void RunningAnswer::score(const Slice& slice) {
    std::vector<TokenChoice>& choices = result_.prompt_choices;
    const auto vocab = static_cast<std::size_t>(parts_.model.spec().vocab_size);
    if (choices.empty()) {  // the first token has none
        TokenChoice first;
        first.chosen = {target_.front(), std::numeric_limits<double>::quiet_NaN()};
        text_.describe(first);
        choices.push_back(std::move(first));
    }
    const std::span<const float> logits = parts_.model.forward().logits();
    const std::size_t at = prefix_->tokens.size() - slice.segment.tokens.size();
    // Tokens that are read again may have theirs.
    for (std::size_t i = choices.size() - 1 - at; i < slice.segment.tokens.size() && choices.size() < n_prompt_; ++i) {
        choices.push_back(text_.choice(logits.subspan(i * vocab, vocab), target_[choices.size()],
                                       std::max(0, request().n_alternatives)));
    }
}

// Neurons that are left out may be others for several rows; machines that share steps
// know none with drafts.
bool RunningAnswer::wants_drafts() const {
    const DraftMode mode = parts_.model.request().drafts;
    const bool wanted = mode == DraftMode::kAlways || (mode == DraftMode::kAuto && !request().ignore_end);
    return wanted && !has_several(request()) && !parts_.machines.any() && !parts_.model.theta().leaves_out();
}

std::vector<AnswerDrafts::Source> RunningAnswer::draft_sources() {
    std::vector<AnswerDrafts::Source> sources;
    if (is_followed_) {
        sources.push_back({Drafter::kLayer, [this](std::span<const TokenId> tokens, std::span<TokenId> draft) {
                               const std::size_t n = parts_.model.layer_drafter()->draft(tokens.back(), draft);
                               const auto& forced = parts_.model.request().writes_draft;
                               return n > 0 && forced ? forced(tokens, draft) : n;
                           }});
    }
    if (ModelDrafter* const model = parts_.model.model_drafter(); model != nullptr) {
        sources.push_back({Drafter::kModel, [this, model](std::span<const TokenId> tokens, std::span<TokenId> draft) {
                               std::size_t n = 0;
                               const HostWork work{.bytes = model->bytes_read(tokens, draft.size())};
                               parts_.model.device().run_on_host(work,
                                                                 [&] { n = model->draft(tokens, draft, stop()); });
                               return n;
                           }});
    }
    return sources;
}

void RunningAnswer::begin_answer() {
    if (request().prompt_only) return end(FinishReason::kMaxTokens);
    KvSequence& sequence = prefix_->sequence;
    if (!sequence.cache().has_states()) sequence.checkpoint();  // another answer to the same prompt begins here
    strategy_ = make_strategy({request(), text_, sequence, prefix_->tokens, result_.seed});
    if (wants_drafts()) {
        const auto& forced = parts_.model.request().writes_draft;
        drafts_.emplace(parts_.drafts, is_followed_ ? AnswerDrafts::WriteDraftFn() : forced, draft_sources(),
                        prefix_->tokens);
    }
    // A scored prompt has a row for each token.
    advance(parts_.model.forward().logits().last(static_cast<std::size_t>(parts_.model.spec().vocab_size)));
}

// ---------------------------------------------------------------- the answer

TokenChooser* RunningAnswer::chooser() {
    if (!drafted_.empty()) return nullptr;
    step_by_step_.chooser = strategy_->chooser();
    return step_by_step_.chooser != nullptr && drafts_ && parts_.drafts.in_use() ? &step_by_step_
                                                                                 : step_by_step_.chooser;
}

void RunningAnswer::draft() {
    // Both may have changed since the answer began.
    const bool exact = !parts_.machines.any() && !parts_.model.theta().leaves_out();
    if (!drafts_ || !drafted_.empty() || !exact) return;
    KvSequence& sequence = prefix_->sequence;
    std::int64_t most = sequence.capacity() - sequence.size() - 1;
    if (request().max_tokens > 0) most = std::min(most, request().max_tokens - n_chosen_ - 1);
    most = std::min<std::int64_t>(most, static_cast<std::int64_t>(DraftPolicy::kMostDrafted));
    if (most <= 0) return;
    const std::span<const TokenId> draft = drafts_->next(static_cast<std::size_t>(most));
    const auto n = static_cast<std::size_t>(sequence.room_for_drafts(std::ssize(draft)));
    if (n == 0) return;
    drafted_ = {strategy_->next().front().tokens.front()};
    drafted_.insert(drafted_.end(), draft.begin(), draft.begin() + static_cast<std::ptrdiff_t>(n));
    drafted_step_ = {&sequence, drafted_, n};
}

bool RunningAnswer::drop_draft() {
    const bool had_some = !drafted_.empty();
    drafted_.clear();
    return had_some;
}

// Each row's token is chosen as if drafts did not exist, with the same random number. So
// a drafted token is accepted with its probability, and where it is not the token is one
// of the others in their proportions: rejection sampling, for drafts that are certain of
// themselves (Leviathan and others, 2023).
void RunningAnswer::add_step(std::span<const float> logits, AnswerSteps& steps, bool alone) {
    const std::vector<Segment> made(next().begin(), next().end());
    const Segment& first = made.front();
    const std::size_t n_drafted = first.n_drafted;
    const std::size_t row = logits.size() / (n_drafted + 1);
    std::size_t n_accepted = 0;
    const Drafter drafter = drafts_ ? drafts_->drafter() : Drafter::kLookup;
    if (alone && steps.last_is_typical() && !(drafts_ && drafts_->probed())) {
        parts_.drafts.add_step(n_drafted, steps.last_us(), drafter);
    }
    advance(logits.first(row));
    while (n_accepted < n_drafted && !ended_ && !stop().stop_requested()) {
        if (strategy_->next().front().tokens.front() != first.tokens[n_accepted + 1]) break;
        ++n_accepted;
        steps.accept_draft(first, n_accepted);
        advance(logits.subspan(n_accepted * row, row));
    }
    record_.add_decode(made, steps.last_us(), n_drafted, n_accepted, drafter);
    drafted_.clear();
}

void RunningAnswer::advance(std::span<const float> logits) {
    const std::optional<TokenId> chosen = parts_.model.forward().chosen();
    AnswerStrategy::Progress progress = strategy_->advance({logits, chosen ? logits : possible(logits), chosen});
    if (first_token_us_ == 0) {
        result_.ttft_s = seconds_since(started_us_);
        first_token_us_ = parts_.model.device().now_us();
    }
    if (progress.chose) {
        parts_.replans.count_token();
        if (n_chosen_++ > 0) {
            result_.decode_tokens_per_s = static_cast<double>(n_chosen_ - 1) / seconds_since(first_token_us_);
        }
    }
    if (progress.token >= 0) {
        show({std::move(progress.thought), std::move(progress.text), progress.text_was_thought}, progress.in_thought,
             progress.token, progress.n_tokens, std::move(progress.choice), std::move(progress.calls));
    }
    ended_ = ended_ || strategy_->next().empty();
    if (drafts_ && !ended_) drafts_->add(strategy_->next().front().tokens.front());
}

// The model's logits, or a copy in which no token ends the turn. Valid until the next
// call.
std::span<const float> RunningAnswer::possible(std::span<const float> logits) {
    if (!request().ignore_end) return logits;
    endless_logits_.assign(logits.begin(), logits.end());
    const auto vocab = static_cast<std::size_t>(parts_.model.spec().vocab_size);
    for (const TokenId end : text_.end_tokens()) {
        if (end < 0 || static_cast<std::size_t>(end) >= vocab) continue;
        for (std::size_t i = static_cast<std::size_t>(end); i < endless_logits_.size(); i += vocab)
            endless_logits_[i] = -std::numeric_limits<float>::infinity();
    }
    return endless_logits_;
}

// A token may end the thought and begin the answer: then it is the answer's.
void RunningAnswer::show(ThoughtSplitter::Piece piece, bool in_thought, TokenId token, std::int64_t n_tokens,
                         std::optional<TokenChoice> choice, std::vector<ToolCallDelta> calls) const {
    const TextDeltaFn& on_delta = *call_.on_delta;
    if (!on_delta) return;
    const auto delta = [&](std::string text, TokenId of, std::optional<TokenChoice> its, bool is_thinking,
                           bool text_was_thought = false) {
        on_delta({std::move(text), of, n_tokens, result_.decode_tokens_per_s,
                  parts_.model.dispatcher().recorder().last_step(), std::move(its), is_thinking, text_was_thought,
                  is_thinking ? std::vector<ToolCallDelta>() : std::move(calls)});
    };
    if (in_thought) return delta(std::move(piece.thought), token, std::move(choice), true);
    if (!piece.thought.empty()) delta(std::move(piece.thought), -1, std::nullopt, true, piece.text_was_thought);
    if (token >= 0 || !piece.answer.empty()) delta(std::move(piece.answer), token, std::move(choice), false);
}

// ---------------------------------------------------------------- the end

void RunningAnswer::report() {
    LoadedModel& model = parts_.model;
    const Replanner& replanner = parts_.replans.replanner();
    if (strategy_ != nullptr) {
        ThoughtSplitter::Piece rest = strategy_->finish(result_);
        show(std::move(rest), false, -1, static_cast<std::int64_t>(result_.tokens.size()), std::nullopt);
        strategy_.reset();
    }
    record_.finish(result_);
    if (!kept_in_.empty()) parts_.conversation.keep(prefix_->sequence, kept_in_, request().kept_bytes);
    model.keep_habits();
    if (parts_.conversation.n_running() == 1) {  // others do not wait for it
        parts_.watch.measure(replanner, model);
        if (!parts_.machines.any()) {
            const auto context = static_cast<std::int64_t>(prefix_->tokens.size());
            Message note = parts_.watch.doubt_costs(replanner, model, context);
            if (!note.empty()) result_.notes.push_back(std::move(note));
        }
    }
    result_.replans = parts_.replans.since(replans_before_);
    // A re-plan under way reports its own.
    if (!replanner.moving()) {
        if (Message note = model.source().take_cache_problem(); !note.empty()) result_.notes.push_back(note);
        if (Message note = model.device().take_note(); !note.empty()) result_.notes.push_back(note);
    }
    if (Message note = parts_.conversation.take_file_problem(); !note.empty()) {
        result_.notes.push_back(std::move(note));
    }
    parts_.publisher.publish(SnapshotPublisher::When::kNow, parts_.conversation.state(parts_.watch.overhead_us()));
}

// ---------------------------------------------------------------- room in the KV cache

bool RunningAnswer::exceeds(std::span<const Segment> segments) const {
    return std::ranges::any_of(segments, [](const Segment& segment) {
        return segment.sequence->size() + std::ssize(segment.tokens) > segment.sequence->capacity();
    });
}

void RunningAnswer::set_aside() {
    drop_draft();
    if (strategy_ != nullptr && !reads()) target_ = prefix_->tokens;
    parts_.conversation.set_aside(*prefix_);
    is_aside_ = true;
}

void RunningAnswer::take_up() {
    is_aside_ = false;
    std::vector<TokenId> wanted = target_;
    if (strategy_ != nullptr) {
        wanted.push_back(next().front().tokens.front());  // computed next, if all others are there
    } else if (request().score_prompt) {
        wanted.resize(result_.prompt_choices.size());  // the others have none yet, and must be computed
    }
    parts_.conversation.take_up(*prefix_, wanted);
    find_state_place();
}

}  // namespace offstage::engine
