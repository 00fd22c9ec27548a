#include "engine/text/token_masks.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "engine/text/tokenizer.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kLongestToken = std::numeric_limits<std::uint16_t>::max();

// Tokens that a text is made of: no special ones, whose strings prompts turn into them.
bool is_text_token(const Tokenizer& tokenizer, TokenId token, const std::string& bytes) {
    if (bytes.empty() || bytes.size() > kLongestToken || tokenizer.is_control(token)) return false;
    const bool is_space = bytes.find_first_not_of(" \t\r\n") == std::string::npos;
    return is_space || tokenizer.special_token(tokenizer.piece_name(token)) != token;
}

}  // namespace

bool TokenMask::any() const {
    return std::any_of(words_.begin(), words_.end(), [](std::uint64_t word) { return word != 0; });
}

VocabularyTree::VocabularyTree(const Tokenizer& tokenizer, std::int64_t vocab_size) : vocab_size_(vocab_size) {
    std::vector<std::pair<std::string, TokenId>> texts;
    const std::int64_t n = std::min(vocab_size, tokenizer.vocab_size());
    texts.reserve(static_cast<std::size_t>(n));
    for (TokenId token = 0; token < n; ++token) {
        std::string bytes = tokenizer.piece_bytes(token);
        if (is_text_token(tokenizer, token, bytes)) texts.emplace_back(std::move(bytes), token);
    }
    std::sort(texts.begin(), texts.end());
    std::vector<std::uint32_t> path;  // the open nodes
    const auto close = [&](std::size_t depth) {
        for (; path.size() > depth; path.pop_back())
            nodes_[path.back()].end = static_cast<std::uint32_t>(nodes_.size());
    };
    std::string_view before;
    for (const auto& [bytes, token] : texts) {
        const auto [left, right] = std::mismatch(before.begin(), before.end(), bytes.begin(), bytes.end());
        close(static_cast<std::size_t>(left - before.begin()));
        for (std::size_t depth = path.size(); depth < bytes.size(); ++depth) {
            path.push_back(static_cast<std::uint32_t>(nodes_.size()));
            nodes_.push_back({0, static_cast<std::uint32_t>(tokens_.size()), static_cast<std::uint16_t>(depth),
                              static_cast<std::uint8_t>(bytes[depth])});
        }
        tokens_.push_back(token);
        longest_ = std::max(longest_, bytes.size());
        before = bytes;
    }
    close(0);
    constexpr std::size_t kFewLonger = 64;  // one of so many nodes
    std::vector<std::size_t> n_at(longest_ + 1);
    for (const Node& node : nodes_) ++n_at[node.depth];
    usual_length_ = longest_;
    for (std::size_t n_longer = 0; usual_length_ > 0; --usual_length_) {
        n_longer += n_at[usual_length_ - 1];
        if (n_longer > nodes_.size() / kFewLonger) break;
    }
    nodes_.push_back({0, static_cast<std::uint32_t>(tokens_.size()), 0, 0});
}

TokenMasks::TokenMasks(std::shared_ptr<const Grammar> grammar, const VocabularyTree& vocabulary)
    : grammar_(std::move(grammar)), vocabulary_(vocabulary), alike_(grammar_->positions.size()) {
    std::iota(alike_.begin(), alike_.end(), 0U);
    const std::size_t usual = vocabulary_.usual_length();
    for (auto copies = grammar_->copies.rbegin(); copies != grammar_->copies.rend(); ++copies) {
        // Each copy reads a byte, or may as well be left out.
        const std::size_t first = copies->begin + usual * copies->size;
        for (std::size_t i = copies->size; usual < copies->count && i < (copies->count - usual) * copies->size; ++i) {
            alike_[first + i] = alike_[first + i % copies->size];
        }
    }
}

TokenMasks::Known TokenMasks::look(GrammarAutomaton& automaton, GrammarAutomaton::State state, std::size_t most) {
    Known known{TokenMask(vocabulary_.vocab_size()), {}};
    if (state == GrammarAutomaton::kDead) return known;  // nothing can follow a whole text
    const auto nodes = vocabulary_.nodes();
    // The states before each byte, and whether a rule's end was reached before it.
    std::vector<std::pair<GrammarAutomaton::State, bool>> path(vocabulary_.longest() + 1);
    path[0] = {state, automaton.leaves(state)};
    for (std::size_t i = 0; i < nodes.size();) {
        const VocabularyTree::Node& node = nodes[i];
        if (node.depth == most) {
            for (; i < node.end; ++i) {
                if (nodes[i].first_token < vocabulary_.tokens_end(i)) {
                    known.unsure.push_back(static_cast<std::uint32_t>(i));
                }
            }
            continue;
        }
        const auto [before, left] = path[node.depth];
        ++n_read_;
        const GrammarAutomaton::State next = automaton.step(before, node.byte);
        if (next == GrammarAutomaton::kDead && !left) {
            i = node.end;
            continue;
        }
        path[node.depth + 1u] = {next, left || (next != GrammarAutomaton::kDead && automaton.leaves(next))};
        const std::size_t first = node.first_token, end = vocabulary_.tokens_end(i);
        if (next != GrammarAutomaton::kDead) {
            for (std::size_t t = first; t < end; ++t) known.allowed.set(vocabulary_.tokens()[t]);
        } else if (first < end) {
            known.unsure.push_back(static_cast<std::uint32_t>(i));
        }
        ++i;
    }
    return known;
}

const TokenMasks::Known& TokenMasks::known(GrammarAutomaton& automaton, GrammarAutomaton::State state,
                                           std::uint32_t n_callers) {
    constexpr std::uint32_t kMostCallers = 3;
    auto stacks = automaton.positions(state, n_callers);
    bool is_shared = false;
    for (auto& stack : stacks) {
        for (std::uint32_t& position : stack) {
            is_shared = is_shared || alike_[position] != position;
            position = alike_[position];
        }
    }
    std::sort(stacks.begin(), stacks.end());
    stacks.erase(std::unique(stacks.begin(), stacks.end()), stacks.end());
    std::vector<std::uint32_t> key = {n_callers, is_shared ? 1U : 0U};
    for (const auto& stack : stacks) {
        key.push_back(static_cast<std::uint32_t>(stack.size()));
        key.insert(key.end(), stack.begin(), stack.end());
    }
    if (const auto found = known_.find(key); found != known_.end()) {
        return found->second.is_vague ? known(automaton, state, n_callers + 1) : found->second;
    }
    Known made = look(automaton, automaton.without_callers(state, n_callers),
                      is_shared ? vocabulary_.usual_length() : vocabulary_.longest());
    constexpr std::size_t kManyUnsure = 32;  // one of so many tokens
    if (n_callers < kMostCallers && made.unsure.size() > vocabulary_.tokens().size() / kManyUnsure) {
        made = {{}, {}, true};
    }
    if (n_bytes_ > kMostBytes) {
        known_.clear();
        n_bytes_ = 0;
    }
    n_bytes_ += made.allowed.n_bytes() + made.unsure.size() * sizeof(std::uint32_t) + key.size() * sizeof(key[0]);
    const Known& kept = known_.insert_or_assign(std::move(key), std::move(made)).first->second;
    return kept.is_vague ? known(automaton, state, n_callers + 1) : kept;
}

TokenMask TokenMasks::find(GrammarAutomaton& automaton, GrammarAutomaton::State state) {
    const std::lock_guard lock(mutex_);
    // Near the greatest depth what is below a position decides, too. No token opens more
    // than kFewCalls.
    constexpr std::uint32_t kFewCalls = 64;
    Known exact;
    const bool is_deep = automaton.depth(state) + kFewCalls >= GrammarAutomaton::kMostDepth;
    if (is_deep) exact = look(automaton, state, vocabulary_.longest());
    const Known& known = is_deep ? exact : this->known(automaton, state);
    TokenMask mask = known.allowed;
    // The nodes on the way to each unsure one are read once, since their order is a walk's.
    const auto nodes = vocabulary_.nodes();
    std::vector<GrammarAutomaton::State> path(vocabulary_.longest() + 1, GrammarAutomaton::kDead);
    path[0] = state;
    std::size_t i = 0;
    for (const std::uint32_t unsure : known.unsure) {
        while (i <= unsure) {
            const VocabularyTree::Node& node = nodes[i];
            if (node.end <= unsure) {  // not on the way
                i = node.end;
                continue;
            }
            ++n_read_;
            const GrammarAutomaton::State next = automaton.step(path[node.depth], node.byte);
            path[node.depth + 1u] = next;
            if (next == GrammarAutomaton::kDead) {
                i = node.end;
                break;
            }
            if (i == unsure) {
                for (std::size_t t = node.first_token; t < vocabulary_.tokens_end(i); ++t) {
                    mask.set(vocabulary_.tokens()[t]);
                }
            }
            ++i;
        }
    }
    for (const std::uint32_t symbol : grammar_->symbols) {
        if (symbol < Grammar::kFirstToken || automaton.step(state, symbol) == GrammarAutomaton::kDead) continue;
        mask.set(static_cast<TokenId>(symbol - Grammar::kFirstToken));
    }
    return mask;
}

std::shared_ptr<TokenMasks> GrammarMasks::of(Grammar grammar) const {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::find_if(kept_.begin(), kept_.end(), [&](const auto& one) { return one->grammar() == grammar; });
    if (found != kept_.end()) {
        std::rotate(found, found + 1, kept_.end());
    } else {
        if (kept_.size() == kMostKept) kept_.erase(kept_.begin());
        auto shared = std::make_shared<const Grammar>(std::move(grammar));
        kept_.push_back(std::make_shared<TokenMasks>(std::move(shared), vocabulary_));
    }
    return kept_.back();
}

}  // namespace offstage::engine
