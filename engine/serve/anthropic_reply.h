#pragma once

#include <cstdint>
#include <string>

#include "engine/serve/reply_writer.h"

namespace offstage::engine {

// In the form of Anthropic's API: a message of thoughts and text.
class AnthropicReply final : public ReplyWriter {
  public:
    AnthropicReply(const ApiRequest& request, ReplyLabel label);

    std::string begin() override;
    std::string waiting() override;
    std::string events(const AnswerPiece& piece) override;
    std::string end(const AnswerTotals& totals) override;
    std::string error(const ApiError& error) const override;
    std::string whole(const AnswerTotals& totals) const override;

  private:
    enum class Block : std::uint8_t { kNone, kThought, kText, kCall };

    Json message(Json content, const AnswerTotals& totals) const;
    void put_stop(Json& to) const;
    std::string delta(Block block, const std::string& text);  // in a new block where another one is open
    std::string open_block(Block block);
    std::string call_event(const ToolCallDelta& delta);
    std::string close_block();

    std::int64_t prompt_tokens_;
    // Without "thinking" the answer begins with text, also that of a model that always
    // thinks: its thought is left out.
    bool shows_thoughts_;
    Block open_ = Block::kNone;
    int n_blocks_ = 0;
};

}  // namespace offstage::engine
