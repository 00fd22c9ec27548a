#include "engine/serve/ollama_reply.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <utility>

#include "engine/name_hash.h"
#include "engine/run/text_of_model.h"
#include "engine/serve/api_fields.h"
#include "engine/serve/request_fields.h"

namespace offstage::engine {
namespace {

using Json = nlohmann::ordered_json;

double clock_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::int64_t nanoseconds(double seconds) {
    return static_cast<std::int64_t>(seconds * 1e9);
}

// "2026-11-30T03:00:00Z"
std::string utc_text(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm parts{};
    gmtime_r(&time, &parts);
    std::array<char, 32> text{};
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

// The version of Ollama whose API this is: its clients demand a least one.
constexpr const char* kOllamaVersion = "0.12.0";

// 64 hexadecimal digits that stay the same for the same files, for clients that tell
// models apart by them.
std::string digest_of(const ModelSummary& model) {
    std::string digest;
    for (const char* part : {"0", "1", "2", "3"}) {
        digest += name_hash(part + model.source + "\n" + std::to_string(model.weight_bytes));
    }
    return digest;
}

Json details_of(const ModelSummary& model) {
    std::array<char, 32> size{};
    std::snprintf(size.data(), size.size(), "%.3gB", static_cast<double>(model.total_weights) / 1e9);
    return {{"parent_model", ""},
            {"format", ""},
            {"family", model.architecture},
            {"families", Json::array({model.architecture})},
            {"parameter_size", size.data()},
            {"quantization_level", model.weight_type}};
}

}  // namespace

OllamaReply::OllamaReply(const ApiRequest& request, ReplyLabel label)
    : ReplyWriter(request, std::move(label)), is_chat_(request.kind == ApiRequest::Kind::kChat), began_s_(clock_s()) {}

Json OllamaReply::object(const std::string& text, const std::string& thought) const {
    Json json = {{"model", label_.model}, {"created_at", utc_text(std::time(nullptr))}};
    Json content = {{is_chat_ ? "content" : "response", text}};
    if (!thought.empty()) content["thinking"] = thought;
    if (is_chat_) {
        json["message"] = {{"role", "assistant"}};
        json["message"].update(content);
    } else {
        json.update(content);
    }
    json["done"] = false;
    return json;
}

std::string OllamaReply::line(const std::string& text, const std::string& thought) const {
    return json_line(object(text, thought)) + "\n";
}

void OllamaReply::put_end(Json& object, const AnswerTotals& totals) const {
    object["done"] = true;
    const std::string& reason = choices_.front().finish_reason;
    object["done_reason"] = reason == "tool_calls" ? "stop" : reason;
    object["total_duration"] = nanoseconds(clock_s() - began_s_);
    object["load_duration"] = 0;  // it is loaded before
    object["prompt_eval_count"] = totals.prompt_tokens;
    object["prompt_eval_duration"] = nanoseconds(totals.prompt_s);
    object["eval_count"] = totals.answer_tokens;
    object["eval_duration"] = nanoseconds(totals.answer_s);
}

Json OllamaReply::all_calls() const {
    Json calls = Json::array();
    for (const ToolCall& call : choices_.front().calls) {
        calls.push_back({{"id", call.id}, {"function", {{"name", call.name}, {"arguments", arguments_of(call)}}}});
    }
    return calls;
}

std::string OllamaReply::events(const AnswerPiece& piece) {
    if (!piece.finish_reason.empty()) choices_.front().finish_reason = piece.finish_reason;
    add_calls(piece);
    return piece.text.empty() && piece.thought.empty() ? std::string() : line(piece.text, piece.thought);
}

std::string OllamaReply::end(const AnswerTotals& totals) {
    std::string lines;
    if (!choices_.front().calls.empty()) {
        Json calls = object({}, {});
        calls["message"]["tool_calls"] = all_calls();
        lines = json_line(calls) + "\n";
    }
    Json last = object({}, {});
    put_end(last, totals);
    return lines + json_line(last) + "\n";
}

std::string OllamaReply::error(const ApiError& error) const {
    return error.body(ApiStyle::kOllama) + "\n";
}

std::string OllamaReply::whole(const AnswerTotals& totals) const {
    Json all = object(choices_.front().text, choices_.front().thought);
    if (!choices_.front().calls.empty()) all["message"]["tool_calls"] = all_calls();
    put_end(all, totals);
    return json_line(all);
}

std::string ollama_version() {
    return json_line({{"version", kOllamaVersion}});
}

std::string ollama_models(const ModelSummary& model, std::int64_t loaded) {
    const Json one = {{"name", model.name},         {"model", model.name},        {"modified_at", utc_text(loaded)},
                      {"size", model.weight_bytes}, {"digest", digest_of(model)}, {"details", details_of(model)}};
    return json_line({{"models", Json::array({one})}});
}

std::string ollama_running(const ModelSummary& model) {
    constexpr const char* kNever = "9999-12-31T23:59:59Z";  // programs read a time
    const Json one = {{"name", model.name},
                      {"model", model.name},
                      {"size", model.weight_bytes},
                      {"digest", digest_of(model)},
                      {"details", details_of(model)},
                      {"expires_at", kNever},
                      {"size_vram", model.vram_budget_bytes},
                      {"context_length", model.context}};
    return json_line({{"models", Json::array({one})}});
}

std::string ollama_show(const ModelSummary& model, std::int64_t loaded, std::string_view body) {
    const RequestJson request = parse_body(body);
    check_fields(request, RequestObject::kOllamaShow);
    const RequestFields fields(request);
    check_model(fields.text(fields.one_of({"model", "name"})), model.name);
    const std::string family = model.architecture;
    Json capabilities = Json::array({"completion"});
    if (model.thinks) capabilities.push_back("thinking");
    const TextOfModel* const text = model.text.get();
    if (text != nullptr && text->chat_template != nullptr && text->tool_calls().any()) capabilities.push_back("tools");
    const Json info = {{"general.architecture", family},
                       {"general.parameter_count", model.total_weights},
                       {family + ".context_length", model.max_context},
                       {family + ".embedding_length", model.hidden_dim},
                       {family + ".expert_count", model.n_experts},
                       {family + ".expert_used_count", model.n_active},
                       {family + ".attention.head_count", model.n_heads},
                       {family + ".attention.head_count_kv", model.n_kv_heads}};
    return json_line({{"parameters", "num_ctx " + std::to_string(model.context)},
                      {"details", details_of(model)},
                      {"model_info", info},
                      {"capabilities", capabilities},
                      {"digest", digest_of(model)},
                      {"modified_at", utc_text(loaded)}});
}

}  // namespace offstage::engine
