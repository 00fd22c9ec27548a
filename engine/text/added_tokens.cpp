#include "engine/text/added_tokens.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "engine/base_messages.h"
#include "engine/files/text_file.h"
#include "engine/text/json_part.h"
#include "engine/text/text_messages.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxTokenBytes = 1024;

// "bos_token" and similar fields: a string, an object with the string as "content", or
// null for none.
std::optional<std::string> token_field(const json& object, const char* field, const std::string& file) {
    const auto it = object.find(field);
    if (it == object.end()) return std::nullopt;
    if (it->is_null()) return std::string();
    if (it->is_string()) return it->get<std::string>();
    if (it->is_object()) {
        const auto content = it->find("content");
        if (content != it->end() && content->is_string()) return content->get<std::string>();
    }
    bad_field(file, field, messages::a_string_or_content);
}

// A flag of the whole file: `value` stays where it is missing or null.
void read_flag(const json& object, const char* name, const std::string& file, auto& value) {
    const auto it = object.find(name);
    if (it == object.end() || it->is_null()) return;
    if (!it->is_boolean()) bad_field(file, name, messages::true_or_false);
    value = it->get<bool>();
}

void read_decoder(const json& decoder, AddedTokens& tokens, const std::string& file) {
    if (!decoder.is_object()) bad_field(file, "added_tokens_decoder", messages::an_object);
    for (const auto& [key, value] : decoder.items()) {
        const std::string field = "added_tokens_decoder." + key;
        std::int64_t id = -1;
        const auto [end, failure] = std::from_chars(key.data(), key.data() + key.size(), id);
        if (failure != std::errc() || end != key.data() + key.size())
            bad_field(file, field, messages::named_by_a_token_id);
        AddedToken token = read_added_token({value, file, field});
        tokens.add(std::move(token), id, field, file);
    }
}

// The older form: {"<|im_start|>": 32000}. special_tokens_map.json marks the special
// ones.
void read_added_tokens(const json& object, const std::set<std::string>& special, AddedTokens& tokens,
                       const std::string& file) {
    for (const auto& [content, value] : object.items()) {
        if (!value.is_number_integer()) bad_field(file, content, messages::a_token_id);
        AddedToken token;
        token.content = content;
        token.special = special.contains(content);
        tokens.add(std::move(token), value.get<std::int64_t>(), content, file);
    }
}

// The fields that name a special token, as LlamaTokenizer takes them.
constexpr const char* kNamingFields[] = {"bos_token", "eos_token", "unk_token",  "sep_token",
                                         "pad_token", "cls_token", "mask_token", "additional_special_tokens"};

void read_names(const json& object, const std::string& file, std::set<std::string>& names) {
    const auto read_one = [&](const json& holder, const char* field) {
        const auto name = token_field(holder, field, file);
        if (name && !name->empty()) names.insert(*name);
    };
    for (const char* field : kNamingFields) {
        const auto it = object.find(field);
        if (it == object.end() || !it->is_array()) {
            read_one(object, field);
            continue;
        }
        for (const json& item : *it) read_one(json{{field, item}}, field);
    }
}

void read_tokens(const json& object, const std::string& file, TokenizerConfig& config) {
    const auto read_one = [&](const char* field, std::optional<std::string>& token) {
        if (!token) token = token_field(object, field, file);
    };
    read_one("bos_token", config.bos_token);
    read_one("eos_token", config.eos_token);
    read_one("unk_token", config.unk_token);
    read_names(object, file, config.named);
}

}  // namespace

AddedToken read_added_token(const JsonPart& part) {
    if (!part.value().is_object() || !part.at("content").value().is_string()) {
        part.bad(messages::an_object_with_content);
    }
    AddedToken token;
    token.content = part.text("content");
    token.special = part.flag("special", false);
    token.lstrip = part.flag("lstrip", false);
    token.rstrip = part.flag("rstrip", false);
    token.single_word = part.flag("single_word", false);
    token.normalized = part.flag("normalized", !token.special);
    return token;
}

void AddedTokens::add(AddedToken token, std::int64_t id, const std::string& field, const std::string& file) {
    if (id < 0 || id >= vocab_size_) {
        bad_field(file, field, messages::an_id_not(vocab_size_ - 1, id));
    }
    if (token.content.empty() || token.content.size() > kMaxTokenBytes) {
        bad_field(file, field, messages::a_text_of_bytes(kMaxTokenBytes));
    }
    token.id = static_cast<TokenId>(id);
    if (!ids_.emplace(token.content, token.id).second) bad_field(file, field, messages::given_twice(token.content));
    if (!by_id_.emplace(token.id, std::move(token)).second) bad_field(file, field, messages::id_given_twice);
}

void AddedTokens::change(AddedToken token) {
    AddedToken& known = by_id_.at(ids_.at(token.content));
    token.id = known.id;
    token.special = token.special || known.special;
    known = std::move(token);
}

std::vector<AddedToken> AddedTokens::take() {
    std::vector<AddedToken> tokens;
    tokens.reserve(by_id_.size());
    for (auto& [id, token] : by_id_) tokens.push_back(std::move(token));
    return tokens;
}

TokenizerConfig read_tokenizer_config(const std::filesystem::path& directory, std::int64_t vocab_size) {
    TokenizerConfig config;
    AddedTokens tokens(vocab_size);

    const std::filesystem::path config_path = directory / "tokenizer_config.json";
    if (const auto object = read_json_object(config_path)) {
        const std::string file = shown_path(config_path);
        if (const auto it = object->find("added_tokens_decoder"); it != object->end() && !it->is_null()) {
            read_decoder(*it, tokens, file);
            config.added_have_flags = true;
        }
        read_tokens(*object, file, config);
        read_flag(*object, "add_bos_token", file, config.add_bos_token);
        read_flag(*object, "add_eos_token", file, config.add_eos_token);
        read_flag(*object, "legacy", file, config.legacy);
        read_flag(*object, "add_prefix_space", file, config.add_prefix_space);
    }

    const std::filesystem::path map_path = directory / "special_tokens_map.json";
    if (const auto object = read_json_object(map_path)) read_tokens(*object, shown_path(map_path), config);

    const std::filesystem::path added_path = directory / "added_tokens.json";
    if (tokens.empty()) {
        if (const auto object = read_json_object(added_path)) {
            read_added_tokens(*object, config.named, tokens, shown_path(added_path));
        }
    }
    config.added = tokens.take();
    return config;
}

}  // namespace offstage::engine
