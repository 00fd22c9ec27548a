#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/expert_layout.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

// Puts the rows of a weight, which lie one after the other at `data`, side by side, or
// (`back`) the other way round. In place; as many as a strip has, or more.
void interleave_weight(kernels::WeightType type, std::int64_t n_rows, std::int64_t n_cols, std::byte* data,
                       kernels::ThreadPool& pool, bool back = false);

// Puts the rows of an expert's block, which lie one after the other, side by side where
// the layout has them so (ExpertLayout::interleaved), or (`back`) the other way round.
// In place; takes a strip's room for each thread of the pool.
void interleave_expert(const kernels::ExpertLayout& layout, std::byte* block, kernels::ThreadPool& pool,
                       bool back = false);

}  // namespace offstage::engine
