#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/indices.h"
#include "engine/text/chat_template.h"

namespace offstage::engine {

class Tokenizer;

// A text that begins or ends a part of a reply.
struct ThoughtMarker {
    std::string text;
    TokenId token = -1;  // the special token that it is; -1: it is written in several tokens
};

// How a model marks its thinking in its replies.
struct ThinkingFormat {
    enum class Kind {
        kNone,     // the model marks nothing: all of a reply is the answer
        kTags,     // open [channel] thought close answer: <think>...</think>, <|channel>thought ... <channel|>
        kHarmony,  // messages: open CHANNEL message text close start ROLE open CHANNEL message text
    };
    Kind kind = Kind::kNone;
    ThoughtMarker open, close;     // kHarmony: <|channel|>, <|end|>. `open` without text: replies begin in a thought
    std::string channel;           // kTags: the word behind `open`, no part of the thought; empty: none
    ThoughtMarker start, message;  // kHarmony: <|start|>, <|message|>
    // kTags: the chat template has one. If not, the model may write `close` alone: the
    // text before it was a thought.
    bool in_template = true;

    bool any() const { return kind != Kind::kNone; }
};

// Found by the markers in the chat template, which for harmony and channels must be
// special tokens too, or, if it has none, by special tokens. If the template has only the
// closing tag, a thought begins without an opening one.
ThinkingFormat find_thinking_format(const ChatTemplate& chat, const Tokenizer& tokenizer);

// A choice of the model's thinking that a template offers.
struct ThinkingChoice {
    std::string name;  // "off", "on", "low", "medium", "high"
    std::vector<TemplateVariable> variables;

    bool operator==(const ThinkingChoice&) const = default;
};
// The choices whose variables the template reads and that change its prompts; empty:
// there is nothing to choose.
std::vector<ThinkingChoice> find_thinking_choices(const ChatTemplate& chat, const ChatTemplate::Tokens& tokens);

// The end of a rendered prompt.
enum class PromptEnd {
    kReply,         // the model begins its reply
    kInThought,     // the template has written the beginning of a thought
    kAfterThought,  // ... and its end: the model is not to think
};
PromptEnd end_of_prompt(const ThinkingFormat& format, const Tokenizer& tokenizer, std::span<const TokenId> prompt);

// The text after such a prompt for continuing `begun`, an assistant's message: thought
// and text with the markers around them. A marker is one token if it is a special token.
struct ReplyPart {
    std::string text;     // plain text ...
    TokenId marker = -1;  // ... or, if not -1, this token
};
std::vector<ReplyPart> begun_reply(const ThinkingFormat& format, const ChatMessage& begun, PromptEnd end);
// What follows an open thought up to the answer.
std::vector<ReplyPart> end_of_thought(const ThinkingFormat& format);

}  // namespace offstage::engine
