// Rows of a file's blocks, or of our own formats, times inputs of 8 bits: codes and
// inputs are multiplied and added as whole numbers, and become float32 once for the
// weights of a scale.
//
// 256 weights are taken at once: one large block, or eight small ones, the last of which
// may be missing. Codes are unsigned because the instructions need one unsigned factor;
// the share of the offset is subtracted as a whole number.

#include <cstring>

#include "kernels/cpu/integer_panels_simd.h"
#include "kernels/cpu/integer_rows_simd.h"
#include "kernels/cpu/interleaved_rows_simd.h"
#include "kernels/cpu/operations.h"

namespace offstage::kernels {
namespace {

// Rows of codebook codes unpacked at once: they fit in a core's first-level cache, and in
// byte_product_scratch().
constexpr std::int64_t kUnpackedRows = 8;

// The layout of inputs for weights of a type.
struct InputForm {
    std::array<std::int8_t, kParts> places;  // the parts of a group
    InputWords words;
    int offset;
    bool half_scales;
};

template <WeightType kType>
constexpr InputForm kInputForm = {places_of_parts(kType), input_words(kType), offset_of(kType), has_half_scales(kType)};

// n inputs (a multiple of 32), rounded to the nearest of 255 steps between the largest of
// 32 and its negative.
void round_token(const InputForm& form, const float* x, std::int64_t n, ByteGroup* groups) {
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
        __m256i words[4];  // eight codes each
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
        ByteGroup& group = groups[i / kGroup];
        const auto k = static_cast<std::size_t>(i % kGroup / kInputsPerScale);
        const auto place = [&](std::size_t part) {
            return reinterpret_cast<__m128i*>(group.codes + form.places[part] * kPartWeights);
        };
        _mm_storeu_si128(place(2 * k), _mm256_castsi256_si128(ordered));
        _mm_storeu_si128(place(2 * k + 1), _mm256_extracti128_si256(ordered, 1));
        group.scales[k] = scale;
        // Sums of eight biased bytes each.
        const __m256i eights =
            _mm256_sad_epu8(_mm256_xor_si256(ordered, _mm256_set1_epi8(-128)), _mm256_setzero_si256());
        alignas(32) std::int64_t of_eight[4];
        _mm256_store_si256(reinterpret_cast<__m256i*>(of_eight), eights);
        std::int32_t of_halves[2];
        for (int half = 0; half < 2; ++half) {
            of_halves[half] = static_cast<std::int32_t>(of_eight[2 * half] + of_eight[2 * half + 1]) - 16 * 128;
        }
        const auto word = [&](std::int32_t sum) {
            if (form.words != InputWords::kSums) return -form.offset * sum;
            const float scaled = scale * static_cast<float>(sum);
            std::int32_t bits = 0;
            std::memcpy(&bits, &scaled, sizeof bits);
            return bits;
        };
        group.words[k] = word(form.half_scales ? of_halves[0] : of_halves[0] + of_halves[1]);
        group.words[kScales + k] = word(of_halves[1]);
    }
}

}  // namespace

namespace OFFSTAGE_INSTRUCTION_SET {

void round_inputs(WeightType type, const float* x, std::int64_t x_stride, int n_tokens, std::int64_t n, std::byte* to) {
    InputForm form{};
    with_coded_type(type, [&](auto constant) { form = kInputForm<decltype(constant)::value>; });
    const std::int64_t n_groups = (n + kGroup - 1) / kGroup;
    auto* groups = reinterpret_cast<ByteGroup*>(to);
    for (int t = 0; t < n_tokens; ++t, groups += n_groups) {
        if (n % kGroup != 0) std::memset(static_cast<void*>(groups + n_groups - 1), 0, sizeof(ByteGroup));
        round_token(form, x + t * x_stride, n, groups);
    }
}

void matvec_bytes(const WeightView& weight, const std::byte* const* inputs, int n_tokens, std::int64_t row_begin,
                  std::int64_t row_end, float* y, std::int64_t y_stride, std::byte* scratch) {
    matvec_bytes_ahead(weight, inputs, n_tokens, row_begin, row_end, y, y_stride, scratch, nullptr, 0);
}

void matvec_bytes_ahead(const WeightView& weight, const std::byte* const* inputs, int n_tokens, std::int64_t row_begin,
                        std::int64_t row_end, float* y, std::int64_t y_stride, std::byte* scratch,
                        const std::byte* next, std::int64_t n_bytes) {
    with_coded_type(weight.type, [&](auto constant) {
        constexpr WeightType kType = decltype(constant)::value;
        if constexpr (can_interleave(kType)) {
            if (weight.interleaved && n_tokens <= kStripTokens) {
                multiply_interleaved<kType>(weight, inputs, n_tokens, row_begin, row_end, y, y_stride);
                return;
            }
        }
        if (n_tokens > few_tokens(kType) || weight.interleaved) {
            multiply_in_panels<kType>(weight, inputs, n_tokens, row_begin, row_end, y, y_stride, scratch, next,
                                      n_bytes);
            return;
        }
        const auto multiply = [&](const UnpackedRows& unpacked, std::int64_t begin, std::int64_t end) {
            int first = 0;
            const auto take = [&](auto count) {
                for (; n_tokens - first >= count; first += count) {
                    multiply_rows<kType, decltype(count)::value>(weight, unpacked, inputs + first, begin, end,
                                                                 y + first * y_stride, y_stride);
                }
            };
            take(std::integral_constant<int, 4>());
            take(std::integral_constant<int, 3>());
            take(std::integral_constant<int, 2>());
            take(std::integral_constant<int, 1>());
        };
        if constexpr (has_codebook(kType)) {
            const CodebookCodes unpack = fastest_codebook_codes();
            auto* const codes = reinterpret_cast<std::int8_t*>(scratch);
            for (std::int64_t begin = row_begin; begin < row_end; begin += kUnpackedRows) {
                const std::int64_t end = std::min(begin + kUnpackedRows, row_end);
                for (std::int64_t row = begin; row < end; ++row) {
                    const auto* const blocks = reinterpret_cast<const std::uint8_t*>(weight.row(row));
                    const auto row_bytes = static_cast<std::int64_t>(weight.stride_bytes());
                    for (std::int64_t line = 0; line < row_bytes; line += 64) {
                        prefetch(blocks + kUnpackedRows * row_bytes + line);
                    }
                    unpack(kType, blocks, weight.n_cols / kGroup, codes + (row - begin) * weight.n_cols);
                }
                multiply({codes, begin}, begin, end);
            }
        } else {
            multiply({}, row_begin, row_end);
        }
    });
}

}  // namespace OFFSTAGE_INSTRUCTION_SET
}  // namespace offstage::kernels
