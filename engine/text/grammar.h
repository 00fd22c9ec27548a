#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/indices.h"

namespace offstage::engine {

using ByteSet = std::bitset<256>;
using CharacterRange = std::pair<std::uint32_t, std::uint32_t>;  // Unicode, both ends included
constexpr std::uint32_t kLastCharacter = 0x10FFFF;
// All characters that are in none of these ranges.
std::vector<CharacterRange> other_characters(std::vector<CharacterRange> ranges);
int hex_digit(char c);  // its value; -1: it is none

// A context-free grammar over bytes and a few symbols beyond them, compiled: each rule is
// a graph of positions. Immutable; any thread. Made by GrammarBuilder.
struct Grammar {
    // Symbols: 0 .. 255 are bytes; a thought of the model, as a whole; a special token.
    static constexpr std::uint32_t kThought = 256, kFirstToken = 257;
    static std::uint32_t symbol_of(TokenId token) { return kFirstToken + static_cast<std::uint32_t>(token); }

    enum class Kind : std::uint8_t {
        kBytes,   // reads a byte of sets[arg], goes to next
        kSymbol,  // reads the symbol arg, goes to next
        kCall,    // reads the rule that begins at arg, goes to next
        kSplit,   // goes to next or to arg
        kEnd,     // of the rule
    };
    struct Position {
        Kind kind = Kind::kEnd;
        std::uint32_t next = 0, arg = 0;
        bool operator==(const Position&) const = default;
    };
    // A part's copies, one behind the other: the first is the last to be read.
    struct Copies {
        std::uint32_t begin = 0, size = 0, count = 0;  // size: positions of each
        bool operator==(const Copies&) const = default;
    };

    std::vector<Position> positions;
    std::vector<Copies> copies;  // those within others before them
    std::vector<ByteSet> sets;
    std::vector<std::uint32_t> symbols;  // of kSymbol, each once
    std::uint32_t start = 0;
    // Bytes that no position tells apart have the same class.
    std::array<std::uint8_t, 256> byte_class{};
    std::uint32_t n_classes = 1;

    bool operator==(const Grammar&) const = default;
};

// Makes a grammar of rules and their parts. One thread.
class GrammarBuilder {
  public:
    // A part, which may be used several times; it is compiled once for each use.
    using Node = std::uint32_t;
    using Rule = std::uint32_t;

    static constexpr std::size_t kMostPositions = 120'000;
    static constexpr std::size_t kMostRules = 4096;
    static constexpr std::size_t kMostSets = 4096;  // of bytes, that differ
    static constexpr int kDeepestPart = 1000;       // parts within each other
    static constexpr int kNoLimit = -1;

    Node empty();
    Node bytes(const ByteSet& set);  // one byte
    Node text(std::string_view text);
    Node symbol(std::uint32_t symbol);
    // One of these characters, in UTF-8; surrogates are left out.
    Node characters(std::span<const CharacterRange> ranges);
    Node sequence(std::vector<Node> parts);
    Node choice(std::vector<Node> parts);  // not none
    Node repeat(Node part, int least, int most);
    Node optional(Node part) { return repeat(part, 0, 1); }
    Node call(Rule rule);
    Node call(const Grammar& grammar);  // which is copied

    // The rule of this name, which need not be defined yet. Throws Error (kInvalidInput) for
    // too many.
    Rule rule(const std::string& name);
    Rule new_rule(const std::string& name);  // another one, also if a rule has that name
    bool is_defined(Rule rule) const { return rules_[rule].is_defined; }
    void define(Rule rule, Node node);

    // Throws Error (kInvalidInput): an undefined rule, one that begins with itself or has
    // no end, a set of no characters, too many positions.
    Grammar compile(Rule root);

  private:
    enum class Kind : std::uint8_t { kEmpty, kBytes, kSymbol, kSequence, kChoice, kRepeat, kCall, kCallAt };
    struct Part {
        Kind kind = Kind::kEmpty;
        std::uint32_t arg = 0;
        int least = 0, most = 0;
        std::vector<Node> parts = {};
        int depth = 0;
    };
    struct RuleText {
        std::string name;
        Node node = 0;
        bool is_defined = false;
        std::uint32_t start = 0;
    };

    Node add(Part part);
    std::uint32_t set_of(const ByteSet& set);
    std::uint32_t put(Grammar::Kind kind, std::uint32_t next, std::uint32_t arg = 0);
    std::uint32_t place(Node node, std::uint32_t next);  // returns where the part begins
    std::uint32_t place_repeat(const Part& part, std::uint32_t next);
    void note_copies(std::uint32_t begin, int count);  // that end at the last position
    void check_rules() const;
    std::vector<std::vector<Rule>> first_calls(const std::vector<bool>& may_be_empty) const;
    std::vector<bool> reach_end(bool without_reading) const;

    std::vector<Part> nodes_;
    std::size_t n_placed_ = 0;
    std::vector<RuleText> rules_;
    std::map<std::string, Rule> names_;
    Grammar grammar_;
    std::unordered_map<ByteSet, std::uint32_t> set_ids_;
    std::vector<std::pair<std::uint32_t, Rule>> calls_;  // positions whose rule has no place yet
};

}  // namespace offstage::engine
