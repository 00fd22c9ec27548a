#include "engine/run/local_session.h"

#include <algorithm>
#include <random>
#include <utility>

#include "engine/error.h"
#include "engine/run/answer_strategy.h"
#include "engine/run/answer_writer.h"
#include "engine/run/prompt_feeder.h"
#include "engine/run/run_messages.h"
#include "engine/run/sampler.h"

namespace offstage::engine {

using When = SnapshotPublisher::When;

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

std::unique_ptr<Session> Session::create() {
    return std::make_unique<LocalSession>();
}

std::string_view name_of(FinishReason reason) {
    constexpr std::string_view kNames[] = {"end_of_turn", "max_tokens", "stopped", "context_full"};
    return kNames[static_cast<std::size_t>(reason)];
}

ModelSummary LocalSession::load(const LoadRequest& request, const LoadProgressFn& progress, std::stop_token stop) {
    unload();
    model_ = std::make_unique<LoadedModel>(request, LoadedModel::Text::kWanted, progress, stop);
    conversation_.open(*model_);
    thetas_.open(*model_);
    model_->forward().set_reading(&reading_);
    const ExpertGrid& grid = model_->spec().experts;
    model_->dispatcher().recorder().reshape(grid.n_layers, grid.n_experts);
    replans_.open(*model_, watch_, [this] { return conversation_.sequence().size(); });
    publisher_.open(*model_);
    publish(When::kNow);
    return model_->summary();
}

void LocalSession::unload() {
    machines_.part();
    thetas_.close();
    conversation_.close();
    replans_.close();
    publisher_.close();
    watch_.reset();
    model_.reset();
    publish(When::kNow);
}

void LocalSession::join(const JoinMachinesFn& join, const std::stop_token& stop) {
    machines_.join(join, require_model(), stop);
}

// Machines come and go between two steps, too.
Snapshot LocalSession::snapshot() const {
    Snapshot snapshot = publisher_.latest();
    machines_.fill(snapshot);
    return snapshot;
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

AnswerSteps LocalSession::steps_of(const GenerationRequest& request) {
    return {{*model_, conversation_, machines_, thetas_, watch_, replans_, publisher_, reading_}, request};
}

GenerationResult LocalSession::generate(const GenerationRequest& request, const TextDeltaFn& on_delta,
                                        std::stop_token stop) {
    const double started_us = require_model().device().now_us();
    check(request);
    const ModelText text(*model_);
    const std::vector<TokenId> prompt = text.prompt_in_context(request);
    machines_.join_again(*model_, stop);
    model_->dispatcher().reset_totals();
    const ReplanQueue::Mark replans_before = replans_.mark();
    AnswerSteps steps = steps_of(request);

    GenerationResult result;
    result.prompt_tokens = static_cast<std::int64_t>(prompt.size());
    result.seed = request.sampler.seed != 0 ? request.sampler.seed : random_seed();
    const std::string kept_in = machines_.any() ? std::string() : request.kept_in;
    if (request.score_prompt) {  // every token must be computed to have a probability
        conversation_.begin_empty(result.prompt_tokens);
    } else {
        result.reused_tokens = conversation_.begin(prompt, kept_in, reading_, stop);
    }
    const auto fresh = std::span<const TokenId>(prompt).subspan(static_cast<std::size_t>(result.reused_tokens));
    const auto read_prompt = [&] {
        const PromptReading::Span reading(reading_, static_cast<std::int64_t>(fresh.size()));
        PromptFeeder feeder(steps);
        if (!request.score_prompt) return feeder.feed(fresh, stop);
        return feeder.feed_scored(prompt, std::max(0, request.n_alternatives), stop, result.prompt_choices);
    };
    if (stop.stop_requested() || !read_prompt()) {
        result.finish = FinishReason::kStopped;
    } else if (request.prompt_only) {
        result.finish = FinishReason::kMaxTokens;
    } else {
        KvSequence& sequence = conversation_.sequence();
        if (!sequence.cache().has_states()) sequence.checkpoint();  // another answer to the same prompt begins here
        const auto strategy = make_strategy({request, text, sequence, conversation_.tokens(), result.seed});
        AnswerWriter(steps, text, request, on_delta, started_us).write(*strategy, stop, result);
    }
    steps.finish(result);
    if (!kept_in.empty()) conversation_.keep(kept_in, request.kept_bytes);
    model_->keep_habits();
    watch_.measure(replans_.replanner(), *model_);
    if (!machines_.any()) {
        const auto context = static_cast<std::int64_t>(conversation_.tokens().size());
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
    if (Message note = take_note(); !note.empty()) result.notes.push_back(std::move(note));
    publish(When::kNow);
    return result;
}

// Also where the plan came into force between two answers.
void LocalSession::follow_context() {
    conversation_.follow_context(replans_.replanner().in_force().context);
}

ReplanPreview LocalSession::preview(const ReplanRequest& request) {
    static_cast<void>(require_model());
    return replans_.preview(request);
}

void LocalSession::advance(const std::stop_token& stop) {
    static_cast<void>(require_model());
    const bool any = replans_.advance(stop, [this] {
        follow_context();
        publish(When::kWhenDue);
    });
    follow_context();
    if (any) publish(When::kNow);  // so that whoever learns of the report sees the state after it
    while (!stop.stop_requested() && conversation_.write_piece()) {
    }
}

void LocalSession::reset_conversation() {
    conversation_.reset();
    publish(When::kNow);
}

void LocalSession::begin_conversation() {
    conversation_.begin_anew();
    publish(When::kNow);
}

void LocalSession::publish(When when) {
    publisher_.publish(when, conversation_.state(watch_.overhead_us()));
}

}  // namespace offstage::engine
