#include "engine/eval/text_sequences.h"

#include <algorithm>

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

std::vector<ChatMessage> read_messages(std::string_view line, const std::string& where) {
    const nlohmann::json document = parse_json(line, where, {.max_depth = 8, .max_values = 10'000});
    const JsonFields fields(document, where);
    const nlohmann::json* list = fields.find("messages");
    if (list == nullptr || !list->is_array() || list->empty()) {
        fields.reject("messages", messages::a_list_of_chat_messages);
    }
    std::vector<ChatMessage> messages;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const JsonFields message((*list)[i], where, "messages[" + std::to_string(i) + "].");
        const std::string role = message.text("role");
        if (role == name_of(Role::kSystem)) {
            messages.push_back({Role::kSystem, message.text("content")});
        } else if (role == name_of(Role::kUser)) {
            messages.push_back({Role::kUser, message.text("content")});
        } else if (role == name_of(Role::kAssistant)) {
            messages.push_back({Role::kAssistant, message.text("content")});
        } else {
            message.reject("role", messages::a_role);
        }
    }
    return messages;
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

std::vector<std::vector<TokenId>> conversation_sequences(const LoadedModel& model, std::string_view lines,
                                                         const std::string& source) {
    const Tokenizer& tokenizer = tokenizer_of(model);
    if (model.chat_template() == nullptr) {
        throw Error(ErrorKind::kUnsupported, messages::template_missing_for_conversations(model.summary().name));
    }
    if (lines.size() > kLongestConversations) {
        throw Error(ErrorKind::kInvalidInput, messages::conversations_too_large(source));
    }
    const auto piece = [&](TokenId token) { return token < 0 ? std::string() : tokenizer.piece_name(token); };
    const ChatTemplate::Tokens special{piece(tokenizer.bos()), piece(tokenizer.eos())};
    std::vector<std::vector<TokenId>> sequences;
    for (std::int64_t number = 1; !lines.empty(); ++number) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        const std::string_view line = lines.substr(0, end);
        lines.remove_prefix(std::min(end + 1, lines.size()));
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const auto messages = read_messages(line, source + ", line " + std::to_string(number));
        const ChatTemplate& chat = *model.chat_template();
        sequences.push_back(tokenizer.encode_prompt(chat.render(messages, special, false), &chat));
        if (sequences.back().size() > as_size(model.plan().context))
            sequences.back().resize(as_size(model.plan().context));
    }
    if (std::all_of(sequences.begin(), sequences.end(), [](const auto& tokens) { return tokens.empty(); })) no_token();
    return sequences;
}

std::vector<std::vector<TokenId>> sequences_of(const LoadedModel& model, std::string_view text,
                                               const std::string& source) {
    return source.ends_with(".jsonl") ? conversation_sequences(model, text, source) : text_sequences(model, text);
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
