#include "engine/run/model_text.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/run/run_messages.h"
#include "engine/text/family_templates.h"
#include "engine/text/tool_call_grammar.h"

namespace offstage::engine {
namespace {

void check_utf8(const ChatMessage& message) {
    for (const std::string* text : {&message.content, &message.thought}) {
        const std::size_t invalid = find_invalid_utf8(*text);
        if (invalid == std::string::npos) continue;
        throw Error(ErrorKind::kInvalidInput, messages::message_not_utf8(name_of(message.role), invalid + 1));
    }
}

}  // namespace

void ModelText::require(TextNeeds needs) const {
    if (needs == TextNeeds::kNothing) return;
    tokenizer();
    if (needs == TextNeeds::kChatTemplate && text_.chat_template == nullptr) {
        throw Error(ErrorKind::kUnsupported, messages::model_without_template(text_.name, family_template_names()));
    }
}

const Tokenizer& ModelText::tokenizer() const {
    if (text_.tokenizer != nullptr) return *text_.tokenizer;
    throw Error(ErrorKind::kUnsupported, messages::model_without_tokenizer(text_.name));
}

std::vector<TokenId> ModelText::render(const std::vector<ChatMessage>& messages, const std::string& thinking,
                                       const ToolUse& tools) const {
    const Tokenizer& tokenizer = this->tokenizer();
    for (const ChatMessage& message : messages) check_utf8(message);
    require(TextNeeds::kChatTemplate);
    const auto piece = [&](TokenId token) { return token >= 0 ? tokenizer.piece_name(token) : std::string(); };
    const ChatTemplate& chat = *text_.chat_template;
    std::vector<TemplateVariable> variables = variables_of(thinking);
    if (tools.any()) {
        if (!text_.tool_calls().any()) throw Error(ErrorKind::kUnsupported, messages::template_knows_no_tools);
        variables.push_back({"tools", TemplateVariable::Json{tools.definitions}});
    }
    return tokenizer.encode_prompt(chat.render(text_.defaults.with_system(messages),
                                               {piece(tokenizer.bos()), piece(tokenizer.eos())}, true, variables),
                                   &chat);
}

const std::vector<TemplateVariable>& ModelText::variables_of(const std::string& thinking) const {
    static const std::vector<TemplateVariable> kNone;
    if (thinking.empty()) return kNone;
    std::string names;
    for (const ThinkingChoice& choice : text_.thinking_choices) {
        if (choice.name == thinking) return choice.variables;
        names += (names.empty() ? "" : ", ") + choice.name;
    }
    throw Error(ErrorKind::kInvalidInput, names.empty() ? messages::template_without_thinking(text_.name, thinking)
                                                        : messages::no_such_thinking(text_.name, thinking, names));
}

void ModelText::check_ids(const std::vector<TokenId>& ids, const MessageCode<4>& out_of_range) const {
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] >= 0 && ids[i] < vocab_size()) continue;
        // Ids are names: no locale writes them as amounts.
        throw Error(ErrorKind::kInvalidInput,
                    out_of_range(i + 1, std::to_string(ids[i]), std::to_string(vocab_size() - 1), text_.name));
    }
}

std::vector<TokenId> ModelText::prompt_tokens(const GenerationRequest& request) const {
    check_ids(request.prompt_ids, messages::prompt_token_out_of_range);
    check_ids(request.reply_begin, messages::reply_token_out_of_range);
    std::vector<TokenId> tokens = request.prompt_ids.empty() ? prompt_without_reply(request) : request.prompt_ids;
    tokens.insert(tokens.end(), request.reply_begin.begin(), request.reply_begin.end());
    return tokens;
}

std::vector<TokenId> ModelText::prompt_in_context(const GenerationRequest& request) const {
    const std::int64_t context = text_.context;
    const auto check = [&](std::int64_t n, const MessageArgument& shown) {
        if (n < context) return;
        throw Error(ErrorKind::kInvalidInput, messages::prompt_longer_than_context(shown, text_.name, context));
    };
    const std::int64_t least = least_tokens(request, context);
    check(least, Message(messages::at_least(least)));
    std::vector<TokenId> tokens = request.made_prompt.empty() ? prompt_tokens(request) : request.made_prompt;
    if (tokens.empty()) throw Error(ErrorKind::kInvalidInput, messages::prompt_empty);
    const auto n = static_cast<std::int64_t>(tokens.size());
    check(n, n);
    return tokens;
}

// A lower bound without tokenizing the prompt; 0 where nothing is known, or if the text
// has fewer bytes than the context has tokens. A template writes something for each
// message. It may leave out thoughts: of an answer only the text after the last marker of
// one counts (</think>, [/THINK]).
std::int64_t ModelText::least_tokens(const GenerationRequest& request, std::int64_t context) const {
    if (text_.tokenizer == nullptr || !request.made_prompt.empty() || !request.prompt_ids.empty()) return 0;
    const auto of_text = [&](const std::string& text) {
        return static_cast<std::int64_t>(text.size()) < context ? 0 : text_.bound().at_least(text);
    };
    if (request.raw) return request.raw_tokens > 0 ? 0 : of_text(request.raw_prompt);
    std::string all;
    for (const ChatMessage& message : request.messages) {
        std::size_t begin = 0;
        for (const std::string_view marker : {"think", "THINK"}) {
            const std::size_t at = message.role == Role::kAssistant ? message.content.rfind(marker) : std::string::npos;
            if (at != std::string::npos) begin = std::max(begin, at);
        }
        all += std::string_view(message.content).substr(begin);
    }
    return std::max(of_text(all), static_cast<std::int64_t>(request.messages.size()));
}

void ModelText::append(const std::vector<ReplyPart>& parts, std::vector<TokenId>& tokens) const {
    for (const ReplyPart& part : parts) {
        if (part.marker >= 0) {
            tokens.push_back(part.marker);
        } else if (!part.text.empty()) {
            const std::vector<TokenId> text = tokenizer().encode_after(tokens.empty() ? TokenId{-1} : tokens.back(),
                                                                       part.text, text_.chat_template.get());
            tokens.insert(tokens.end(), text.begin(), text.end());
        }
    }
}

std::vector<TokenId> ModelText::end_of_thought(TokenId before) const {
    std::vector<TokenId> tokens = {before};
    append(engine::end_of_thought(text_.thinking), tokens);
    tokens.erase(tokens.begin());
    return tokens;
}

std::vector<TokenId> ModelText::prompt_without_reply(const GenerationRequest& request) const {
    const Tokenizer& tokenizer = this->tokenizer();
    if (!request.raw && request.continue_last) {
        if (request.messages.empty() || request.messages.back().role != Role::kAssistant) {
            throw Error(ErrorKind::kInvalidInput, messages::no_answer_to_go_on_with);
        }
        const ChatMessage& begun = request.messages.back();
        check_utf8(begun);
        std::vector<TokenId> tokens =
            render({request.messages.begin(), request.messages.end() - 1}, request.thinking, request.tools);
        const PromptEnd end = end_of_prompt(text_.thinking, tokens);
        append(begun_reply(text_.thinking, begun, end), tokens);
        return tokens;
    }
    if (!request.raw) return render(request.messages, request.thinking, request.tools);
    std::vector<TokenId> tokens =
        request.raw_special ? tokenizer.encode_with_special(request.raw_prompt) : tokenizer.encode(request.raw_prompt);
    const std::vector<TokenId> prefix = tokenizer.prefix(), suffix = tokenizer.suffix();
    const bool has_prefix = request.raw_special && std::ranges::mismatch(prefix, tokens).in1 == prefix.end();
    if (!has_prefix) tokens.insert(tokens.begin(), prefix.begin(), prefix.end());
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
    // Text without a conversation has no thoughts.
    const ThinkingFormat& format = request.raw || !request.prompt_ids.empty() ? kNone : text_.thinking;
    const auto given = prompt.first(prompt.size() - std::min(prompt.size(), request.reply_begin.size()));
    const bool in_thought = !request.continue_last && end_of_prompt(format, given) == PromptEnd::kInThought;
    ThoughtSplitter splitter(format, in_thought);
    if (request.continue_last && format.any()) splitter.resume(request.messages.back());
    for (const TokenId token : request.reply_begin) splitter.push(token, piece(token));
    splitter.forget_text();
    return splitter;
}

ModelText::Split ModelText::split(std::span<const TokenId> tokens, ThoughtSplitter splitter, bool strip_space,
                                  bool was_cut) const {
    Split split;
    std::int64_t n = 0;
    for (const TokenId token : tokens) {
        const bool before = splitter.in_thought();
        const bool all_before = splitter.push(token, piece(token)).text_was_thought;
        ++n;
        if (all_before) split.thought_tokens = n;
        split.thought_tokens += before || splitter.in_thought() ? 1 : 0;
    }
    splitter.finish(was_cut);
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
    std::vector<TokenId> ends = text_.eos_tokens;
    for (const TokenId end : tokenizer().ends()) {
        if (std::find(ends.begin(), ends.end(), end) == ends.end()) ends.push_back(end);
    }
    for (const std::string& stop : text_.defaults.stops) {
        const TokenId end = tokenizer().special_token(stop);
        if (end >= 0 && std::find(ends.begin(), ends.end(), end) == ends.end()) ends.push_back(end);
    }
    return ends;
}

PromptEnd ModelText::end_of_prompt(const ThinkingFormat& format, std::span<const TokenId> prompt) const {
    return engine::end_of_prompt(format, tokenizer(), prompt);
}

std::shared_ptr<const Grammar> ModelText::tool_grammar(const GenerationRequest& request) const {
    const ToolUse& use = request.tools;
    if (!use.any()) return nullptr;
    const auto tools = ToolDefinitions::parse(use.definitions);
    const bool is_strict = std::any_of(tools.begin(), tools.end(), [](const ToolDefinitions& tool) {
        return tool["function"].value("strict", ToolDefinitions()) == true;
    });
    const Grammar* const form = request.grammar.get();
    if (!use.required && !is_strict && form == nullptr) return nullptr;
    require(TextNeeds::kChatTemplate);
    auto grammar = tool_call_grammar(tool_calls(), text_.thinking, tools, use.only, use.parallel, !use.required, form);
    if (grammar) return std::make_shared<const Grammar>(std::move(*grammar));
    throw Error(ErrorKind::kUnsupported, use.required      ? messages::calls_cannot_be_demanded
                                         : form != nullptr ? messages::calls_beside_no_form
                                                           : messages::calls_cannot_be_strict);
}

std::shared_ptr<TokenMasks> ModelText::masks(Grammar grammar) const {
    require(TextNeeds::kTokenizer);
    return text_.masks().of(std::move(grammar));
}

StopTexts ModelText::stop_texts(const GenerationRequest& request) const {
    const bool stops = request.stop_at_texts && !request.ignore_end;
    return StopTexts(stops ? text_.defaults.stops : std::vector<std::string>());
}

void ModelText::throw_no_probabilities() const {
    throw Error(ErrorKind::kInvalidModel, messages::no_usable_probabilities(text_.name));
}

}  // namespace offstage::engine
