#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/expert_layout.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

// Interleaves the rows of a weight at `data`, which follow each other; or (`back`) the
// reverse. In place; one strip or more.
void interleave_weight(kernels::WeightType type, std::int64_t n_rows, std::int64_t n_cols, std::byte* data,
                       kernels::ThreadPool& pool, bool back = false);

// Interleaves the rows of an expert's block, which follow each other, if the layout says
// so (ExpertLayout::interleaved); or (`back`) the reverse. In place; uses a strip's
// memory for each thread of the pool.
void interleave_expert(const kernels::ExpertLayout& layout, std::byte* block, kernels::ThreadPool& pool,
                       bool back = false);

}  // namespace offstage::engine
