// Blocks of files over Vector, a part of 16 codes at a time (kernels/block_parts.h).

#include "kernels/cpu/blocks_simd.h"

#include "kernels/block_parts.h"
#include "kernels/cpu/codebook_codes.h"
#include "kernels/cpu/packed_groups_simd.h"

namespace offstage::kernels {
namespace {

constexpr int kPartVectors = kPartWeights / kLanes;

// Bits [shift, shift + ...) of 16 bytes, selected by `mask`. The bits that the shift
// moves in from a neighbouring byte lie outside the mask.
__attribute__((always_inline)) inline __m128i fields(const std::uint8_t* bytes, int shift, int mask) {
    const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
    return _mm_and_si128(_mm_srli_epi16(words, shift), _mm_set1_epi8(static_cast<char>(mask)));
}

__attribute__((always_inline)) inline __m128i looked_up(const std::int8_t (&table)[16], __m128i places) {
    return _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)), places);
}

// 16 where a bit of 16 is set.
__attribute__((always_inline)) inline __m128i sixteens(unsigned bits) {
    const __m128i bytes = _mm_shuffle_epi8(_mm_set1_epi16(static_cast<short>(bits)),
                                           _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1));
    const __m128i each = _mm_set1_epi64x(static_cast<long long>(0x8040201008040201ull));
    return _mm_and_si128(_mm_cmpeq_epi8(_mm_and_si128(bytes, each), each), _mm_set1_epi8(16));
}

// The codes for read_part() in formats whose 16 codes are fields of contiguous bytes.
template <WeightType kType>
__attribute__((always_inline)) inline __m128i codes_of_fields(const std::uint8_t* block, int part) {
    const auto minus = [](__m128i codes, int n) __attribute__((always_inline)) {
        return _mm_sub_epi8(codes, _mm_set1_epi8(static_cast<char>(n)));
    };
    const auto shifted = [](__m128i codes, int n) __attribute__((always_inline)) {  // fields stay in their bytes
        return _mm_slli_epi16(codes, n);
    };
    if constexpr (kType == WeightType::kQ8_0) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 2 + 16 * part));
    } else if constexpr (kType == WeightType::kQ4_0) {
        return minus(fields(block + 2, 4 * part, 15), 8);
    } else if constexpr (kType == WeightType::kQ4_1) {
        return fields(block + 4, 4 * part, 15);
    } else if constexpr (kType == WeightType::kIq4Nl) {
        return looked_up(kIq4Values, fields(block + 2, 4 * part, 15));
    } else if constexpr (kType == WeightType::kMxfp4) {
        return looked_up(kMxfp4Values, fields(block + 1, 4 * part, 15));
    } else if constexpr (kType == WeightType::kQ5_0 || kType == WeightType::kQ5_1) {
        const std::uint8_t* const high = block + (kType == WeightType::kQ5_1 ? 4 : 2);
        const __m128i codes = _mm_or_si128(fields(high + 4, 4 * part, 15), sixteens(word16_at(high + 2 * part)));
        return kType == WeightType::kQ5_1 ? codes : minus(codes, 16);
    } else if constexpr (kType == WeightType::kQ2K) {
        return fields(block + 16 + part / 8 * 32 + part % 2 * 16, part % 8 / 2 * 2, 3);
    } else if constexpr (kType == WeightType::kQ3K) {
        const __m128i low = fields(block + 32 + part / 8 * 32 + part % 2 * 16, part % 8 / 2 * 2, 3);
        return minus(_mm_or_si128(low, shifted(fields(block + part % 2 * 16, part / 2, 1), 2)), 4);
    } else if constexpr (kType == WeightType::kQ4K) {
        return fields(block + 16 + part / 4 * 32 + part % 2 * 16, part % 4 / 2 * 4, 15);
    } else if constexpr (kType == WeightType::kQ5K) {
        const __m128i low = fields(block + 48 + part / 4 * 32 + part % 2 * 16, part % 4 / 2 * 4, 15);
        return _mm_or_si128(low, shifted(fields(block + 16 + part % 2 * 16, part / 2, 1), 4));
    } else if constexpr (kType == WeightType::kQ6K) {
        const __m128i low = fields(block + part / 8 * 64 + part % 4 * 16, part % 8 / 4 * 4, 15);
        const __m128i high = fields(block + 128 + part / 8 * 32 + part % 2 * 16, part % 8 / 2 * 2, 3);
        return minus(_mm_or_si128(low, shifted(high, 4)), 32);
    } else {
        static_assert(kType == WeightType::kIq4Xs, "the others have codebooks");
        return looked_up(kIq4Values, fields(block + 8 + part / 2 * 16, part % 2 * 4, 15));
    }
}

// Reads a block part by part.
template <WeightType kType>
struct BlockReader {
    const std::uint8_t* block;
    BlockPart part;
    alignas(16) std::int8_t points[has_codebook(kType) ? traits_of(kType).group : 1];

    __attribute__((always_inline)) void open(const std::uint8_t* bytes) {
        block = bytes;
        if constexpr (has_codebook(kType)) fastest_codebook_codes()(kType, bytes, 1, points);
    }
    __attribute__((always_inline)) __m128i codes(int index) {
        read_scale<kType>(block, index, part);
        if constexpr (has_codebook(kType)) {
            return _mm_load_si128(reinterpret_cast<const __m128i*>(points + index * kPartWeights));
        } else {
            return codes_of_fields<kType>(block, index);
        }
    }
    __attribute__((always_inline)) float scale(int /*index*/) const { return part.scale; }
    __attribute__((always_inline)) float bias(int /*index*/) const { return part.bias; }
};

template <WeightType kType>
void unpack_blocks_any(const std::uint8_t* row, const PackedRow* /*layout*/, std::int64_t begin, std::int64_t n,
                       float* out) {
    constexpr int kWeights = traits_of(kType).group;
    constexpr int kBytes = traits_of(kType).block_bytes;
    for (std::int64_t i = begin; i < begin + n;) {
        BlockReader<kType> reader;
        reader.open(row + i / kWeights * kBytes);
        const std::int64_t block_end = (i / kWeights + 1) * kWeights;
        const std::int64_t end = block_end < begin + n ? block_end : begin + n;
        const auto put = [&](int part, float* to) __attribute__((always_inline)) {
            const __m128i codes = reader.codes(part);
            const Vector scale = broadcast(reader.scale(part));
            for (int v = 0; v < kPartVectors; ++v) {
                const Vector values = signed_bytes(codes, v);
                store(to + v * kLanes,
                      has_bias(kType) ? fma(values, scale, broadcast(reader.bias(part))) : multiply(values, scale));
            }
        };
        if (i % kWeights == 0 && end == block_end) {
            float* const to = out + i - begin;
            unrolled<kWeights / kPartWeights>([&](auto part) __attribute__((always_inline)) {
                put(decltype(part)::value, to + decltype(part)::value * kPartWeights);
            });
            i = end;
        } else {
            for (; i < end; i += kPartWeights) put(static_cast<int>(i % kWeights / kPartWeights), out + i - begin);
        }
    }
}

template <WeightType kType>
float dot_blocks(const std::uint8_t* row, const std::uint8_t* ahead, const float* x, std::int64_t n) {
    constexpr int kWeights = traits_of(kType).group;
    constexpr int kBytes = traits_of(kType).block_bytes;
    constexpr int kSums = 4;
    Vector sums[kSums];
    for (Vector& sum : sums) sum = zero();
    const std::int64_t n_blocks = n / kWeights;
    for (std::int64_t b = 0; b < n_blocks; ++b, row += kBytes, ahead += kBytes, x += kWeights) {
        for (int line = 0; line < kBytes; line += 64) prefetch(ahead + line);
        BlockReader<kType> reader;
        reader.open(row);
        unrolled<kWeights / kPartWeights>([&](auto index) __attribute__((always_inline)) {
            constexpr int kPart = decltype(index)::value;
            const __m128i codes = reader.codes(kPart);
            const Vector scale = broadcast(reader.scale(kPart));
            const float* const inputs = x + kPart * kPartWeights;
            if constexpr (has_bias(kType)) {
                const Vector bias = broadcast(reader.bias(kPart));
                for (int v = 0; v < kPartVectors; ++v) {
                    Vector& sum = sums[(kPart * kPartVectors + v) % kSums];
                    sum = fma(fma(signed_bytes(codes, v), scale, bias), load(inputs + v * kLanes), sum);
                }
            } else {
                Vector products = multiply(signed_bytes(codes, 0), load(inputs));
                if constexpr (kPartVectors > 1) products = fma(signed_bytes(codes, 1), load(inputs + kLanes), products);
                sums[kPart % kSums] = fma(products, scale, sums[kPart % kSums]);
            }
        });
    }
    return sum_of_lanes(add(add(sums[0], sums[2]), add(sums[1], sums[3])));
}

}  // namespace

namespace OFFSTAGE_INSTRUCTION_SET {

const RowDecoder& block_decoder(WeightType type) {
    const RowDecoder* found = nullptr;
    with_block_type(type, [&](auto constant) {
        constexpr WeightType kType = decltype(constant)::value;
        static constexpr RowDecoder kDecoder = {unpack_blocks_any<kType>, nullptr, dot_blocks<kType>};
        found = &kDecoder;
    });
    return *found;
}

}  // namespace OFFSTAGE_INSTRUCTION_SET
}  // namespace offstage::kernels
