#include "engine/eval/prefix_scorer.h"

#include <algorithm>

#include "engine/as_size.h"
#include "engine/eval/loaded_step_model.h"
#include "engine/run/token_choice.h"

namespace offstage::engine {
namespace {

// The most tokens of a step whose logits are computed: with a vocabulary of 150,000 they
// are 150 MB.
constexpr std::size_t kMostScoredRows = 256;

std::size_t common_beginning(std::span<const TokenId> a, std::span<const TokenId> b) {
    const auto parted = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return as_size(parted.first - a.begin());
}

// The input tokens: the last token of the stretch predicts no scored token.
std::span<const TokenId> fed_tokens(const ScoredTokens& sequence) {
    return std::span<const TokenId>(sequence.tokens).first(sequence.end - 1);
}

// At least one token of each sequence remains, the one that predicts the first of its
// stretch.
std::size_t shared_beginning(std::span<const ScoredTokens> sequences) {
    std::size_t shared = sequences.front().first - 1;
    for (const ScoredTokens& sequence : sequences) {
        shared = std::min(shared, sequence.first - 1);
        shared = std::min(shared, common_beginning(fed_tokens(sequences.front()), fed_tokens(sequence)));
    }
    return shared;
}

}  // namespace

PrefixScorer::PrefixScorer(LoadedModel& model, Sharing sharing)
    : model_(model), sharing_(sharing), base_(model.new_sequence()) {}

std::vector<double> PrefixScorer::score(std::span<const ScoredTokens> sequences, const std::stop_token& stop) {
    sums_.assign(sequences.size(), 0.0);
    for (const ScoredTokens& sequence : sequences) n_alone_ += static_cast<std::int64_t>(sequence.end) - 1;
    if (sequences.empty()) return sums_;
    if (sharing_ == Sharing::kNone) {
        base_.clear();
        base_tokens_.clear();
        for (std::size_t i = 0; i < sequences.size(); ++i) {
            KvSequence sequence = model_.new_sequence();
            const Branch branch{{i}, fed_tokens(sequences[i]), sequences[i].first - 1};
            read_long_branch(sequence, branch, sequences, 0, stop);
        }
        return sums_;
    }
    const std::size_t shared = shared_beginning(sequences);
    read_base(fed_tokens(sequences.front()).first(shared), stop);
    read_branches(branches_of(sequences, shared), sequences, shared, stop);
    return sums_;
}

std::vector<PrefixScorer::Branch> PrefixScorer::branches_of(std::span<const ScoredTokens> sequences,
                                                            std::size_t shared) const {
    std::vector<Branch> branches;
    for (std::size_t i = 0; i < sequences.size(); ++i) {
        const std::span<const TokenId> fed = fed_tokens(sequences[i]).subspan(shared);
        const std::size_t first = sequences[i].first - 1 - shared;
        const auto same = std::find_if(branches.begin(), branches.end(), [&](const Branch& branch) {
            return std::equal(branch.fed.begin(), branch.fed.end(), fed.begin(), fed.end());
        });
        if (same == branches.end()) {
            branches.push_back({{i}, fed, first});
        } else {
            same->sequences.push_back(i);
            same->first = std::min(same->first, first);
        }
    }
    return branches;
}

void PrefixScorer::read_base(std::span<const TokenId> tokens, const std::stop_token& stop) {
    const std::size_t common = common_beginning(base_tokens_, tokens);
    std::size_t held = as_size(base_.truncate(static_cast<std::int64_t>(common)));
    base_tokens_.resize(held);
    while (held < tokens.size()) {
        // If layers keep no more than a window or a state, the shared beginning of the
        // call before was lost: this time it is kept, since the next call may share it
        // too.
        const std::size_t end = held < common ? common : tokens.size();
        const std::size_t n = std::min(end - held, as_size(model_.forward().max_step()));
        const Segment segment{&base_, tokens.subspan(held, n)};
        require_done(step({&segment, 1}, Forward::Logits::kNone, stop), model_.device());
        base_tokens_.insert(base_tokens_.end(), segment.tokens.begin(), segment.tokens.end());
        held += n;
        if (held == common) base_.checkpoint();
    }
}

void PrefixScorer::read_branches(std::span<const Branch> branches, std::span<const ScoredTokens> sequences,
                                 std::size_t shared, const std::stop_token& stop) {
    const std::size_t most = std::min(as_size(model_.forward().max_step()), kMostScoredRows);
    while (!branches.empty()) {
        std::size_t n = 0, n_tokens = 0;
        while (n < branches.size() && n < as_size(Forward::kMaxSegments) && n_tokens + branches[n].fed.size() <= most) {
            n_tokens += branches[n++].fed.size();
        }
        // Without room for all of them in the KV cache fewer go at a time.
        for (; n > 1; n /= 2) {
            std::vector<KvSequence> forks;
            std::vector<Segment> segments;
            for (std::size_t i = 0; i < n; ++i) forks.push_back(base_.fork());
            for (std::size_t i = 0; i < n; ++i) segments.push_back({&forks[i], branches[i].fed});
            const Forward::Outcome outcome = step(segments, Forward::Logits::kAll, stop);
            if (outcome == Forward::Outcome::kFull) continue;
            require_done(outcome, model_.device());
            std::size_t row = 0;
            for (std::size_t i = 0; i < n; ++i) {
                add_rows(branches[i], sequences, shared, row, 0, branches[i].fed.size());
                row += branches[i].fed.size();
            }
            break;
        }
        if (n <= 1) {
            n = 1;
            // The branch replaces the base, so that together they take no more blocks
            // than a single sequence.
            read_long_branch(base_, branches.front(), sequences, shared, stop);
            base_tokens_.resize(as_size(base_.truncate(static_cast<std::int64_t>(shared))));
            if (base_tokens_.size() < shared && branches.size() > 1) {
                read_base(fed_tokens(sequences.front()).first(shared), stop);
            }
        }
        branches = branches.subspan(n);
    }
}

void PrefixScorer::read_long_branch(KvSequence& sequence, const Branch& branch, std::span<const ScoredTokens> sequences,
                                    std::size_t shared, const std::stop_token& stop) {
    std::size_t done = 0;
    while (done < branch.fed.size()) {
        const bool wanted = done >= branch.first;
        std::size_t n = std::min(branch.fed.size() - done, as_size(model_.forward().max_step()));
        n = std::min(n, wanted ? kMostScoredRows : branch.first - done);
        const Segment segment{&sequence, branch.fed.subspan(done, n)};
        require_done(step({&segment, 1}, wanted ? Forward::Logits::kAll : Forward::Logits::kNone, stop),
                     model_.device());
        if (wanted) add_rows(branch, sequences, shared, 0, done, n);
        done += n;
    }
}

Forward::Outcome PrefixScorer::step(std::span<const Segment> segments, Forward::Logits wanted,
                                    const std::stop_token& stop) {
    // The context counts as the prompt's length: all steps then form their sums in one
    // order, for any division of a sequence into steps.
    const Forward::Outcome outcome = model_.forward().step(segments, wanted, stop, model_.plan().context);
    if (outcome == Forward::Outcome::kDone) {
        for (const Segment& segment : segments) n_read_ += static_cast<std::int64_t>(segment.tokens.size());
    }
    return outcome;
}

void PrefixScorer::add_rows(const Branch& branch, std::span<const ScoredTokens> sequences, std::size_t shared,
                            std::size_t row, std::size_t from, std::size_t n) {
    const auto vocab_size = as_size(model_.spec().vocab_size);
    const std::span<const float> logits = model_.forward().logits();
    struct Wanted {
        std::size_t sequence, row;
        TokenId token;
    };
    std::vector<Wanted> wanted;
    for (const std::size_t index : branch.sequences) {
        const ScoredTokens& sequence = sequences[index];
        for (std::size_t token = sequence.first; token < sequence.end; ++token) {
            const std::size_t fed = token - 1 - shared;  // the token before it
            if (fed >= from && fed < from + n) wanted.push_back({index, row + fed - from, sequence.tokens[token]});
        }
    }
    std::vector<double> values(wanted.size());
    model_.pool().parallel_for(
        static_cast<std::int64_t>(wanted.size()), 4, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::size_t i = as_size(begin); i < as_size(end); ++i) {
                values[i] = log_probability(logits.subspan(wanted[i].row * vocab_size, vocab_size), wanted[i].token);
            }
        });
    for (std::size_t i = 0; i < wanted.size(); ++i) sums_[wanted[i].sequence] += values[i];
}

}  // namespace offstage::engine
