#include "engine/serve/reply_writer.h"

#include "engine/name_hash.h"

namespace offstage::engine {

std::string json_line(const nlohmann::ordered_json& json) {
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void ReplyWriter::add(const AnswerPiece& piece) {
    Choice& choice = choices_[piece.choice];
    if (piece.text_was_thought) choice = {};
    choice.text += piece.text;
    add_calls(piece);
    choice.thought += piece.thought;
    if (piece.thought_was_answer) choice.thought.clear();
    if (!piece.finish_reason.empty()) choice.finish_reason = piece.finish_reason;
    if (!piece.stop_text.empty()) choice.stop_text = piece.stop_text;
}

void ReplyWriter::add_calls(const AnswerPiece& piece) {
    std::vector<ToolCall>& calls = choices_[piece.choice].calls;
    for (const ToolCallDelta& delta : piece.calls) {
        if (calls.size() <= delta.index) {
            calls.resize(delta.index + 1);
            calls.back().id = call_id(piece.choice, delta.index);
        }
        calls[delta.index].name += delta.name;
        calls[delta.index].arguments += delta.arguments;
    }
}

std::string ReplyWriter::call_id(std::size_t choice, std::size_t call) const {
    return name_hash(label_.id + "/" + std::to_string(choice) + "/" + std::to_string(call)).substr(0, 9);
}

ReplyWriter::Json ReplyWriter::arguments_of(const ToolCall& call) {
    Json arguments = Json::parse(call.arguments, nullptr, false);
    return arguments.is_object() ? arguments : Json::object();
}

}  // namespace offstage::engine
