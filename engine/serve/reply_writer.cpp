#include "engine/serve/reply_writer.h"

namespace offstage::engine {

std::string json_line(const nlohmann::ordered_json& json) {
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void ReplyWriter::add(const AnswerPiece& piece) {
    Choice& choice = choices_[piece.choice];
    if (piece.text_was_thought) choice = {};
    choice.text += piece.text;
    choice.thought += piece.thought;
    if (piece.thought_was_answer) choice.thought.clear();
    if (!piece.finish_reason.empty()) choice.finish_reason = piece.finish_reason;
    if (!piece.stop_text.empty()) choice.stop_text = piece.stop_text;
}

}  // namespace offstage::engine
