#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "engine/indices.h"
#include "engine/text/grammar_automaton.h"

namespace offstage::engine {

class Tokenizer;

// A bit for each token of a vocabulary.
class TokenMask {
  public:
    TokenMask() = default;
    explicit TokenMask(std::int64_t vocab_size) : words_((static_cast<std::size_t>(vocab_size) + 63) / 64) {}

    bool has(TokenId token) const { return (words_[word(token)] & bit(token)) != 0; }
    void set(TokenId token) { words_[word(token)] |= bit(token); }
    void reset(TokenId token) { words_[word(token)] &= ~bit(token); }
    void set_all() { words_.assign(words_.size(), ~std::uint64_t{0}); }
    bool any() const;
    std::size_t n_bytes() const { return words_.size() * sizeof(std::uint64_t); }
    std::span<const std::uint64_t> words() const { return words_; }  // the last one may have bits beyond the vocabulary

  private:
    static std::size_t word(TokenId token) { return static_cast<std::size_t>(token) / 64; }
    static std::uint64_t bit(TokenId token) { return std::uint64_t{1} << (static_cast<unsigned>(token) % 64); }

    std::vector<std::uint64_t> words_;
};

// The bytes of a vocabulary's tokens as a tree, in the order of a walk. Special tokens and
// those without text are left out. Immutable; any thread.
class VocabularyTree {
  public:
    // Looks at the whole vocabulary.
    VocabularyTree(const Tokenizer& tokenizer, std::int64_t vocab_size);

    struct Node {
        std::uint32_t end;          // the first node behind its subtree
        std::uint32_t first_token;  // of tokens(), of those that end here; the next node's is their end
        std::uint16_t depth;        // bytes before `byte`
        std::uint8_t byte;
        // Bytes from this one, the first of a character, to the end of the subtree's
        // longest token, all of plain characters; 0: others are there, or more of them.
        std::uint8_t plain : 7;
        std::uint8_t beyond_ascii : 1;  // and not all of them are ASCII's
    };
    // ASCII's visible characters and the space, without those that have a meaning of
    // their own in quoted text. All characters beyond ASCII are plain, too.
    static bool is_plain(std::uint8_t byte) { return byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\'; }
    std::span<const Node> nodes() const { return {nodes_.data(), nodes_.size() - 1}; }
    std::span<const TokenId> tokens() const { return tokens_; }
    std::size_t tokens_end(std::size_t node) const { return nodes_[node + 1].first_token; }
    std::size_t longest() const { return lengths_.back(); }  // bytes of a token
    // Ascending lengths of tokens, the last one longest(): few are longer than the first
    // one, and ever fewer than the others.
    std::span<const std::size_t> lengths() const { return lengths_; }
    std::int64_t vocab_size() const { return vocab_size_; }
    bool has(TokenId token) const { return texts_.has(token); }

  private:
    void find_lengths();
    void find_plain();

    std::vector<Node> nodes_;  // and one behind the last
    std::vector<TokenId> tokens_;
    TokenMask texts_;  // the same
    std::vector<std::size_t> lengths_;
    std::int64_t vocab_size_;
};

// The tokens that may follow in each state of a grammar. What a state's positions decide,
// if need be with those of a few callers, is found once for all states that have the
// same, and kept, up to kMostBytes; only tokens that leave these rules and go on are read
// from the state itself. Of a part's copies all that have more behind them than a token
// of one of VocabularyTree::lengths() can reach are the same; longer tokens are read from
// the state itself there. The referents must outlive it. Any thread; one looks at a time.
class TokenMasks {
  public:
    static constexpr std::size_t kMostBytes = 64u << 20;

    TokenMasks(std::shared_ptr<const Grammar> grammar, const VocabularyTree& vocabulary);

    const Grammar& grammar() const { return *grammar_; }
    // Throws as GrammarAutomaton::step().
    TokenMask find(GrammarAutomaton& automaton, GrammarAutomaton::State state);
    // Whether find() has this token, whose bytes these are.
    bool allows(GrammarAutomaton& automaton, GrammarAutomaton::State state, TokenId token,
                std::string_view bytes) const;
    // Whether much of a large vocabulary may follow: find() takes longer than allows() for
    // many tokens where it has not seen the like.
    bool is_costly(GrammarAutomaton& automaton, GrammarAutomaton::State state) const;
    std::size_t n_read() const { return n_read_; }  // nodes of the vocabulary, so far

  private:
    struct Known {
        TokenMask allowed;
        std::vector<std::uint32_t> unsure;  // nodes whose tokens are read from the state itself
        bool is_vague = false;              // too many of these: the rest is left out
    };

    // Parts' copies, as far as tokens of up to `most` bytes tell them apart.
    struct Level {
        std::size_t most = 0;
        std::vector<std::uint32_t> alike;  // by position: the same one in the first copy that is alike
    };

    void find_levels();
    // Tokens of more than `most` bytes are unsure; of more than most_unsure it is vague.
    Known look(GrammarAutomaton& automaton, GrammarAutomaton::State state, std::size_t most,
               std::size_t most_unsure = std::numeric_limits<std::size_t>::max());
    const Known& known(GrammarAutomaton& automaton, GrammarAutomaton::State state, std::uint32_t n_callers = 0);

    const std::shared_ptr<const Grammar> grammar_;
    const VocabularyTree& vocabulary_;
    std::vector<Level> levels_;           // for ever longer tokens
    std::vector<std::uint8_t> level_of_;  // by position: how many of them find its copy like others
    std::vector<std::uint8_t> plain_;     // of each class of ASCII's plain bytes one
    std::mutex mutex_;
    std::map<std::vector<std::uint32_t>, Known> known_;  // by positions
    std::size_t n_bytes_ = 0;
    std::atomic<std::size_t> n_read_ = 0;
};

// A vocabulary with the masks of the grammars used last. Any thread.
class GrammarMasks {
  public:
    GrammarMasks(const Tokenizer& tokenizer, std::int64_t vocab_size) : vocabulary_(tokenizer, vocab_size) {}
    std::shared_ptr<TokenMasks> of(Grammar grammar) const;

  private:
    static constexpr std::size_t kMostKept = 4;

    const VocabularyTree vocabulary_;
    mutable std::mutex mutex_;
    mutable std::vector<std::shared_ptr<TokenMasks>> kept_;  // newest last
};

}  // namespace offstage::engine
