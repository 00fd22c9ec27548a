#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "engine/run/loaded_model.h"

namespace offstage::engine {

// Tokens of which a stretch is scored: tokens[first .. end), each given all before it. 1
// <= first < end <= tokens.size().
struct ScoredTokens {
    std::vector<TokenId> tokens;
    std::size_t first = 1;
    std::size_t end = 1;
};

// Log probabilities of continuations; their common beginnings are read once:
// - the beginning that all sequences of one call share is read into one KV sequence; each
//   continuation is a branch of it (KvSequence::fork), and several branches go through
//   the
//   model in one step, so that an expert is read once for all of them. Sequences that
//   differ in their last token alone (MMLU's letters) are one branch.
// - a beginning that the call before shared as well (the solved questions of MMLU) stays
//   in
//   that sequence and is not read again.
// With float32 products on the CPU and on an emulated device the values are bit for bit
// those of sequences read one by one. One thread, the engine's; the model must outlive
// this object.
class PrefixScorer {
  public:
    enum class Sharing {
        kShared,
        kNone,  // each sequence alone, from an empty cache: for tests and comparisons
    };
    explicit PrefixScorer(LoadedModel& model, Sharing sharing = Sharing::kShared);

    // For each sequence the sum of ln p over its stretch. Sequences hold at most one
    // token more than the context. Throws Error: kCancelled, kOutOfMemory, kDevice; the
    // next call works.
    std::vector<double> score(std::span<const ScoredTokens> sequences, const std::stop_token& stop);

    std::int64_t n_read() const { return n_read_; }  // tokens that went through the model
    // The number of tokens if each sequence were read alone.
    std::int64_t n_alone() const { return n_alone_; }

  private:
    // Sequences that are fed the same tokens.
    struct Branch {
        std::vector<std::size_t> sequences;
        std::span<const TokenId> fed;  // after the shared beginning
        std::size_t first = 0;         // first scored row of `fed`
    };
    std::vector<Branch> branches_of(std::span<const ScoredTokens> sequences, std::size_t shared) const;
    void read_base(std::span<const TokenId> tokens, const std::stop_token& stop);
    void read_branches(std::span<const Branch> branches, std::span<const ScoredTokens> sequences, std::size_t shared,
                       const std::stop_token& stop);
    void read_long_branch(KvSequence& sequence, const Branch& branch, std::span<const ScoredTokens> sequences,
                          std::size_t shared, const std::stop_token& stop);
    Forward::Outcome step(std::span<const Segment> segments, Forward::Logits wanted, const std::stop_token& stop);
    // Adds to sums_ from the logits of the last step: their row `row` is that of
    // fed[from], for n rows.
    void add_rows(const Branch& branch, std::span<const ScoredTokens> sequences, std::size_t shared, std::size_t row,
                  std::size_t from, std::size_t n);

    LoadedModel& model_;
    Sharing sharing_;
    KvSequence base_;
    std::vector<TokenId> base_tokens_;  // the tokens in base_
    std::vector<double> sums_;
    std::int64_t n_read_ = 0, n_alone_ = 0;
};

}  // namespace offstage::engine
