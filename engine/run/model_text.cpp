#include "engine/run/model_text.h"

#include <algorithm>

#include "engine/error.h"

namespace offstage::engine {
namespace {

void check_utf8(const ChatMessage& message) {
    for (const std::string* text : {&message.content, &message.thought}) {
        const std::size_t invalid = find_invalid_utf8(*text);
        if (invalid == std::string::npos) continue;
        throw Error(ErrorKind::kInvalidInput, "The " + std::string(name_of(message.role)) +
                                                  " message is not UTF-8 text: byte " + std::to_string(invalid + 1) +
                                                  " starts no character.");
    }
}

}  // namespace

const Tokenizer& ModelText::tokenizer() const {
    if (model_.tokenizer() != nullptr) return *model_.tokenizer();
    throw Error(ErrorKind::kUnsupported,
                "The model " + model_.summary().name + " has no tokenizer, so it cannot read or write text.");
}

std::vector<TokenId> ModelText::render(const std::vector<ChatMessage>& messages, const std::string& thinking) const {
    const Tokenizer& tokenizer = this->tokenizer();
    for (const ChatMessage& message : messages) check_utf8(message);
    if (model_.chat_template() == nullptr) {
        throw Error(ErrorKind::kUnsupported, "The model " + model_.summary().name +
                                                 " has no chat template (tokenizer_config.json, \"chat_template\"); "
                                                 "it can only continue a raw prompt.");
    }
    const auto piece = [&](TokenId token) { return token >= 0 ? tokenizer.piece_name(token) : std::string(); };
    return tokenizer.encode_with_special(model_.chat_template()->render(
        messages, {piece(tokenizer.bos()), piece(tokenizer.eos())}, true, variables_of(thinking)));
}

const std::vector<TemplateVariable>& ModelText::variables_of(const std::string& thinking) const {
    static const std::vector<TemplateVariable> kNone;
    if (thinking.empty()) return kNone;
    std::string names;
    for (const ThinkingChoice& choice : model_.thinking_choices()) {
        if (choice.name == thinking) return choice.variables;
        names += (names.empty() ? "" : ", ") + choice.name;
    }
    throw Error(ErrorKind::kInvalidInput,
                names.empty() ? "The chat template of " + model_.summary().name + " has no choice of thinking, so \"" +
                                    thinking + "\" cannot be chosen; ask without it."
                              : "The model " + model_.summary().name + " has no way of thinking \"" + thinking +
                                    "\"; its chat template offers " + names + ".");
}

void ModelText::check_ids(const std::vector<TokenId>& ids, const char* what) const {
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] >= 0 && ids[i] < vocab_size()) continue;
        throw Error(ErrorKind::kInvalidInput, "Token " + std::to_string(i + 1) + " of the " + what + " is " +
                                                  std::to_string(ids[i]) + "; expected 0 to " +
                                                  std::to_string(vocab_size() - 1) + ", the vocabulary of " +
                                                  model_.summary().name + ".");
    }
}

std::vector<TokenId> ModelText::prompt_tokens(const GenerationRequest& request) const {
    check_ids(request.prompt_ids, "prompt");
    check_ids(request.reply_begin, "reply's beginning");
    std::vector<TokenId> tokens = request.prompt_ids.empty() ? prompt_without_reply(request) : request.prompt_ids;
    tokens.insert(tokens.end(), request.reply_begin.begin(), request.reply_begin.end());
    return tokens;
}

std::vector<TokenId> ModelText::prompt_without_reply(const GenerationRequest& request) const {
    const Tokenizer& tokenizer = this->tokenizer();
    if (!request.raw && request.continue_last) {
        if (request.messages.empty() || request.messages.back().role != Role::kAssistant) {
            throw Error(ErrorKind::kInvalidInput,
                        "There is no answer to go on with: the last message is not the assistant's.");
        }
        const ChatMessage& begun = request.messages.back();
        check_utf8(begun);
        std::vector<TokenId> tokens = render({request.messages.begin(), request.messages.end() - 1}, request.thinking);
        const PromptEnd end = end_of_prompt(model_.thinking(), tokenizer, tokens);
        for (const ReplyPart& part : begun_reply(model_.thinking(), begun, end)) {
            if (part.marker >= 0) {
                tokens.push_back(part.marker);
                continue;
            }
            const std::vector<TokenId> text =
                tokenizer.encode_after(tokens.empty() ? TokenId{-1} : tokens.back(), part.text);
            tokens.insert(tokens.end(), text.begin(), text.end());
        }
        return tokens;
    }
    if (!request.raw) return render(request.messages, request.thinking);
    std::vector<TokenId> tokens = tokenizer.prefix();
    const std::vector<TokenId> text = tokenizer.encode(request.raw_prompt), suffix = tokenizer.suffix();
    tokens.insert(tokens.end(), text.begin(), text.end());
    tokens.insert(tokens.end(), suffix.begin(), suffix.end());
    if (request.raw_tokens > 0 && request.raw_tokens < static_cast<std::int64_t>(tokens.size())) {
        tokens.resize(static_cast<std::size_t>(request.raw_tokens));
    }
    return tokens;
}

std::string ModelText::piece(TokenId token) const {
    return tokenizer().piece_bytes(token);
}

bool ModelText::strips_space(const GenerationRequest& request) const {
    return tokenizer().begins_with_space() && !request.raw && request.prompt_ids.empty() &&
           request.reply_begin.empty() &&
           !(request.continue_last &&
             !(request.messages.back().content.empty() && request.messages.back().thought.empty()));
}

ThoughtSplitter ModelText::splitter(const GenerationRequest& request, std::span<const TokenId> prompt) const {
    static const ThinkingFormat kNone;
    // What is no conversation has no thoughts.
    const ThinkingFormat& format = request.raw || !request.prompt_ids.empty() ? kNone : model_.thinking();
    const auto given = prompt.first(prompt.size() - std::min(prompt.size(), request.reply_begin.size()));
    const bool in_thought =
        !request.continue_last && end_of_prompt(format, tokenizer(), given) == PromptEnd::kInThought;
    ThoughtSplitter splitter(format, in_thought);
    if (request.continue_last && format.any()) splitter.resume(request.messages.back());
    for (const TokenId token : request.reply_begin) splitter.push(token, piece(token));
    splitter.forget_text();
    return splitter;
}

ModelText::Split ModelText::split(std::span<const TokenId> tokens, ThoughtSplitter splitter, bool strip_space) const {
    Split split;
    for (const TokenId token : tokens) {
        const bool before = splitter.in_thought();
        splitter.push(token, piece(token));
        split.thought_tokens += before || splitter.in_thought() ? 1 : 0;
    }
    splitter.finish();
    split.thought = splitter.thought();
    split.text = splitter.answer();
    split.thought_is_open = splitter.in_thought();
    if (strip_space && split.thought.empty() && split.text.starts_with(' ')) split.text.erase(0, 1);
    return split;
}

std::string ModelText::bytes(std::span<const TokenId> tokens) const {
    std::string all;
    for (const TokenId token : tokens) all += piece(token);
    return all;
}

void ModelText::describe(TokenProbability& token) const {
    token.is_control = tokenizer().is_control(token.token);
    token.bytes = token.is_control ? tokenizer().piece_name(token.token) : piece(token.token);
}

void ModelText::describe(TokenChoice& choice) const {
    describe(choice.chosen);
    for (TokenProbability& alternative : choice.alternatives) describe(alternative);
}

TokenChoice ModelText::choice(std::span<const float> logits, TokenId token, int n_alternatives) const {
    TokenChoice choice = choice_of(logits, token, n_alternatives);
    describe(choice);
    return choice;
}

std::string ModelText::decode(std::span<const TokenId> tokens, bool strip_space) const {
    std::string text = to_valid_utf8(bytes(tokens));
    if (strip_space && text.starts_with(' ')) text.erase(0, 1);
    return text;
}

std::vector<TokenId> ModelText::end_tokens() const {
    std::vector<TokenId> ends = model_.spec().eos_tokens;
    for (const TokenId end : tokenizer().ends()) {
        if (std::find(ends.begin(), ends.end(), end) == ends.end()) ends.push_back(end);
    }
    return ends;
}

void ModelText::throw_no_probabilities() const {
    throw Error(ErrorKind::kInvalidModel, "The model " + model_.summary().name +
                                              " computed no usable probabilities (all are not a number); its weights "
                                              "seem to be damaged.");
}

}  // namespace offstage::engine
