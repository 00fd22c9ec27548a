#pragma once

#include <string>
#include <string_view>

#include "engine/run/model_summary.h"
#include "engine/serve/reply_writer.h"

namespace offstage::engine {

// In the form of Ollama's API: a line of JSON for each piece.
class OllamaReply final : public ReplyWriter {
  public:
    OllamaReply(const ApiRequest& request, ReplyLabel label);

    const char* stream_type() const override { return "application/x-ndjson"; }
    std::string waiting() override { return line({}, {}); }
    std::string events(const AnswerPiece& piece) override;
    std::string end(const AnswerTotals& totals) override;
    std::string error(const ApiError& error) const override;
    std::string whole(const AnswerTotals& totals) const override;

  private:
    Json object(const std::string& text, const std::string& thought) const;
    std::string line(const std::string& text, const std::string& thought) const;
    void put_end(Json& object, const AnswerTotals& totals) const;
    Json all_calls() const;  // which come whole, at the end

    bool is_chat_;
    double began_s_;
};

std::string ollama_version();                                               // GET /api/version
std::string ollama_models(const ModelSummary& model, std::int64_t loaded);  // GET /api/tags
std::string ollama_running(const ModelSummary& model);                      // GET /api/ps
// POST /api/show. Throws ApiError.
std::string ollama_show(const ModelSummary& model, std::int64_t loaded, std::string_view body);

}  // namespace offstage::engine
