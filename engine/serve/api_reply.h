#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/run/model_summary.h"
#include "engine/serve/answer_work.h"
#include "engine/serve/api_request.h"

namespace offstage::engine {

// The answers to one request in the form of OpenAI's API: in chunks while they come, or
// as one object at the end. One thread.
class ApiReply {
  public:
    // id: of this answer, random. created: seconds since 1970.
    ApiReply(const ApiRequest& request, std::string model, const std::string& id, std::int64_t created);

    // ---- a stream of server-sent events: one or more for each piece
    std::string events(const AnswerPiece& piece);
    std::string last_events(const AnswerTotals& totals);  // usage, if requested, and "[DONE]"

    // ---- one object
    void add(const AnswerPiece& piece);
    std::string whole(const AnswerTotals& totals) const;

  private:
    using Json = nlohmann::ordered_json;
    struct Choice {
        std::string text, thought;
        Json log_probabilities;  // null: none yet
        std::string finish_reason;
        bool begun = false;
        std::int64_t offset = 0;  // characters of text before the next token
    };

    Json object(const char* type) const;
    std::string event(Json choices, Json usage) const;
    // For the piece alone; null if none are requested.
    Json log_probabilities(const AnswerPiece& piece, Choice& choice) const;
    bool is_chat() const { return kind_ == ApiRequest::Kind::kChat; }

    ApiRequest::Kind kind_;
    bool wants_log_probabilities_, include_usage_;
    std::string model_, id_;
    std::int64_t created_;
    std::vector<Choice> choices_;
};

// The object of GET /v1/models.
std::string model_list(const ModelSummary& model, std::int64_t created);
std::string model_object(const ModelSummary& model, std::int64_t created);
// A token's bytes as completions write them: the text, or "bytes:\xe2\x82" where they are
// no whole characters.
std::string token_text(const TokenProbability& token);

}  // namespace offstage::engine
