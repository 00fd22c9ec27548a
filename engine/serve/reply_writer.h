#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/serve/answer_work.h"
#include "engine/serve/api_error.h"
#include "engine/serve/api_request.h"

namespace offstage::engine {

// The fields that name an answer.
struct ReplyLabel {
    std::string model;
    std::string id;            // of this answer, random
    std::int64_t created = 0;  // seconds since 1970
};

// One line of JSON. Text that is not UTF-8 is mended.
std::string json_line(const nlohmann::ordered_json& json);

// The answers to one request in the form of an API: in pieces while they come, or as one
// object at the end. One thread.
class ReplyWriter {
  public:
    using Json = nlohmann::ordered_json;

    ReplyWriter(const ApiRequest& request, ReplyLabel label)
        : label_(std::move(label)), choices_(std::max<std::size_t>(1, request.n_answers())) {}
    virtual ~ReplyWriter() = default;
    ReplyWriter(const ReplyWriter&) = delete;
    ReplyWriter& operator=(const ReplyWriter&) = delete;

    // ---- a stream
    virtual const char* stream_type() const { return "text/event-stream"; }
    virtual std::string begin() { return {}; }                   // before anything else
    virtual std::string waiting() { return ": waiting\n\n"; }    // now and then, while nothing comes
    virtual std::string events(const AnswerPiece& piece) = 0;    // one or more for each piece
    virtual std::string end(const AnswerTotals& totals) = 0;     // after the last piece
    virtual std::string error(const ApiError& error) const = 0;  // instead of the end

    // ---- one object
    virtual void add(const AnswerPiece& piece);
    virtual std::string whole(const AnswerTotals& totals) const = 0;

  protected:
    struct Choice {
        std::string text, thought, finish_reason, stop_text;
        std::vector<ToolCall> calls;
        Json log_probabilities;  // null: none yet
        bool begun = false;
        std::int64_t offset = 0;  // characters of text before the next token
    };

    // Adds the pieces of a call to its choice.
    void add_calls(const AnswerPiece& piece);
    // Of nine letters and digits: some models' templates take no other.
    std::string call_id(std::size_t choice, std::size_t call) const;
    // The arguments as an object; an empty one where they are none, as of a call that was
    // cut.
    static Json arguments_of(const ToolCall& call);

    ReplyLabel label_;
    std::vector<Choice> choices_;
};

}  // namespace offstage::engine
