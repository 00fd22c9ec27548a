#include "engine/text/grammar_automaton.h"

#include <algorithm>
#include <utility>

#include "engine/error.h"
#include "engine/mix_bits.h"
#include "engine/text/text_messages.h"

namespace offstage::engine {
namespace {

// The stacks that nothing is below: the grammar's end, and an unknown caller.
constexpr std::uint32_t kBottom = 0, kUnknownCaller = 1;
constexpr GrammarAutomaton::State kNotFound = -2;

}  // namespace

GrammarAutomaton::GrammarAutomaton(const Grammar& grammar) : grammar_(grammar) {
    clear();
    enter(grammar_.start, kBottom);
    start_ = take_entered();
}

void GrammarAutomaton::clear() {
    stacks_.assign(2, {});
    seen_.assign(2, 0);
    stack_ids_.clear();
    states_.clear();
    state_ids_.clear();
    successors_.clear();
    n_kept_ = 0;
}

std::uint32_t GrammarAutomaton::stack_of(std::uint32_t position, std::uint32_t below) {
    const auto next = static_cast<std::uint32_t>(stacks_.size());
    const auto [found, is_new] = stack_ids_.try_emplace(std::uint64_t{position} << 32 | below, next);
    if (is_new) {
        stacks_.push_back({position, below, stacks_[below].depth + 1});
        seen_.push_back(0);
    }
    return found->second;
}

void GrammarAutomaton::enter(std::uint32_t position, std::uint32_t below) {
    if (open_.empty() && entered_.stacks.empty()) ++round_;
    const auto visit = [&](std::uint32_t to, std::uint32_t under) {
        const std::uint32_t stack = stack_of(to, under);
        if (std::exchange(seen_[stack], round_) != round_) open_.push_back(stack);
    };
    visit(position, below);
    while (!open_.empty()) {
        const std::uint32_t id = open_.back();
        open_.pop_back();
        const Stack stack = stacks_[id];
        const Grammar::Position& here = grammar_.positions[stack.position];
        switch (here.kind) {
            case Grammar::Kind::kSplit:
                visit(here.next, stack.below);
                visit(here.arg, stack.below);
                break;
            case Grammar::Kind::kCall:
                // A call at a rule's end needs no return to it.
                if (grammar_.positions[here.next].kind == Grammar::Kind::kEnd) {
                    visit(here.arg, stack.below);
                } else if (stack.depth < kMostDepth) {
                    visit(here.arg, stack_of(here.next, stack.below));
                }
                break;
            case Grammar::Kind::kEnd:
                if (stack.below == kBottom) {
                    entered_.accepts = true;
                } else if (stack.below == kUnknownCaller) {
                    entered_.leaves = true;
                } else {
                    const Stack caller = stacks_[stack.below];
                    visit(caller.position, caller.below);
                }
                break;
            case Grammar::Kind::kBytes:
            case Grammar::Kind::kSymbol:
                if (entered_.stacks.size() >= kMostStacks) {
                    open_.clear();
                    entered_ = {};
                    throw Error(ErrorKind::kInvalidInput, messages::grammar_ambiguous(kMostStacks));
                }
                entered_.stacks.push_back(id);
                break;
        }
    }
}

GrammarAutomaton::State GrammarAutomaton::take_entered() {
    StateData data = std::exchange(entered_, {});
    if (data.stacks.empty() && !data.accepts && !data.leaves) return kDead;
    std::sort(data.stacks.begin(), data.stacks.end());
    std::uint64_t hash = (data.accepts ? 1U : 0U) + (data.leaves ? 2U : 0U);
    for (const std::uint32_t stack : data.stacks) hash = mix_bits(hash * kGoldenBits + stack);
    const auto [begin, end] = state_ids_.equal_range(hash);
    for (auto it = begin; it != end; ++it) {
        const StateData& known = at(it->second);
        if (known.stacks == data.stacks && known.accepts == data.accepts && known.leaves == data.leaves) {
            return it->second;
        }
    }
    n_kept_ += data.stacks.size();
    if (n_kept_ > kMostKept) throw Error(ErrorKind::kInvalidInput, messages::grammar_many_states);
    states_.push_back(std::move(data));
    const auto state = static_cast<State>(states_.size() - 1);
    state_ids_.emplace(hash, state);
    return state;
}

GrammarAutomaton::State GrammarAutomaton::find_successor(State state, std::uint32_t symbol) {
    for (std::size_t i = 0; i < at(state).stacks.size(); ++i) {
        const Stack stack = stacks_[at(state).stacks[i]];
        const Grammar::Position& here = grammar_.positions[stack.position];
        const bool reads =
            here.kind == Grammar::Kind::kBytes ? symbol < 256 && grammar_.sets[here.arg][symbol] : here.arg == symbol;
        if (reads) enter(here.next, stack.below);
    }
    return take_entered();
}

GrammarAutomaton::State GrammarAutomaton::step(State state, std::uint32_t symbol) {
    if (state == kDead) return kDead;
    if (symbol >= 256) return find_successor(state, symbol);
    std::int32_t& begin = states_[static_cast<std::size_t>(state)].successors;
    if (begin < 0) {
        begin = static_cast<std::int32_t>(successors_.size());
        successors_.resize(successors_.size() + grammar_.n_classes, kNotFound);
        n_kept_ += grammar_.n_classes;
    }
    const std::size_t place = static_cast<std::size_t>(begin) + grammar_.byte_class[symbol];
    if (successors_[place] == kNotFound) {
        const State next = find_successor(state, symbol);
        successors_[place] = next;
    }
    return successors_[place];
}

GrammarAutomaton::State GrammarAutomaton::read(State state, std::string_view bytes) {
    for (const char c : bytes) {
        if (state == kDead) break;
        state = step(state, static_cast<unsigned char>(c));
    }
    return state;
}

std::uint32_t GrammarAutomaton::depth(State state) const {
    std::uint32_t deepest = 0;
    for (const std::uint32_t stack : at(state).stacks) deepest = std::max(deepest, stacks_[stack].depth);
    return deepest;
}

std::vector<std::vector<std::uint32_t>> GrammarAutomaton::positions(State state, std::uint32_t n_callers) const {
    std::vector<std::vector<std::uint32_t>> all;
    for (std::uint32_t id : at(state).stacks) {
        auto& positions = all.emplace_back();
        for (; id > kUnknownCaller && positions.size() <= n_callers; id = stacks_[id].below) {
            positions.push_back(stacks_[id].position);
        }
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

GrammarAutomaton::State GrammarAutomaton::without_callers(State state, std::uint32_t n_kept) {
    for (const auto& positions : positions(state, n_kept)) {
        std::uint32_t below = kUnknownCaller;
        for (std::size_t i = positions.size(); --i > 0;) below = stack_of(positions[i], below);
        enter(positions.front(), below);
    }
    return take_entered();
}

GrammarAutomaton::State GrammarAutomaton::forget_others(State state) {
    const StateData kept = at(state);
    const std::vector<Stack> old = stacks_;
    clear();
    // Each stack from its bottom upwards.
    for (const std::uint32_t stack : kept.stacks) {
        std::vector<std::uint32_t> positions;
        std::uint32_t id = stack;
        for (; id > kUnknownCaller; id = old[id].below) positions.push_back(old[id].position);
        for (auto it = positions.rbegin(); it != positions.rend(); ++it) id = stack_of(*it, id);
        entered_.stacks.push_back(id);
    }
    entered_.accepts = kept.accepts;
    entered_.leaves = kept.leaves;
    return take_entered();
}

}  // namespace offstage::engine
