#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/message.h"
#include "engine/run/model_defaults.h"
#include "engine/text/chat_template.h"
#include "engine/text/thinking_format.h"
#include "engine/text/token_bound.h"
#include "engine/text/token_masks.h"
#include "engine/text/tokenizer.h"
#include "engine/text/tool_call_format.h"

namespace offstage::engine {

// The parts of a loaded model that turn text into tokens (ModelText). Does not change
// once the model is loaded, except for `context`; any thread, and longer than the model.
struct TextOfModel {
    std::string name;  // of the model, for messages
    std::int64_t vocab_size = 0;
    std::vector<TokenId> eos_tokens;
    std::unique_ptr<Tokenizer> tokenizer;         // nullptr: none
    std::unique_ptr<ChatTemplate> chat_template;  // nullptr: none
    ThinkingFormat thinking;
    std::vector<ThinkingChoice> thinking_choices;
    Message template_note;  // empty: none
    ModelDefaults defaults;
    std::atomic<std::int64_t> context = 0;  // tokens that the session holds now

    // Made on first use. Precondition: there is a tokenizer.
    const TokenBound& bound() const {
        std::call_once(bound_once_, [this] { bound_.emplace(*tokenizer); });
        return *bound_;
    }

    // The same.
    const GrammarMasks& masks() const {
        std::call_once(masks_once_, [this] { masks_.emplace(*tokenizer, vocab_size); });
        return *masks_;
    }

    // How the model writes calls of tools; the same, and there is a template.
    const ToolCallFormat& tool_calls() const {
        std::call_once(calls_once_, [this] { calls_ = find_tool_call_format(*chat_template, *tokenizer); });
        return calls_;
    }

  private:
    mutable std::once_flag bound_once_, masks_once_, calls_once_;
    mutable ToolCallFormat calls_;
    mutable std::optional<GrammarMasks> masks_;
    mutable std::optional<TokenBound> bound_;
};

}  // namespace offstage::engine
