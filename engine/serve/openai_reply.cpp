#include "engine/serve/openai_reply.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "engine/text/utf8.h"

namespace offstage::engine {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no infinity; OpenAI's API writes this for a token that the model never
// chooses.
double finite(double log_probability) {
    constexpr double kNever = -9999;
    return std::max(log_probability, kNever);
}

// Characters that begin in these bytes.
std::int64_t n_characters(const std::string& bytes) {
    return std::count_if(bytes.begin(), bytes.end(),
                         [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

Json chat_token(const TokenProbability& token) {
    Json bytes;  // control tokens have none
    if (!token.is_control) {
        bytes = Json::array();
        for (const char c : token.bytes) bytes.push_back(static_cast<unsigned char>(c));
    }
    return {{"token", to_valid_utf8(token.bytes)}, {"logprob", finite(token.log_probability)}, {"bytes", bytes}};
}

Json chat_choice(const TokenChoice& choice) {
    Json json = chat_token(choice.chosen);
    json["top_logprobs"] = Json::array();
    for (const TokenProbability& token : choice.alternatives) json["top_logprobs"].push_back(chat_token(token));
    return json;
}

// The most probable tokens and the chosen one; of two with the same text the better one.
Json completion_alternatives(const TokenChoice& choice) {
    Json json = Json::object();
    const auto add = [&](const TokenProbability& token) {
        std::string text = token_text(token);
        if (!json.contains(text)) json[std::move(text)] = finite(token.log_probability);
    };
    for (const TokenProbability& token : choice.alternatives) add(token);
    add(choice.chosen);
    return json;
}

// Appends list by list, if both are objects of lists.
void append_lists(Json& to, const Json& from) {
    if (from.is_null()) return;
    if (to.is_null()) {
        to = from;
        return;
    }
    for (const auto& [name, list] : from.items()) {
        for (const Json& entry : list) to[name].push_back(entry);
    }
}

Json usage_of(const AnswerTotals& totals) {
    return {{"prompt_tokens", totals.prompt_tokens},
            {"completion_tokens", totals.answer_tokens},
            {"total_tokens", totals.prompt_tokens + totals.answer_tokens},
            {"prompt_tokens_details", {{"cached_tokens", totals.reused_tokens}}},
            {"completion_tokens_details", {{"reasoning_tokens", totals.thought_tokens}}}};
}

Json finish_reason_json(const std::string& reason) {
    return reason.empty() ? Json() : Json(reason);
}

Json model_json(const ModelSummary& model, std::int64_t created) {
    return {{"id", model.name},
            {"object", "model"},
            {"created", created},
            {"owned_by", "offstage"},
            {"max_model_len", model.context}};
}

}  // namespace

std::string token_text(const TokenProbability& token) {
    if (find_invalid_utf8(token.bytes) == std::string::npos) return token.bytes;
    std::string text = "bytes:";
    for (const char c : token.bytes) {
        std::array<char, 8> code{};
        std::snprintf(code.data(), code.size(), "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
        text += code.data();
    }
    return text;
}

OpenAiReply::OpenAiReply(const ApiRequest& request, ReplyLabel label)
    : ReplyWriter(request, std::move(label)),
      kind_(request.kind),
      wants_log_probabilities_(request.wants_log_probabilities()),
      include_usage_(request.include_usage) {
    label_.id = (is_chat() ? "chatcmpl-" : "cmpl-") + label_.id;
}

Json OpenAiReply::object(const char* type) const {
    return {{"id", label_.id}, {"object", type}, {"created", label_.created}, {"model", label_.model}};
}

Json OpenAiReply::log_probabilities(const AnswerPiece& piece, Choice& choice) const {
    if (!wants_log_probabilities_) return {};
    if (is_chat()) {
        Json content = Json::array();
        for (const TokenChoice& token : piece.tokens) content.push_back(chat_choice(token));
        return {{"content", std::move(content)}};
    }
    Json tokens = Json::array(), own = Json::array(), best = Json::array(), offsets = Json::array();
    if (piece.dropped_space) --choice.offset;
    for (const TokenChoice& token : piece.tokens) {
        const bool has_probability = !std::isnan(token.chosen.log_probability);
        tokens.push_back(token_text(token.chosen));
        own.push_back(has_probability ? Json(finite(token.chosen.log_probability)) : Json());
        best.push_back(has_probability ? completion_alternatives(token) : Json());
        offsets.push_back(std::max<std::int64_t>(0, choice.offset));
        if (!token.chosen.is_control) choice.offset += n_characters(token.chosen.bytes);
    }
    return {{"tokens", std::move(tokens)},
            {"token_logprobs", std::move(own)},
            {"top_logprobs", std::move(best)},
            {"text_offset", std::move(offsets)}};
}

std::string OpenAiReply::event(Json choices, Json usage) const {
    Json chunk = object(is_chat() ? "chat.completion.chunk" : "text_completion");
    chunk["choices"] = std::move(choices);
    if (include_usage_) chunk["usage"] = std::move(usage);
    return "data: " + json_line(chunk) + "\n\n";
}

std::string OpenAiReply::events(const AnswerPiece& piece) {
    Choice& choice = choices_[piece.choice];
    const auto chunk = [&](Json delta, Json log_probabilities, Json reason) {
        Json one = {{"index", piece.choice}};
        if (is_chat()) {
            one["delta"] = std::move(delta);
        } else {
            one["text"] = std::move(delta);
        }
        one["logprobs"] = std::move(log_probabilities);
        one["finish_reason"] = std::move(reason);
        return event(Json::array({std::move(one)}), Json());
    };
    std::string events;
    if (is_chat() && !choice.begun) events += chunk({{"role", "assistant"}, {"content", ""}}, Json(), Json());
    choice.begun = true;
    if (!piece.thought.empty()) events += chunk({{"reasoning_content", piece.thought}}, Json(), Json());
    if (!piece.text.empty() || !piece.tokens.empty()) {
        Json delta = is_chat() ? Json{{"content", piece.text}} : Json(piece.text);
        events += chunk(std::move(delta), log_probabilities(piece, choice), Json());
    }
    add_calls(piece);
    for (const ToolCallDelta& call : piece.calls) {
        Json one = {{"index", call.index}};
        if (!call.name.empty()) {
            one["id"] = choice.calls[call.index].id;
            one["type"] = "function";
            one["function"] = {{"name", call.name}, {"arguments", call.arguments}};
        } else {
            one["function"] = {{"arguments", call.arguments}};
        }
        events += chunk({{"tool_calls", Json::array({std::move(one)})}}, Json(), Json());
    }
    if (!piece.finish_reason.empty()) {
        events += chunk(is_chat() ? Json::object() : Json(""), Json(), finish_reason_json(piece.finish_reason));
    }
    return events;
}

std::string OpenAiReply::end(const AnswerTotals& totals) {
    return (include_usage_ ? event(Json::array(), usage_of(totals)) : std::string()) + "data: [DONE]\n\n";
}

std::string OpenAiReply::error(const ApiError& error) const {
    return "data: " + error.body(ApiStyle::kOpenAi) + "\n\n";
}

void OpenAiReply::add(const AnswerPiece& piece) {
    ReplyWriter::add(piece);
    Choice& choice = choices_[piece.choice];
    append_lists(choice.log_probabilities, log_probabilities(piece, choice));
}

std::string OpenAiReply::whole(const AnswerTotals& totals) const {
    Json json = object(is_chat() ? "chat.completion" : "text_completion");
    json["choices"] = Json::array();
    for (std::size_t i = 0; i < choices_.size(); ++i) {
        Json one = {{"index", i}};
        if (is_chat()) {
            one["message"] = {{"role", "assistant"}, {"content", choices_[i].text}};
            // The name that other servers of open models use; OpenAI's own shows no
            // thoughts.
            if (!choices_[i].calls.empty()) {
                if (choices_[i].text.empty()) one["message"]["content"] = nullptr;
                Json& calls = one["message"]["tool_calls"] = Json::array();
                for (const ToolCall& call : choices_[i].calls) {
                    calls.push_back({{"id", call.id},
                                     {"type", "function"},
                                     {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
                }
            }
            if (!choices_[i].thought.empty()) one["message"]["reasoning_content"] = choices_[i].thought;
        } else {
            one["text"] = choices_[i].text;
        }
        one["logprobs"] = choices_[i].log_probabilities;
        one["finish_reason"] = finish_reason_json(choices_[i].finish_reason);
        json["choices"].push_back(std::move(one));
    }
    json["usage"] = usage_of(totals);
    return json_line(json);
}

std::string model_object(const ModelSummary& model, std::int64_t created) {
    return json_line(model_json(model, created));
}

std::string model_list(const ModelSummary& model, std::int64_t created) {
    return json_line({{"object", "list"}, {"data", Json::array({model_json(model, created)})}});
}

}  // namespace offstage::engine
