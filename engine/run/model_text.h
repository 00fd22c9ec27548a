#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/message.h"
#include "engine/run/generation.h"
#include "engine/run/loaded_model.h"
#include "engine/run/stop_texts.h"
#include "engine/text/thought_splitter.h"

namespace offstage::engine {

// A loaded model's text functions: prompts to tokens, tokens to text, and the tokens that
// end a turn. A view; the model, or its text, must outlive it. Any thread.
class ModelText {
  public:
    explicit ModelText(const LoadedModel& model) : ModelText(model.text()) {}
    explicit ModelText(const TextOfModel& text) : text_(text) {}

    // Throws Error (kUnsupported) where the model lacks it.
    void require(TextNeeds needs) const;

    // Messages with the template and the generation prompt. Throws Error: kUnsupported
    // (no tokenizer, no template), kInvalidInput (text that is not UTF-8).
    // `thinking` and `tools` as in GenerationRequest; kUnsupported where the template knows
    // no tools.
    std::vector<TokenId> render(const std::vector<ChatMessage>& messages, const std::string& thinking = {},
                                const ToolUse& tools = {}) const;
    // A request's prompt, with the beginning of its reply. Same errors, and kInvalidInput
    // for token ids outside the vocabulary.
    std::vector<TokenId> prompt_tokens(const GenerationRequest& request) const;
    // The same, or an already made prompt, if the context holds it with room for an
    // answer: otherwise the same Error (kInvalidInput), for far too long text before it
    // is tokenized.
    std::vector<TokenId> prompt_in_context(const GenerationRequest& request) const;
    // For the reply to this prompt, which prompt_tokens() made from the request. The
    // model must outlive it.
    ThoughtSplitter splitter(const GenerationRequest& request, std::span<const TokenId> prompt) const;

    std::string piece(TokenId token) const;  // its bytes
    std::string bytes(std::span<const TokenId> tokens) const;
    std::string decode(std::span<const TokenId> tokens, bool strip_space) const;  // valid UTF-8
    // Fills in what TokenProbability::bytes and is_control are.
    void describe(TokenChoice& choice) const;
    // choice_of(), described.
    TokenChoice choice(std::span<const float> logits, TokenId token, int n_alternatives) const;
    // Thought and answer of a reply; was_cut: it ended before the turn did.
    struct Split {
        std::string thought, text;
        bool thought_is_open = false;
        std::int64_t thought_tokens = 0;
    };
    Split split(std::span<const TokenId> tokens, ThoughtSplitter splitter, bool strip_space, bool was_cut) const;
    // Some tokenizers begin a text with a space that is not in it; text in the middle
    // keeps its spaces.
    bool strips_space(const GenerationRequest& request) const;
    std::vector<TokenId> end_tokens() const;
    // The tokens that end an open thought, behind `before`, up to the answer.
    std::vector<TokenId> end_of_thought(TokenId before) const;
    PromptEnd end_of_prompt(const ThinkingFormat& format, std::span<const TokenId> prompt) const;
    // The form of answers that must be calls of the request's tools, or whose calls are of
    // strict tools; nullptr: there is none. Throws Error: kUnsupported where the model's
    // calls cannot be held to one.
    std::shared_ptr<const Grammar> tool_grammar(const GenerationRequest& request) const;
    const ToolCallFormat& tool_calls() const { return text_.tool_calls(); }
    // Kept by the model for further answers.
    std::shared_ptr<TokenMasks> masks(Grammar grammar) const;
    // The texts at which the answer to this request is cut.
    StopTexts stop_texts(const GenerationRequest& request) const;
    const std::string& name() const { return text_.name; }
    std::int64_t vocab_size() const { return text_.vocab_size; }
    // The weights seem to be damaged.
    [[noreturn]] void throw_no_probabilities() const;

  private:
    const Tokenizer& tokenizer() const;
    void append(const std::vector<ReplyPart>& parts, std::vector<TokenId>& tokens) const;
    // Throws Error (kInvalidInput) for choices that the model does not offer.
    const std::vector<TemplateVariable>& variables_of(const std::string& thinking) const;
    void describe(TokenProbability& token) const;
    std::vector<TokenId> prompt_without_reply(const GenerationRequest& request) const;
    void check_ids(const std::vector<TokenId>& ids, const MessageCode<4>& out_of_range) const;

    std::int64_t least_tokens(const GenerationRequest& request, std::int64_t context) const;

    const TextOfModel& text_;
};

}  // namespace offstage::engine
