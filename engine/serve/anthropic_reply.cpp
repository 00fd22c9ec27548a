#include "engine/serve/anthropic_reply.h"

#include <utility>

namespace offstage::engine {
namespace {

using Json = nlohmann::ordered_json;

std::string anthropic_event(const Json& data) {
    return "event: " + data["type"].get<std::string>() + "\ndata: " + json_line(data) + "\n\n";
}

// Tokens that were in the KV cache are counted apart.
Json anthropic_usage(const AnswerTotals& totals) {
    return {{"input_tokens", totals.prompt_tokens - totals.reused_tokens},
            {"cache_creation_input_tokens", 0},
            {"cache_read_input_tokens", totals.reused_tokens},
            {"output_tokens", totals.answer_tokens}};
}

// Thoughts are not signed: the server takes them back as they are.
constexpr const char* kNoSignature = "";

Json thinking_block(const std::string& thought) {
    return {{"type", "thinking"}, {"thinking", thought}, {"signature", kNoSignature}};
}

Json text_block(const std::string& text) {
    return {{"type", "text"}, {"text", text}};
}

Json call_block(const ToolCall& call, Json input) {
    return {{"type", "tool_use"}, {"id", call.id}, {"name", call.name}, {"input", std::move(input)}};
}

}  // namespace

AnthropicReply::AnthropicReply(const ApiRequest& request, ReplyLabel label)
    : ReplyWriter(request, std::move(label)),
      prompt_tokens_(static_cast<std::int64_t>(request.prompts.front().made_prompt.size())),
      shows_thoughts_(request.think.value_or(false)) {
    label_.id = "msg_" + label_.id;
}

void AnthropicReply::put_stop(Json& to) const {
    const Choice& choice = choices_.front();
    const bool at_text = !choice.stop_text.empty();
    const char* const reason = choice.finish_reason == "length"       ? "max_tokens"
                               : choice.finish_reason == "tool_calls" ? "tool_use"
                                                                      : "end_turn";
    to["stop_reason"] = choice.finish_reason.empty() ? Json() : Json(at_text ? "stop_sequence" : reason);
    to["stop_sequence"] = at_text ? Json(choice.stop_text) : Json();
}

Json AnthropicReply::message(Json content, const AnswerTotals& totals) const {
    Json json = {{"id", label_.id},
                 {"type", "message"},
                 {"role", "assistant"},
                 {"model", label_.model},
                 {"content", std::move(content)}};
    put_stop(json);
    json["usage"] = anthropic_usage(totals);
    return json;
}

std::string AnthropicReply::begin() {
    AnswerTotals totals;
    totals.prompt_tokens = prompt_tokens_;  // how many are reused is known at the end
    return anthropic_event({{"type", "message_start"}, {"message", message(Json::array(), totals)}}) + waiting();
}

std::string AnthropicReply::waiting() {
    return anthropic_event({{"type", "ping"}});
}

std::string AnthropicReply::close_block() {
    if (open_ == Block::kNone) return {};
    std::string events;
    if (open_ == Block::kThought) {  // clients take the signature from here
        events = anthropic_event({{"type", "content_block_delta"},
                                  {"index", n_blocks_},
                                  {"delta", {{"type", "signature_delta"}, {"signature", kNoSignature}}}});
    }
    open_ = Block::kNone;
    return events + anthropic_event({{"type", "content_block_stop"}, {"index", n_blocks_++}});
}

std::string AnthropicReply::open_block(Block block) {
    if (open_ == block) return {};
    const std::string events = close_block();
    open_ = block;
    return events +
           anthropic_event({{"type", "content_block_start"},
                            {"index", n_blocks_},
                            {"content_block", block == Block::kThought ? thinking_block({}) : text_block({})}});
}

std::string AnthropicReply::delta(Block block, const std::string& text) {
    const bool is_thought = block == Block::kThought;
    const std::string events = open_block(block);
    Json part = {{"type", is_thought ? "thinking_delta" : "text_delta"}, {is_thought ? "thinking" : "text", text}};
    return events +
           anthropic_event({{"type", "content_block_delta"}, {"index", n_blocks_}, {"delta", std::move(part)}});
}

// Each call is a block of its own.
std::string AnthropicReply::call_event(const ToolCallDelta& delta) {
    std::string events;
    if (!delta.name.empty()) {
        events = close_block();
        open_ = Block::kCall;
        events += anthropic_event({{"type", "content_block_start"},
                                   {"index", n_blocks_},
                                   {"content_block", call_block(choices_.front().calls[delta.index], Json::object())}});
    }
    if (delta.arguments.empty()) return events;
    return events + anthropic_event({{"type", "content_block_delta"},
                                     {"index", n_blocks_},
                                     {"delta", {{"type", "input_json_delta"}, {"partial_json", delta.arguments}}}});
}

std::string AnthropicReply::events(const AnswerPiece& piece) {
    Choice& choice = choices_.front();
    if (!piece.finish_reason.empty()) choice.finish_reason = piece.finish_reason;
    choice.stop_text = piece.stop_text;
    std::string events;
    if (!piece.thought.empty()) events += shows_thoughts_ ? delta(Block::kThought, piece.thought) : waiting();
    if (!piece.text.empty()) events += delta(Block::kText, piece.text);
    add_calls(piece);
    for (const ToolCallDelta& call : piece.calls) events += call_event(call);
    return events;
}

std::string AnthropicReply::end(const AnswerTotals& totals) {
    Json stop = Json::object();
    put_stop(stop);
    // There is at least one block, as in whole().
    const std::string none = n_blocks_ == 0 && open_ == Block::kNone ? open_block(Block::kText) : std::string();
    return none + close_block() +
           anthropic_event(
               {{"type", "message_delta"}, {"delta", std::move(stop)}, {"usage", anthropic_usage(totals)}}) +
           anthropic_event({{"type", "message_stop"}});
}

std::string AnthropicReply::error(const ApiError& error) const {
    return "event: error\ndata: " + error.body(ApiStyle::kAnthropic) + "\n\n";
}

std::string AnthropicReply::whole(const AnswerTotals& totals) const {
    const Choice& choice = choices_.front();
    Json content = Json::array();
    if (shows_thoughts_ && !choice.thought.empty()) content.push_back(thinking_block(choice.thought));
    if (!choice.text.empty() || (content.empty() && choice.calls.empty())) content.push_back(text_block(choice.text));
    for (const ToolCall& call : choice.calls) content.push_back(call_block(call, arguments_of(call)));
    return json_line(message(std::move(content), totals));
}

}  // namespace offstage::engine
