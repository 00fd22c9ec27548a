#include "engine/eval/reference_logits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace offstage::engine {
namespace {

constexpr std::int64_t kGrain = 4;  // rows

// ln of the softmax over the row, in place.
void to_log_probabilities(std::span<float> row) {
    const auto largest = static_cast<double>(*std::max_element(row.begin(), row.end()));
    double sum = 0;
    for (const float logit : row) sum += std::exp(static_cast<double>(logit) - largest);
    const double shift = largest + std::log(sum);
    for (float& logit : row) logit = static_cast<float>(static_cast<double>(logit) - shift);
}

// reference: log probabilities; row: logits.
LogitComparison compare_rows(std::span<const float> reference, std::span<const float> row, TokenId token) {
    const auto best = std::max_element(row.begin(), row.end());
    const auto largest = static_cast<double>(*best);
    double sum = 0;
    for (const float logit : row) sum += std::exp(static_cast<double>(logit) - largest);
    const double shift = largest + std::log(sum);
    LogitComparison result;
    for (std::size_t i = 0; i < row.size(); ++i) {
        const auto p = static_cast<double>(reference[i]);
        result.kl += std::exp(p) * (p - (static_cast<double>(row[i]) - shift));
    }
    result.log_probability = static_cast<double>(row[static_cast<std::size_t>(token)]) - shift;
    result.same_top = best - row.begin() == std::max_element(reference.begin(), reference.end()) - reference.begin();
    return result;
}

template <typename Body>
void for_rows(std::size_t n, kernels::ThreadPool& pool, const Body& body) {
    pool.parallel_for(static_cast<std::int64_t>(n), kGrain, [&](std::int64_t begin, std::int64_t end, int) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) body(i);
    });
}

}  // namespace

void ReferenceLogits::take(std::span<const float> logits, kernels::ThreadPool& pool) {
    const std::size_t old = rows_.size();
    rows_.insert(rows_.end(), logits.begin(), logits.end());
    for_rows(logits.size() / vocab_size_, pool, [&](std::size_t i) {
        to_log_probabilities(std::span(rows_).subspan(old + i * vocab_size_, vocab_size_));
    });
}

std::vector<LogitComparison> ReferenceLogits::compare(std::size_t first, std::span<const float> logits,
                                                      std::span<const TokenId> tokens,
                                                      kernels::ThreadPool& pool) const {
    std::vector<LogitComparison> compared(tokens.size());
    for_rows(tokens.size(), pool, [&](std::size_t i) {
        compared[i] = compare_rows(std::span(rows_).subspan((first + i) * vocab_size_, vocab_size_),
                                   logits.subspan(i * vocab_size_, vocab_size_), tokens[i]);
    });
    return compared;
}

}  // namespace offstage::engine
