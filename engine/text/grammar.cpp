#include "engine/text/grammar.h"

#include <algorithm>
#include <limits>

#include "engine/error.h"
#include "engine/text/text_messages.h"
#include "engine/text/utf8.h"

namespace offstage::engine {
namespace {

[[noreturn]] void refuse_grammar(Message what) {
    throw Error(ErrorKind::kInvalidInput, std::move(what));
}

// Classes of bytes that are in the same sets.
void find_byte_classes(Grammar& grammar) {
    grammar.byte_class.fill(0);
    grammar.n_classes = 1;
    for (const ByteSet& set : grammar.sets) {
        std::map<std::pair<std::uint8_t, bool>, std::uint8_t> parts;
        for (unsigned byte = 0; byte < 256; ++byte) {
            const auto next = static_cast<std::uint8_t>(parts.size());
            std::uint8_t& its = grammar.byte_class[byte];
            its = parts.try_emplace({its, set[byte]}, next).first->second;
        }
        grammar.n_classes = static_cast<std::uint32_t>(parts.size());
    }
}

// Calls `add` with the first and the last bytes of characters, where any byte between
// them is possible in each place.
template <typename Add>
void for_utf8_ranges(std::uint32_t low, std::uint32_t high, const Add& add) {
    if (low > high) return;
    const auto split = [&](std::uint32_t last) {
        for_utf8_ranges(low, last, add);
        for_utf8_ranges(last + 1, high, add);
    };
    for (const std::uint32_t last : {0x7FU, 0x7FFU, 0xD7FFU, 0xDFFFU, 0xFFFFU}) {
        if (low <= last && last < high) return split(last);
    }
    if (low >= 0xD800 && high <= 0xDFFF) return;
    for (unsigned shift = 6; high > 0x7F && shift <= 18; shift += 6) {
        const std::uint32_t rest = (1U << shift) - 1;
        if ((low & ~rest) == (high & ~rest)) continue;
        if ((low & rest) != 0) return split(low | rest);
        if ((high & rest) != rest) return split((high & ~rest) - 1);
    }
    std::string first, last;
    append_utf8(low, first);
    append_utf8(high, last);
    add(first, last);
}

}  // namespace

std::vector<CharacterRange> other_characters(std::vector<CharacterRange> ranges) {
    std::sort(ranges.begin(), ranges.end());
    std::vector<CharacterRange> others;
    std::uint32_t next = 0;  // not in the ranges so far
    for (const auto& [low, high] : ranges) {
        if (low > next) others.emplace_back(next, low - 1);
        next = std::max(next, high + 1);
    }
    if (next <= kLastCharacter) others.emplace_back(next, kLastCharacter);
    return others;
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// ---------------------------------------------------------------- parts

GrammarBuilder::Node GrammarBuilder::add(Part part) {
    if (nodes_.size() >= kMostPositions * 4) refuse_grammar(messages::grammar_too_large(kMostPositions));
    for (const Node inner : part.parts) part.depth = std::max(part.depth, nodes_[inner].depth + 1);
    if (part.depth > kDeepestPart) refuse_grammar(messages::grammar_too_deep(kDeepestPart));
    nodes_.push_back(std::move(part));
    return static_cast<Node>(nodes_.size() - 1);
}

GrammarBuilder::Node GrammarBuilder::empty() {
    return add({});
}

std::uint32_t GrammarBuilder::set_of(const ByteSet& set) {
    auto& sets = grammar_.sets;
    const auto [found, is_new] = set_ids_.try_emplace(set, static_cast<std::uint32_t>(sets.size()));
    if (is_new) {
        if (sets.size() >= kMostSets) refuse_grammar(messages::grammar_many_classes(kMostSets));
        sets.push_back(set);
    }
    return found->second;
}

GrammarBuilder::Node GrammarBuilder::bytes(const ByteSet& set) {
    if (set.none()) refuse_grammar(messages::grammar_no_characters);
    return add({Kind::kBytes, set_of(set)});
}

GrammarBuilder::Node GrammarBuilder::text(std::string_view text) {
    std::vector<Node> parts;
    parts.reserve(text.size());
    for (const char c : text) parts.push_back(bytes(ByteSet().set(static_cast<unsigned char>(c))));
    return sequence(std::move(parts));
}

GrammarBuilder::Node GrammarBuilder::symbol(std::uint32_t symbol) {
    auto& symbols = grammar_.symbols;
    if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end()) symbols.push_back(symbol);
    return add({Kind::kSymbol, symbol});
}

GrammarBuilder::Node GrammarBuilder::characters(std::span<const CharacterRange> ranges) {
    ByteSet ascii;
    std::vector<Node> longer;
    for (const auto& [low, high] : ranges) {
        for_utf8_ranges(low, high, [&](const std::string& first, const std::string& last) {
            std::vector<Node> places;
            for (std::size_t i = 0; i < first.size(); ++i) {
                ByteSet set;
                const auto end = static_cast<unsigned char>(last[i]);
                for (unsigned byte = static_cast<unsigned char>(first[i]); byte <= end; ++byte) set.set(byte);
                if (first.size() == 1) {
                    ascii |= set;
                } else {
                    places.push_back(bytes(set));
                }
            }
            if (!places.empty()) longer.push_back(sequence(std::move(places)));
        });
    }
    if (ascii.any()) longer.push_back(bytes(ascii));
    if (longer.empty()) refuse_grammar(messages::grammar_no_characters);
    return choice(std::move(longer));
}

GrammarBuilder::Node GrammarBuilder::sequence(std::vector<Node> parts) {
    if (parts.size() == 1) return parts.front();
    return add({Kind::kSequence, 0, 0, 0, std::move(parts)});
}

GrammarBuilder::Node GrammarBuilder::choice(std::vector<Node> parts) {
    if (parts.size() == 1) return parts.front();
    return add({Kind::kChoice, 0, 0, 0, std::move(parts)});
}

GrammarBuilder::Node GrammarBuilder::repeat(Node part, int least, int most) {
    return add({Kind::kRepeat, 0, least, most, {part}});
}

GrammarBuilder::Node GrammarBuilder::call(Rule rule) {
    return add({Kind::kCall, rule});
}

GrammarBuilder::Node GrammarBuilder::call(const Grammar& grammar) {
    const auto shift = static_cast<std::uint32_t>(grammar_.positions.size());
    for (Grammar::Position position : grammar.positions) {
        if (position.kind == Grammar::Kind::kBytes) position.arg = set_of(grammar.sets[position.arg]);
        if (position.kind == Grammar::Kind::kCall || position.kind == Grammar::Kind::kSplit) position.arg += shift;
        if (position.kind == Grammar::Kind::kSymbol) symbol(position.arg);
        position.next += shift;
        grammar_.positions.push_back(position);
    }
    for (Grammar::Copies copies : grammar.copies) {
        copies.begin += shift;
        grammar_.copies.push_back(copies);
    }
    return add({Kind::kCallAt, grammar.start + shift});
}

GrammarBuilder::Rule GrammarBuilder::new_rule(const std::string& name) {
    if (rules_.size() >= kMostRules) refuse_grammar(messages::grammar_many_rules(kMostRules));
    rules_.push_back({name});
    return static_cast<Rule>(rules_.size() - 1);
}

GrammarBuilder::Rule GrammarBuilder::rule(const std::string& name) {
    const auto found = names_.find(name);
    if (found != names_.end()) return found->second;
    return names_[name] = new_rule(name);
}

void GrammarBuilder::define(Rule rule, Node node) {
    rules_[rule].node = node;
    rules_[rule].is_defined = true;
}

// ---------------------------------------------------------------- positions

std::uint32_t GrammarBuilder::put(Grammar::Kind kind, std::uint32_t next, std::uint32_t arg) {
    auto& positions = grammar_.positions;
    if (positions.size() >= kMostPositions) refuse_grammar(messages::grammar_too_large(kMostPositions));
    positions.push_back({kind, next, arg});
    return static_cast<std::uint32_t>(positions.size() - 1);
}

void GrammarBuilder::note_copies(std::uint32_t begin, int count) {
    const auto n = static_cast<std::uint32_t>(grammar_.positions.size()) - begin;
    if (n > 0 && count > 1) {
        const auto copies = static_cast<std::uint32_t>(count);
        grammar_.copies.push_back({begin, n / copies, copies});
    }
}

std::uint32_t GrammarBuilder::place_repeat(const Part& part, std::uint32_t next) {
    const Node body = part.parts.front();
    std::uint32_t at = next;
    if (part.most == kNoLimit) {
        at = put(Grammar::Kind::kSplit, next);
        const std::uint32_t begin = place(body, at);
        grammar_.positions[at].arg = begin;
    }
    const auto end = [&] { return static_cast<std::uint32_t>(grammar_.positions.size()); };
    const std::uint32_t optional = end();
    for (int i = part.least; i < part.most; ++i) {
        const std::uint32_t begin = place(body, at);
        if (begin == at) break;  // nothing, however often
        at = put(Grammar::Kind::kSplit, next, begin);
    }
    note_copies(optional, part.most - part.least);
    const std::uint32_t needed = end();
    for (int i = 0; i < part.least; ++i) {
        const std::uint32_t begin = place(body, at);
        if (begin == at) break;
        at = begin;
    }
    note_copies(needed, part.least);
    return at;
}

std::uint32_t GrammarBuilder::place(Node node, std::uint32_t next) {
    if (++n_placed_ > kMostPositions * 16) refuse_grammar(messages::grammar_too_large(kMostPositions));
    const Part& part = nodes_[node];
    switch (part.kind) {
        case Kind::kEmpty:
            return next;
        case Kind::kBytes:
            return put(Grammar::Kind::kBytes, next, part.arg);
        case Kind::kSymbol:
            return put(Grammar::Kind::kSymbol, next, part.arg);
        case Kind::kSequence:
            for (std::size_t i = part.parts.size(); i-- > 0;) next = place(part.parts[i], next);
            return next;
        case Kind::kChoice: {
            std::uint32_t at = place(part.parts.back(), next);
            for (std::size_t i = part.parts.size() - 1; i-- > 0;) {
                at = put(Grammar::Kind::kSplit, place(part.parts[i], next), at);
            }
            return at;
        }
        case Kind::kRepeat:
            return place_repeat(part, next);
        case Kind::kCall: {
            const std::uint32_t at = put(Grammar::Kind::kCall, next);
            calls_.emplace_back(at, part.arg);
            return at;
        }
        case Kind::kCallAt:
            return put(Grammar::Kind::kCall, next, part.arg);
    }
    return next;
}

// For each position, whether its rule's end can be reached: at all, or without reading
// anything.
std::vector<bool> GrammarBuilder::reach_end(bool without_reading) const {
    const auto& positions = grammar_.positions;
    std::vector<bool> reaches(positions.size());
    for (bool changed = true; changed;) {  // at most once more than there are rules
        changed = false;
        for (std::size_t i = 0; i < positions.size(); ++i) {
            if (reaches[i]) continue;
            const Grammar::Position& at = positions[i];
            const bool next = reaches[at.next];
            const bool does = at.kind == Grammar::Kind::kEnd     ? true
                              : at.kind == Grammar::Kind::kSplit ? next || reaches[at.arg]
                              : at.kind == Grammar::Kind::kCall  ? next && reaches[at.arg]
                                                                 : next && !without_reading;
            if (!does) continue;
            reaches[i] = changed = true;
        }
    }
    return reaches;
}

// For each rule, the rules that it may call before it has read anything.
std::vector<std::vector<GrammarBuilder::Rule>> GrammarBuilder::first_calls(
    const std::vector<bool>& may_be_empty) const {
    const auto& positions = grammar_.positions;
    std::map<std::uint32_t, Rule> rule_at;
    for (const auto& [position, rule] : calls_) rule_at[position] = rule;
    std::vector<std::vector<Rule>> calls(rules_.size());
    std::vector<std::uint32_t> seen(positions.size(), std::numeric_limits<std::uint32_t>::max());
    std::vector<std::uint32_t> open;
    for (Rule rule = 0; rule < rules_.size(); ++rule) {
        const auto visit = [&](std::uint32_t position) {
            if (seen[position] == rule) return;
            seen[position] = rule;
            open.push_back(position);
        };
        visit(rules_[rule].start);
        while (!open.empty()) {
            const std::uint32_t i = open.back();
            open.pop_back();
            const Grammar::Position& at = positions[i];
            if (at.kind == Grammar::Kind::kSplit) {
                visit(at.next);
                visit(at.arg);
            } else if (at.kind == Grammar::Kind::kCall) {
                if (const auto found = rule_at.find(i); found != rule_at.end()) calls[rule].push_back(found->second);
                if (may_be_empty[at.arg]) visit(at.next);
            }
        }
    }
    return calls;
}

void GrammarBuilder::check_rules() const {
    const std::vector<bool> ends = reach_end(false);
    for (const RuleText& rule : rules_) {
        if (!ends[rule.start]) refuse_grammar(messages::grammar_rule_endless(rule.name));
    }
    const auto calls = first_calls(reach_end(true));
    enum class Mark : std::uint8_t { kNew, kOpen, kDone };
    std::vector<Mark> marks(rules_.size(), Mark::kNew);
    std::vector<std::pair<Rule, std::size_t>> path;  // with the next call to follow
    for (Rule first = 0; first < rules_.size(); ++first) {
        if (marks[first] == Mark::kNew) path.emplace_back(first, 0);
        while (!path.empty()) {
            auto& [rule, i] = path.back();
            marks[rule] = Mark::kOpen;
            if (i == calls[rule].size()) {
                marks[rule] = Mark::kDone;
                path.pop_back();
                continue;
            }
            const Rule called = calls[rule][i++];
            if (marks[called] == Mark::kOpen) {
                refuse_grammar(messages::grammar_left_recursion(rules_[called].name));
            }
            if (marks[called] == Mark::kNew) path.emplace_back(called, 0);
        }
    }
}

Grammar GrammarBuilder::compile(Rule root) {
    for (const RuleText& rule : rules_) {
        if (!rule.is_defined) refuse_grammar(messages::grammar_rule_undefined(rule.name));
    }
    for (RuleText& rule : rules_) rule.start = place(rule.node, put(Grammar::Kind::kEnd, 0));
    for (const auto& [position, rule] : calls_) grammar_.positions[position].arg = rules_[rule].start;
    check_rules();
    grammar_.start = rules_[root].start;
    find_byte_classes(grammar_);
    return std::move(grammar_);
}

}  // namespace offstage::engine
