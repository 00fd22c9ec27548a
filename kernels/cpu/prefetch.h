#pragma once
// Weights are brought into the second cache before they are read. Into the first, a Zen 4 core takes 10 to 16 GB/s
// where memory gives it 22 to 30, as few requests fit on their way; into the second it takes 17 to 25
// (tests/bench/RESULTS.md).

#include <immintrin.h>

namespace offstage::kernels {
namespace {

// The line of 64 bytes at `place`, which need not be there.
__attribute__((always_inline)) inline void prefetch(const void* place) {
    _mm_prefetch(static_cast<const char*>(place), _MM_HINT_T1);
}

}  // namespace
}  // namespace offstage::kernels
