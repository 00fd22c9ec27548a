#include "engine/run/answer_writer.h"

#include <limits>
#include <string>
#include <utility>

namespace offstage::engine {

// The model's logits, or a copy in which no token ends the turn. Valid until the next
// call.
std::span<const float> AnswerWriter::possible(std::span<const float> logits) {
    if (!request_.ignore_end) return logits;
    endless_logits_.assign(logits.begin(), logits.end());
    const auto vocab = static_cast<std::size_t>(steps_.model().spec().vocab_size);
    for (const TokenId end : text_.end_tokens()) {
        if (end < 0 || static_cast<std::size_t>(end) >= vocab) continue;
        for (std::size_t i = static_cast<std::size_t>(end); i < endless_logits_.size(); i += vocab)
            endless_logits_[i] = -std::numeric_limits<float>::infinity();
    }
    return endless_logits_;
}

// A token may end the thought and begin the answer: then it is the answer's.
void AnswerWriter::show(ThoughtSplitter::Piece piece, bool in_thought, TokenId token, std::int64_t n_tokens,
                        double tokens_per_s, std::optional<TokenChoice> choice,
                        std::vector<ToolCallDelta> calls) const {
    if (!on_delta_) return;
    const auto delta = [&](std::string text, TokenId of, std::optional<TokenChoice> its, bool is_thinking,
                           bool text_was_thought = false) {
        on_delta_({std::move(text), of, n_tokens, tokens_per_s, steps_.model().dispatcher().recorder().last_step(),
                   std::move(its), is_thinking, text_was_thought,
                   is_thinking ? std::vector<ToolCallDelta>() : std::move(calls)});
    };
    if (in_thought) return delta(std::move(piece.thought), token, std::move(choice), true);
    if (!piece.thought.empty()) delta(std::move(piece.thought), -1, std::nullopt, true, piece.text_was_thought);
    if (token >= 0 || !piece.answer.empty()) delta(std::move(piece.answer), token, std::move(choice), false);
}

void AnswerWriter::write(AnswerStrategy& strategy, const std::stop_token& stop, GenerationResult& result) {
    LoadedModel& model = steps_.model();
    double first_token_us = 0;
    std::int64_t n_chosen = 0;  // in one sequence
    while (true) {
        std::span<const float> logits = model.forward().logits();
        // A scored prompt has a row for each token.
        if (n_chosen == 0) logits = logits.last(static_cast<std::size_t>(model.spec().vocab_size));
        const std::optional<TokenId> chosen = model.forward().chosen();
        AnswerStrategy::Progress progress = strategy.advance({logits, chosen ? logits : possible(logits), chosen});
        if (first_token_us == 0) {
            result.ttft_s = seconds_since(started_us_);
            first_token_us = model.device().now_us();
        }
        if (progress.chose) {
            steps_.replans().count_token();
            if (n_chosen++ > 0)
                result.decode_tokens_per_s = static_cast<double>(n_chosen - 1) / seconds_since(first_token_us);
        }
        if (progress.token >= 0) {
            show({std::move(progress.thought), std::move(progress.text), progress.text_was_thought},
                 progress.in_thought, progress.token, progress.n_tokens, result.decode_tokens_per_s,
                 std::move(progress.choice), std::move(progress.calls));
        }
        const std::span<const Segment> next = strategy.next();
        if (next.empty()) break;
        Forward::Outcome outcome = Forward::Outcome::kStopped;
        if (!stop.stop_requested()) {
            steps_.begin(true);
            // Moving experts make the next step another one.
            TokenChooser* const chooser = steps_.replans().replanner().moving() ? nullptr : strategy.chooser();
            outcome = steps_.run(next, Forward::Logits::kLast, stop, 0, chooser);
        }
        if (outcome == Forward::Outcome::kDone) continue;
        strategy.end(outcome == Forward::Outcome::kFull ? FinishReason::kContextFull : FinishReason::kStopped);
        break;
    }
    ThoughtSplitter::Piece rest = strategy.finish(result);
    show(std::move(rest), false, -1, static_cast<std::int64_t>(result.tokens.size()), result.decode_tokens_per_s,
         std::nullopt);
}

}  // namespace offstage::engine
