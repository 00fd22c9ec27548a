#include "engine/run/local_session.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "engine/error.h"
#include "engine/run/run_messages.h"
#include "engine/run/sampler.h"

namespace offstage::engine {

using When = SnapshotPublisher::When;

namespace {

std::uint64_t random_seed() {
    std::random_device device;
    return (std::uint64_t{device()} << 32 | device()) | 1u;  // never 0, which requests a new seed
}

}  // namespace

std::unique_ptr<Session> Session::create() {
    return std::make_unique<LocalSession>();
}

std::string_view name_of(FinishReason reason) {
    switch (reason) {
        case FinishReason::kEndOfTurn:
            return "end_of_turn";
        case FinishReason::kMaxTokens:
            return "max_tokens";
        case FinishReason::kStopped:
            return "stopped";
        case FinishReason::kContextFull:
            return "context_full";
    }
    return "?";
}

ModelSummary LocalSession::load(const LoadRequest& request, const LoadProgressFn& progress, std::stop_token stop) {
    unload();
    model_ = std::make_unique<LoadedModel>(request, LoadedModel::Text::kWanted, progress, stop);
    running_ = {model_->new_sequence(), {}, 0};
    model_->text().context = running_.sequence.capacity();
    used_theta_.reset();
    {
        const std::lock_guard lock(theta_mutex_);
        theta_.reset();
        theta_model_ = model_.get();
    }
    model_->forward().set_reading(&reading_);
    model_->kv().set_give_up([this](KvCache::GiveUp what) {
        return kept_.give_up(what) || (what == KvCache::GiveUp::kEnds && running_.sequence.give_up_checkpoint());
    });
    const ExpertGrid& grid = model_->spec().experts;
    model_->dispatcher().recorder().reshape(grid.n_layers, grid.n_experts);
    replans_.open(*model_, watch_, [this] { return running_.sequence.size(); });
    publisher_.open(*model_);
    recorder_.reshape(grid.n_layers, grid.n_experts, grid.n_active);
    publish(When::kNow);
    return model_->summary();
}

void LocalSession::unload() {
    part();
    {
        const std::lock_guard lock(theta_mutex_);
        theta_model_ = nullptr;
    }
    kept_.clear();
    running_ = CachedPrefix();
    record_ = AnswerRecord();
    replans_.close();
    publisher_.close();
    watch_.reset();
    model_.reset();
    recorder_.reshape(0, 0, 0);
    publish(When::kNow);
}

void LocalSession::join(const JoinMachinesFn& join, std::stop_token stop) {
    LoadedModel& model = require_model();
    part();
    std::unique_ptr<JoinedMachines> joined = join ? join(model, stop) : nullptr;
    const std::lock_guard lock(machines_mutex_);
    machines_ = std::move(joined);
}

// Before an answer, if the machines need it. If that fails they stay apart, and the user
// gets a note with the reason.
void LocalSession::join_again(const std::stop_token& stop) {
    if (machines_ == nullptr) return;
    const JoinMachinesFn again = machines_->join_again(stop);
    if (!again) return;
    try {
        join(again, {});
    } catch (const Error& error) {
        const std::lock_guard lock(machines_mutex_);
        machine_notes_.push_back(error.message());
    }
}

void LocalSession::part() {
    std::unique_ptr<JoinedMachines> gone;  // ends its connections when the lock is free
    const std::lock_guard lock(machines_mutex_);
    if (machines_ == nullptr) return;
    machines_revision_ += machines_->revision() + 1;
    for (Message& note : machines_->take_notes()) machine_notes_.push_back(std::move(note));
    gone = std::move(machines_);
}

std::vector<Message> LocalSession::take_machine_notes() {
    const std::lock_guard lock(machines_mutex_);
    std::vector<Message> notes = std::exchange(machine_notes_, {});
    if (machines_ == nullptr) return notes;
    for (Message& note : machines_->take_notes()) notes.push_back(std::move(note));
    return notes;
}

// Machines come and go between two steps, too.
Snapshot LocalSession::snapshot() const {
    Snapshot snapshot = publisher_.latest();
    const std::lock_guard lock(machines_mutex_);
    snapshot.revision += machines_revision_;
    if (machines_ == nullptr) return snapshot;
    snapshot.revision += machines_->revision();
    machines_->fill(snapshot);
    return snapshot;
}

void LocalSession::set_theta(const ThetaChoice& choice) {
    check_theta(choice.theta);
    if (choice.loss != 0) check_theta_loss(choice.loss);
    const std::lock_guard lock(theta_mutex_);
    if (theta_model_ != nullptr) static_cast<void>(theta_model_->thetas_of(choice));
    theta_ = choice;
}

double LocalSession::seconds_since(double start_us) const {
    return (model_->device().now_us() - start_us) / 1e6;
}

LoadedModel& LocalSession::require_model() const {
    if (model_ == nullptr) throw Error(ErrorKind::kInvalidInput, messages::no_model_loaded);
    return *model_;
}

std::int64_t LocalSession::count_tokens(const std::vector<ChatMessage>& messages) const {
    return static_cast<std::int64_t>(ModelText(require_model()).render(messages).size());
}

std::string LocalSession::text_of(std::span<const TokenId> tokens) const {
    return ModelText(require_model()).decode(tokens, false);
}

void LocalSession::begin_step() {
    // A step is a user's wait for a token, so a re-plan's work before it counts.
    step_began_us_ = model_->device().now_us();
    moved_ = replans_.between_steps();
    follow_context();
    const std::optional<ThetaChoice> theta = [this] {
        const std::lock_guard lock(theta_mutex_);
        return theta_;
    }();
    if (theta != used_theta_) {
        model_->use_theta(theta);
        used_theta_ = theta;
    }
}

std::size_t LocalSession::max_step() const {
    return static_cast<std::size_t>(model_->forward().max_step());
}

Forward::Outcome LocalSession::step(std::span<const Segment> segments, Forward::Logits wanted,
                                    const std::stop_token& stop, std::int64_t n_prompt) {
    Forward& forward = model_->forward();
    if (n_prompt > 0) reading_.begin_step(static_cast<std::int64_t>(segments.front().tokens.size()));
    const Forward::Outcome outcome = forward.step(segments, wanted, stop, n_prompt);
    if (outcome == Forward::Outcome::kFailed) {
        Backend& device = model_->device();
        const Message failure = device.failure();
        device.clear_failure();
        const auto& failed = device.ok() ? messages::device_failed_once : messages::device_failed_for_good;
        throw Error(ErrorKind::kDevice, failed(device_name(device.info()), failure));
    }
    if (outcome == Forward::Outcome::kDone) {
        std::int64_t n_tokens = 0;
        for (const Segment& segment : segments) n_tokens += static_cast<std::int64_t>(segment.tokens.size());
        recorder_.record(forward.routing(), n_tokens);
        const DispatchTotals& totals = model_->dispatcher().recorder().all_totals();
        const double us = model_->device().now_us() - step_began_us_;
        if (n_tokens == 1 && !moved_) {
            watch_.add(us, totals);
        } else {
            watch_.pass(totals);
        }
        if (machines_ != nullptr) machines_->after_step(us, n_tokens);
        record_.add_step(segments, us);
        for (const Segment& segment : segments) {
            if (segment.sequence != &running_.sequence) continue;
            running_.tokens.insert(running_.tokens.end(), segment.tokens.begin(), segment.tokens.end());
        }
        model_->runtime().learn(forward.routing(), n_tokens);
        publish(When::kWhenDue);
    }
    return outcome;
}

bool LocalSession::feed(std::span<const TokenId> tokens, const std::stop_token& stop) {
    const auto n_prompt = static_cast<std::int64_t>(tokens.size());
    // States are kept for a place shortly before the prompt's end: another answer begins
    // there, and so does the next turn if the template writes the prompt's end
    // differently.
    constexpr auto kBehindState = static_cast<std::size_t>(kPromptEndTokens);
    const bool has_states = running_.sequence.cache().has_states() && tokens.size() > kBehindState;
    while (!tokens.empty()) {
        begin_step();
        std::size_t n = std::min(tokens.size(), max_step());
        if (has_states && tokens.size() == kBehindState) running_.sequence.checkpoint();
        if (has_states && tokens.size() > kBehindState) n = std::min(n, tokens.size() - kBehindState);
        const bool last = n == tokens.size();
        const Segment segment{&running_.sequence, tokens.first(n)};
        if (step({&segment, 1}, last ? Forward::Logits::kLast : Forward::Logits::kNone, stop, n_prompt) !=
            Forward::Outcome::kDone) {
            return false;
        }
        tokens = tokens.subspan(n);
    }
    return true;
}

bool LocalSession::feed_scored(const std::vector<TokenId>& prompt, int n_alternatives, const std::stop_token& stop,
                               std::vector<TokenChoice>& choices) {
    // A step keeps the logits of all its tokens.
    constexpr std::size_t kLogitsAtOnce = std::size_t{16} << 20;  // 64 MiB
    const auto vocab = static_cast<std::size_t>(model_->spec().vocab_size);
    const std::size_t most_rows = std::max(kLogitsAtOnce / vocab, std::size_t{1});
    const ModelText text(*model_);
    TokenChoice first;
    first.chosen = {prompt.front(), std::numeric_limits<double>::quiet_NaN()};
    text.describe(first);
    choices.push_back(std::move(first));
    for (std::span<const TokenId> left(prompt); !left.empty();) {
        begin_step();
        const Segment segment{&running_.sequence, left.first(std::min({left.size(), most_rows, max_step()}))};
        left = left.subspan(segment.tokens.size());
        if (step({&segment, 1}, Forward::Logits::kAll, stop, static_cast<std::int64_t>(prompt.size())) !=
            Forward::Outcome::kDone) {
            return false;
        }
        // A token's row has the probabilities of the next token. The row of the prompt's
        // last token belongs to the answer.
        const std::span<const float> logits = model_->forward().logits();
        for (std::size_t i = 0; i < segment.tokens.size() && choices.size() < prompt.size(); ++i) {
            choices.push_back(text.choice(logits.subspan(i * vocab, vocab), prompt[choices.size()], n_alternatives));
        }
    }
    return true;
}

std::span<const float> LocalSession::possible(std::span<const float> logits, const GenerationRequest& request) {
    if (!request.ignore_end) return logits;
    endless_logits_.assign(logits.begin(), logits.end());
    const auto vocab = static_cast<std::size_t>(model_->spec().vocab_size);
    for (const TokenId end : ModelText(*model_).end_tokens()) {
        if (end < 0 || static_cast<std::size_t>(end) >= vocab) continue;
        for (std::size_t i = static_cast<std::size_t>(end); i < endless_logits_.size(); i += vocab)
            endless_logits_[i] = -std::numeric_limits<float>::infinity();
    }
    return endless_logits_;
}

GenerationResult LocalSession::generate(const GenerationRequest& request, const TextDeltaFn& on_delta,
                                        std::stop_token stop) {
    started_us_ = require_model().device().now_us();
    validate(request.sampler);
    validate(request.beam);
    if (request.n_answers < 1 || request.n_answers > Forward::kMaxSegments) {
        throw Error(ErrorKind::kInvalidInput, messages::answers_out_of_range(request.n_answers, Forward::kMaxSegments));
    }
    if (request.n_answers > 1 && request.beam.width > 1) {
        throw Error(ErrorKind::kInvalidInput, messages::beams_and_answers);
    }
    if (request.n_alternatives < -1 || request.n_alternatives > kMostAlternatives) {
        throw Error(ErrorKind::kInvalidInput,
                    messages::alternatives_out_of_range(request.n_alternatives, kMostAlternatives));
    }
    const ModelText text(*model_);
    const std::vector<TokenId> prompt = text.prompt_in_context(request);
    join_again(stop);
    model_->dispatcher().reset_totals();
    const ReplanQueue::Mark replans_before = replans_.mark();
    record_ = AnswerRecord(*model_, request);

    GenerationResult result;
    result.prompt_tokens = static_cast<std::int64_t>(prompt.size());
    result.seed = request.sampler.seed != 0 ? request.sampler.seed : random_seed();
    if (request.score_prompt) {  // every token must be computed to have a probability
        kept_.begin_anew(running_);
        running_.n_prompt = result.prompt_tokens;
    } else {
        result.reused_tokens = kept_.begin(running_, prompt);
    }
    const auto fresh = std::span<const TokenId>(prompt).subspan(static_cast<std::size_t>(result.reused_tokens));
    const auto read_prompt = [&] {
        const PromptReading::Span reading(reading_, static_cast<std::int64_t>(fresh.size()));
        if (!request.score_prompt) return feed(fresh, stop);
        return feed_scored(prompt, std::max(0, request.n_alternatives), stop, result.prompt_choices);
    };
    if (stop.stop_requested() || !read_prompt()) {
        result.finish = FinishReason::kStopped;
    } else if (request.prompt_only) {
        result.finish = FinishReason::kMaxTokens;
    } else {
        if (!running_.sequence.cache().has_states())
            running_.sequence.checkpoint();  // another answer to the same prompt begins here
        const auto strategy = make_strategy({request, text, running_.sequence, running_.tokens, result.seed});
        answer(*strategy, request, on_delta, stop, result);
    }
    record_.finish(result);
    model_->keep_habits();
    watch_.measure(replans_.replanner(), *model_);
    if (machines_ == nullptr) {
        const auto context = static_cast<std::int64_t>(running_.tokens.size());
        if (Message note = watch_.doubt_costs(replans_.replanner(), *model_, context); !note.empty()) {
            result.notes.push_back(std::move(note));
        }
    }
    result.replans = replans_.since(replans_before);
    // A re-plan under way reports its own.
    if (!replans_.replanner().moving()) {
        if (Message note = model_->source().take_cache_problem(); !note.empty()) result.notes.push_back(note);
        if (Message note = model_->device().take_note(); !note.empty()) result.notes.push_back(note);
    }
    publish(When::kNow);
    return result;
}

void LocalSession::answer(AnswerStrategy& strategy, const GenerationRequest& request, const TextDeltaFn& on_delta,
                          const std::stop_token& stop, GenerationResult& result) {
    // A token may end the thought and begin the answer: then it is the answer's.
    const auto show = [&](ThoughtSplitter::Piece piece, bool in_thought, TokenId token, std::int64_t n_tokens,
                          std::optional<TokenChoice> choice) {
        if (!on_delta) return;
        const auto delta = [&](std::string text, TokenId of, std::optional<TokenChoice> its, bool is_thinking) {
            on_delta({std::move(text), of, n_tokens, result.decode_tokens_per_s,
                      model_->dispatcher().recorder().last_step(), std::move(its), is_thinking});
        };
        if (in_thought) return delta(std::move(piece.thought), token, std::move(choice), true);
        if (!piece.thought.empty()) delta(std::move(piece.thought), -1, std::nullopt, true);
        if (token >= 0 || !piece.answer.empty()) delta(std::move(piece.answer), token, std::move(choice), false);
    };
    double first_token_us = 0;
    std::int64_t n_chosen = 0;  // in one sequence
    while (true) {
        std::span<const float> logits = model_->forward().logits();
        // A scored prompt has a row for each token.
        if (n_chosen == 0) logits = logits.last(static_cast<std::size_t>(model_->spec().vocab_size));
        AnswerStrategy::Progress progress = strategy.advance({logits, possible(logits, request)});
        if (first_token_us == 0) {
            result.ttft_s = seconds_since(started_us_);
            first_token_us = model_->device().now_us();
        }
        if (progress.chose) {
            replans_.count_token();
            if (n_chosen++ > 0)
                result.decode_tokens_per_s = static_cast<double>(n_chosen - 1) / seconds_since(first_token_us);
        }
        if (progress.token >= 0) {
            show({std::move(progress.thought), std::move(progress.text)}, progress.in_thought, progress.token,
                 progress.n_tokens, std::move(progress.choice));
        }
        const std::span<const Segment> next = strategy.next();
        if (next.empty()) break;
        Forward::Outcome outcome = Forward::Outcome::kStopped;
        if (!stop.stop_requested()) {
            begin_step();
            outcome = step(next, Forward::Logits::kLast, stop);
        }
        if (outcome == Forward::Outcome::kDone) continue;
        strategy.end(outcome == Forward::Outcome::kFull ? FinishReason::kContextFull : FinishReason::kStopped);
        break;
    }
    show(strategy.finish(result), false, -1, static_cast<std::int64_t>(result.tokens.size()), std::nullopt);
}

// Also where the plan came into force between two answers.
void LocalSession::follow_context() {
    const std::int64_t context = replans_.replanner().in_force().context;
    if (context == running_.sequence.capacity() || context < running_.sequence.size()) return;
    running_.sequence.set_capacity(context);
    model_->text().context = context;
}

ReplanPreview LocalSession::preview(const ReplanRequest& request) {
    static_cast<void>(require_model());
    return replans_.preview(request);
}

void LocalSession::request_preview(const ReplanRequest& request, PreviewFn done) {
    replans_.request_preview(request, std::move(done));
}

void LocalSession::advance(std::stop_token stop) {
    static_cast<void>(require_model());
    const bool any = replans_.advance(stop, [this] {
        follow_context();
        publish(When::kWhenDue);
    });
    follow_context();
    if (any) publish(When::kNow);  // so that the next reader sees the present state
}

void LocalSession::reset_conversation() {
    kept_.clear();
    running_.sequence.truncate(0);
    running_.tokens.clear();
    recorder_.reset();
    publish(When::kNow);
}

void LocalSession::begin_conversation() {
    if (model_ != nullptr) kept_.begin_anew(running_);
    recorder_.reset();
    publish(When::kNow);
}

void LocalSession::publish(When when) {
    publisher_.publish(when, {recorder_, running_.sequence.size(), running_.sequence.capacity(), kept_.n_sequences(),
                              kept_.n_tokens(), watch_.overhead_us()});
}

}  // namespace offstage::engine
