#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/text/grammar.h"

namespace offstage::engine {

// Reads a text by a grammar, byte by byte, in all ways at once: a state is a set of stacks
// of positions. States and their successors are found once. Nesting beyond kMostDepth
// calls is left out of the grammar's language. One thread.
class GrammarAutomaton {
  public:
    using State = std::int32_t;
    static constexpr State kDead = -1;
    static constexpr std::uint32_t kMostDepth = 256;
    static constexpr std::size_t kMostStacks = 1024;  // of a state
    static constexpr std::size_t kManyStates = 50'000;
    // Numbers of stacks and successors: 16 and 80 MB. Beyond these step() throws.
    static constexpr std::size_t kManyKept = 4'000'000, kMostKept = 20'000'000;

    explicit GrammarAutomaton(const Grammar& grammar);  // which must outlive it

    State start() const { return start_; }
    // A byte or another symbol of the grammar. Throws Error (kInvalidInput) where the
    // grammar can be read in more than kMostStacks ways, or has too many states.
    State step(State state, std::uint32_t symbol);
    State read(State state, std::string_view bytes);
    // Whether the text so far is whole, and whether nothing can follow it.
    bool accepts(State state) const { return at(state).accepts; }
    bool is_complete(State state) const { return accepts(state) && at(state).stacks.empty(); }

    // The same stacks, each cut below so many callers: what follows the end of its lowest
    // rule is not known.
    State without_callers(State state, std::uint32_t n_kept = 0);
    // Such a state: a rule's end was reached.
    bool leaves(State state) const { return at(state).leaves; }
    // The stacks of such a state, which tell it apart: positions from the top, each once.
    std::vector<std::vector<std::uint32_t>> positions(State state, std::uint32_t n_callers = 0) const;

    // Calls within each other, of the deepest stack.
    std::uint32_t depth(State state) const;
    // Whether it is time for forget_others().
    bool is_large() const { return states_.size() > kManyStates || n_kept_ > kManyKept; }
    // Forgets all states except this one, and returns its new number.
    State forget_others(State state);

  private:
    struct Stack {
        std::uint32_t position = 0, below = 0, depth = 0;
    };
    struct StateData {
        std::vector<std::uint32_t> stacks;  // ascending
        bool accepts = false, leaves = false;
        std::int32_t successors = -1;  // begin in successors_; -1: none yet
    };

    const StateData& at(State state) const { return states_[static_cast<std::size_t>(state)]; }
    void clear();
    std::uint32_t stack_of(std::uint32_t position, std::uint32_t below);
    void enter(std::uint32_t position, std::uint32_t below);  // and what follows without reading
    State take_entered();
    State find_successor(State state, std::uint32_t symbol);

    const Grammar& grammar_;
    std::vector<Stack> stacks_;
    std::unordered_map<std::uint64_t, std::uint32_t> stack_ids_;
    std::vector<StateData> states_;
    std::unordered_multimap<std::uint64_t, State> state_ids_;  // by a hash
    std::vector<State> successors_;                            // by class of byte
    State start_ = kDead;
    std::size_t n_kept_ = 0;
    // Of enter():
    StateData entered_;
    std::vector<std::uint32_t> open_;
    std::vector<std::uint32_t> seen_;  // by stack: the last round that it was in
    std::uint32_t round_ = 0;
};

}  // namespace offstage::engine
