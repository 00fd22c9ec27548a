#include "engine/run/answer_constraint.h"

#include <algorithm>
#include <utility>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMostKnownMasks = 64;

// The grammar with what a model writes before its answer: an optional thought, in harmony
// the headers of messages.
Grammar with_thought(const Grammar& text, const ThinkingFormat& format, PromptEnd end, bool in_thought, bool is_begun,
                     bool may_begin_with_space) {
    GrammarBuilder builder;
    using Node = GrammarBuilder::Node;
    const auto marker = [&](const ThoughtMarker& one) {
        return one.token >= 0 ? builder.symbol(Grammar::symbol_of(one.token))
                              : builder.sequence({builder.text(one.text), builder.optional(builder.text("\n"))});
    };
    const Node body = builder.call(text);
    const Node thought = builder.symbol(Grammar::kThought);
    Node root = body;
    if (may_begin_with_space) {  // and the first one is no part of the text
        GrammarAutomaton automaton(text);
        const bool has_own = automaton.step(automaton.start(), ' ') != GrammarAutomaton::kDead;
        const Node space = builder.text(" ");
        root = builder.sequence({has_own ? space : builder.optional(space), body});
    }
    if (format.kind == ThinkingFormat::Kind::kHarmony) {
        const auto message = [&](const char* channel) {
            return builder.sequence({marker(format.open), builder.text(channel), marker(format.message)});
        };
        // Calls of tools bring their own headers.
        const std::uint32_t header_end = Grammar::symbol_of(format.message.token);
        const bool has_header = std::find(text.symbols.begin(), text.symbols.end(), header_end) != text.symbols.end();
        const Node final = has_header ? body : builder.sequence({message("final"), body});
        const Node after = builder.sequence({thought, marker(format.start), builder.text("assistant"), final});
        if (in_thought) {
            root = after;
        } else if (!is_begun) {
            root = builder.choice({builder.sequence({message("analysis"), after}), final});
        }
    } else if (format.kind == ThinkingFormat::Kind::kTags) {
        const Node after = builder.sequence({thought, builder.repeat(builder.text("\n"), 0, 2), body});
        if (in_thought) {
            root = after;
        } else if (!is_begun && end == PromptEnd::kReply && !format.open.text.empty()) {
            root = builder.choice({builder.sequence({marker(format.open), after}), root});
        }
    }
    const GrammarBuilder::Rule rule = builder.new_rule("answer");
    builder.define(rule, root);
    return builder.compile(rule);
}

}  // namespace

std::unique_ptr<AnswerConstraint> AnswerConstraint::make(const ModelText& text, const GenerationRequest& request,
                                                         std::span<const TokenId> prompt,
                                                         const ThoughtSplitter& splitter) {
    if (request.grammar == nullptr) return nullptr;
    const bool continues = !request.raw && request.prompt_ids.empty() && request.continue_last;
    const std::string begun =
        (continues ? request.messages.back().content : std::string()) + text.bytes(request.reply_begin);
    const bool is_begun = continues || !begun.empty();
    Grammar grammar = with_thought(*request.grammar, splitter.format(), text.end_of_prompt(splitter.format(), prompt),
                                   splitter.in_thought(), is_begun, text.strips_space(request));
    std::unique_ptr<AnswerConstraint> made(
        new AnswerConstraint(text, text.masks(std::move(grammar)), splitter.in_thought()));
    if (!splitter.in_thought()) made->state_ = made->automaton_.read(made->state_, begun);
    if (made->state_ == GrammarAutomaton::kDead) {
        throw Error(ErrorKind::kInvalidInput, messages::begun_answer_has_no_such_form);
    }
    return made;
}

AnswerConstraint::AnswerConstraint(const ModelText& text, std::shared_ptr<TokenMasks> masks, bool in_thought)
    : text_(text),
      masks_(std::move(masks)),
      automaton_(masks_->grammar()),
      state_(automaton_.start()),
      in_thought_(in_thought),
      in_thoughts_(text.vocab_size()) {
    for (const TokenId end : text.end_tokens()) {
        if (end >= 0 && end < text.vocab_size()) ends_.push_back(end);
    }
    in_thoughts_.set_all();
    for (const TokenId end : ends_) in_thoughts_.reset(end);
    // Of a thought's markers only the end is left to the model.
    for (const std::uint32_t symbol : masks_->grammar().symbols) {
        if (symbol >= Grammar::kFirstToken) in_thoughts_.reset(static_cast<TokenId>(symbol - Grammar::kFirstToken));
    }
}

bool AnswerConstraint::is_costly() {
    return !in_thought_ && !known_.contains(state_) && masks_->is_costly(automaton_, state_);
}

bool AnswerConstraint::allows(TokenId token) {
    if (in_thought_) return in_thoughts_.has(token);
    if (const auto found = known_.find(state_); found != known_.end()) return found->second.has(token);
    const bool is_end = std::find(ends_.begin(), ends_.end(), token) != ends_.end();
    return (is_end && automaton_.accepts(state_)) || masks_->allows(automaton_, state_, token, text_.piece(token));
}

const TokenMask& AnswerConstraint::mask() {
    if (in_thought_) return in_thoughts_;
    if (const auto found = known_.find(state_); found != known_.end()) return found->second;
    if (known_.size() >= kMostKnownMasks) known_.clear();
    TokenMask mask = masks_->find(automaton_, state_);
    if (automaton_.accepts(state_)) {
        for (const TokenId end : ends_) mask.set(end);
    }
    if (!mask.any()) throw_no_token();
    return known_.emplace(state_, std::move(mask)).first->second;
}

void AnswerConstraint::push(TokenId token, bool was_in_thought, const ThoughtSplitter& splitter,
                            const std::string& answer) {
    in_thought_ = splitter.in_thought();
    std::string bytes;
    if (!was_in_thought) {
        const std::vector<std::uint32_t>& symbols = masks_->grammar().symbols;
        const std::uint32_t symbol = Grammar::symbol_of(token);
        const bool is_symbol = std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
        bytes = is_symbol ? std::string() : text_.piece(token);
        state_ = is_symbol ? automaton_.step(state_, symbol) : automaton_.read(state_, bytes);
    } else if (!in_thought_) {
        bytes = answer;
        state_ = automaton_.read(automaton_.step(state_, Grammar::kThought), bytes);
    }
    constexpr std::size_t kShown = 40;
    read_ += bytes;
    if (read_.size() > kShown) read_.erase(0, read_.size() - kShown);
    if (state_ == GrammarAutomaton::kDead) throw_no_token();
    if (automaton_.is_large()) {
        state_ = automaton_.forget_others(state_);
        known_.clear();
    }
}

void AnswerConstraint::throw_no_token() const {
    throw Error(ErrorKind::kInvalidInput, messages::no_token_fits(text_.name(), in_quotes(read_)));
}

}  // namespace offstage::engine
