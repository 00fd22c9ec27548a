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

// Characters beyond ASCII in UTF-8: the ranges of their bytes.
struct CharacterForm {
    std::uint8_t first_low, first_high, second_low, second_high;
    int n_more;  // bytes behind these, of any value that continues a character
};
constexpr CharacterForm kCharacterForms[] = {
    {0xC2, 0xDF, 0x80, 0xBF, 0}, {0xE0, 0xE0, 0xA0, 0xBF, 1}, {0xE1, 0xEC, 0x80, 0xBF, 1}, {0xED, 0xED, 0x80, 0x9F, 1},
    {0xEE, 0xEF, 0x80, 0xBF, 1}, {0xF0, 0xF0, 0x90, 0xBF, 2}, {0xF1, 0xF3, 0x80, 0xBF, 2}, {0xF4, 0xF4, 0x80, 0x8F, 2},
};
const CharacterForm* form_of_character(std::uint8_t first) {
    const auto* const found =
        std::find_if(std::begin(kCharacterForms), std::end(kCharacterForms),
                     [&](const CharacterForm& form) { return first >= form.first_low && first <= form.first_high; });
    return found == std::end(kCharacterForms) ? nullptr : found;
}
bool continues_character(std::uint8_t byte) {
    return byte >= 0x80 && byte <= 0xBF;
}

// Whether a state reads any plain characters, so many of them. Finds out for a state only
// once.
class PlainReader {
  public:
    using State = GrammarAutomaton::State;

    // plain: of each class of ASCII's plain bytes one.
    PlainReader(GrammarAutomaton& automaton, const Grammar& grammar, std::span<const std::uint8_t> plain)
        : automaton_(automaton), grammar_(grammar), plain_(plain) {}

    bool reads(State state, std::size_t n, bool beyond_ascii) {
        for (; n > 0 && state != GrammarAutomaton::kDead; --n) state = next(state, beyond_ascii);
        return state != GrammarAutomaton::kDead;
    }

  private:
    static constexpr State kNotFound = -2;
    struct Next {
        State ascii = kNotFound, any = kNotFound;
    };

    // The state behind each of them; kDead: it is not the same for all.
    State next(State state, bool beyond_ascii) {
        const auto place = static_cast<std::size_t>(state);
        if (next_.size() <= place) next_.resize(place + 1);
        Next& known = next_[place];
        if (known.ascii == kNotFound) {
            const State first = automaton_.step(state, plain_.front());
            const bool is_same = std::all_of(plain_.begin() + 1, plain_.end(), [&](std::uint8_t byte) {
                return first != GrammarAutomaton::kDead && automaton_.step(state, byte) == first;
            });
            known.ascii = is_same ? first : GrammarAutomaton::kDead;
        }
        if (!beyond_ascii) return known.ascii;
        if (known.any == kNotFound) {
            const bool is_same = known.ascii != GrammarAutomaton::kDead &&
                                 std::ranges::all_of(kCharacterForms, [&](const CharacterForm& form) {
                                     return leads_to(state, form, known.ascii);
                                 });
            known.any = is_same ? known.ascii : GrammarAutomaton::kDead;
        }
        return known.any;
    }
    bool leads_to(State state, const CharacterForm& form, State target) {
        std::vector<State> states = {state};
        bool alive =
            step_all(states, form.first_low, form.first_high) && step_all(states, form.second_low, form.second_high);
        for (int i = 0; i < form.n_more && alive; ++i) alive = step_all(states, 0x80, 0xBF);
        return alive && states.size() == 1 && states.front() == target;
    }
    // To all states behind one of these bytes. False: one of them is not read.
    bool step_all(std::vector<State>& states, unsigned low, unsigned high) {
        std::vector<State> to;
        for (const State state : states) {
            for (unsigned byte = low; byte <= high; ++byte) {
                if (byte > low && grammar_.byte_class[byte] == grammar_.byte_class[byte - 1]) continue;
                const State next = automaton_.step(state, byte);
                if (next == GrammarAutomaton::kDead) return false;
                if (std::find(to.begin(), to.end(), next) == to.end()) to.push_back(next);
            }
        }
        states = std::move(to);
        return true;
    }

    GrammarAutomaton& automaton_;
    const Grammar& grammar_;
    std::span<const std::uint8_t> plain_;
    std::vector<Next> next_;  // by state
};

}  // namespace

bool TokenMask::any() const {
    return std::any_of(words_.begin(), words_.end(), [](std::uint64_t word) { return word != 0; });
}

VocabularyTree::VocabularyTree(const Tokenizer& tokenizer, std::int64_t vocab_size)
    : texts_(vocab_size), vocab_size_(vocab_size) {
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
                              static_cast<std::uint8_t>(bytes[depth]), 0, 0});
        }
        tokens_.push_back(token);
        texts_.set(token);
        before = bytes;
    }
    close(0);
    nodes_.push_back({0, static_cast<std::uint32_t>(tokens_.size()), 0, 0, 0, 0});
    find_lengths();
    find_plain();
}

void VocabularyTree::find_lengths() {
    std::vector<std::size_t> n_at;
    for (const Node& node : nodes()) {
        if (n_at.size() <= node.depth) n_at.resize(node.depth + 1u);
        ++n_at[node.depth];
    }
    // Of so many nodes one is deeper; then of so many of these.
    constexpr std::size_t kFew = 64, kFewer = 16;
    std::size_t length = 0, n_deeper = nodes().size();
    for (std::size_t few = n_deeper / kFew; lengths_.empty() || n_deeper > 0; few /= kFewer) {
        while (n_deeper > few) n_deeper -= n_at[length++];
        if (lengths_.empty() || lengths_.back() < length) lengths_.push_back(length);
    }
}

void VocabularyTree::find_plain() {
    // From above: how many bytes of the character follow each one; -1: there is none.
    std::vector<int> n_open(nodes().size());
    std::vector<std::uint32_t> path;
    for (std::uint32_t i = 0; i < n_open.size(); ++i) {
        const Node& node = nodes_[i];
        path.resize(node.depth);
        const int before = path.empty() ? 0 : n_open[path.back()];
        const std::uint8_t above = path.empty() ? 0 : nodes_[path.back()].byte;
        const CharacterForm* const begun = form_of_character(node.byte);
        n_open[i] = -1;
        if (before > 0 && continues_character(node.byte)) {
            const CharacterForm* const form = form_of_character(above);
            const bool fits = form == nullptr || (node.byte >= form->second_low && node.byte <= form->second_high);
            if (fits) n_open[i] = before - 1;
        } else if (before == 0 && begun != nullptr) {
            n_open[i] = begun->n_more + 1;
        } else if (before == 0 && is_plain(node.byte)) {
            n_open[i] = 0;
        }
        path.push_back(i);
    }
    // From below.
    constexpr std::size_t kMost = 127;
    std::vector<std::size_t> length(n_open.size());  // 0: not plain
    for (std::size_t i = n_open.size(); i-- > 0;) {
        Node& node = nodes_[i];
        std::size_t longest = 1;
        bool is_whole = n_open[i] >= 0, beyond_ascii = node.byte >= 0x80;
        for (std::size_t child = i + 1; child < node.end && is_whole; child = nodes_[child].end) {
            is_whole = length[child] > 0;
            longest = std::max(longest, length[child] + 1);
            beyond_ascii = beyond_ascii || nodes_[child].beyond_ascii != 0;
        }
        length[i] = is_whole ? longest : 0;
        node.beyond_ascii = beyond_ascii ? 1 : 0;
        node.plain = is_whole && longest <= kMost && !continues_character(node.byte) ? longest & kMost : 0;
    }
}

TokenMasks::TokenMasks(std::shared_ptr<const Grammar> grammar, const VocabularyTree& vocabulary)
    : grammar_(std::move(grammar)), vocabulary_(vocabulary), level_of_(grammar_->positions.size()) {
    find_levels();
    std::bitset<256> seen;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const auto one = static_cast<std::uint8_t>(byte);
        if (!VocabularyTree::is_plain(one) || seen[grammar_->byte_class[one]]) continue;
        seen.set(grammar_->byte_class[one]);
        plain_.push_back(one);
    }
}

void TokenMasks::find_levels() {
    for (const std::size_t most : vocabulary_.lengths()) {
        Level level{most, std::vector<std::uint32_t>(grammar_->positions.size())};
        std::iota(level.alike.begin(), level.alike.end(), 0U);
        bool any = false;
        for (auto copies = grammar_->copies.rbegin(); copies != grammar_->copies.rend(); ++copies) {
            // Each copy reads a byte, or may as well be left out.
            if (copies->count <= most) continue;
            any = true;
            const std::size_t first = copies->begin + most * copies->size;
            for (std::size_t i = 0; i < (copies->count - most) * copies->size; ++i) {
                level.alike[first + i] = level.alike[first + i % copies->size];
            }
        }
        if (!any) break;
        levels_.push_back(std::move(level));
    }
    for (const Grammar::Copies& copies : grammar_->copies) {
        std::uint8_t level = 0;
        for (std::size_t i = 0; i < std::size_t{copies.count} * copies.size; ++i) {
            while (level < levels_.size() && levels_[level].most <= i / copies.size) ++level;
            std::uint8_t& kept = level_of_[copies.begin + i];
            if (level > 0) kept = kept == 0 ? level : std::min(kept, level);
        }
    }
}

TokenMasks::Known TokenMasks::look(GrammarAutomaton& automaton, GrammarAutomaton::State state, std::size_t most,
                                   std::size_t most_unsure) {
    Known known{TokenMask(vocabulary_.vocab_size()), {}};
    if (state == GrammarAutomaton::kDead) return known;  // nothing can follow a whole text
    const auto nodes = vocabulary_.nodes();
    // The states before each byte, and whether a rule's end was reached before it.
    std::vector<std::pair<GrammarAutomaton::State, bool>> path(vocabulary_.longest() + 1);
    path[0] = {state, automaton.leaves(state)};
    PlainReader plain(automaton, *grammar_, plain_);
    for (std::size_t i = 0; i < nodes.size();) {
        if (known.unsure.size() > most_unsure) return {{}, {}, true};
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
        if (node.plain > 0 && node.depth + std::size_t{node.plain} <= most &&
            plain.reads(before, node.plain, node.beyond_ascii != 0)) {
            for (std::size_t t = node.first_token; t < vocabulary_.tokens_end(node.end - 1); ++t) {
                known.allowed.set(vocabulary_.tokens()[t]);
            }
            i = node.end;
            continue;
        }
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
    if (known.unsure.size() > most_unsure) return {{}, {}, true};
    return known;
}

const TokenMasks::Known& TokenMasks::known(GrammarAutomaton& automaton, GrammarAutomaton::State state,
                                           std::uint32_t n_callers) {
    constexpr std::uint32_t kMostCallers = 3;
    auto stacks = automaton.positions(state, n_callers);
    // The longest tokens that tell no copies apart which shorter ones do not.
    std::size_t level = 0;
    for (const auto& stack : stacks) {
        for (const std::uint32_t position : stack) {
            const std::size_t its = level_of_[position];
            if (its > 0) level = level == 0 ? its : std::min(level, its);
        }
    }
    if (level > 0) {
        for (auto& stack : stacks) {
            for (std::uint32_t& position : stack) position = levels_[level - 1].alike[position];
        }
        std::sort(stacks.begin(), stacks.end());
        stacks.erase(std::unique(stacks.begin(), stacks.end()), stacks.end());
    }
    std::vector<std::uint32_t> key = {n_callers, static_cast<std::uint32_t>(level)};
    for (const auto& stack : stacks) {
        key.push_back(static_cast<std::uint32_t>(stack.size()));
        key.insert(key.end(), stack.begin(), stack.end());
    }
    if (const auto found = known_.find(key); found != known_.end()) {
        return found->second.is_vague ? known(automaton, state, n_callers + 1) : found->second;
    }
    constexpr std::size_t kManyUnsure = 32;  // one of so many tokens
    Known made = look(
        automaton, automaton.without_callers(state, n_callers),
        level > 0 ? levels_[level - 1].most : vocabulary_.longest(),
        n_callers < kMostCallers ? vocabulary_.tokens().size() / kManyUnsure : std::numeric_limits<std::size_t>::max());
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

bool TokenMasks::allows(GrammarAutomaton& automaton, GrammarAutomaton::State state, TokenId token,
                        std::string_view bytes) const {
    const std::vector<std::uint32_t>& symbols = grammar_->symbols;
    const std::uint32_t symbol = Grammar::symbol_of(token);
    const bool is_symbol = std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
    if (is_symbol && automaton.step(state, symbol) != GrammarAutomaton::kDead) return true;
    return vocabulary_.has(token) && automaton.read(state, bytes) != GrammarAutomaton::kDead;
}

bool TokenMasks::is_costly(GrammarAutomaton& automaton, GrammarAutomaton::State state) const {
    constexpr std::size_t kSmallVocabulary = 16'384;
    if (vocabulary_.tokens().size() <= kSmallVocabulary) return false;
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return std::all_of(kLetters.begin(), kLetters.end(), [&](char letter) {
        return automaton.step(state, static_cast<unsigned char>(letter)) != GrammarAutomaton::kDead;
    });
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
