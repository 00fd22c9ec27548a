#include "engine/run/local_session.h"

#include <exception>
#include <optional>
#include <utility>

#include "engine/error.h"
#include "engine/run/answer_batch.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {

using When = SnapshotPublisher::When;

std::unique_ptr<Session> Session::create() {
    return std::make_unique<LocalSession>();
}

ModelSummary LocalSession::load(const LoadRequest& request, const LoadProgressFn& progress, std::stop_token stop) {
    unload();
    model_ = std::make_unique<LoadedModel>(request, LoadedModel::Text::kWanted, progress, stop);
    conversation_.open(*model_);
    thetas_.open(*model_);
    drafts_.set_mode(request.drafts);
    model_->forward().set_reading(&reading_);
    const ExpertGrid& grid = model_->spec().experts;
    model_->dispatcher().recorder().reshape(grid.n_layers, grid.n_experts);
    replans_.open(*model_, watch_, [this] { return conversation_.most_tokens(); });
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

GenerationResult LocalSession::generate(const GenerationRequest& request, const TextDeltaFn& on_delta,
                                        std::stop_token stop) {
    GenerationResult result;
    std::exception_ptr problem;
    std::optional<AnswerCall> call =
        AnswerCall{&request, &on_delta, std::move(stop), [&](GenerationResult made, const std::exception_ptr& why_not) {
                       result = std::move(made);
                       problem = why_not;
                   }};
    generate_together([&] { return std::exchange(call, std::nullopt); }, 1);
    if (problem != nullptr) std::rethrow_exception(problem);
    return result;
}

void LocalSession::generate_together(const NextAnswerFn& next, int most) {
    AnswerBatch({require_model(), conversation_, machines_, thetas_, watch_, replans_, publisher_, reading_, drafts_},
                most)
        .run(next);
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
