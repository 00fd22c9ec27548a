#pragma once
// Interleaved rows (kernels/interleaved.h) times inputs of 8 bits: four codes of each of
// as many rows as a vector has lanes are multiplied by four inputs in all lanes. For many
// tokens codes are unpacked into panels if registers are few, and so are rows that are
// not interleaved. The sums are those of quantized_row_dots_simd.h, in the same order.

#include <algorithm>
#include <cstring>

#include "kernels/cpu/quantized_panel_dots_simd.h"
#include "kernels/cpu_features.h"
#include "kernels/interleaved.h"

namespace offstage::kernels {
namespace {

constexpr int kStripHalves = static_cast<int>(kInterleavedRows) / kLanes;  // 2 where a vector has eight lanes

// This many numbers of 16 bits, of a strip's lanes, as float32.
__attribute__((always_inline)) inline Vector halves_as_numbers(const std::uint8_t* halves) {
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_cvtph_ps(load_32(halves));
#else
    return _mm256_cvtph_ps(load_16(halves));
#endif
}

__attribute__((always_inline)) inline Bytes shifted_down(Bytes words, int bits) {
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_srl_epi32(words, _mm_cvtsi32_si128(bits));
#else
    return _mm256_srl_epi32(words, _mm_cvtsi32_si128(bits));
#endif
}
template <int kBits>
__attribute__((always_inline)) inline Bytes shifted_down(Bytes words) {
    if constexpr (kBits == 0) return words;
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_srli_epi32(words, kBits);
#else
    return _mm256_srli_epi32(words, kBits);
#endif
}
template <int kBits>
__attribute__((always_inline)) inline Bytes shifted_up(Bytes words) {
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_slli_epi32(words, kBits);
#else
    return _mm256_slli_epi32(words, kBits);
#endif
}
__attribute__((always_inline)) inline Bytes masked(Bytes words, std::int32_t mask) {
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_and_si512(words, all_words(mask));
#else
    return _mm256_and_si256(words, all_words(mask));
#endif
}

__attribute__((always_inline)) inline Bytes less_32(Bytes words) {
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_sub_epi32(words, all_words(32));
#else
    return _mm256_sub_epi32(words, all_words(32));
#endif
}

// Lower 16 bits of each word, as float32.
__attribute__((always_inline)) inline Vector lower_halves_as_numbers(Bytes words) {
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words));
#else
    const __m256i lower = _mm256_and_si256(words, _mm256_set1_epi32(0xffff));
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(lower, lower), 0x08);
    return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
#endif
}

__attribute__((always_inline)) inline Bytes signed_bytes_moved(Bytes codes, int offset) {
#if OFFSTAGE_VECTOR_BITS == 512
    return offset > 0 ? _mm512_xor_si512(codes, all_bytes(-128)) : codes;
#else
    return offset > 0 ? _mm256_xor_si256(codes, all_bytes(-128)) : codes;
#endif
}

// codes, and the bits of each byte of `bits` that `mask` has, moved from kFrom to kTo.
template <int kTo, int kMask, int kFrom>
__attribute__((always_inline)) inline Bytes with_bits(Bytes codes, Bytes bits) {
    Bytes moved = bits;
    if constexpr (kFrom > kTo) moved = shifted_down<kFrom - kTo>(bits);
    if constexpr (kFrom < kTo) moved = shifted_up<kTo - kFrom>(bits);
    constexpr std::int32_t kWanted = (kMask << kTo) * 0x01010101;
#if OFFSTAGE_VECTOR_BITS == 512
    return _mm512_ternarylogic_epi32(codes, moved, all_words(kWanted), 0xf8);  // a | (b & c)
#else
    return either(codes, masked(moved, kWanted));
#endif
}

// 256 weights of kLanes rows of a strip: the first lanes, or (`half` 1) the last ones.
template <WeightType kType>
struct StripGroup {
    static constexpr int kRows = static_cast<int>(kInterleavedRows);
    static constexpr int kWord = 4 * kRows;  // bytes from one word to the next
    static constexpr int kBlockBytes = traits_of(kType).block_bytes;
    static constexpr bool kLarge = traits_of(kType).group == kGroup;
    // Whether bytes are read in address order: not where upper bits lie apart from lower
    // ones. Vectors of half a strip never ask: they fetch near.
    static constexpr bool kInOrder =
        kStripHalves == 1 && (!kLarge || kType == WeightType::kQ4K || kType == WeightType::kIq4Xs);
    static constexpr int kBytes = kRows * kBlockBytes * (kLarge ? 1 : kGroup / traits_of(kType).group);
    static constexpr int kHalfScales = has_half_scales(kType) ? 2 : 1;
    static constexpr int kNumbers = numbers_of_scale<kType>();

    const std::uint8_t* words;  // the first lane's
    const std::uint8_t* group;
    int half;
    Vector scale, bias;  // factors of all scales and biases of a large block
    Bytes numbers[3];    // the places of scales and biases in words

    __attribute__((always_inline)) StripGroup(const std::uint8_t* strip, std::int64_t index, int lanes)
        : words(strip + index * kBytes + 4 * kLanes * lanes), group(strip + index * kBytes), half(lanes) {}

    __attribute__((always_inline)) Bytes word(int index) const { return load_unit(words + index * kWord); }

    // Prefetches part `part` of kParts of the same place `ahead` bytes further on into
    // the first-level or second-level cache. Requesting all of it at once would wait
    // until memory has accepted the requests, and leave memory idle while products are
    // summed.
    template <int kParts, bool kIntoFirst>
    __attribute__((always_inline)) void fetch_part(std::int64_t ahead, int part) const {
        constexpr int kPart = (kBytes / kParts + 63) / 64 * 64;
        for (int line = 0; line < kPart; line += 64) {
            const std::uint8_t* const place = group + ahead + part * kPart + line;
            if constexpr (kIntoFirst) {
                prefetch_into_first(place);
            } else {
                prefetch(place);
            }
        }
    }

    // Prefetches the next part, of kScales, of a strip that is read once. On Zen 4 the
    // hardware prefetcher serves sequential reads best (0.97 of the speed of reading
    // alone; 0.88 with our requests beside it). Reads that jump within a strip need our
    // requests, into the second-level cache and twice, because surplus requests are
    // dropped (Q6_K 0.93; once: 0.84). Zen 5 (rows_in_turn) and, with AVX2, Zen 3 were
    // measured with the first-level cache. Distances were found by measuring.
    static bool fetches_near() { return kStripHalves == 2 || cpu_features().rows_in_turn; }
    __attribute__((always_inline)) void fetch_next(bool near, int part) const {
        if (near) {
            fetch_part<kScales, true>(4096, part);
        } else if constexpr (!kInOrder) {
            fetch_part<kScales, false>(16384, part);
            fetch_part<kScales, false>(7168, part);
        }
    }

    // Before read_numbers().
    __attribute__((always_inline)) void open() {
        if constexpr (kType == WeightType::kQ4K || kType == WeightType::kQ5K) {
            const Bytes factors = word(0);
            scale = lower_halves_as_numbers(factors);
            bias = subtract(zero(), lower_halves_as_numbers(shifted_down<16>(factors)));
            for (int i = 0; i < 3; ++i) numbers[i] = word(1 + i);
        } else if constexpr (kType == WeightType::kQ2K) {
            const Bytes factors = word(20);
            scale = lower_halves_as_numbers(factors);
            bias = subtract(zero(), lower_halves_as_numbers(shifted_down<16>(factors)));
        } else if constexpr (kType == WeightType::kQ3K) {
            scale = halves_as_numbers(group + 27 * kWord + 2 * kLanes * half);
            for (int i = 0; i < 3; ++i) numbers[i] = word(24 + i);
        } else if constexpr (kType == WeightType::kQ6K) {
            scale = halves_as_numbers(group + 52 * kWord + 2 * kLanes * half);
        } else if constexpr (kType == WeightType::kIq4Xs) {
            numbers[0] = word(0);
            numbers[1] = word(1);
            scale = lower_halves_as_numbers(numbers[0]);
        }
    }

    // Scales, then biases, of 32 weights.
    template <int k>
    __attribute__((always_inline)) void read_numbers(Vector (&to)[kNumbers]) const {
        if constexpr (kType == WeightType::kQ4K || kType == WeightType::kQ5K) {
            constexpr int kByte = k % 4 * 8;
            Bytes six;
            Bytes bias_six;
            if constexpr (k < 4) {
                six = masked(shifted_down<kByte>(numbers[0]), 63);
                bias_six = masked(shifted_down<kByte>(numbers[1]), 63);
            } else {
                const auto upper = [](Bytes bytes) __attribute__((always_inline)) {
                    return shifted_up<4>(masked(shifted_down<kByte + 6>(bytes), 3));
                };
                six = either(masked(shifted_down<kByte>(numbers[2]), 15), upper(numbers[0]));
                bias_six = either(masked(shifted_down<kByte + 4>(numbers[2]), 15), upper(numbers[1]));
            }
            to[0] = multiply(as_numbers(six), scale);
            to[1] = multiply(as_numbers(bias_six), bias);
        } else if constexpr (kType == WeightType::kQ6K) {
            const Bytes bytes = word(48 + k / 2);
            for (int part = 0; part < 2; ++part) {
                const int shift = 24 - 8 * (k % 2 * 2 + part);
#if OFFSTAGE_VECTOR_BITS == 512
                const Bytes number = _mm512_srai_epi32(_mm512_sll_epi32(bytes, _mm_cvtsi32_si128(shift)), 24);
#else
                const Bytes number = _mm256_srai_epi32(_mm256_sll_epi32(bytes, _mm_cvtsi32_si128(shift)), 24);
#endif
                to[part] = multiply(as_numbers(number), scale);
            }
        } else if constexpr (kType == WeightType::kQ2K) {
            const Bytes pairs = word(k / 2);
            unrolled<2>([&](auto index) __attribute__((always_inline)) {
                constexpr int kPart = decltype(index)::value;
                constexpr int kByte = 8 * (k % 2 * 2 + kPart);
                to[kPart] = multiply(as_numbers(masked(shifted_down<kByte>(pairs), 15)), scale);
                to[2 + kPart] = multiply(as_numbers(masked(shifted_down<kByte + 4>(pairs), 15)), bias);
            });
        } else if constexpr (kType == WeightType::kQ3K) {
            unrolled<2>([&](auto index) __attribute__((always_inline)) {
                constexpr int kPart = 2 * k + decltype(index)::value;
                const Bytes low = masked(shifted_down<8 * (kPart % 4) + kPart / 8 * 4>(numbers[kPart % 8 / 4]), 15);
                const Bytes high = masked(shifted_down<8 * (kPart % 4) + kPart / 4 * 2>(numbers[2]), 3);
                to[decltype(index)::value] = multiply(as_numbers(less_32(either(low, shifted_up<4>(high)))), scale);
            });
        } else if constexpr (kType == WeightType::kIq4Xs) {
            const Bytes low = masked(shifted_down<4 * k>(numbers[1]), 15);
            const Bytes high = masked(shifted_down<16 + 2 * k>(numbers[0]), 3);
            to[0] = multiply(as_numbers(less_32(either(low, shifted_up<4>(high)))), scale);
        } else if constexpr (kType == WeightType::kMxfp4) {
#if OFFSTAGE_VECTOR_BITS == 512
            const Bytes exponents = _mm512_cvtepu8_epi32(load_16(group + k * kRows * kBlockBytes));
            // half_of_e8m0(): 2^-128 and 2^-127 are subnormal.
            const Bytes large = _mm512_slli_epi32(_mm512_sub_epi32(exponents, all_words(1)), 23);
            const Bytes small = _mm512_sllv_epi32(all_words(0x200000), exponents);
            to[0] = _mm512_castsi512_ps(
                _mm512_mask_blend_epi32(_mm512_cmpgt_epi32_mask(all_words(2), exponents), large, small));
#else
            const Bytes exponents = _mm256_cvtepu8_epi32(
                _mm_cvtsi64_si128(static_cast<long long>(word64_at(group + k * kRows * kBlockBytes + kLanes * half))));
            const Bytes large = _mm256_slli_epi32(_mm256_sub_epi32(exponents, all_words(1)), 23);
            const Bytes small = _mm256_sllv_epi32(all_words(0x200000), exponents);
            to[0] = _mm256_castsi256_ps(_mm256_blendv_epi8(large, small, _mm256_cmpgt_epi32(all_words(2), exponents)));
#endif
        } else {
            to[0] = halves_as_numbers(group + k * kRows * kBlockBytes + 2 * kLanes * half);
        }
    }

    // Four codes of each row, from the half `part` of the 32 weights step_scale(step,
    // kOdd): those of number `four`.
    template <int kStep, int kOdd>
    __attribute__((always_inline)) Bytes codes(int part, int four) const {
        if constexpr (kType == WeightType::kQ4K) {
            return bits_of_bytes(word(4 + 8 * kStep + 4 * part + four), 4 * kOdd, 15);
        } else if constexpr (kType == WeightType::kQ5K) {
            return with_bits<4, 1, 2 * kStep + kOdd>(
                bits_of_bytes(word(12 + 8 * kStep + 4 * part + four), 4 * kOdd, 15), word(4 + 4 * part + four));
        } else if constexpr (kType == WeightType::kQ2K || kType == WeightType::kQ3K) {
            constexpr int kBegin = kType == WeightType::kQ2K ? 4 : 8;
            constexpr int k = 2 * kStep + kOdd;
            const Bytes low =
                masked(shifted_down<2 * (k % 4)>(word(kBegin + 8 * (k / 4) + 4 * part + four)), 0x03030303);
            if constexpr (kType == WeightType::kQ2K) return low;
            return with_bits<2, 1, k>(low, word(4 * part + four));
        } else if constexpr (kType == WeightType::kQ6K) {
            constexpr int n = kStep / 2;
            const Bytes low = bits_of_bytes(word(16 * n + 8 * (kStep % 2) + 4 * part + four), 4 * kOdd, 15);
            return with_bits<4, 3, 2 * (kStep % 2) + 4 * kOdd>(low, word(32 + 8 * n + 4 * part + four));
        } else if constexpr (kType == WeightType::kIq4Xs) {
            const Bytes both = word(2 + 4 * (2 * kStep + kOdd) + four);
            return places_in(kIq4Values, offset_of(kType),
                             part == 0 ? bits_of_bytes(both, 0, 15) : bits_of_bytes(both, 4, 15));
        } else {
            constexpr int kScale = kType == WeightType::kMxfp4 ? kRows : 2 * kRows;  // bytes of a block's scales
            const std::uint8_t* const block = words + (2 * kStep + kOdd) * kRows * kBlockBytes + kScale;
            if constexpr (kType == WeightType::kQ8_0) {
                return signed_bytes_moved(load_unit(block + (4 * part + four) * kWord), offset_of(kType));
            } else {
                const Bytes nibbles = part == 0 ? bits_of_bytes(load_unit(block + four * kWord), 0, 15)
                                                : bits_of_bytes(load_unit(block + four * kWord), 4, 15);
                if constexpr (kType == WeightType::kMxfp4) return places_in(kMxfp4Values, offset_of(kType), nibbles);
                if constexpr (kType == WeightType::kIq4Nl) return places_in(kIq4Values, offset_of(kType), nibbles);
                return nibbles;
            }
        }
    }

    // The 32 weights of the group that two steps with a word's lower and upper bits have.
    static constexpr int step_scale(int step, int odd) {
        return kType == WeightType::kQ6K ? step / 2 * 4 + step % 2 + 2 * odd : 2 * step + odd;
    }
};

constexpr int kSteps = kScales / 2;

template <WeightType kType>
constexpr auto kPlacesOf = places_of_parts(kType);

// sums[s] += 32 weights of kLanes rows of each strip times a token's inputs, as
// add_scale(); first and second halves of the inputs lie at kFirst and kSecond.
template <bool kHalves, InputWords kWords, CodeRange kRange, int k, int kFirst, int kSecond, int kStrips, int kNumbers>
__attribute__((always_inline)) inline void add_scale_of_strips(const ByteGroup& x,
                                                               const Bytes (&codes)[kStrips][2][kPartVectors],
                                                               const Vector (&numbers)[kStrips][kNumbers],
                                                               Vector (&sums)[kStrips]) {
    Bytes dots[kStrips];
    Vector products[kStrips];
    unrolled<2>([&](auto index) __attribute__((always_inline)) {
        constexpr int kPart = decltype(index)::value;
        if constexpr (kPart == 0 || kHalves) {
            for (Bytes& dot : dots) {
                dot = kWords == InputWords::kCorrections ? all_words(x.words[kScales * kPart + k]) : no_sums();
            }
        }
        Bytes fours[kPartVectors];
        for (int i = 0; i < kPartVectors; ++i) {
            std::int32_t word = 0;
            std::memcpy(&word, x.codes + (kPart == 0 ? kFirst : kSecond) * kPartWeights + 4 * i, sizeof word);
            fours[i] = all_words(word);
            keep_in_register(fours[i]);
        }
        for (int s = 0; s < kStrips; ++s) {
            dots[s] = add_dots<kRange>(
                dots[s], codes[s][kPart], [&](int i) __attribute__((always_inline)) { return fours[i]; });
            if constexpr (kHalves) {
                products[s] = kPart == 0 ? multiply(as_numbers(dots[s]), numbers[s][0])
                                         : fma(as_numbers(dots[s]), numbers[s][1], products[s]);
            } else if constexpr (kPart == 1) {
                products[s] = multiply(as_numbers(dots[s]), numbers[s][0]);
            }
        }
    });
    const Vector scale = broadcast(x.scales[k]);
    for (int s = 0; s < kStrips; ++s) sums[s] = fma(products[s], scale, sums[s]);
    if constexpr (kWords == InputWords::kSums) {
        constexpr int kBiases = kHalves ? 2 : 1;
        for (int part = 0; part < kBiases; ++part) {
            const Vector sum = broadcast(float_from_bits(static_cast<std::uint32_t>(x.words[kScales * part + k])));
            for (int s = 0; s < kStrips; ++s) sums[s] = fma(numbers[s][kBiases + part], sum, sums[s]);
        }
    }
}

constexpr int kTileTokens = 16;                           // multiplied at once
constexpr int kStripsAtOnce = kStripHalves == 1 ? 2 : 1;  // as fit in the registers beside 32 weights' codes

// y[t] of kLanes rows of each of n_strips <= kStripsAtOnce consecutive strips, for
// n_tokens <= kTileTokens tokens. The codes of 32 weights are unpacked into registers and
// multiplied by one token after the other; an input is loaded once for all strips. An odd
// last strip is taken twice. The products themselves are the limit: 8 of four bytes and 2
// or 3 of float32 for 32 weights of a token.
template <WeightType kType>
void multiply_strips(const std::uint8_t* strip, int n_strips, int half, std::int64_t n_cols,
                     const std::byte* const* inputs, int n_tokens, float* y, std::int64_t y_stride) {
    using Group = StripGroup<kType>;
    constexpr int kStrips = kStripsAtOnce;
    constexpr bool kHalves = has_half_scales(kType);
    constexpr InputWords kWords = input_words(kType);
    const std::int64_t n_scales = n_cols / kInputsPerScale;
    const std::int64_t strip_bytes = n_cols / traits_of(kType).group * Group::kRows * Group::kBlockBytes;
    Vector eighths[kTileTokens][kScales][kStrips];
    for (int t = 0; t < n_tokens; ++t) {
        for (auto& of_scale : eighths[t]) {
            for (Vector& sum : of_scale) sum = zero();
        }
    }
    for (std::int64_t g = 0; g * kScales < n_scales; ++g) {
        const auto group_of = [&](int s) __attribute__((always_inline)) {
            return Group(strip + s * strip_bytes, g, half);
        };
        Group groups[2] = {group_of(0), group_of(n_strips - 1)};
        for (int s = 0; s < kStrips; ++s) groups[s].open();
        const bool whole = (g + 1) * kScales <= n_scales;
        unrolled<kSteps>([&](auto of_step) __attribute__((always_inline)) {
            constexpr int kStep = decltype(of_step)::value;
            for (int s = 0; s < kStrips; ++s) {
                groups[s].template fetch_part<kSteps, false>(kStripsAtOnce * strip_bytes, kStep);
            }
            unrolled<2>([&](auto index) __attribute__((always_inline)) {
                constexpr int kOdd = decltype(index)::value;
                constexpr int k = Group::step_scale(kStep, kOdd);
                if (!whole && g * kScales + k >= n_scales) return;
                Bytes codes[kStrips][2][kPartVectors];
                Vector numbers[kStrips][Group::kNumbers];
                for (int s = 0; s < kStrips; ++s) {
                    for (int part = 0; part < 2; ++part) {
                        for (int four = 0; four < kPartVectors; ++four) {
                            codes[s][part][four] = groups[s].template codes<kStep, kOdd>(part, four);
                            keep_in_register(codes[s][part][four]);
                        }
                    }
                    groups[s].template read_numbers<k>(numbers[s]);
                }
                for (int t = 0; t < n_tokens; ++t) {
                    add_scale_of_strips<kHalves, kWords, code_range(kType), k, kPlacesOf<kType>[2 * k],
                                        kPlacesOf<kType>[2 * k + 1]>(reinterpret_cast<const ByteGroup*>(inputs[t])[g],
                                                                     codes, numbers, eighths[t][k]);
                }
            });
        });
    }
    for (int t = 0; t < n_tokens; ++t) {
        for (int s = 0; s < n_strips; ++s) {
            store(y + t * y_stride + s * Group::kRows,
                  sums_of_eighths([&](int k) __attribute__((always_inline)) { return eighths[t][k][s]; }));
        }
    }
}

// The same for one or two tokens, in the order of the strip's bytes: their sums fit in
// the registers.
template <WeightType kType, int kTokens>
void multiply_strip_once(const std::uint8_t* strip, int half, std::int64_t n_cols, const std::byte* const* inputs,
                         float* y, std::int64_t y_stride) {
    using Group = StripGroup<kType>;
    const std::int64_t n_scales = n_cols / kInputsPerScale;
    const bool near = Group::fetches_near();
    const ByteGroup* x[kTokens];
    for (int t = 0; t < kTokens; ++t) x[t] = reinterpret_cast<const ByteGroup*>(inputs[t]);
    Vector eighths[kScales][1][kTokens];
    for (auto& of_scale : eighths) {
        for (Vector& sum : of_scale[0]) sum = zero();
    }
    for (std::int64_t g = 0; g * kScales < n_scales; ++g) {
        Group group(strip, g, half);
        group.open();
        const bool whole = (g + 1) * kScales <= n_scales;
        unrolled<kScales>([&](auto index) __attribute__((always_inline)) {
            constexpr int kStep = decltype(index)::value / 2;
            constexpr int kOdd = decltype(index)::value % 2;
            constexpr int k = Group::step_scale(kStep, kOdd);
            group.fetch_next(near, decltype(index)::value);
            if (!whole && g * kScales + k >= n_scales) return;
            Vector numbers[Group::kNumbers];
            group.template read_numbers<k>(numbers);
            add_scale<has_half_scales(kType), input_words(kType), code_range(kType)>(
                x, g, k, kPlacesOf<kType>, [&](int, int i) __attribute__((always_inline)) { return numbers[i]; },
                [&](int, int part, int four)
                    __attribute__((always_inline)) { return group.template codes<kStep, kOdd>(part, four); },
                eighths[k]);
        });
    }
    for (int t = 0; t < kTokens; ++t) {
        store(y + t * y_stride,
              sums_of_eighths([&](int k) __attribute__((always_inline)) { return eighths[k][0][t]; }));
    }
}

// The same where a strip is two vectors wide: both are multiplied at once, so that a line
// is read once and an input is loaded once for both.
template <WeightType kType, int kTokens>
void multiply_wide_strip_once(const std::uint8_t* strip, std::int64_t n_cols, const std::byte* const* inputs, float* y,
                              std::int64_t y_stride) {
    using Group = StripGroup<kType>;
    const std::int64_t n_scales = n_cols / kInputsPerScale;
    const bool near = Group::fetches_near();
    const ByteGroup* x[kTokens];
    for (int t = 0; t < kTokens; ++t) x[t] = reinterpret_cast<const ByteGroup*>(inputs[t]);
    Vector eighths[kTokens][kScales][2];
    for (auto& of_token : eighths) {
        for (auto& of_scale : of_token) of_scale[0] = of_scale[1] = zero();
    }
    for (std::int64_t g = 0; g * kScales < n_scales; ++g) {
        Group groups[2] = {Group(strip, g, 0), Group(strip, g, 1)};
        groups[0].open();
        groups[1].open();
        const bool whole = (g + 1) * kScales <= n_scales;
        unrolled<kScales>([&](auto index) __attribute__((always_inline)) {
            constexpr int kStep = decltype(index)::value / 2;
            constexpr int kOdd = decltype(index)::value % 2;
            constexpr int k = Group::step_scale(kStep, kOdd);
            groups[0].fetch_next(near, decltype(index)::value);
            if (!whole && g * kScales + k >= n_scales) return;
            Bytes codes[2][2][kPartVectors];
            Vector numbers[2][Group::kNumbers];
            for (int half = 0; half < 2; ++half) {
                for (int part = 0; part < 2; ++part) {
                    for (int four = 0; four < kPartVectors; ++four) {
                        codes[half][part][four] = groups[half].template codes<kStep, kOdd>(part, four);
                    }
                }
                groups[half].template read_numbers<k>(numbers[half]);
            }
            for (int t = 0; t < kTokens; ++t) {
                add_scale_of_strips<has_half_scales(kType), input_words(kType), code_range(kType), k,
                                    kPlacesOf<kType>[2 * k], kPlacesOf<kType>[2 * k + 1]>(x[t][g], codes, numbers,
                                                                                          eighths[t][k]);
            }
        });
    }
    for (int t = 0; t < kTokens; ++t) {
        for (int half = 0; half < 2; ++half) {
            store(y + t * y_stride + half * kLanes,
                  sums_of_eighths([&](int k) __attribute__((always_inline)) { return eighths[t][k][half]; }));
        }
    }
}

// Whether strips are unpacked into panels for many tokens (kernels/cpu_product_table.h).
constexpr bool kHasStripPanels = kLanes == 8;

// As unpack_rows() of rows that lie one by one.
template <WeightType kType>
void unpack_strip(const std::uint8_t* strip, int half, std::int64_t n_cols, const CodePanel& panel) {
    using Group = StripGroup<kType>;
    const std::int64_t n_scales = n_cols / kInputsPerScale;
    const bool near = Group::fetches_near();
    for (std::int64_t g = 0; g * kScales < n_scales; ++g) {
        Group group(strip, g, half);
        group.open();
        std::uint8_t* const codes = panel.codes + g * kGroup * kLanes;
        unrolled<kScales>([&](auto index) __attribute__((always_inline)) {
            constexpr int kStep = decltype(index)::value / 2;
            constexpr int kOdd = decltype(index)::value % 2;
            constexpr int k = Group::step_scale(kStep, kOdd);
            group.fetch_next(near, decltype(index)::value);
            if (g * kScales + k >= n_scales) return;
            Vector values[Group::kNumbers];
            group.template read_numbers<k>(values);
            float* const to = panel.numbers + (g * kScales + k) * Group::kNumbers * kLanes;
            for (int i = 0; i < Group::kNumbers; ++i) store(to + i * kLanes, values[i]);
            for (int part = 0; part < 2; ++part) {
                const int place = kPlacesOf<kType>[static_cast<std::size_t>(2 * k + part)];
                for (int four = 0; four < kPartVectors; ++four) {
                    const Bytes vector = group.template codes<kStep, kOdd>(part, four);
                    std::memcpy(codes + (place * kPartVectors + four) * static_cast<int>(sizeof(Bytes)), &vector,
                                sizeof vector);
                }
            }
        });
    }
}

// A tile of tokens is multiplied by all rows before the next tile: the rows are in cache
// by then.
template <WeightType kType>
void multiply_interleaved(const WeightView& weight, const std::byte* const* inputs, int n_tokens,
                          std::int64_t row_begin, std::int64_t row_end, float* y, std::int64_t y_stride,
                          std::byte* /*scratch*/) {
    const int n_tiles = (n_tokens + kTileTokens - 1) / kTileTokens;
    for (int tile = 0; tile < n_tiles; ++tile) {
        const int first = n_tokens * tile / n_tiles;
        const int count = n_tokens * (tile + 1) / n_tiles - first;
        const bool once = count <= 2;
        int n_strips = 1;
        for (std::int64_t row = row_begin; row < row_end; row += n_strips * kInterleavedRows) {
            const auto* const strip = reinterpret_cast<const std::uint8_t*>(weight.row(row));
            n_strips = once || row_end - row < kStripsAtOnce * kInterleavedRows ? 1 : kStripsAtOnce;
            if constexpr (kStripHalves == 2) {
                if (once) {
                    (count == 1 ? multiply_wide_strip_once<kType, 1>
                                : multiply_wide_strip_once<kType, 2>)(strip, weight.n_cols, inputs + first,
                                                                      y + first * y_stride + row, y_stride);
                    continue;
                }
            }
            // No `else`: GCC's inner loops are longer without the instantiations unused then.
            for (int half = 0; half < kStripHalves; ++half) {
                float* const to = y + first * y_stride + row + half * kLanes;
                if (once) {
                    (count == 1
                         ? multiply_strip_once<kType, 1>
                         : multiply_strip_once<kType, 2>)(strip, half, weight.n_cols, inputs + first, to, y_stride);
                } else {
                    multiply_strips<kType>(strip, n_strips, half, weight.n_cols, inputs + first, count, to, y_stride);
                }
            }
        }
    }
}

}  // namespace
}  // namespace offstage::kernels
