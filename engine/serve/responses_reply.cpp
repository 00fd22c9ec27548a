#include "engine/serve/responses_reply.h"

#include <utility>

namespace offstage::engine {
namespace {

using Json = nlohmann::ordered_json;

Json thought_part(const std::string& text) {
    return {{"type", "reasoning_text"}, {"text", text}};
}

Json text_part(const std::string& text) {
    return {{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}, {"logprobs", Json::array()}};
}

Json responses_usage(const AnswerTotals& totals) {
    return {{"input_tokens", totals.prompt_tokens},
            {"input_tokens_details", {{"cached_tokens", totals.reused_tokens}, {"cache_write_tokens", 0}}},
            {"output_tokens", totals.answer_tokens},
            {"output_tokens_details", {{"reasoning_tokens", totals.thought_tokens}}},
            {"total_tokens", totals.prompt_tokens + totals.answer_tokens}};
}

}  // namespace

ResponsesReply::ResponsesReply(const ApiRequest& request, ReplyLabel label)
    : ReplyWriter(request, std::move(label)), repeated_(request.repeated) {}

std::string ResponsesReply::item_id(Item kind, std::size_t index) const {
    const char* const prefix = kind == Item::kThought ? "rs_" : kind == Item::kText ? "msg_" : "fc_";
    return prefix + label_.id + std::to_string(index);
}

Json ResponsesReply::item(Item kind, std::size_t index, const std::string& text, const ToolCall* call,
                          const char* status) const {
    const std::string id = item_id(kind, index);
    const bool is_begun = status == std::string("in_progress");
    if (kind == Item::kThought) {
        return {{"id", id},
                {"type", "reasoning"},
                {"summary", Json::array()},
                {"content", is_begun ? Json::array() : Json::array({thought_part(text)})},
                {"status", status}};
    }
    if (kind == Item::kText) {
        return {{"id", id},
                {"type", "message"},
                {"status", status},
                {"role", "assistant"},
                {"content", is_begun ? Json::array() : Json::array({text_part(text)})}};
    }
    return {{"id", id},           {"type", "function_call"}, {"status", status}, {"call_id", call->id},
            {"name", call->name}, {"arguments", text}};
}

Json ResponsesReply::response(const char* status, Json output, Json usage) const {
    Json json = {{"id", "resp_" + label_.id},
                 {"object", "response"},
                 {"created_at", label_.created},
                 {"status", status},
                 {"background", false},
                 {"error", nullptr},
                 {"incomplete_details", nullptr},
                 {"model", label_.model},
                 {"output", std::move(output)},
                 {"previous_response_id", nullptr},
                 {"store", false},
                 {"usage", std::move(usage)}};
    json.update(repeated_);
    return json;
}

Json ResponsesReply::ended(Json output, const AnswerTotals& totals) const {
    Json json = response(is_cut() ? "incomplete" : "completed", std::move(output), responses_usage(totals));
    if (is_cut()) json["incomplete_details"] = {{"reason", "max_output_tokens"}};
    return json;
}

std::string ResponsesReply::event(const std::string& type, const Json& more) {
    Json data = {{"type", type}, {"sequence_number", n_events_++}};
    data.update(more);
    return "event: " + type + "\ndata: " + json_line(data) + "\n\n";
}

std::string ResponsesReply::item_event(const std::string& type, Json more) {
    more["output_index"] = done_.size();
    return event(type, more);
}

std::string ResponsesReply::part_event(const std::string& type, Json more) {
    more["item_id"] = item_id(open_, done_.size());
    if (open_ != Item::kCall) more["content_index"] = 0;
    return item_event(type, std::move(more));
}

std::string ResponsesReply::begin() {
    const Json begun = {{"response", response("in_progress", Json::array(), nullptr)}};
    const std::string created = event("response.created", begun);  // numbered in order
    return created + event("response.in_progress", begun);
}

std::string ResponsesReply::open_item(Item kind, const ToolCall* call) {
    const std::string events = close_item(false);
    open_ = kind;
    text_.clear();
    if (call != nullptr) call_ = {call->id, call->name, {}};
    const std::string added =
        item_event("response.output_item.added", {{"item", item(kind, done_.size(), {}, &call_, "in_progress")}});
    if (kind == Item::kCall) return events + added;
    return events + added +
           part_event("response.content_part.added",
                      {{"part", kind == Item::kThought ? thought_part({}) : text_part({})}});
}

std::string ResponsesReply::close_item(bool is_last) {
    if (open_ == Item::kNone) return {};
    std::string events;
    if (open_ == Item::kCall) {
        events = part_event("response.function_call_arguments.done", {{"name", call_.name}, {"arguments", text_}});
    } else {
        const bool is_thought = open_ == Item::kThought;
        Json said = {{"text", text_}};
        if (!is_thought) said["logprobs"] = Json::array();
        events = part_event(is_thought ? "response.reasoning_text.done" : "response.output_text.done", said);
        events +=
            part_event("response.content_part.done", {{"part", is_thought ? thought_part(text_) : text_part(text_)}});
    }
    Json whole = item(open_, done_.size(), text_, &call_, is_last && is_cut() ? "incomplete" : "completed");
    events += item_event("response.output_item.done", {{"item", whole}});
    done_.push_back(std::move(whole));
    open_ = Item::kNone;
    return events;
}

std::string ResponsesReply::delta(Item kind, const std::string& text) {
    const std::string events = open_ == kind ? std::string() : open_item(kind);
    text_ += text;
    Json more = {{"delta", text}};
    if (kind == Item::kText) more["logprobs"] = Json::array();
    return events + part_event(kind == Item::kText      ? "response.output_text.delta"
                               : kind == Item::kThought ? "response.reasoning_text.delta"
                                                        : "response.function_call_arguments.delta",
                               std::move(more));
}

std::string ResponsesReply::call_events(const ToolCallDelta& call) {
    std::string events;
    if (!call.name.empty()) events = open_item(Item::kCall, &choices_.front().calls[call.index]);
    return call.arguments.empty() ? events : events + delta(Item::kCall, call.arguments);
}

std::string ResponsesReply::events(const AnswerPiece& piece) {
    if (!piece.finish_reason.empty()) choices_.front().finish_reason = piece.finish_reason;
    std::string events;
    if (!piece.thought.empty()) events += delta(Item::kThought, piece.thought);
    if (!piece.text.empty()) events += delta(Item::kText, piece.text);
    add_calls(piece);
    for (const ToolCallDelta& call : piece.calls) events += call_events(call);
    return events;
}

std::string ResponsesReply::end(const AnswerTotals& totals) {
    // There is at least one item, as in whole().
    std::string events = done_.empty() && open_ == Item::kNone ? open_item(Item::kText) : std::string();
    events += close_item(true);
    return events +
           event(is_cut() ? "response.incomplete" : "response.completed", {{"response", ended(done_, totals)}});
}

std::string ResponsesReply::error(const ApiError& error) const {
    Json failed = response("failed", done_, nullptr);
    failed["error"] = {{"code", error.status() < 500 ? "invalid_prompt" : "server_error"}, {"message", error.what()}};
    const Json data = {{"type", "response.failed"}, {"sequence_number", n_events_}, {"response", std::move(failed)}};
    return "event: response.failed\ndata: " + json_line(data) + "\n\n";
}

std::string ResponsesReply::whole(const AnswerTotals& totals) const {
    const Choice& choice = choices_.front();
    Json output = Json::array();
    const auto add = [&](Item kind, const std::string& text, const ToolCall* call) {
        output.push_back(item(kind, output.size(), text, call, "completed"));
    };
    if (!choice.thought.empty()) add(Item::kThought, choice.thought, nullptr);
    if (!choice.text.empty()) add(Item::kText, choice.text, nullptr);
    for (const ToolCall& call : choice.calls) add(Item::kCall, call.arguments, &call);
    if (output.empty()) add(Item::kText, {}, nullptr);
    if (is_cut()) output.back()["status"] = "incomplete";
    return json_line(ended(std::move(output), totals));
}

}  // namespace offstage::engine
