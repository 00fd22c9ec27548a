#include "engine/serve/token_api.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "engine/run/model_text.h"
#include "engine/run/text_of_model.h"
#include "engine/serve/api_error.h"
#include "engine/serve/api_fields.h"
#include "engine/serve/api_request.h"
#include "engine/serve/reply_writer.h"
#include "engine/serve/request_parts.h"
#include "engine/text/encoding_watch.h"
#include "engine/text/utf8.h"

namespace offstage::engine {
namespace {

using Json = nlohmann::ordered_json;

// Of a text to be tokenized: tokenizers take up to a hundred times its bytes meanwhile.
constexpr std::size_t kMostTextBytes = std::size_t{1} << 20;

// Control tokens are written by name.
std::string bytes_of(const ModelText& text, TokenId token) {
    TokenChoice choice;
    choice.chosen.token = token;
    text.describe(choice);
    return choice.chosen.bytes;
}

// A text, or a list of bytes where it is no whole characters.
std::string piece_json(const std::string& bytes) {
    if (find_invalid_utf8(bytes) == std::string::npos) return Json(bytes).dump();
    std::string list = "[";
    for (const char c : bytes) {
        if (list.size() > 1) list += ',';
        list += std::to_string(static_cast<unsigned char>(c));
    }
    return list + "]";
}

}  // namespace

std::string model_props(const ModelSummary& model, std::size_t n_together) {
    return json_line({{"default_generation_settings", {{"n_ctx", model.context}}},
                      {"total_slots", n_together},
                      {"model_alias", model.name},
                      {"modalities", {{"vision", false}, {"audio", false}}},
                      {"build_info", std::string("offstage ") + OFFSTAGE_VERSION}});
}

std::string tokenize(const ModelSummary& model, std::string_view body) {
    const RequestJson request = parse_body(body);
    check_fields(request, RequestObject::kTokenize);
    const RequestFields fields(request);
    const ModelText text(*model.text);
    GenerationRequest prompt;
    prompt.raw = true;
    prompt.raw_prompt = fields.text("content");
    if (prompt.raw_prompt.size() > kMostTextBytes) {
        throw ApiError(400,
                       "\"content\" has " + std::to_string(prompt.raw_prompt.size()) + " bytes; expected at most " +
                           std::to_string(kMostTextBytes) + ": send a longer text in parts.",
                       "content");
    }
    prompt.raw_special = fields.boolean("parse_special", true);
    text.require(TextNeeds::kTokenizer);
    std::vector<TokenId> ids;
    if (fields.boolean("add_special", false)) {
        ids = text.prompt_tokens(prompt);
    } else {
        ids = prompt.raw_special ? model.text->tokenizer->encode_with_special(prompt.raw_prompt)
                                 : model.text->tokenizer->encode(prompt.raw_prompt);
    }
    const bool with_pieces = fields.boolean("with_pieces", false);
    EncodingWatch::Counter watch;
    std::string line = "{\"tokens\":[";
    for (const TokenId id : ids) {
        watch.count();
        if (line.back() != '[') line += ',';
        const std::string number = std::to_string(id);
        line += with_pieces ? "{\"id\":" + number + ",\"piece\":" + piece_json(bytes_of(text, id)) + "}" : number;
    }
    return line + "]}";
}

std::string detokenize(const ModelSummary& model, std::string_view body) {
    const RequestJson request = parse_body(body);
    check_fields(request, RequestObject::kDetokenize);
    const RequestJson* list = RequestFields(request).find("tokens");
    if (list == nullptr || !list->is_array()) {
        refuse_field("tokens", list == nullptr ? RequestJson() : *list, "a list of token ids");
    }
    const ModelText text(*model.text);
    GenerationRequest prompt;
    prompt.prompt_ids = token_ids_of(*list, "tokens");
    std::string bytes;
    if (!prompt.prompt_ids.empty()) {
        EncodingWatch::Counter watch;
        for (const TokenId id : text.prompt_tokens(prompt)) {
            watch.count();
            bytes += bytes_of(text, id);
        }
    }
    return json_line({{"content", to_valid_utf8(bytes)}});
}

std::string count_tokens(const ModelSummary& model, std::string_view body) {
    ApiRequest request = parse_anthropic_count(body);
    check_model(request.model, model.name);
    choose_thinking(request, model);
    return json_line({{"input_tokens", ModelText(*model.text).prompt_in_context(request.prompts.front()).size()}});
}

}  // namespace offstage::engine
