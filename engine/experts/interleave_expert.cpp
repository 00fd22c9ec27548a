#include "engine/experts/interleave_expert.h"

#include <cstring>
#include <vector>

namespace offstage::engine {
void interleave_weight(kernels::WeightType type, std::int64_t n_rows, std::int64_t n_cols, std::byte* data,
                       kernels::ThreadPool& pool, bool back) {
    const std::size_t strip_bytes =
        static_cast<std::size_t>(kernels::kInterleavedRows) * kernels::row_bytes(type, n_cols);
    // Allocated before the threads begin, because they must not throw.
    std::vector<std::byte> room(strip_bytes * static_cast<std::size_t>(pool.n_threads()));
    pool.parallel_for(n_rows / kernels::kInterleavedRows, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
        std::byte* const rows = room.data() + static_cast<std::size_t>(thread) * strip_bytes;
        for (std::int64_t strip = begin; strip < end; ++strip) {
            std::byte* const place = data + static_cast<std::size_t>(strip) * strip_bytes;
            std::memcpy(rows, place, strip_bytes);
            kernels::interleave_rows(type, n_cols, rows, place, back);
        }
    });
}

void interleave_expert(const kernels::ExpertLayout& layout, std::byte* block, kernels::ThreadPool& pool, bool back) {
    kernels::for_parts(layout, [&](const kernels::ExpertPart& part) {
        if (!part.is_interleaved()) return;
        const auto n_strips = static_cast<std::int64_t>(part.bytes / part.strip_bytes());
        interleave_weight(part.type, n_strips * kernels::kInterleavedRows, part.n_cols, block + part.begin, pool, back);
    });
}

}  // namespace offstage::engine
