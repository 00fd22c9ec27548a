#include "engine/eval/text_sequences.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/as_size.h"
#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/eval/loaded_step_model.h"
#include "engine/json.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kLongestConversations = std::size_t{16} << 20;

const Tokenizer& tokenizer_of(const LoadedModel& model) {
    if (model.tokenizer() == nullptr) {
        throw Error(ErrorKind::kUnsupported, messages::model_cannot_read_text(model.summary().name));
    }
    return *model.tokenizer();
}

// The role for a name in a file: those of chat templates, and those of ShareGPT's format,
// in which others publish calls of tools and their results as well.
std::optional<Role> role_of(std::string_view name) {
    static constexpr std::pair<std::string_view, Role> kNames[] = {
        {"system", Role::kSystem},       {"user", Role::kUser},        {"human", Role::kUser},
        {"assistant", Role::kAssistant}, {"gpt", Role::kAssistant},    {"chatgpt", Role::kAssistant},
        {"bing", Role::kAssistant},      {"bard", Role::kAssistant},   {"function_call", Role::kAssistant},
        {"tool", Role::kTool},           {"observation", Role::kTool}, {"function_response", Role::kTool},
    };
    for (const auto& [known, role] : kNames) {
        if (name == known) return role;
    }
    return std::nullopt;
}

std::vector<ChatMessage> read_messages(const nlohmann::json& conversation, const std::string& where) {
    const JsonFields fields(conversation, where);
    const bool is_share_gpt = fields.has("conversations") && !fields.has("messages");
    const char* const key = is_share_gpt ? "conversations" : "messages";
    const char* const speaker = is_share_gpt ? "from" : "role";
    const nlohmann::json* list = fields.find(key);
    // Some of ShareGPT's conversations have lost all messages.
    if (list == nullptr || !list->is_array() || (list->empty() && !is_share_gpt)) {
        fields.reject(key, messages::a_list_of_chat_messages);
    }
    std::vector<ChatMessage> messages;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const JsonFields message((*list)[i], where, std::string(key) + "[" + std::to_string(i) + "].");
        const std::optional<Role> role = role_of(message.text(speaker));
        if (!role) message.reject(speaker, messages::a_role);
        messages.push_back({*role, message.text(is_share_gpt ? "value" : "content")});
    }
    return messages;
}

// Calls take(conversation, where) for each.
template <typename Take>
void each_conversation(std::string_view text, const std::string& source, const Take& take) {
    if (const std::size_t begin = text.find_first_not_of(" \t\r\n"); begin != text.npos && text[begin] == '[') {
        const nlohmann::json list = parse_json(text, source, {.max_depth = 8});
        for (std::size_t i = 0; i < list.size(); ++i) take(list[i], source + ", [" + std::to_string(i) + "]");
        return;
    }
    for (std::int64_t number = 1; !text.empty(); ++number) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const std::string where = source + ", line " + std::to_string(number);
        take(parse_json(line, where, {.max_depth = 8, .max_values = 10'000}), where);
    }
}

[[noreturn]] void no_token() {
    throw Error(ErrorKind::kInvalidInput, messages::text_without_token_to_measure);
}

}  // namespace

std::vector<std::vector<TokenId>> text_sequences(const LoadedModel& model, std::string_view text) {
    const Tokenizer& tokenizer = tokenizer_of(model);
    const std::vector<TokenId> tokens = tokenizer.encode(text);
    if (tokens.empty()) no_token();
    const std::vector<TokenId> prefix = tokenizer.prefix();
    const auto context = as_size(model.plan().context);
    if (context <= prefix.size()) throw Error(ErrorKind::kInvalidInput, messages::context_too_short_to_measure);
    std::vector<std::vector<TokenId>> sequences;
    for (std::span<const TokenId> left(tokens); !left.empty();) {
        const auto window = left.first(std::min(left.size(), context - prefix.size()));
        sequences.push_back(prefix);
        sequences.back().insert(sequences.back().end(), window.begin(), window.end());
        left = left.subspan(window.size());
    }
    return sequences;
}

std::vector<std::vector<TokenId>> conversation_sequences(const LoadedModel& model, std::string_view text,
                                                         const std::string& source) {
    const Tokenizer& tokenizer = tokenizer_of(model);
    if (model.chat_template() == nullptr) {
        throw Error(ErrorKind::kUnsupported, messages::template_missing_for_conversations(model.summary().name));
    }
    if (text.size() > kLongestConversations) {
        throw Error(ErrorKind::kInvalidInput, messages::conversations_too_large(source));
    }
    const auto piece = [&](TokenId token) { return token < 0 ? std::string() : tokenizer.piece_name(token); };
    const ChatTemplate::Tokens special{piece(tokenizer.bos()), piece(tokenizer.eos())};
    std::vector<std::vector<TokenId>> sequences;
    const ChatTemplate& chat = *model.chat_template();
    each_conversation(text, source, [&](const nlohmann::json& conversation, const std::string& where) {
        const std::vector<ChatMessage> messages = read_messages(conversation, where);
        if (messages.empty()) return;
        sequences.push_back(tokenizer.encode_prompt(chat.render(messages, special, false), &chat));
        sequences.back().resize(std::min(sequences.back().size(), as_size(model.plan().context)));
    });
    if (std::all_of(sequences.begin(), sequences.end(), [](const auto& tokens) { return tokens.empty(); })) no_token();
    return sequences;
}

bool has_conversations(std::string_view source) {
    return source.ends_with(".jsonl") || source.ends_with(".json");
}

std::vector<std::vector<TokenId>> sequences_of(const LoadedModel& model, std::string_view text,
                                               const std::string& source) {
    return has_conversations(source) ? conversation_sequences(model, text, source) : text_sequences(model, text);
}

void run_sequences(LoadedModel& model, std::span<const std::vector<TokenId>> sequences, std::int64_t max_step,
                   StepProbe* probe, const std::function<void(std::int64_t first, std::int64_t n_tokens)>& done,
                   const std::stop_token& stop) {
    Forward& forward = model.forward();
    struct Attached {
        Forward& forward;
        ~Attached() { forward.set_probe(nullptr); }
    } attached{forward};
    forward.set_probe(probe);
    for (const std::vector<TokenId>& tokens : sequences) {
        KvSequence sequence = model.new_sequence();
        std::span<const TokenId> left(tokens);
        while (!left.empty()) {
            const Segment segment{&sequence, left.first(std::min(left.size(), as_size(max_step)))};
            const std::int64_t first = sequence.size();
            require_done(
                forward.step({&segment, 1}, Forward::Logits::kNone, stop, static_cast<std::int64_t>(tokens.size())),
                model.device());
            left = left.subspan(segment.tokens.size());
            done(first, static_cast<std::int64_t>(segment.tokens.size()));
        }
    }
}

}  // namespace offstage::engine
