#include "engine/serve/answer_work.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "engine/run/stop_texts.h"

namespace offstage::engine {
namespace {

// The text of one answer while it is generated: held back where it could be a stop text,
// with the tokens that belong to the released text.
class CutAnswer {
  public:
    CutAnswer(std::size_t choice, std::vector<std::string> stops) : choice_(choice), stops_(std::move(stops)) {}

    AnswerPiece push(const TextDelta& delta) {
        if (delta.is_thinking) {  // no stop text ends a thought
            AnswerPiece piece;
            piece.choice = choice_;
            piece.thought = delta.text;
            piece.text_was_thought = delta.text_was_thought;
            if (delta.text_was_thought) {
                stops_.finish();
                waiting_.clear();
                n_text_ = n_shown_ = 0;
            }
            return piece;
        }
        if (delta.choice.has_value()) waiting_.push_back({n_text_, *delta.choice});
        n_text_ += delta.text.size();
        std::string text = stops_.push(delta.text);
        if (!delta.calls.empty()) text += stops_.finish();  // no stop text goes on across a call
        AnswerPiece shown = piece(std::move(text));
        shown.calls = delta.calls;
        return shown;
    }
    AnswerPiece finish() { return piece(stops_.finish()); }
    bool found_stop() const { return stops_.found(); }
    const std::string& stop_text() const { return stops_.found_text(); }

  private:
    struct Waiting {
        std::size_t begin;  // bytes of text before it
        TokenChoice token;
    };

    AnswerPiece piece(std::string shown) {
        AnswerPiece piece;
        piece.choice = choice_;
        piece.text = std::move(shown);
        n_shown_ += piece.text.size();
        const bool all = n_shown_ == n_text_ && !stops_.found();
        while (!waiting_.empty() && (all || waiting_.front().begin < n_shown_)) {
            piece.tokens.push_back(std::move(waiting_.front().token));
            waiting_.pop_front();
        }
        return piece;
    }

    std::size_t choice_;
    StopTexts stops_;
    std::deque<Waiting> waiting_;
    std::size_t n_text_ = 0, n_shown_ = 0;
};

std::vector<std::string> all_stops_of(const ApiRequest& request) {
    std::vector<std::string> all = request.stop;
    all.insert(all.end(), request.model_stop.begin(), request.model_stop.end());
    return all;
}

std::string finish_reason_of(const GenerationResult& result, bool found_stop) {
    const bool cut_short = result.finish == FinishReason::kMaxTokens || result.finish == FinishReason::kContextFull;
    if (cut_short && !found_stop) return "length";
    return result.tool_calls.empty() || found_stop ? "stop" : "tool_calls";
}

class OneAnswer {
  public:
    OneAnswer(const ApiRequest& request, std::size_t choice, Session& session,
              const std::function<void(AnswerPiece)>& emit)
        : request_(request),
          prompt_(request.prompt_of(choice)),
          choice_(choice),
          session_(session),
          emit_(emit),
          cut_(choice, all_stops_of(request)) {}

    void run(const std::stop_token& stop, AnswerTotals& totals) {
        std::stop_source end;
        const std::stop_callback forward(stop, [&] { end.request_stop(); });
        const auto on_delta = [&](const TextDelta& delta) {
            if (cut_.found_stop()) return;
            for (const ToolCallDelta& call : delta.calls) {
                shown_arguments_.resize(std::max(shown_arguments_.size(), call.index + 1));
                shown_arguments_[call.index] += call.arguments.size();
            }
            deliver(cut_.push(delta));
            if (cut_.found_stop()) end.request_stop();
        };
        const GenerationResult result = session_.generate(prompt_, on_delta, end.get_token());
        if (choice_ % request_.n_choices == 0) {  // a prompt counts once for all its choices
            totals.prompt_tokens += result.prompt_tokens;
            totals.reused_tokens += result.reused_tokens;
        }
        totals.answer_tokens += static_cast<std::int64_t>(result.tokens.size());
        totals.drafted_tokens += result.drafts.drafted;
        totals.accepted_tokens += result.drafts.accepted;
        totals.thought_tokens += result.thought_tokens;
        totals.prompt_s += result.ttft_s;
        if (result.decode_tokens_per_s > 0) {
            totals.answer_s +=
                static_cast<double>(std::max<std::size_t>(1, result.tokens.size()) - 1) / result.decode_tokens_per_s;
        }
        totals.stopped = result.finish == FinishReason::kStopped && !cut_.found_stop();
        if (totals.stopped) return;
        echo(result.prompt_choices);
        for (AnswerPiece& piece : kept_) emit_(std::move(piece));
        AnswerPiece last = cut_.finish();
        if (!cut_.found_stop()) last.calls = rest_of(result.tool_calls);
        if (request_.kind == ApiRequest::Kind::kCompletion && result.end_choice.has_value() && !cut_.found_stop()) {
            last.tokens.push_back(*result.end_choice);
        }
        last.thought_was_answer = result.thought.empty();
        last.finish_reason = finish_reason_of(result, cut_.found_stop());
        const std::vector<std::string>& stops = request_.stop;
        if (std::find(stops.begin(), stops.end(), cut_.stop_text()) != stops.end()) last.stop_text = cut_.stop_text();
        emit_(std::move(last));
    }

  private:
    void deliver(AnswerPiece piece) {
        if (piece.text.empty() && piece.thought.empty() && piece.tokens.empty() && piece.calls.empty()) return;
        if (request_.echo && prompt_.score_prompt) {  // the scores of the prompt come first
            kept_.push_back(std::move(piece));
            return;
        }
        echo({});
        emit_(std::move(piece));
    }
    // What the end of the answer has added to its calls, and those that it has added.
    std::vector<ToolCallDelta> rest_of(const std::vector<ToolCall>& calls) const {
        std::vector<ToolCallDelta> rest;
        for (std::size_t i = 0; i < calls.size(); ++i) {
            const std::string& arguments = calls[i].arguments;
            if (i >= shown_arguments_.size()) {
                rest.push_back({i, calls[i].name, arguments});
            } else if (arguments.size() > shown_arguments_[i]) {
                rest.push_back({i, {}, arguments.substr(shown_arguments_[i])});
            }
        }
        return rest;
    }
    // The prompt's text, once, if requested.
    void echo(const std::vector<TokenChoice>& tokens) {
        if (!request_.echo || echoed_) return;
        echoed_ = true;
        AnswerPiece piece;
        piece.choice = choice_;
        piece.text = prompt_.prompt_ids.empty() ? prompt_.raw_prompt : session_.text_of(prompt_.prompt_ids);
        piece.tokens = tokens;
        std::string bytes;
        for (const TokenChoice& token : tokens) {
            if (!token.chosen.is_control) bytes += token.chosen.bytes;
        }
        piece.dropped_space = bytes.starts_with(' ') && bytes.substr(1) == piece.text;
        emit_(std::move(piece));
    }

    const ApiRequest& request_;
    const GenerationRequest prompt_;
    std::size_t choice_;
    Session& session_;
    const std::function<void(AnswerPiece)>& emit_;
    CutAnswer cut_;
    std::vector<AnswerPiece> kept_;
    std::vector<std::size_t> shown_arguments_;  // bytes, of each call
    bool echoed_ = false;
};

}  // namespace

AnswerTotals answer_request(const ApiRequest& request, Session& session, const std::stop_token& stop,
                            const std::function<void(AnswerPiece)>& emit) {
    AnswerTotals totals;
    for (std::size_t i = 0; i < request.n_answers() && !totals.stopped; ++i) {
        OneAnswer(request, i, session, emit).run(stop, totals);
    }
    return totals;
}

}  // namespace offstage::engine
