#pragma once
// Prefetches memory into a core's second-level cache a few lines at a time while the core
// computes. Requesting everything at once would delay the computation; requesting nothing
// would leave memory idle. The bytes are contiguous, so that the hardware prefetcher
// continues the reads and keeps more requests in flight than a core can.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/operations.h"

namespace offstage::kernels {
namespace {

// Whether panels of rows (quantized_panel_dots_simd.h) are multiplied so fast that memory
// is the limit. Otherwise the next bytes are prefetched while rows are unpacked: beside
// the products prefetching costs more than it saves (tests/bench/results/kernels.md, "Two
// panels at once").
#if defined(__AVX512VNNI__)
constexpr bool kFetchesBesideProducts = true;
#else
constexpr bool kFetchesBesideProducts = false;
#endif

struct LinesAhead {
    const std::byte* line;
    std::int64_t left;  // lines
    std::int64_t lines_of_step;

    // In so many calls of step().
    LinesAhead(const std::byte* from, std::int64_t n_bytes, std::int64_t n_steps)
        : line(from), left((n_bytes + 63) / 64), lines_of_step((left + n_steps - 1) / n_steps) {}

    __attribute__((always_inline)) void step() {
        const std::int64_t n = std::min(left, lines_of_step);
        for (std::int64_t i = 0; i < n; ++i) __builtin_prefetch(line + 64 * i, 0, 2);
        line += 64 * n;
        left -= n;
    }
};

}  // namespace

namespace OFFSTAGE_INSTRUCTION_SET {
// As matvec_bytes(). Where it multiplies by panels and kFetchesBesideProducts is set,
// prefetches n_bytes from `next` on meanwhile.
void matvec_bytes_ahead(const WeightView& weight, const std::byte* const* inputs, int n_tokens, std::int64_t row_begin,
                        std::int64_t row_end, float* y, std::int64_t y_stride, std::byte* scratch,
                        const std::byte* next, std::int64_t n_bytes);
}  // namespace OFFSTAGE_INSTRUCTION_SET
}  // namespace offstage::kernels
