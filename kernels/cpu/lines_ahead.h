#pragma once
// Memory that is wanted later, brought into a core's second cache a few lines at a time
// while something is computed: all at once would delay the computing, and none of it would
// leave memory idle meanwhile. The bytes are contiguous, so that the processor's own
// prefetcher reads on from them, which keeps more requests under way than a core does.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/operations.h"

namespace offstage::kernels {
namespace {

// Whether panels of rows (integer_panels_simd.h) are multiplied so fast that memory
// bounds them. Elsewhere what comes next is fetched while rows are unpacked: beside the
// products it costs more than it saves (tests/bench/RESULTS.md, "Two panels at once").
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
// As matvec_bytes(). Where it multiplies by panels and kFetchesBesideProducts, n_bytes
// from `next` on are brought into cache meanwhile.
void matvec_bytes_ahead(const WeightView& weight, const std::byte* const* inputs, int n_tokens, std::int64_t row_begin,
                        std::int64_t row_end, float* y, std::int64_t y_stride, std::byte* scratch,
                        const std::byte* next, std::int64_t n_bytes);
}  // namespace OFFSTAGE_INSTRUCTION_SET
}  // namespace offstage::kernels
