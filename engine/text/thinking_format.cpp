#include "engine/text/thinking_format.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "engine/error.h"
#include "engine/text/tokenizer.h"

namespace offstage::engine {
namespace {

// Pairs that models write around their thoughts.
struct Tags {
    std::string_view open, close;
    std::string_view channel;  // not empty: only as special tokens
};
constexpr std::array<Tags, 5> kTags = {Tags{"<|channel>", "<channel|>", "thought"}, Tags{"<think>", "</think>", {}},
                                       Tags{"[THINK]", "[/THINK]", {}}, Tags{"<seed:think>", "</seed:think>", {}},
                                       Tags{"\xE2\x97\x81think\xE2\x96\xB7", "\xE2\x97\x81/think\xE2\x96\xB7", {}}};

// A template ends its prompt with a few tokens at most: <think>, line feeds.
constexpr std::size_t kPromptTail = 48;

constexpr std::array<std::string_view, 2> kSwitches = {"enable_thinking", "thinking"};
constexpr std::string_view kEffort = "reasoning_effort";
constexpr std::array<std::string_view, 3> kEfforts = {"low", "medium", "high"};

void strip_right(std::string& text) {
    while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r' || text.back() == '\t'))
        text.pop_back();
}

// The prompt that the template makes of one short question, or nothing where it refuses.
std::optional<std::string> probe(const ChatTemplate& chat, ChatTemplate::Tokens tokens,
                                 const std::vector<TemplateVariable>& variables) {
    std::tm day = {};  // the same in every probe: 1 January 2026
    day.tm_year = 126;
    day.tm_mday = 1;
    day.tm_wday = 4;
    tokens.now = day;
    try {
        return chat.render({{Role::kUser, "Hello"}}, tokens, true, variables).bytes;
    } catch (const Error&) {
        return std::nullopt;
    }
}

std::vector<ReplyPart> tagged_reply(const ThinkingFormat& format, const ChatMessage& begun, PromptEnd end) {
    std::vector<ReplyPart> parts;
    const auto text = [&](const std::string& more) {
        if (more.empty()) return;
        if (parts.empty() || parts.back().marker >= 0) parts.push_back({});
        parts.back().text += more;
    };
    const auto marker = [&](const ThoughtMarker& one) {
        if (one.token < 0) return text(one.text);
        parts.push_back({{}, one.token});
    };
    const bool thinks = !begun.thought.empty() || begun.thought_is_open;
    if (thinks && (end == PromptEnd::kReply || (end == PromptEnd::kAfterThought && begun.thought_is_open))) {
        marker(format.open);
        text(format.channel + "\n");
        end = PromptEnd::kInThought;
    }
    if (end == PromptEnd::kInThought) {
        text(begun.thought);
        if (begun.thought_is_open) return parts;
        if (format.channel.empty()) text("\n");
        marker(format.close);
        if (format.channel.empty()) text("\n\n");
    }
    text(begun.content);
    return parts;
}

std::vector<ReplyPart> harmony_reply(const ThinkingFormat& format, const ChatMessage& begun) {
    std::vector<ReplyPart> parts;
    const auto message = [&](const char* channel, const std::string& text) {
        parts.push_back({{}, format.open.token});
        parts.push_back({channel, -1});
        parts.push_back({{}, format.message.token});
        if (!text.empty()) parts.push_back({text, -1});
    };
    if (!begun.thought.empty() || begun.thought_is_open) {
        message("analysis", begun.thought);
        if (begun.thought_is_open) return parts;
        parts.push_back({{}, format.close.token});
        parts.push_back({{}, format.start.token});
        parts.push_back({"assistant", -1});
    }
    message("final", begun.content);
    return parts;
}

}  // namespace

ThinkingFormat find_thinking_format(const ChatTemplate& chat, const Tokenizer& tokenizer) {
    const auto marker = [&](std::string_view text) {
        return ThoughtMarker{std::string(text), tokenizer.special_token(text)};
    };
    ThinkingFormat format;
    if (chat.has_text("<|channel|>") && chat.has_text("analysis")) {
        format.open = marker("<|channel|>");
        format.close = marker("<|end|>");
        format.start = marker("<|start|>");
        format.message = marker("<|message|>");
        if (format.open.token >= 0 && format.close.token >= 0 && format.start.token >= 0 && format.message.token >= 0) {
            format.kind = ThinkingFormat::Kind::kHarmony;
            return format;
        }
    }
    for (const Tags& tags : kTags) {
        const bool names_open = chat.has_text(tags.open);
        if (!names_open && !chat.has_text(tags.close)) continue;
        format = {
            ThinkingFormat::Kind::kTags, marker(tags.open), marker(tags.close), std::string(tags.channel), {}, {}};
        if (tags.channel.empty() && !names_open) format.open = {};
        if (tags.channel.empty() || (format.open.token >= 0 && format.close.token >= 0)) return format;
    }
    for (const Tags& tags : kTags) {
        format = {
            ThinkingFormat::Kind::kTags, marker(tags.open), marker(tags.close), std::string(tags.channel), {}, {}};
        format.in_template = false;
        if (format.open.token >= 0 && format.close.token >= 0) return format;
    }
    return {};
}

std::vector<ThinkingChoice> find_thinking_choices(const ChatTemplate& chat, const ChatTemplate::Tokens& tokens) {
    std::vector<ThinkingChoice> choices;
    std::vector<TemplateVariable> on;
    for (const std::string_view name : kSwitches) {
        if (!chat.has_variable(name)) continue;
        const TemplateVariable yes{std::string(name), true}, no{std::string(name), false};
        const auto with = probe(chat, tokens, {yes}), without = probe(chat, tokens, {no});
        if (!with || !without || *with == *without) continue;
        on = {yes};
        choices = {{"off", {no}}, {"on", {yes}}};
        break;
    }
    if (!chat.has_variable(kEffort)) return choices;
    std::vector<ThinkingChoice> efforts;
    std::set<std::string> prompts;
    for (const std::string_view effort : kEfforts) {
        std::vector<TemplateVariable> variables = on;
        variables.push_back({std::string(kEffort), std::string(effort)});
        const auto prompt = probe(chat, tokens, variables);
        if (!prompt) continue;
        prompts.insert(*prompt);
        efforts.push_back({std::string(effort), std::move(variables)});
    }
    if (prompts.size() < 2) return choices;
    if (!choices.empty()) choices.pop_back();  // "on" is redundant beside levels
    choices.insert(choices.end(), efforts.begin(), efforts.end());
    return choices;
}

PromptEnd end_of_prompt(const ThinkingFormat& format, const Tokenizer& tokenizer, std::span<const TokenId> prompt) {
    if (format.kind != ThinkingFormat::Kind::kTags) return PromptEnd::kReply;
    std::string tail;
    for (const TokenId token : prompt.last(std::min(prompt.size(), kPromptTail))) {
        if (token == format.open.token) {
            tail += format.open.text;
        } else if (token == format.close.token) {
            tail += format.close.text;
        } else {
            // The text before the end of a turn is not the template's.
            tail += tokenizer.is_control(token) ? std::string(1, '\0') : tokenizer.piece_bytes(token);
        }
    }
    strip_right(tail);
    if (tail.ends_with(format.close.text)) return PromptEnd::kAfterThought;
    if (!format.channel.empty() && tail.ends_with(format.channel)) tail.resize(tail.size() - format.channel.size());
    return tail.ends_with(format.open.text) ? PromptEnd::kInThought : PromptEnd::kReply;
}

std::vector<ReplyPart> begun_reply(const ThinkingFormat& format, const ChatMessage& begun, PromptEnd end) {
    switch (format.kind) {
        case ThinkingFormat::Kind::kTags:
            return tagged_reply(format, begun, end);
        case ThinkingFormat::Kind::kHarmony:
            return harmony_reply(format, begun);
        case ThinkingFormat::Kind::kNone:
            break;
    }
    return {{begun.content, -1}};
}

std::vector<ReplyPart> end_of_thought(const ThinkingFormat& format) {
    const ChatMessage begun{Role::kAssistant, {}, "."};
    std::vector<ReplyPart> parts = begun_reply(format, begun, PromptEnd::kInThought);
    if (format.kind == ThinkingFormat::Kind::kHarmony) parts.erase(parts.begin(), parts.begin() + 3);
    if (!parts.empty() && parts.front().text.starts_with('.')) parts.front().text.erase(0, 1);
    return parts;
}

}  // namespace offstage::engine
