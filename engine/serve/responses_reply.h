#pragma once

#include <cstdint>
#include <string>

#include "engine/serve/reply_writer.h"

namespace offstage::engine {

// In the form of OpenAI's Responses API: items, which are thoughts, a text, and calls of
// tools.
class ResponsesReply final : public ReplyWriter {
  public:
    ResponsesReply(const ApiRequest& request, ReplyLabel label);

    std::string begin() override;
    std::string events(const AnswerPiece& piece) override;
    std::string end(const AnswerTotals& totals) override;
    std::string error(const ApiError& error) const override;
    std::string whole(const AnswerTotals& totals) const override;

  private:
    enum class Item : std::uint8_t { kNone, kThought, kText, kCall };

    // text: of a call its arguments.
    Json item(Item kind, std::size_t index, const std::string& text, const ToolCall* call, const char* status) const;
    std::string item_id(Item kind, std::size_t index) const;
    Json response(const char* status, Json output, Json usage) const;
    Json ended(Json output, const AnswerTotals& totals) const;
    bool is_cut() const { return choices_.front().finish_reason == "length"; }

    // ---- a stream
    std::string event(const std::string& type, const Json& more);
    std::string item_event(const std::string& type, Json more);  // of the open item
    std::string part_event(const std::string& type, Json more);  // of its only part
    std::string open_item(Item kind, const ToolCall* call = nullptr);
    std::string close_item(bool is_last);
    std::string delta(Item kind, const std::string& text);  // in a new item where another one is open
    std::string call_events(const ToolCallDelta& delta);

    Json repeated_;
    std::int64_t n_events_ = 0;
    Json done_ = Json::array();  // items
    Item open_ = Item::kNone;
    std::string text_;    // of the open item
    ToolCall call_ = {};  // the open one, without its arguments
};

}  // namespace offstage::engine
