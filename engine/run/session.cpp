#include "engine/run/session.h"

#include <utility>

#include "engine/error.h"
#include "engine/run/run_messages.h"
#include "engine/run/text_of_model.h"

namespace offstage::engine {
namespace {

[[noreturn]] void no_budgets() {
    throw Error(ErrorKind::kUnsupported, messages::budgets_do_not_move);
}

}  // namespace

std::string Session::text_of(std::span<const TokenId>) const {
    throw Error(ErrorKind::kUnsupported, messages::session_without_tokenizer);
}
void Session::generate_together(const NextAnswerFn& next, int /*most*/) {
    while (const std::optional<AnswerCall> call = next()) {
        GenerationResult result;
        std::exception_ptr problem;
        try {
            result = generate(*call->request, *call->on_delta, call->stop);
        } catch (...) {
            problem = std::current_exception();
        }
        call->end(std::move(result), problem);
    }
}
void Session::join(const JoinMachinesFn& join, const std::stop_token&) {
    if (join) throw Error(ErrorKind::kUnsupported, messages::session_without_machines);
}
std::vector<Message> Session::take_machine_notes() {
    return {};
}
void Session::set_theta(const ThetaChoice& choice) {
    if (choice.leaves_out()) throw Error(ErrorKind::kUnsupported, messages::session_without_theta);
}
ReplanPreview Session::preview(const ReplanRequest&) {
    no_budgets();
}
// NOLINTNEXTLINE(performance-unnecessary-value-param): overriders keep `done`
void Session::request_preview(const ReplanRequest& request, PreviewFn done) {
    try {
        done(preview(request), {});
    } catch (const Error& error) {
        done(std::nullopt, error.message());
    }
}
LayerEvents Session::layer_events(std::uint64_t i) const {
    return {i, {}, {}};
}
std::vector<float> Session::planned_popularity() const {
    return {};
}
std::uint64_t Session::replan(const ReplanRequest&) {
    no_budgets();
}
void Session::cancel_replan() {}
std::uint64_t Session::change_experts(const ExpertChange&) {
    no_budgets();
}
std::string token_names(const ModelSummary& model) {
    std::string names;
    if (model.text == nullptr || model.text->tokenizer == nullptr) return names;
    for (std::int64_t token = 0; token < model.vocab_size; ++token) {
        names += model.text->tokenizer->piece_name(static_cast<TokenId>(token)) + '\n';
    }
    return names;
}

std::vector<ReplanReport> Session::replans() const {
    return {};
}
void Session::advance(const std::stop_token&) {}
Message Session::take_note() {
    return {};
}

}  // namespace offstage::engine
