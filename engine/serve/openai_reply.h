#pragma once

#include <cstdint>
#include <string>

#include "engine/run/model_summary.h"
#include "engine/serve/reply_writer.h"

namespace offstage::engine {

// In the form of OpenAI's API: chat completions, or completions.
class OpenAiReply final : public ReplyWriter {
  public:
    OpenAiReply(const ApiRequest& request, ReplyLabel label);

    std::string events(const AnswerPiece& piece) override;
    std::string end(const AnswerTotals& totals) override;  // usage, if requested, and "[DONE]"
    std::string error(const ApiError& error) const override;
    void add(const AnswerPiece& piece) override;
    std::string whole(const AnswerTotals& totals) const override;

  private:
    Json object(const char* type) const;
    std::string event(Json choices, Json usage) const;
    // For the piece alone; null if none are requested.
    Json log_probabilities(const AnswerPiece& piece, Choice& choice) const;
    bool is_chat() const { return kind_ == ApiRequest::Kind::kChat; }

    ApiRequest::Kind kind_;
    bool wants_log_probabilities_, include_usage_;
};

// The object of GET /v1/models.
std::string model_list(const ModelSummary& model, std::int64_t created);
std::string model_object(const ModelSummary& model, std::int64_t created);
// A token's bytes as completions write them: the text, or "bytes:\xe2\x82" where they are
// no whole characters.
std::string token_text(const TokenProbability& token);

}  // namespace offstage::engine
