// expert_ffn_bytes. w1 and w3 use the products of quantized_row_dots_simd.h. w2 is stored
// neuron by neuron and is multiplied in groups of neurons: the codes of four neurons are
// put side by side for each column, so that a product of four bytes adds them up. A
// neuron's scale differs between groups of columns: it is multiplied into the
// activations, which are rounded again for each group.

#if OFFSTAGE_VECTOR_BITS == 512
#include "kernels/cpu/packed_avx512.h"
#else
#include "kernels/cpu/packed_avx2.h"
#endif

#include <algorithm>
#include <limits>

#include "kernels/cpu/activation_simd.h"
#include "kernels/cpu/chosen_neurons_simd.h"
#include "kernels/cpu/lines_ahead.h"
#include "kernels/cpu/operations.h"
#include "kernels/cpu/quantized_row_dots_simd.h"
#include "kernels/cpu_features.h"

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

// The same for up to kByteTileNeurons columns and any number of tokens, whose activations
// lie kByteTileNeurons apart: all of them for 64 columns of the output, which stay in the
// first-level cache. sums: (n / kPackedBlock, n_tokens, kPackedBlock); room:
// (kByteTileNeurons / kNeurons, groups of a batch, n_tokens). Prefetches n_bytes from
// `next` on.
template <WeightType kType, typename Ahead>
void add_tile_columns(const WeightView& w2, std::int64_t first_neuron, int count, std::int64_t n,
                      const float* activations, int n_tokens, float* sums, RoundedGroup* room, const Ahead& ahead,
                      const std::byte* next, std::int64_t n_bytes) {
    constexpr int kGroups = GroupScales<kType>::kGroups;
    constexpr int kGroupsPerBlock = GroupScales<kType>::kGroupsPerBlock;
    const PackedRow layout = packed_row(kType, n);
    const std::byte* columns[kByteTileNeurons];
    const int n_sixteens = (count + kNeurons - 1) / kNeurons;
    for (int j = 0; j < n_sixteens * kNeurons; ++j) {
        columns[j] = reinterpret_cast<const std::byte*>(w2.row(first_neuron + std::min(j, count - 1)));
    }
    LinesAhead lines(next, n_bytes, n_sixteens * layout.n_blocks);
    GroupScales<kType> scales[kNeurons];
    for (std::int64_t first = 0; first < layout.n_blocks; first += kBatchBlocks) {
        const int n_blocks = static_cast<int>(std::min<std::int64_t>(kBatchBlocks, layout.n_blocks - first));
        for (int s = 0; s < n_sixteens; ++s) {
            read_scales<kType>(columns + s * kNeurons, layout, first, n_blocks, ahead, scales);
            for (int t = 0; t < n_tokens; ++t) {
                round_groups<kType>(scales, activations + t * kByteTileNeurons + s * kNeurons,
                                    n_blocks * kGroupsPerBlock, room + s * kGroups * n_tokens + t, n_tokens);
            }
        }
        for (int b = 0; b < n_blocks; ++b) {
            float* const of_block = sums + (first + b) * n_tokens * kPackedBlock;
            for (int s = 0; s < n_sixteens; ++s) {
                lines.step();
                Bytes fours[kFours][kColumnVectors];
                gather_fours<kType>(columns + s * kNeurons, layout, first + b, ahead, fours);
                const RoundedGroup* rounded = room + (s * kGroups + b * kGroupsPerBlock) * n_tokens;
                for (int t = 0; t < n_tokens; ++t, ++rounded) {
                    add_block<kType>(fours, RoundedGroups{rounded, n_tokens}, 0, of_block + t * kPackedBlock);
                }
            }
        }
    }
}

// gates[t * kNeurons + j], and ups: `count` neurons from `first` on.
template <WeightType kType>
void multiply_neurons(const WeightView& w1, const WeightView& w3, const ByteGroup* const* inputs, int n_tokens,
                      std::int64_t first, int count, std::int64_t ahead, float* gates, float* ups) {
    const PackedRow layout = packed_row(kType, w1.n_cols);
    const auto row = [&](const WeightView& weight, int j) {
        return CodeRow{reinterpret_cast<const std::uint8_t*>(weight.row(first + j)), &layout};
    };
    if (n_tokens == 1) {
        const ByteGroup* const x[1] = {inputs[0]};
        for (int j = 0; j < count; ++j) {
            const CodeRow rows[2] = {row(w1, j), row(w3, j)};
            float sums[2][1];
            if constexpr (kType == WeightType::kInt8) {  // others take longer to unpack than memory takes
                dot_rows<kType>(rows, x, w1.n_cols, FarAndNear{ahead, static_cast<std::int64_t>(w1.stride_bytes())},
                                sums);
            } else {
                dot_rows<kType>(rows, x, w1.n_cols, ahead, sums);
            }
            gates[j] = sums[0][0];
            ups[j] = sums[1][0];
        }
        return;
    }
    int token = 0;
    const auto take = [&](auto number) {
        constexpr int kTokens = decltype(number)::value;
        for (; n_tokens - token >= kTokens; token += kTokens) {
            const ByteGroup* x[kTokens];
            for (int t = 0; t < kTokens; ++t) x[t] = inputs[token + t];
            for (int j = 0; j < count; ++j) {
                for (const bool is_gate : {true, false}) {
                    const CodeRow rows[1] = {row(is_gate ? w1 : w3, j)};
                    float sums[1][kTokens];
                    dot_rows<kType>(rows, x, w1.n_cols, ahead, sums);
                    float* const to = (is_gate ? gates : ups) + token * kNeurons + j;
                    for (int t = 0; t < kTokens; ++t) to[t * kNeurons] = sums[0][t];
                }
            }
        }
    };
    take(std::integral_constant<int, 4>());
    take(std::integral_constant<int, 3>());
    take(std::integral_constant<int, 2>());
    take(std::integral_constant<int, 1>());
}

// ---- with a theta: neurons of a list, chosen from a stretch of at most kChosenTogether

// Rows in turns: a group of 256 weights of each row, then the next group of each. When
// the lines of a row are read one after the other, the processor prefetches beyond the
// row's end, where the bytes are not needed: Zen 4 reads rows of 1 KB with gaps of 2 KB
// at 9 GB/s that way, and in turns at 15 (tests/bench/results/kernels.md). Zen 5
// (CpuFeatures::rows_in_turn) was not measured.
constexpr int kMostInTurns = 32;
constexpr std::int64_t kInTurnsBytes = 80 * 1024;  // of the second-level cache; as much again is on its way
// The number of rows read in turns; 0: one row after the other.
std::int64_t rows_in_turns(const WeightView& weight, int n_tokens) {
    if (n_tokens > 1 || weight.type == WeightType::kHqq2 || cpu_features().rows_in_turn) return 0;
    const auto bytes = static_cast<std::int64_t>(row_bytes(weight.type, weight.n_cols));
    return std::clamp<std::int64_t>(kInTurnsBytes / bytes / 8 * 8, 8, kMostInTurns);
}
// Neurons that are chosen from together, and rows that are fetched ahead.
std::int64_t chosen_at_once(const WeightView& w1, int n_tokens) {
    const std::int64_t in_turns = rows_in_turns(w1, n_tokens);
    return in_turns > 0 ? in_turns : kNeurons;
}
std::int64_t fetched_ahead(const WeightView& weight, int n_tokens) {
    const std::int64_t in_turns = rows_in_turns(weight, n_tokens);
    return in_turns > 0 ? std::max<std::int64_t>(in_turns, kNeurons) : n_ahead(weight, 2);
}

// sums[i] = rows[i] . x, n long, for `count` rows, at most kMostInTurns, in turns.
template <WeightType kType>
void multiply_in_turns(const std::byte* const* rows, std::int64_t ahead_rows, std::int64_t count,
                       const PackedRow& layout, std::int64_t n, const ByteGroup* const (&x)[1], float* sums) {
    const int n_rows = static_cast<int>((count + 1) / 2 * 2);
    const std::uint8_t* bytes[kMostInTurns];
    std::int64_t ahead[kMostInTurns];
    __m256 eighths[kMostInTurns / 2][2][1];
    for (int r = 0; r < n_rows; ++r) {
        const std::int64_t place = std::min<std::int64_t>(r, count - 1);
        bytes[r] = reinterpret_cast<const std::uint8_t*>(rows[place]);
        ahead[r] = rows[place + ahead_rows] - rows[place];
        eighths[r / 2][r % 2][0] = _mm256_setzero_ps();
    }
    for (std::int64_t g = 0; (g + 1) * kGroup <= n; ++g) {
        for (int r = 0; r < n_rows; r += 2) {
            const CodeRow now[2] = {{bytes[r], &layout}, {bytes[r + 1], &layout}};
            for (int i = 0; i < 2; ++i) CodeGroup<kType>::fetch(now[i], g, ahead[r + i]);
            add_groups<kType>(now, g, x, g, eighths[r / 2]);
        }
    }
    for (int r = 0; r < n_rows; r += 2) {
        const CodeRow now[2] = {{bytes[r], &layout}, {bytes[r + 1], &layout}};
        add_rest<kType>(now, x, n, eighths[r / 2]);
    }
    for (int i = 0; i < count; ++i) sums[i] = sum_of_eighths(eighths[i / 2][i % 2][0]);
}

// sums[t * kChosenTogether + i] = row i . input t, for i in [begin, end). in_turns: see
// rows_in_turns().
template <WeightType kType>
void multiply_listed(const std::byte* const* rows, std::int64_t ahead_rows, std::int64_t in_turns, std::int64_t begin,
                     std::int64_t end, std::int64_t n, const ByteGroup* const* inputs, int n_tokens, float* sums) {
    const PackedRow layout = packed_row(kType, n);
    if (in_turns > 0) {
        const ByteGroup* const x[1] = {inputs[0]};
        for (std::int64_t i = begin; i < end; i += in_turns) {
            multiply_in_turns<kType>(rows + i, ahead_rows, std::min(in_turns, end - i), layout, n, x, sums + i);
        }
        return;
    }
    const auto take = [&](auto number_of_rows, auto number_of_tokens, std::int64_t i, int token) {
        constexpr int kRows = decltype(number_of_rows)::value;
        constexpr int kTokens = decltype(number_of_tokens)::value;
        CodeRow now[kRows];
        std::int64_t ahead[kRows];
        for (int r = 0; r < kRows; ++r) {
            const std::int64_t place = std::min(i + r, end - 1);
            now[r] = {reinterpret_cast<const std::uint8_t*>(rows[place]), &layout};
            ahead[r] = rows[place + ahead_rows] - rows[place];
        }
        const ByteGroup* x[kTokens];
        for (int t = 0; t < kTokens; ++t) x[t] = inputs[token + t];
        float of_rows[kRows][kTokens];
        dot_rows<kType>(now, x, n, ahead, of_rows);
        for (int r = 0; r < kRows && i + r < end; ++r) {
            for (int t = 0; t < kTokens; ++t) sums[(token + t) * kChosenTogether + i + r] = of_rows[r][t];
        }
    };
    using One = std::integral_constant<int, 1>;
    using Two = std::integral_constant<int, 2>;
    using Four = std::integral_constant<int, 4>;
    if (n_tokens == 1) {
        for (std::int64_t i = begin; i < end; i += 2) take(Two(), One(), i, 0);
        return;
    }
    for (std::int64_t i = begin; i < end; ++i) {
        int token = 0;
        for (; n_tokens - token >= 4; token += 4) take(One(), Four(), i, token);
        for (; n_tokens - token >= 2; token += 2) take(One(), Two(), i, token);
        for (; token < n_tokens; ++token) take(One(), One(), i, token);
    }
}

// out += the columns rows[0 .. count), kNeurons of them at a time, times values[t *
// kChosenTogether + i].
template <WeightType kType>
void add_listed(const std::byte* const* rows, std::int64_t ahead_rows, std::int64_t count, const float* values,
                std::int64_t n, int n_tokens, float* out) {
    for (std::int64_t i = 0; i < count; i += kNeurons) {
        const std::byte* columns[kNeurons];
        std::int64_t ahead[kNeurons];
        alignas(64) float activations[kMostTokens * kNeurons];
        for (int j = 0; j < kNeurons; ++j) {
            const bool there = i + j < count;
            columns[j] = rows[there ? i + j : count - 1];
            ahead[j] = rows[std::min(i, count - 1) + j + ahead_rows] - columns[j];
            for (int t = 0; t < n_tokens; ++t) {
                activations[t * kNeurons + j] = there ? values[t * kChosenTogether + i + j] : 0.0f;
            }
        }
        add_rounded_columns<kType>(columns, n, ahead, activations, n_tokens, out);
    }
}

// Rounded inputs, and products of listed rows with them, in the form that run_stretch()
// and list_chosen() take.
struct RoundedTokens {
    RoundedTokens(const std::byte* const* inputs, std::int64_t dim, int n) : n_columns(dim), n_tokens(n) {
        for (int t = 0; t < n; ++t) x[t] = reinterpret_cast<const ByteGroup*>(inputs[t]);
    }
    void operator()(const WeightView& weight, const std::byte* const* rows, std::int64_t begin, std::int64_t end,
                    float* sums) const {
        const std::int64_t ahead_rows = fetched_ahead(weight, n_tokens);
        const std::int64_t in_turns = rows_in_turns(weight, n_tokens);
        with_packed_type(weight.type, [&](auto constant) {
            multiply_listed<decltype(constant)::value>(rows, ahead_rows, in_turns, begin, end, n_columns, x, n_tokens,
                                                       sums);
        });
    }

    const ByteGroup* x[kMostTokens];
    std::int64_t n_columns;
    int n_tokens;
};

// The scratch memory of expert_ffn_bytes().
struct TileRoom {
    float* gates;  // (n_tokens, kByteTileNeurons)
    float* ups;
    float* sums;  // see add_tile_columns()
    RoundedGroup* rounded;

    TileRoom(std::byte* scratch, std::int64_t n, int n_tokens) {
        void* const aligned = scratch + (64 - reinterpret_cast<std::uintptr_t>(scratch) % 64) % 64;
        gates = static_cast<float*>(aligned);
        ups = gates + n_tokens * kByteTileNeurons;
        sums = ups + n_tokens * kByteTileNeurons;
        void* const behind = sums + n_tokens * n;
        rounded = static_cast<RoundedGroup*>(behind);
    }
};

// Between rows of sums, and (blocks, tokens).
template <bool kIntoBlocks>
void move_sums(float* rows, std::int64_t n, int n_tokens, float* blocks) {
    for (int t = 0; t < n_tokens; ++t) {
        for (std::int64_t b = 0; b * kPackedBlock < n; ++b) {
            float* const row = rows + t * n + b * kPackedBlock;
            float* const block = blocks + (b * n_tokens + t) * kPackedBlock;
            std::memcpy(kIntoBlocks ? block : row, kIntoBlocks ? row : block, kPackedBlock * sizeof(float));
        }
    }
}

// Neurons [first, first + count) of an expert, at most kByteTileNeurons, for many tokens;
// n_next of them follow.
void run_tile(const ExpertView& expert, const std::byte* const* inputs, const float* scale, int n_tokens,
              std::int64_t first, int count, std::int64_t n_next, const TileRoom& room, std::byte* product_scratch) {
    // A neuron's weights are contiguous: each of the three products prefetches a third of
    // the following bytes, in order.
    const std::byte* const next = expert.gate().row(first + count);
    const auto third = static_cast<std::int64_t>(expert.layout.neuron_bytes()) * n_next / 3;
    const auto multiply_rows_of = [&](const WeightView& all, float* to, int thirds) {
        WeightView some = all;
        some.data = all.row(first);
        some.n_rows = count;
        OFFSTAGE_INSTRUCTION_SET::matvec_bytes_ahead(some, inputs, n_tokens, 0, count, to, kByteTileNeurons,
                                                     product_scratch, next + thirds * third, third);
    };
    multiply_rows_of(expert.gate(), room.gates, 0);
    multiply_rows_of(expert.up(), room.ups, 1);
    const ExpertBiases biases = expert.biases();
    for (int t = 0; t < n_tokens; ++t) {
        float* const gate = room.gates + t * kByteTileNeurons;
        float* const up = room.ups + t * kByteTileNeurons;
        for (int j = count; j < kByteTileNeurons; ++j) gate[j] = up[j] = 0.0f;
        for (int j = 0; biases.gate != nullptr && j < count; ++j) {
            gate[j] += biases.gate[first + j];
            up[j] += biases.up[first + j];
        }
        const Vector factor = broadcast(scale[t]);
        for (int j = 0; j < kByteTileNeurons; j += kLanes) {
            store(gate + j, multiply(factor, activation(expert.layout.spec, load(gate + j), load(up + j))));
        }
        // Missing neurons get 0, even where the activation is not finite.
        for (int j = count; j < kByteTileNeurons; ++j) gate[j] = 0.0f;
    }
    const WeightView w2 = expert.down();
    with_packed_type(w2.type, [&](auto constant) {
        constexpr WeightType kType = decltype(constant)::value;
        const auto add_columns = [&](const auto& ahead, std::int64_t n_bytes) {
            add_tile_columns<kType>(w2, first, count, expert.layout.hidden_dim, room.gates, n_tokens, room.sums,
                                    room.rounded, ahead, next + 2 * third, n_bytes);
        };
        constexpr bool kAlwaysPanels = takes_panels(kType, kFewByteExpertTokens + 1);
        if constexpr (kFetchesBesideProducts) {
            if (kAlwaysPanels || takes_panels(kType, n_tokens)) return add_columns(FetchedByOthers{}, third);
        }
        if constexpr (!kFetchesBesideProducts || !kAlwaysPanels) {
            add_columns(static_cast<std::int64_t>(w2.stride_bytes()) * kByteTileNeurons, 0);
        }
    });
}

}  // namespace

namespace OFFSTAGE_INSTRUCTION_SET {

std::int64_t chosen_neurons_bytes(const ExpertView& expert, const std::byte* const* inputs, int n_tokens,
                                  std::int64_t neuron_begin, std::int64_t neuron_end, std::int32_t* chosen,
                                  std::uint64_t& active) {
    return list_chosen(expert, n_tokens, neuron_begin, neuron_end, chosen, active,
                       chosen_at_once(expert.gate(), n_tokens),
                       RoundedTokens(inputs, expert.layout.hidden_dim, n_tokens));
}

void sparse_expert_ffn_bytes(const ExpertView& expert, const std::byte* const* inputs, const float* scale, int n_tokens,
                             std::int64_t neuron_begin, std::int64_t neuron_end, float* out, NeuronCounts& counts) {
    const std::int64_t n = expert.layout.hidden_dim;
    const float* const bias = expert.biases().down;
    for (int t = 0; bias != nullptr && neuron_begin == 0 && t < n_tokens; ++t) {
        for (std::int64_t i = 0; i < n; ++i) out[t * n + i] += scale[t] * bias[i];
    }
    const RoundedTokens multiply(inputs, n, n_tokens);
    const std::int64_t at_once = chosen_at_once(expert.gate(), n_tokens);
    // Columns are prefetched as far ahead as rows of w3; the last rows of w3 prefetch the
    // first columns.
    const std::int64_t ahead_columns = n_tokens == 1 ? std::max<std::int64_t>(at_once, kNeurons) : kNeurons;
    const auto add = [&](const WeightView& weight, const std::byte* const* rows, const ChosenNeurons& chosen,
                         const float* values) {
        with_packed_type(weight.type, [&](auto constant) {
            constexpr WeightType kType = decltype(constant)::value;
            if (n_tokens == 1) return add_listed<kType>(rows, ahead_columns, chosen.count, values, n, n_tokens, out);
            // Who shares a step of rounding must not depend on the other tokens.
            for (std::int64_t begin = 0, end = 0; begin < chosen.count; begin = end) {
                const std::int64_t group = chosen.places[begin] / kNeurons;
                while (end < chosen.count && chosen.places[end] / kNeurons == group) ++end;
                add_listed<kType>(rows + begin, ahead_columns, end - begin, values + begin, n, n_tokens, out);
            }
        });
    };
    for (std::int64_t first = neuron_begin; first < neuron_end; first += kChosenTogether) {
        run_stretch(expert, scale, n_tokens, first, std::min(kChosenTogether, neuron_end - first), counts, at_once,
                    multiply, add);
    }
}

void expert_ffn_bytes(const ExpertView& expert, const std::byte* const* inputs, const float* scale, int n_tokens,
                      std::int64_t neuron_begin, std::int64_t neuron_end, float* out, std::byte* scratch) {
    const std::int64_t n = expert.layout.hidden_dim;
    const WeightView w1 = expert.gate();
    const WeightView w3 = expert.up();
    const WeightView w2 = expert.down();
    const ExpertBiases biases = expert.biases();
    for (int t = 0; biases.down != nullptr && neuron_begin == 0 && t < n_tokens; ++t) {
        for (std::int64_t i = 0; i < n; ++i) out[t * n + i] += scale[t] * biases.down[i];
    }
    if (n_tokens > kFewByteExpertTokens) {
        const TileRoom room(scratch + byte_product_scratch(n), n, n_tokens);
        move_sums<true>(out, n, n_tokens, room.sums);
        for (std::int64_t first = neuron_begin; first < neuron_end; first += kByteTileNeurons) {
            const int count = static_cast<int>(std::min(kByteTileNeurons, neuron_end - first));
            const std::int64_t n_next = std::min(kByteTileNeurons, neuron_end - first - count);
            run_tile(expert, inputs, scale, n_tokens, first, count, n_next, room, scratch);
        }
        move_sums<false>(out, n, n_tokens, room.sums);
        return;
    }
    const ByteGroup* x[kMostTokens];
    for (int t = 0; t < n_tokens; ++t) x[t] = reinterpret_cast<const ByteGroup*>(inputs[t]);
    // The next group of neurons.
    const auto ahead = static_cast<std::int64_t>(expert.layout.neuron_bytes()) * kNeurons;
    for (std::int64_t first = neuron_begin; first < neuron_end; first += kNeurons) {
        const int count = static_cast<int>(std::min<std::int64_t>(kNeurons, neuron_end - first));
        alignas(64) float gates[kMostTokens * kNeurons] = {};
        alignas(64) float ups[kMostTokens * kNeurons] = {};
        with_packed_type(w1.type, [&](auto constant) {
            multiply_neurons<decltype(constant)::value>(w1, w3, x, n_tokens, first, count, ahead, gates, ups);
        });
        for (int t = 0; t < n_tokens; ++t) {
            float* const gate = gates + t * kNeurons;
            float* const up = ups + t * kNeurons;
            for (int j = 0; biases.gate != nullptr && j < count; ++j) {
                gate[j] += biases.gate[first + j];
                up[j] += biases.up[first + j];
            }
            for (int j = 0; j < kNeurons; j += kLanes) {
                store(gate + j, activation(expert.layout.spec, load(gate + j), load(up + j)));
            }
            // Missing neurons get 0, even where the activation is not finite.
            for (int j = 0; j < kNeurons; ++j) gate[j] = j < count ? scale[t] * gate[j] : 0.0f;
        }
        const std::byte* columns[kNeurons];
        for (int j = 0; j < kNeurons; ++j) {
            columns[j] = reinterpret_cast<const std::byte*>(w2.row(first + std::min(j, count - 1)));
        }
        with_packed_type(w2.type, [&](auto constant) {
            add_rounded_columns<decltype(constant)::value>(columns, n, ahead, gates, n_tokens, out);
        });
    }
}

}  // namespace OFFSTAGE_INSTRUCTION_SET
}  // namespace offstage::kernels
