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

#include "kernels/cpu/code_groups_simd.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/packed_groups_simd.h"
#include "kernels/cpu/products_simd.h"

namespace offstage::kernels {
namespace {

constexpr int kTokensAtOnce = kLanes == 16 ? 4 : 2;

// A token's inputs: codes, their parts in the order of the weights' codes (part_at()), and
// for each part a scale and scale * (sum of its codes). Zeros follow up to a multiple of
// a group.
struct ByteInputs {
    const std::int8_t* codes;
    const float* scales;
    const float* sums;
};

// How they lie in rounded_input_bytes().
struct Rounded {
    std::int64_t padded;
    std::int8_t* codes;
    float* scales;
    float* sums;

    Rounded(std::byte* bytes, std::int64_t n)
        : padded((n + kGroup - 1) / kGroup * kGroup),
          codes(reinterpret_cast<std::int8_t*>(bytes)),
          scales(reinterpret_cast<float*>(bytes + padded)),
          sums(scales + padded / kPartWeights) {}
};

// The parts' numbers as the lanes of a unit want them, four lanes to a part.
template <WeightType kType, int kIndex>
__attribute__((always_inline)) inline Vector spread(const Vector (&parts)[kFactors]) {
    constexpr int kPlace = kUnitParts * kIndex;
    constexpr int a = part_at(kType, kPlace);
    constexpr int b = part_at(kType, kPlace + 1);
#if OFFSTAGE_VECTOR_BITS == 512
    constexpr int c = part_at(kType, kPlace + 2);
    constexpr int d = part_at(kType, kPlace + 3);
    return _mm512_permutexvar_ps(_mm512_setr_epi32(a, a, a, a, b, b, b, b, c, c, c, c, d, d, d, d), parts[0]);
#else
    static_assert(a / kLanes == b / kLanes, "a vector has both");
    constexpr int k = kLanes * (a / kLanes);
    return _mm256_permutevar8x32_ps(parts[a / kLanes],
                                    _mm256_setr_epi32(a - k, a - k, a - k, a - k, b - k, b - k, b - k, b - k));
#endif
}

// Sums of four products each, of codes with inputs.
template <bool kSigned>
__attribute__((always_inline)) inline Bytes dots_of_four(Bytes codes, Bytes inputs) {
#if defined(__AVX512VNNI__)
    return _mm512_dpbusd_epi32(_mm512_setzero_si512(), codes, inputs);
#elif defined(__AVXVNNI__)
    return _mm256_dpbusd_avx_epi32(_mm256_setzero_si256(), codes, inputs);
#elif OFFSTAGE_VECTOR_BITS == 512
    if constexpr (kSigned) {  // pairs of sums stay below 2^15: 2 * 128 * 127
        inputs = _mm512_mask_sub_epi8(inputs, _mm512_movepi8_mask(codes), _mm512_setzero_si512(), inputs);
        codes = _mm512_abs_epi8(codes);
    }
    return _mm512_madd_epi16(_mm512_maddubs_epi16(codes, inputs), _mm512_set1_epi16(1));
#else
    if constexpr (kSigned) {
        inputs = _mm256_sign_epi8(inputs, codes);
        codes = _mm256_abs_epi8(codes);
    }
    return _mm256_madd_epi16(_mm256_maddubs_epi16(codes, inputs), _mm256_set1_epi16(1));
#endif
}

// The same of two vectors, added.
template <bool kSigned>
__attribute__((always_inline)) inline Bytes dots_of_eight(const Bytes (&codes)[2], Bytes first, Bytes second) {
#if defined(__AVX512VNNI__)
    return _mm512_dpbusd_epi32(dots_of_four<kSigned>(codes[0], first), codes[1], second);
#elif defined(__AVXVNNI__)
    return _mm256_dpbusd_avx_epi32(dots_of_four<kSigned>(codes[0], first), codes[1], second);
#elif OFFSTAGE_VECTOR_BITS == 512
    return _mm512_add_epi32(dots_of_four<kSigned>(codes[0], first), dots_of_four<kSigned>(codes[1], second));
#else
    if constexpr (!kSigned) {  // codes of at most 5 bits: 4 * 31 * 127 is below 2^15
        return _mm256_madd_epi16(
            _mm256_add_epi16(_mm256_maddubs_epi16(codes[0], first), _mm256_maddubs_epi16(codes[1], second)),
            _mm256_set1_epi16(1));
    }
    return _mm256_add_epi32(dots_of_four<kSigned>(codes[0], first), dots_of_four<kSigned>(codes[1], second));
#endif
}

__attribute__((always_inline)) inline Vector as_numbers(Bytes sums) {
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_cvtepi32_ps(sums);
#else
    return _mm256_cvtepi32_ps(sums);
#endif
}

__attribute__((always_inline)) inline Bytes load_inputs(const std::int8_t* codes) {
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_loadu_si512(codes);
#else
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes));
#endif
}

// Of one row with each token, so far.
template <WeightType kType, int kTokens>
struct RowSums {
    using Group = CodeGroup<kType>;
    static constexpr int kSums = 2;
    Vector products[kTokens][kSums];
    Vector shifts[kTokens];

    __attribute__((always_inline)) void clear() {
        for (int t = 0; t < kTokens; ++t) {
            for (Vector& sum : products[t]) sum = zero();
            shifts[t] = zero();
        }
    }
    // Inputs begin ... of x meet the group at `bytes`.
    __attribute__((always_inline)) void add_group(const std::uint8_t* bytes, const ByteInputs* x, std::int64_t begin) {
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
        constexpr bool kSigned = has_signed_codes(kType) && Group::kOffset == 0;
        constexpr int kTogether = is_of_nibbles(kType) ? 2 : 1;  // units of the same scales
        unrolled<kUnits / kTogether>([&](auto index) __attribute__((always_inline)) {
            constexpr int kIndex = kTogether * decltype(index)::value;
            Bytes codes[kTogether];
            codes[0] = group.template unit<kIndex>();
            if constexpr (kTogether == 2) codes[1] = group.template unit<kIndex + 1>();
            for (int t = 0; t < kTokens; ++t) {
                const std::int8_t* const in = x[t].codes + begin + kIndex * kUnit;
                Bytes dots;
                if constexpr (kTogether == 2) {
                    dots = dots_of_eight<kSigned>(codes, load_inputs(in), load_inputs(in + kUnit));
                } else {
                    dots = dots_of_four<kSigned>(codes[0], load_inputs(in));
                }
                Vector& sum = products[t][decltype(index)::value % kSums];
                sum = fma(as_numbers(dots), spread<kType, kIndex>(factors[t]), sum);
            }
        });
    }
    // Of the last weights of a row, less than a group.
    __attribute__((always_inline)) void add_rest(const std::uint8_t* bytes, const ByteInputs* x, std::int64_t begin,
                                                 std::int64_t n) {
        alignas(16) std::uint8_t rest[Group::kBytes] = {};
        std::memcpy(rest, bytes, static_cast<std::size_t>(n / traits_of(kType).group * Group::kBlockBytes));
        add_group(rest, x, begin);
    }
    __attribute__((always_inline)) float of(int t) const {
        return sum_of_lanes(add(add(products[t][0], products[t][1]), shifts[t]));
    }
};

// Rows of one token taken at once, each from a stretch of its own: two streams are read
// faster than one.
constexpr int streams_at_once(int n_tokens) {
    return n_tokens == 1 ? 2 : 1;
}

// y[r] of rows first, first + apart, ...
template <WeightType kType, int kTokens, int kRows>
__attribute__((always_inline)) inline void multiply_some_rows(const WeightView& weight, std::int64_t stride,
                                                              const ByteInputs* x, std::int64_t first,
                                                              std::int64_t apart, float* y, std::int64_t y_stride) {
    using Group = CodeGroup<kType>;
    const std::int64_t n = weight.n_cols;
    const std::uint8_t* rows[kRows];
    RowSums<kType, kTokens> sums[kRows];
    for (int r = 0; r < kRows; ++r) {
        rows[r] = static_cast<const std::uint8_t*>(weight.data) + (first + r * apart) * stride;
        sums[r].clear();
    }
    std::int64_t i = 0;
    std::int64_t at = 0;
    for (; i + kGroup <= n; i += kGroup, at += Group::kBytes) {
        for (int r = 0; r < kRows; ++r) {
            for (int line = 0; line < Group::kBytes; line += 64) prefetch(rows[r] + stride + at + line);
            sums[r].add_group(rows[r] + at, x, i);
        }
    }
    for (int r = 0; r < kRows; ++r) {
        if (i < n) sums[r].add_rest(rows[r] + at, x, i, n - i);
        for (int t = 0; t < kTokens; ++t) y[t * y_stride + first + r * apart] = sums[r].of(t);
    }
}

template <WeightType kType, int kTokens>
void multiply_rows(const WeightView& weight, const ByteInputs* x, std::int64_t row_begin, std::int64_t row_end,
                   float* y, std::int64_t y_stride) {
    constexpr int kRows = streams_at_once(kTokens);
    const auto stride = static_cast<std::int64_t>(weight.stride_bytes());
    const std::int64_t apart = (row_end - row_begin) / kRows;
    for (std::int64_t r = row_begin; r < row_begin + apart; ++r) {
        multiply_some_rows<kType, kTokens, kRows>(weight, stride, x, r, apart, y, y_stride);
    }
    for (std::int64_t r = row_begin + kRows * apart; r < row_end; ++r) {
        multiply_some_rows<kType, kTokens, 1>(weight, stride, x, r, 0, y, y_stride);
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
// 32 and its negative. places: where the parts of a group go.
void round_token(const float* x, std::int64_t n, const std::int8_t* places, std::int8_t* codes, float* scales,
                 float* sums) {
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
        const auto place = [&](std::int64_t part) {
            return reinterpret_cast<__m128i*>(codes + i / kGroup * kGroup + places[part % kParts] * kPartWeights);
        };
        _mm_storeu_si128(place(i / kPartWeights), _mm256_castsi256_si128(ordered));
        _mm_storeu_si128(place(i / kPartWeights + 1), _mm256_extracti128_si256(ordered, 1));
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

void round_inputs(WeightType type, const float* x, std::int64_t x_stride, int n_tokens, std::int64_t n, std::byte* to) {
    std::array<std::int8_t, kParts> places = {};
    with_block_type(type, [&](auto constant) { places = places_of_parts(decltype(constant)::value); });
    for (int t = 0; t < n_tokens; ++t) {
        const Rounded rounded(to + t * rounded_input_bytes(n), n);
        if (rounded.padded > n) {
            std::memset(rounded.codes + rounded.padded - kGroup, 0, kGroup);
            const std::int64_t first = n / kPartWeights;
            const auto bytes = static_cast<std::size_t>(rounded.padded / kPartWeights - first) * sizeof(float);
            std::memset(rounded.scales + first, 0, bytes);
            std::memset(rounded.sums + first, 0, bytes);
        }
        round_token(x + t * x_stride, n, places.data(), rounded.codes, rounded.scales, rounded.sums);
    }
}

void matvec_bytes(const WeightView& weight, const std::byte* inputs, int n_tokens, std::int64_t row_begin,
                  std::int64_t row_end, float* y, std::int64_t y_stride) {
    ByteInputs tokens[8];
    for (int t = 0; t < n_tokens; ++t) {
        const Rounded rounded(const_cast<std::byte*>(inputs) + t * rounded_input_bytes(weight.n_cols), weight.n_cols);
        tokens[t] = {rounded.codes, rounded.scales, rounded.sums};
    }
    with_block_type(weight.type, [&](auto constant) {
        multiply_tokens<decltype(constant)::value>(weight, tokens, n_tokens, row_begin, row_end, y, y_stride);
    });
}

}  // namespace OFFSTAGE_INSTRUCTION_SET
}  // namespace offstage::kernels
