#include "engine/serve/token_api.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "engine/run/model_text.h"
#include "engine/run/text_of_model.h"
#include "engine/serve/api_fields.h"
#include "engine/serve/api_request.h"
#include "engine/serve/reply_writer.h"
#include "engine/serve/request_parts.h"
#include "engine/text/utf8.h"

namespace offstage::engine {
namespace {

using Json = nlohmann::ordered_json;

// Control tokens are written by name.
std::string bytes_of(const ModelText& text, TokenId token) {
    TokenChoice choice;
    choice.chosen.token = token;
    text.describe(choice);
    return choice.chosen.bytes;
}

// A text, or a list of bytes where it is no whole characters.
Json piece_json(const std::string& bytes) {
    if (find_invalid_utf8(bytes) == std::string::npos) return bytes;
    Json list = Json::array();
    for (const char c : bytes) list.push_back(static_cast<unsigned char>(c));
    return list;
}

}  // namespace

std::string model_props(const ModelSummary& model) {
    return json_line({{"default_generation_settings", {{"n_ctx", model.context}}},
                      {"total_slots", 1},
                      {"model_alias", model.name},
                      {"modalities", {{"vision", false}, {"audio", false}}},
                      {"build_info", std::string("offstage ") + OFFSTAGE_VERSION}});
}

std::string tokenize(const ModelSummary& model, std::string_view body) {
    const nlohmann::json request = parse_body(body);
    check_fields(request, RequestObject::kTokenize);
    const RequestFields fields(request);
    const ModelText text(*model.text);
    GenerationRequest prompt;
    prompt.raw = true;
    prompt.raw_prompt = fields.text("content");
    prompt.raw_special = fields.boolean("parse_special", true);
    text.require(TextNeeds::kTokenizer);
    std::vector<TokenId> ids;
    if (fields.boolean("add_special", false)) {
        ids = text.prompt_tokens(prompt);
    } else {
        ids = prompt.raw_special ? model.text->tokenizer->encode_with_special(prompt.raw_prompt)
                                 : model.text->tokenizer->encode(prompt.raw_prompt);
    }
    Json tokens = Json::array();
    const bool with_pieces = fields.boolean("with_pieces", false);
    for (const TokenId id : ids) {
        tokens.push_back(with_pieces ? Json{{"id", id}, {"piece", piece_json(bytes_of(text, id))}} : Json(id));
    }
    return json_line({{"tokens", std::move(tokens)}});
}

std::string detokenize(const ModelSummary& model, std::string_view body) {
    const nlohmann::json request = parse_body(body);
    check_fields(request, RequestObject::kDetokenize);
    const nlohmann::json* list = RequestFields(request).find("tokens");
    if (list == nullptr || !list->is_array()) {
        refuse_field("tokens", list == nullptr ? nlohmann::json() : *list, "a list of token ids");
    }
    const ModelText text(*model.text);
    GenerationRequest prompt;
    prompt.prompt_ids = token_ids_of(*list, "tokens");
    std::string bytes;
    if (!prompt.prompt_ids.empty()) {
        for (const TokenId id : text.prompt_tokens(prompt)) bytes += bytes_of(text, id);
    }
    return json_line({{"content", to_valid_utf8(bytes)}});
}

std::string count_tokens(const ModelSummary& model, std::string_view body) {
    ApiRequest request = parse_anthropic_count(body);
    check_model(request.model, model.name);
    choose_thinking(request, model);
    return json_line({{"input_tokens", ModelText(*model.text).prompt_tokens(request.prompts.front()).size()}});
}

}  // namespace offstage::engine
