#pragma once
// Cached rows of a block, widened and transposed; for attention and for an indexer's
// scores.

#include <cstdint>

#include "kernels/cpu/prefetch.h"
#include "kernels/cpu/simd.h"
#include "kernels/kv_cache.h"

namespace offstage::kernels {
namespace {

constexpr int kBlockKeys = 64;
static_assert(kBlockKeys == kKvBlockTokens);  // a block of the walk lies in one block of the cache

// Prefetches n_rows rows in place. Blocks lie anywhere in memory, and each has too few
// keys of one head for the processor to detect that they are read in order.
template <typename Value>
__attribute__((always_inline)) inline void prefetch_rows(const Value* row, std::int64_t stride, int n_rows) {
    constexpr std::int64_t kLine = 64 / static_cast<std::int64_t>(sizeof(Value));
    for (std::int64_t i = 0; i < n_rows * stride; i += kLine) prefetch(row + i);
}

// next: as many rows that are read soon; nullptr: none.
inline void widen_rows(const std::byte* from, std::int64_t stride, KvType type, int n_rows, std::int64_t n,
                       const std::byte* next, float* to) {
    for (int r = 0; r < n_rows; ++r, from += stride, to += n) {
        if (next != nullptr) prefetch_rows(next + r * stride, stride, 1);
        if (type == KvType::kBf16) {
            const auto* values = reinterpret_cast<const Bf16*>(from);
            std::int64_t i = 0;
            for (; i + kLanes <= n; i += kLanes) store(to + i, load(values + i));
            for (; i < n; ++i) to[i] = to_float(values[i]);
            continue;
        }
        const auto* codes = reinterpret_cast<const std::int8_t*>(from);
        const auto* scales = reinterpret_cast<const float*>(from + kv_scales_offset(n));
        for (std::int64_t begin = 0; begin < n; begin += kKvScaleGroup) {
            const std::int64_t end = begin + kKvScaleGroup < n ? begin + kKvScaleGroup : n;
            const float scale = scales[begin / kKvScaleGroup];
            for (std::int64_t i = begin; i < end; ++i) to[i] = scale * static_cast<float>(codes[i]);
        }
    }
}

// to[i][k] = value i of key k, for n_keys keys of n values, `stride` values apart; zero
// for the keys that a short block lacks.
inline void transpose_keys(const float* keys, std::int64_t stride, int n_keys, std::int64_t n, float* to) {
    int k = 0;
    for (; k + 4 <= n_keys; k += 4) {
        std::int64_t i = 0;
        for (; i + 4 <= n; i += 4) {
            __m128 a = _mm_loadu_ps(keys + (k + 0) * stride + i);
            __m128 b = _mm_loadu_ps(keys + (k + 1) * stride + i);
            __m128 c = _mm_loadu_ps(keys + (k + 2) * stride + i);
            __m128 d = _mm_loadu_ps(keys + (k + 3) * stride + i);
            _MM_TRANSPOSE4_PS(a, b, c, d);
            float* const place = to + i * kBlockKeys + k;
            _mm_storeu_ps(place + 0 * kBlockKeys, a);
            _mm_storeu_ps(place + 1 * kBlockKeys, b);
            _mm_storeu_ps(place + 2 * kBlockKeys, c);
            _mm_storeu_ps(place + 3 * kBlockKeys, d);
        }
        for (; i < n; ++i) {
            for (int j = k; j < k + 4; ++j) to[i * kBlockKeys + j] = keys[j * stride + i];
        }
    }
    for (; k < n_keys; ++k) {
        for (std::int64_t i = 0; i < n; ++i) to[i * kBlockKeys + k] = keys[k * stride + i];
    }
    for (; k < kBlockKeys; ++k) {
        for (std::int64_t i = 0; i < n; ++i) to[i * kBlockKeys + k] = 0.0f;
    }
}

}  // namespace
}  // namespace offstage::kernels
