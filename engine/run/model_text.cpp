#include "engine/run/model_text.h"

#include <algorithm>

#include "engine/error.h"

namespace offstage::engine {
namespace {

void check_utf8(const ChatMessage& message) {
    const std::size_t invalid = find_invalid_utf8(message.content);
    if (invalid == std::string::npos) return;
    throw Error(ErrorKind::kInvalidInput, "The " + std::string(name_of(message.role)) +
                                              " message is not UTF-8 text: byte " + std::to_string(invalid + 1) +
                                              " starts no character.");
}

}  // namespace

const Tokenizer& ModelText::tokenizer() const {
    if (model_.tokenizer() != nullptr) return *model_.tokenizer();
    throw Error(ErrorKind::kUnsupported,
                "The model " + model_.summary().name + " has no tokenizer, so it cannot read or write text.");
}

std::vector<TokenId> ModelText::render(const std::vector<ChatMessage>& messages) const {
    const Tokenizer& tokenizer = this->tokenizer();
    for (const ChatMessage& message : messages) check_utf8(message);
    if (model_.chat_template() == nullptr) {
        throw Error(ErrorKind::kUnsupported, "The model " + model_.summary().name +
                                                 " has no chat template (tokenizer_config.json, \"chat_template\"); "
                                                 "it can only continue a raw prompt.");
    }
    const auto piece = [&](TokenId token) { return token >= 0 ? tokenizer.piece_name(token) : std::string(); };
    return tokenizer.encode_with_special(
        model_.chat_template()->render(messages, {piece(tokenizer.bos()), piece(tokenizer.eos())}, true));
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
        check_utf8(request.messages.back());
        std::vector<TokenId> tokens = render({request.messages.begin(), request.messages.end() - 1});
        const std::vector<TokenId> begun =
            tokenizer.encode_after(tokens.empty() ? TokenId{-1} : tokens.back(), request.messages.back().content);
        tokens.insert(tokens.end(), begun.begin(), begun.end());
        return tokens;
    }
    if (!request.raw) return render(request.messages);
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
           request.reply_begin.empty() && !(request.continue_last && !request.messages.back().content.empty());
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

std::string ModelText::decode(std::span<const TokenId> tokens, bool strip_space, std::string_view before) const {
    Utf8Stream stream;
    static_cast<void>(stream.push(before));
    std::string text;
    for (const TokenId token : tokens) text += stream.push(piece(token));
    text += stream.finish();
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
