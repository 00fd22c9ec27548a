#pragma once
// w2 with inputs in 8 bits, stored neuron by neuron: multiplied in groups of neurons. The
// codes of four neurons are put side by side for each column, so that a product of four
// bytes adds them up. A neuron's scale differs between groups of columns: it is
// multiplied into the activations, which are rounded again for each group.

#if OFFSTAGE_VECTOR_BITS == 512
#include "kernels/cpu/packed_avx512.h"
#else
#include "kernels/cpu/packed_avx2.h"
#endif

#include <algorithm>
#include <limits>

#include "kernels/cpu/quantized_row_dots_simd.h"

namespace offstage::kernels {
namespace {

constexpr int kNeurons = static_cast<int>(kRoundedNeurons);
constexpr int kFours = kNeurons / 4;
constexpr int kColumnVectors = static_cast<int>(kPackedBlock) / kLanes;  // sums for a block's columns
constexpr int kMostTokens = 8;

// 16 bits of each word of b[kIndex] in the upper half of those of a[kIndex].
template <int kIndex, int kVectors>
__attribute__((always_inline)) inline Bytes in_upper_half(const Bytes (&a)[kVectors], const Bytes (&b)[kVectors]) {
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_mask_blend_epi16(0xaaaaaaaau, a[kIndex], _mm512_slli_epi32(b[kIndex], 16));
#else
    return _mm256_blend_epi16(a[kIndex], _mm256_slli_epi32(b[kIndex], 16), 0xaa);
#endif
}

// Puts the codes of four neurons' blocks side by side, a vector for kLanes columns;
// in_order() defines the order.
template <WeightType kType>
__attribute__((always_inline)) inline void put_side_by_side(const std::byte* const (&blocks)[4],
                                                            Bytes (&fours)[kColumnVectors]) {
    if constexpr (kType == WeightType::kInt8) {
        for (int half = 0; half < kColumnVectors / 4; ++half) {
            Bytes codes[4];
            for (int j = 0; j < 4; ++j) {
                const Bytes loaded = load_unit(reinterpret_cast<const std::uint8_t*>(blocks[j]) + half * kUnit);
#if OFFSTAGE_VECTOR_BITS == 512
                codes[j] = offset_of(kType) > 0 ? _mm512_xor_si512(loaded, all_bytes(-128)) : loaded;
#else
                codes[j] = offset_of(kType) > 0 ? _mm256_xor_si256(loaded, all_bytes(-128)) : loaded;
#endif
            }
            Bytes* const to = fours + 4 * half;
#if OFFSTAGE_VECTOR_BITS == 512
            const Bytes low[2] = {_mm512_unpacklo_epi8(codes[0], codes[1]), _mm512_unpacklo_epi8(codes[2], codes[3])};
            const Bytes high[2] = {_mm512_unpackhi_epi8(codes[0], codes[1]), _mm512_unpackhi_epi8(codes[2], codes[3])};
            to[0] = _mm512_unpacklo_epi16(low[0], low[1]);
            to[1] = _mm512_unpackhi_epi16(low[0], low[1]);
            to[2] = _mm512_unpacklo_epi16(high[0], high[1]);
            to[3] = _mm512_unpackhi_epi16(high[0], high[1]);
#else
            const Bytes low[2] = {_mm256_unpacklo_epi8(codes[0], codes[1]), _mm256_unpacklo_epi8(codes[2], codes[3])};
            const Bytes high[2] = {_mm256_unpackhi_epi8(codes[0], codes[1]), _mm256_unpackhi_epi8(codes[2], codes[3])};
            to[0] = _mm256_unpacklo_epi16(low[0], low[1]);
            to[1] = _mm256_unpackhi_epi16(low[0], low[1]);
            to[2] = _mm256_unpacklo_epi16(high[0], high[1]);
            to[3] = _mm256_unpackhi_epi16(high[0], high[1]);
#endif
        }
    } else {
        constexpr int kBits = PackedFormat<kType>::kBits;
        constexpr int kHalves = 16 / kLanes;  // vectors of a block's 16 lanes
        Bytes words[4][kHalves];
        for (int j = 0; j < 4; ++j) {
#if OFFSTAGE_VECTOR_BITS == 512
            words[j][0] = load_codes<kBits>(blocks[j]);
#else
            load_codes<kBits>(blocks[j], words[j]);
#endif
        }
        // First joins bytes with two codes (four codes of 2 bits) of each neuron with the
        // next neuron's, then splits the codes.
        constexpr int kCodesOfByte = kBits == 2 ? 4 : 2;
        constexpr int kByteBits = kBits * kCodesOfByte;
        Bytes bytes[kHalves][4 / kCodesOfByte];
        unrolled<kHalves>([&](auto half) __attribute__((always_inline)) {
            const Bytes even = in_upper_half<half>(words[0], words[2]);
            const Bytes odd = in_upper_half<half>(words[1], words[3]);
            unrolled<4 / kCodesOfByte>([&](auto part) __attribute__((always_inline)) {
                constexpr int kFrom = kByteBits * decltype(part)::value;
#if OFFSTAGE_VECTOR_BITS == 512
                bytes[half][part] = _mm512_ternarylogic_epi32(_mm512_set1_epi32(0x00ff00ff), shifted<kFrom>(even),
                                                              _mm512_slli_epi32(odd, 8 - kFrom), 0xca);
#else
                bytes[half][part] = _mm256_blendv_epi8(_mm256_slli_epi32(odd, 8 - kFrom), shifted<kFrom>(even),
                                                       _mm256_set1_epi32(0x00ff00ff));
#endif
            });
        });
        unrolled<kColumnVectors>([&](auto index) __attribute__((always_inline)) {
            constexpr int kCode = decltype(index)::value / kHalves;
            constexpr int kHalf = decltype(index)::value % kHalves;
            fours[index] =
                bits_of_bytes(bytes[kHalf][kCode / kCodesOfByte], kCode % kCodesOfByte * kBits, (1 << kBits) - 1);
        });
    }
}

// The sums as vectors of columns that follow each other.
template <WeightType kType>
__attribute__((always_inline)) inline void in_order(Bytes (&sums)[kColumnVectors]) {
    if constexpr (kType == WeightType::kInt8) {
        for (int half = 0; half < kColumnVectors / 4; ++half) {
            Bytes* const s = sums + 4 * half;
#if OFFSTAGE_VECTOR_BITS == 512
            const Bytes even01 = _mm512_shuffle_i32x4(s[0], s[1], 0x88);  // quarters 0 and 2 of both
            const Bytes even23 = _mm512_shuffle_i32x4(s[2], s[3], 0x88);
            const Bytes odd01 = _mm512_shuffle_i32x4(s[0], s[1], 0xdd);
            const Bytes odd23 = _mm512_shuffle_i32x4(s[2], s[3], 0xdd);
            s[0] = _mm512_shuffle_i32x4(even01, even23, 0x88);
            s[1] = _mm512_shuffle_i32x4(odd01, odd23, 0x88);
            s[2] = _mm512_shuffle_i32x4(even01, even23, 0xdd);
            s[3] = _mm512_shuffle_i32x4(odd01, odd23, 0xdd);
#else
            const Bytes first = _mm256_permute2x128_si256(s[0], s[1], 0x20);
            const Bytes second = _mm256_permute2x128_si256(s[2], s[3], 0x20);
            const Bytes third = _mm256_permute2x128_si256(s[0], s[1], 0x31);
            const Bytes fourth = _mm256_permute2x128_si256(s[2], s[3], 0x31);
            s[0] = first;
            s[1] = second;
            s[2] = third;
            s[3] = fourth;
#endif
        }
    }
}

// Multiplies activations of kNeurons neurons by the scales of kLanes groups of columns,
// and rounds them for each group.
struct RoundedLanes {
    Bytes fours[kFours];  // bytes of four neurons each
    Bytes correction;     // for offset_of(kType)
    Vector step;
    Vector bias;

    // Groups from g on.
    template <WeightType kType>
    __attribute__((always_inline)) void round(const GroupScales<kType>* scales, const float* activations, int g) {
        Vector products[kNeurons];
        Vector most = zero();
        bias = zero();
        for (int j = 0; j < kNeurons; ++j) {
            const Vector activation = broadcast(activations[j]);
            products[j] = multiply(activation, load(scales[j].scale[0] + g));
            most = maximum(most, maximum(products[j], subtract(zero(), products[j])));
            if constexpr (has_biases(kType)) bias = fma(activation, load(scales[j].bias + g), bias);
        }
        // Division by 0: the products are 0 as well, and the factor must be.
        const Vector factor = divide(broadcast(127.0f), maximum(most, broadcast(std::numeric_limits<float>::min())));
        step = multiply(most, broadcast(1.0f / 127.0f));
        Bytes sum = no_sums();
        for (int four = 0; four < kFours; ++four) {
            fours[four] = no_sums();
            for (int j = 0; j < 4; ++j) {
                const Vector scaled = multiply(products[4 * four + j], factor);
#if OFFSTAGE_VECTOR_BITS == 512
                const Bytes code = _mm512_cvtps_epi32(scaled);
                const Bytes byte =
                    _mm512_slli_epi32(_mm512_and_si512(code, _mm512_set1_epi32(255)), static_cast<unsigned>(8 * j));
#else
                const Bytes code = _mm256_cvtps_epi32(scaled);
                const Bytes byte = _mm256_slli_epi32(_mm256_and_si256(code, _mm256_set1_epi32(255)), 8 * j);
#endif
                fours[four] = either(fours[four], byte);
                if constexpr (offset_of(kType) > 0) sum = add_sums(sum, code);
            }
        }
        correction = no_sums();
        if constexpr (offset_of(kType) > 0) {
            static_assert(offset_of(kType) == 128);
#if OFFSTAGE_VECTOR_BITS == 512
            correction = _mm512_sub_epi32(correction, _mm512_slli_epi32(sum, 7));
#else
            correction = _mm256_sub_epi32(correction, _mm256_slli_epi32(sum, 7));
#endif
        }
    }
};

__attribute__((always_inline)) inline void store_words(std::int32_t* to, Bytes words) {
#if OFFSTAGE_VECTOR_BITS == 512
    _mm512_store_si512(to, words);
#else
    _mm256_store_si256(reinterpret_cast<__m256i*>(to), words);
#endif
}

// Those of a batch of blocks.
template <WeightType kType>
struct RoundedActivations {
    static constexpr int kGroups = GroupScales<kType>::kGroups;
    alignas(64) std::int32_t four_bytes[kFours][kGroups];
    alignas(64) std::int32_t corrections[kGroups];
    alignas(64) float steps[kGroups];
    alignas(64) float biases[kGroups];

    // activations: of kNeurons.
    void round(const GroupScales<kType>* scales, const float* activations, int n_groups) {
        for (int g = 0; g < n_groups; g += kLanes) {
            RoundedLanes lanes;
            lanes.round<kType>(scales, activations, g);
            for (int four = 0; four < kFours; ++four) store_words(four_bytes[four] + g, lanes.fours[four]);
            store_words(corrections + g, lanes.correction);
            store(steps + g, lanes.step);
            store(biases + g, lanes.bias);
        }
    }
    std::int32_t fours(int group, int four) const { return four_bytes[four][group]; }
    std::int32_t correction(int group) const { return corrections[group]; }
    float step(int group) const { return steps[group]; }
    float bias(int group) const { return biases[group]; }
};

// One token among many: the numbers of a group of columns are contiguous, followed by
// those of the next token.
struct RoundedGroup {
    std::int32_t four_bytes[kFours];
    std::int32_t corrected;
    float stepped;
    float biased;
    std::int32_t unused;
};
static_assert(sizeof(RoundedGroup) == 32);

struct RoundedGroups {
    const RoundedGroup* groups;  // this token's first group of a block
    int apart;                   // from a group to the next

    std::int32_t fours(int group, int four) const { return groups[group * apart].four_bytes[four]; }
    std::int32_t correction(int group) const { return groups[group * apart].corrected; }
    float step(int group) const { return groups[group * apart].stepped; }
    float bias(int group) const { return groups[group * apart].biased; }
};

// to[group * apart] for n_groups groups.
template <WeightType kType>
void round_groups(const GroupScales<kType>* scales, const float* activations, int n_groups, RoundedGroup* to,
                  int apart) {
    for (int g = 0; g < n_groups; g += kLanes) {
        RoundedLanes lanes;
        lanes.round<kType>(scales, activations, g);
        Vector words[kLanes] = {};
        for (int four = 0; four < kFours; ++four) std::memcpy(words + four, lanes.fours + four, sizeof(Vector));
        std::memcpy(words + kFours, &lanes.correction, sizeof(Vector));
        words[kFours + 1] = lanes.step;
        words[kFours + 2] = lanes.bias;
        transpose_words(words);
        for (int lane = 0; lane < kLanes && g + lane < n_groups; ++lane) {
            std::memcpy(static_cast<void*>(to + (g + lane) * apart), words + lane, sizeof(RoundedGroup));
        }
    }
}

// Instead of how far ahead something is fetched: nothing is.
struct FetchedByOthers {};
constexpr std::int64_t distance_of(FetchedByOthers /*ahead*/, int /*r*/) {
    return 0;
}

// Codes of block `block` of kNeurons columns. Prefetches `ahead` bytes further on: one
// distance for all columns, or one for each.
template <WeightType kType, typename Ahead>
__attribute__((always_inline)) inline void gather_fours(const std::byte* const* columns, const PackedRow& layout,
                                                        std::int64_t block, const Ahead& ahead,
                                                        Bytes (&fours)[kFours][kColumnVectors]) {
    using Format = PackedFormat<kType>;
    const std::int64_t codes = layout.codes + block * Format::kBlockBytes;
    for (int four = 0; four < kFours; ++four) {
        const std::byte* blocks[4];
        for (int j = 0; j < 4; ++j) {
            blocks[j] = columns[4 * four + j] + codes;
            if constexpr (!std::is_same_v<Ahead, FetchedByOthers>) {
                if (Format::kBlockBytes >= 32 || block % 2 == 0) prefetch(blocks[j] + distance_of(ahead, 4 * four + j));
            }
        }
        put_side_by_side<kType>(blocks, fours[four]);
    }
}

// Scales of a batch of blocks of kNeurons columns; fetched as gather_fours() does.
template <WeightType kType, typename Ahead>
__attribute__((always_inline)) inline void read_scales(const std::byte* const* columns, const PackedRow& layout,
                                                       std::int64_t first_block, int n_blocks, const Ahead& ahead,
                                                       GroupScales<kType> (&scales)[kNeurons]) {
    using Format = PackedFormat<kType>;
    for (int j = 0; j < kNeurons; ++j) {
        const PackedRef<kType> column{columns[j], &layout};
        scales[j].read(column, first_block, n_blocks);
        if constexpr (std::is_same_v<Ahead, FetchedByOthers>) continue;
        const std::byte* const of_groups =
            columns[j] + distance_of(ahead, j) + first_block * Format::kGroupsPerBlock * Format::kScaleBytes;
        prefetch(of_groups + layout.scales);
        if (layout.zeros != layout.scales) prefetch(of_groups + layout.zeros);
    }
}

// place[i] += the block's columns times a token's activations. first_group: the place of
// the block's groups in `rounded`.
template <WeightType kType, typename Rounded>
__attribute__((always_inline)) inline void add_block(const Bytes (&fours)[kFours][kColumnVectors],
                                                     const Rounded& rounded, int first_group, float* place) {
    const auto group = [&](int v) { return first_group + v * PackedFormat<kType>::kGroupsPerBlock / kColumnVectors; };
    Bytes sums[kColumnVectors];
    for (int v = 0; v < kColumnVectors; ++v) {
        sums[v] = offset_of(kType) > 0 ? all_words(rounded.correction(group(v))) : no_sums();
    }
    for (int four = 0; four < kFours; ++four) {
        for (int v = 0; v < kColumnVectors; ++v) {
            const Bytes codes_of_four[1] = {fours[four][v]};
            sums[v] = add_dots<code_range(kType)>(
                sums[v], codes_of_four, [&](int) __attribute__((always_inline)) {
                    return all_words(rounded.fours(group(v), four));
                });
        }
    }
    in_order<kType>(sums);
    for (int v = 0; v < kColumnVectors; ++v, place += kLanes) {
        Vector sum = fma(as_numbers(sums[v]), broadcast(rounded.step(group(v))), load(place));
        if constexpr (has_biases(kType)) sum = add(sum, broadcast(rounded.bias(group(v))));
        store(place, sum);
    }
}

// out[t] += sum of kNeurons columns times activations[t * kNeurons ..], of few tokens.
template <WeightType kType, typename Ahead>
void add_rounded_columns(const std::byte* const (&columns)[kNeurons], std::int64_t n, const Ahead& ahead,
                         const float* activations, int n_tokens, float* out) {
    const PackedRow layout = packed_row(kType, n);
    GroupScales<kType> scales[kNeurons];
    RoundedActivations<kType> rounded[kMostTokens];
    for (std::int64_t first = 0; first < layout.n_blocks; first += kBatchBlocks) {
        const int n_blocks = static_cast<int>(std::min<std::int64_t>(kBatchBlocks, layout.n_blocks - first));
        read_scales<kType>(columns, layout, first, n_blocks, ahead, scales);
        for (int t = 0; t < n_tokens; ++t) {
            rounded[t].round(scales, activations + t * kNeurons, n_blocks * GroupScales<kType>::kGroupsPerBlock);
        }
        for (int b = 0; b < n_blocks; ++b) {
            Bytes fours[kFours][kColumnVectors];
            gather_fours<kType>(columns, layout, first + b, ahead, fours);
            for (int t = 0; t < n_tokens; ++t) {
                add_block<kType>(fours, rounded[t], b * GroupScales<kType>::kGroupsPerBlock,
                                 out + t * n + (first + b) * kPackedBlock);
            }
        }
    }
}

}  // namespace
}  // namespace offstage::kernels
