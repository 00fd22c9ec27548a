// Rows of a file's blocks times inputs of 8 bits: codes and inputs are multiplied and
// added as whole numbers, four at a time, and become float32 once for 16 of them (a part,
// kernels/block_parts.h), whose scale is then that of its weights times that of its
// inputs.
//
// 256 weights are taken at once: one large block, or eight small ones, the last of which
// may be missing. With w = s (c - z) + b and inputs t q, a part's sum is
//   s t (c . q) + (b - s z) (t sum q)
// where the codes c are unsigned, as the instructions want one of the two factors.

#include <cstring>
#include <vector>

#include "kernels/cpu/code_groups_simd.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/packed_groups_simd.h"
#include "kernels/cpu/products_simd.h"

namespace offstage::kernels {
namespace {

constexpr int kTokensAtOnce = kLanes == 16 ? 4 : 2;

// A token's inputs: codes, and for each part a scale and scale * (sum of its codes).
// Zeros follow up to a multiple of a group.
struct ByteInputs {
    const std::int8_t* codes;
    const float* scales;
    const float* sums;
};

// The parts' numbers as the lanes of unit u want them, four lanes to a part.
template <int kIndex>
__attribute__((always_inline)) inline Vector spread(const Vector (&parts)[kFactors]) {
#if OFFSTAGE_VECTOR_BITS == 512
    constexpr int f = 4 * kIndex;
    return _mm512_permutexvar_ps(_mm512_setr_epi32(f, f, f, f, f + 1, f + 1, f + 1, f + 1, f + 2, f + 2, f + 2, f + 2,
                                                   f + 3, f + 3, f + 3, f + 3),
                                 parts[0]);
#else
    constexpr int f = 2 * (kIndex % 4);
    return _mm256_permutevar8x32_ps(parts[kIndex / 4], _mm256_setr_epi32(f, f, f, f, f + 1, f + 1, f + 1, f + 1));
#endif
}

// Sums of four products each, of codes with inputs.
template <bool kSigned>
__attribute__((always_inline)) inline Vector dots_of_four(Bytes codes, Bytes inputs) {
#if defined(__AVX512VNNI__)
    return _mm512_cvtepi32_ps(_mm512_dpbusd_epi32(_mm512_setzero_si512(), codes, inputs));
#elif defined(__AVXVNNI__)
    return _mm256_cvtepi32_ps(_mm256_dpbusd_avx_epi32(_mm256_setzero_si256(), codes, inputs));
#elif OFFSTAGE_VECTOR_BITS == 512
    if constexpr (kSigned) {  // pairs of sums stay below 2^15: 2 * 128 * 127
        inputs = _mm512_mask_sub_epi8(inputs, _mm512_movepi8_mask(codes), _mm512_setzero_si512(), inputs);
        codes = _mm512_abs_epi8(codes);
    }
    return _mm512_cvtepi32_ps(_mm512_madd_epi16(_mm512_maddubs_epi16(codes, inputs), _mm512_set1_epi16(1)));
#else
    if constexpr (kSigned) {
        inputs = _mm256_sign_epi8(inputs, codes);
        codes = _mm256_abs_epi8(codes);
    }
    return _mm256_cvtepi32_ps(_mm256_madd_epi16(_mm256_maddubs_epi16(codes, inputs), _mm256_set1_epi16(1)));
#endif
}

__attribute__((always_inline)) inline Bytes load_inputs(const std::int8_t* codes) {
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_loadu_si512(codes);
#else
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes));
#endif
}

// sums[t] = row . x[t], n weights.
template <WeightType kType, int kTokens>
__attribute__((always_inline)) inline void dot_group_rows(const std::uint8_t* row, const std::uint8_t* ahead,
                                                          const ByteInputs* x, std::int64_t n, float* sums) {
    using Group = CodeGroup<kType>;
    constexpr int kSums = 2;
    Vector products[kTokens][kSums];
    Vector shifts[kTokens];
    for (int t = 0; t < kTokens; ++t) {
        for (Vector& sum : products[t]) sum = zero();
        shifts[t] = zero();
    }
    const auto add_group = [&](const std::uint8_t* bytes, std::int64_t begin) __attribute__((always_inline)) {
        Group group;
        group.open(bytes);
        Vector factors[kTokens][kFactors];
        for (int t = 0; t < kTokens; ++t) {
            for (int v = 0; v < kFactors; ++v) {
                const std::int64_t part = begin / kPartWeights + v * kLanes;
                factors[t][v] = multiply(group.scales[v], load(x[t].scales + part));
                if constexpr (Group::has_biases()) shifts[t] = fma(group.biases[v], load(x[t].sums + part), shifts[t]);
            }
        }
        unrolled<kUnits>([&](auto index) __attribute__((always_inline)) {
            constexpr int kIndex = decltype(index)::value;
            const Bytes codes = group.template unit<kIndex>();
            for (int t = 0; t < kTokens; ++t) {
                const Vector dots = dots_of_four < has_signed_codes(kType) &&
                                    Group::kOffset == 0 > (codes, load_inputs(x[t].codes + begin + kIndex * kUnit));
                products[t][kIndex % kSums] = fma(dots, spread<kIndex>(factors[t]), products[t][kIndex % kSums]);
            }
        });
    };
    std::int64_t i = 0;
    for (; i + kGroup <= n; i += kGroup, row += Group::kBytes, ahead += Group::kBytes) {
        for (int line = 0; line < Group::kBytes; line += 64) prefetch(ahead + line);
        add_group(row, i);
    }
    if (i < n) {
        alignas(16) std::uint8_t rest[Group::kBytes] = {};
        std::memcpy(rest, row, static_cast<std::size_t>((n - i) / traits_of(kType).group * Group::kBlockBytes));
        add_group(rest, i);
    }
    for (int t = 0; t < kTokens; ++t) sums[t] = sum_of_lanes(add(add(products[t][0], products[t][1]), shifts[t]));
}

template <WeightType kType, int kTokens>
void multiply_rows(const WeightView& weight, const ByteInputs* x, std::int64_t row_begin, std::int64_t row_end,
                   float* y, std::int64_t y_stride) {
    for (std::int64_t r = row_begin; r < row_end; ++r) {
        const auto* const row = reinterpret_cast<const std::uint8_t*>(weight.row(r));
        float sums[kTokens];
        dot_group_rows<kType, kTokens>(row, row + weight.stride_bytes(), x, weight.n_cols, sums);
        for (int t = 0; t < kTokens; ++t) y[t * y_stride + r] = sums[t];
    }
}

template <WeightType kType>
void multiply_tokens(const WeightView& weight, const ByteInputs* x, int n_tokens, std::int64_t row_begin,
                     std::int64_t row_end, float* y, std::int64_t y_stride) {
    using Multiply = void (*)(const WeightView&, const ByteInputs*, std::int64_t, std::int64_t, float*, std::int64_t);
    const auto run = [&](Multiply multiply, int count) {
        multiply(weight, x, row_begin, row_end, y, y_stride);
        x += count;
        y += count * y_stride;
        n_tokens -= count;
    };
    if constexpr (kTokensAtOnce >= 4) {
        while (n_tokens >= 4) run(multiply_rows<kType, 4>, 4);
    }
    while (n_tokens >= 2) run(multiply_rows<kType, 2>, 2);
    if (n_tokens > 0) run(multiply_rows<kType, 1>, 1);
}

// n inputs (a multiple of 32), rounded to the nearest of 255 steps between the largest of
// 32 and its negative.
void round_inputs(const float* x, std::int64_t n, std::int8_t* codes, float* scales, float* sums) {
    constexpr int kVectors = 32 / kLanes;
    for (std::int64_t i = 0; i < n; i += 32) {
        Vector values[kVectors];
        Vector largest = zero();
        for (int v = 0; v < kVectors; ++v) {
            values[v] = load(x + i + v * kLanes);
            largest = maximum(largest, maximum(values[v], subtract(zero(), values[v])));
        }
        const float most = largest_lane(largest);
        const float scale = most / 127.0f;
        const Vector factor = broadcast(most > 0.0f ? 127.0f / most : 0.0f);
        __m256i words[4];  // of eight codes each
        for (int w = 0; w < 4; ++w) {
#if OFFSTAGE_VECTOR_BITS == 512
            const __m512i both = _mm512_cvtps_epi32(multiply(values[w / 2], factor));
            words[w] = w % 2 == 0 ? _mm512_castsi512_si256(both) : _mm512_extracti64x4_epi64(both, 1);
#else
            words[w] = _mm256_cvtps_epi32(multiply(values[w], factor));
#endif
        }
        const __m256i halves =
            _mm256_packs_epi16(_mm256_packs_epi32(words[0], words[1]), _mm256_packs_epi32(words[2], words[3]));
        const __m256i ordered = _mm256_permutevar8x32_epi32(halves, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes + i), ordered);
        // Sums of eight biased bytes each.
        const __m256i eights =
            _mm256_sad_epu8(_mm256_xor_si256(ordered, _mm256_set1_epi8(-128)), _mm256_setzero_si256());
        alignas(32) std::int64_t of_eight[4];
        _mm256_store_si256(reinterpret_cast<__m256i*>(of_eight), eights);
        for (int p = 0; p < 2; ++p) {
            const std::int64_t part = i / kPartWeights + p;
            scales[part] = scale;
            sums[part] = scale * static_cast<float>(of_eight[2 * p] + of_eight[2 * p + 1] - 16 * 128);
        }
    }
}

}  // namespace

namespace OFFSTAGE_INSTRUCTION_SET {

void matvec_bytes(const WeightView& weight, const float* x, std::int64_t x_stride, int n_tokens, std::int64_t row_begin,
                  std::int64_t row_end, float* y, std::int64_t y_stride) {
    constexpr int kMost = 8;
    const std::int64_t n = weight.n_cols;
    const std::int64_t padded = (n + kGroup - 1) / kGroup * kGroup;
    const std::int64_t n_parts = padded / kPartWeights;
    thread_local std::vector<std::int8_t> codes;
    thread_local std::vector<float> factors;
    const auto at_least = [](auto& buffer, std::int64_t size) {
        if (buffer.size() < static_cast<std::size_t>(size)) buffer.resize(static_cast<std::size_t>(size));
    };
    at_least(codes, n_tokens * padded);
    at_least(factors, n_tokens * 2 * n_parts);
    ByteInputs inputs[kMost];
    for (int t = 0; t < n_tokens; ++t) {
        std::int8_t* const token_codes = codes.data() + t * padded;
        float* const scales = factors.data() + t * 2 * n_parts;
        float* const sums = scales + n_parts;
        round_inputs(x + t * x_stride, n, token_codes, scales, sums);
        std::memset(token_codes + n, 0, static_cast<std::size_t>(padded - n));
        for (std::int64_t part = n / kPartWeights; part < n_parts; ++part) scales[part] = sums[part] = 0.0f;
        inputs[t] = {token_codes, scales, sums};
    }
    with_block_type(weight.type, [&](auto constant) {
        multiply_tokens<decltype(constant)::value>(weight, inputs, n_tokens, row_begin, row_end, y, y_stride);
    });
}

}  // namespace OFFSTAGE_INSTRUCTION_SET
}  // namespace offstage::kernels
