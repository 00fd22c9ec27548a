#include "engine/experts/interleave_expert.h"

#include <cstring>
#include <vector>

namespace offstage::engine {
namespace {

void interleave(const kernels::WeightView& weight, std::byte* block, kernels::ThreadPool& pool, bool back) {
    if (!weight.interleaved) return;
    const std::size_t strip_bytes = static_cast<std::size_t>(kernels::kInterleavedRows) * weight.stride_bytes();
    const std::int64_t offset = static_cast<const std::byte*>(weight.data) - block;
    // Before the threads begin, from which nothing may be thrown.
    std::vector<std::byte> room(strip_bytes * static_cast<std::size_t>(pool.n_threads()));
    const auto put = [&](std::int64_t begin, std::int64_t end, int thread) {
        std::byte* const rows = room.data() + static_cast<std::size_t>(thread) * strip_bytes;
        for (std::int64_t strip = begin; strip < end; ++strip) {
            std::byte* const place = block + offset + static_cast<std::size_t>(strip) * strip_bytes;
            std::memcpy(rows, place, strip_bytes);
            kernels::interleave_rows(weight.type, weight.n_cols, rows, place, back);
        }
    };
    pool.parallel_for(weight.n_rows / kernels::kInterleavedRows, 1, put);
}

}  // namespace

void interleave_expert(const kernels::ExpertLayout& layout, std::byte* block, kernels::ThreadPool& pool, bool back) {
    const kernels::ExpertView expert{block, layout};
    if (layout.interleaves_gate_and_up()) interleave(expert.gate_and_up(), block, pool, back);
    if (layout.interleaves_down()) interleave(expert.down(), block, pool, back);
}

}  // namespace offstage::engine
