#pragma once
// Prefetches weights into a cache. Into the first level, a Zen 4 core takes 10 to 17 GB/s
// of rows that lie far apart, where a plain read gets 18 to 27; into the second 14 to 22
// (tests/bench/results/kernels.md). The first level is better for sequential reads, and
// where unpacking takes longer than memory.

#include <immintrin.h>

namespace offstage::kernels {
namespace {

// The line of 64 bytes at `place`, which need not be there, into the second cache.
__attribute__((always_inline)) inline void prefetch(const void* place) {
    _mm_prefetch(static_cast<const char*>(place), _MM_HINT_T1);
}
__attribute__((always_inline)) inline void prefetch_into_first(const void* place) {
    _mm_prefetch(static_cast<const char*>(place), _MM_HINT_T0);
}

}  // namespace
}  // namespace offstage::kernels
