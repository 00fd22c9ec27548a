#pragma once
// How a step's inputs lie in the buffer that is uploaded in one piece: tokens, the rule of
// their choice, positions and counts, and tables of KV blocks. Offsets in bytes.

#include <cstddef>
#include <cstdint>

#include "engine/indices.h"
#include "kernels/token_rule.h"

namespace offstage::engine {

constexpr std::size_t kInputAlignment = 256;
constexpr std::size_t rule_begin(std::size_t n_tokens) {
    return (n_tokens * sizeof(TokenId) + kInputAlignment - 1) / kInputAlignment * kInputAlignment;
}
constexpr std::size_t positions_begin(std::size_t n_tokens) {
    return rule_begin(n_tokens) + sizeof(kernels::TokenRule);
}
// n_words: of positions and counts; tables begin at a multiple of 8.
constexpr std::size_t tables_begin(std::size_t n_tokens, std::size_t n_words) {
    return positions_begin(n_tokens) + (n_words + 1) / 2 * 2 * sizeof(std::int32_t);
}

}  // namespace offstage::engine
