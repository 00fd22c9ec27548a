#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "engine/indices.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

// Compares a row of logits with the reference's row at the same place in a text.
struct LogitComparison {
    double log_probability = 0;  // of the text's token
    double kl = 0;               // sum over the vocabulary of p ln(p / q), p the reference's
    bool same_top = false;       // the likeliest token is the same
};

// The results of one computation of a text, for comparisons with others: the log
// probabilities of all rows, in float32. One thread; the given pool does the work.
class ReferenceLogits {
  public:
    explicit ReferenceLogits(std::size_t vocab_size) : vocab_size_(vocab_size) {}

    std::size_t n_rows() const { return rows_.size() / vocab_size_; }
    // Adds rows (n, vocab_size).
    void take(std::span<const float> logits, kernels::ThreadPool& pool);
    // Compares rows (n, vocab_size) with those from `first` on; tokens (n): the text's.
    std::vector<LogitComparison> compare(std::size_t first, std::span<const float> logits,
                                         std::span<const TokenId> tokens, kernels::ThreadPool& pool) const;

  private:
    std::size_t vocab_size_;
    std::vector<float> rows_;  // (n, vocab_size)
};

}  // namespace offstage::engine
