// Rows of a file's blocks, or of our own formats, times inputs of 8 bits: codes and
// inputs are multiplied and added as whole numbers, and become float32 once for the
// weights of a scale.
//
// 256 weights are taken at once: one large block, or eight small ones, the last of which
// may be missing. Codes are unsigned because the instructions need one unsigned factor;
// the share of the offset is subtracted as a whole number.

#include <cstring>

#include "kernels/byte_experts.h"
#include "kernels/cpu/quantized_dots.h"
#include "kernels/cpu/quantized_panel_dots_simd.h"
#include "kernels/cpu_product_table.h"

namespace offstage::kernels {
namespace {

// The layout of inputs for weights of a type.
struct InputForm {
    std::array<std::int8_t, kParts> places;  // the parts of a group
    InputWords words;
    int offset;
    bool half_scales;
};

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

using PanelProducts = decltype(&multiply_panels<false, InputWords::kNone, CodeRange::kSigned, 1>);

template <bool kHalves, InputWords kWords, CodeRange kRange, int... kTokens>
constexpr auto panel_products(std::integer_sequence<int, kTokens...> /*tokens*/) {
    return std::array<PanelProducts, kPanelTokens>{multiply_panels<kHalves, kWords, kRange, kTokens + 1>...};
}

// A format: its own functions, and those that it shares with formats of the same kind of
// scales and codes.
struct Format {
    const QuantizedDots* dots = nullptr;
    InputForm inputs{};
    std::array<PanelProducts, kPanelTokens> products{};  // for a number of tokens
};

const Format& format_of(WeightType type) {
    static const std::array<Format, kWeightTypes> kFormats = [] {
        std::array<Format, kWeightTypes> formats;
        for (int i = 0; i < kWeightTypes; ++i) {
            Format& format = formats[static_cast<std::size_t>(i)];
            with_coded_type(static_cast<WeightType>(i), [&](auto constant) {
                constexpr WeightType kType = decltype(constant)::value;
                using namespace OFFSTAGE_INSTRUCTION_SET;
                for (DotsOfFormat* const dots_of : {dots_of_int8_hqq, dots_of_q4_0_q5_0_q8_0, dots_of_q4_k_q5_k,
                                                    dots_of_q2_k_q3_k_q6_k, dots_of_iq4_mxfp4, dots_of_iq1_iq2_iq3}) {
                    if (format.dots == nullptr) format.dots = dots_of(kType);
                }
                format.inputs = {places_of_parts(kType), input_words(kType), offset_of(kType), has_half_scales(kType)};
                format.products = panel_products<has_half_scales(kType), input_words(kType), code_range(kType)>(
                    std::make_integer_sequence<int, kPanelTokens>{});
            });
        }
        return formats;
    }();
    return kFormats[static_cast<std::size_t>(type)];
}

// As matvec_bytes_ahead(). Without `next`, prefetches the following rows of the range.
void multiply_in_panels(const Format& format, const WeightView& weight, const std::byte* const* inputs, int n_tokens,
                        std::int64_t row_begin, std::int64_t row_end, float* y, std::int64_t y_stride,
                        std::byte* scratch, const std::byte* next, std::int64_t n_bytes) {
    const PackedRow layout = is_packed(weight.type) ? packed_row(weight.type, weight.n_cols) : PackedRow{};
    const std::int64_t n_rows = byte_panels(weight.n_cols) * kLanes;  // unpacked before they are multiplied
    const int n_tiles = (n_tokens + kPanelTokens - 1) / kPanelTokens;
    const auto n_multiplied = [](std::int64_t rows) {
        return (rows + kPanelsAtOnce * kLanes - 1) / (kPanelsAtOnce * kLanes);
    };
    const auto scratch_at = [&](std::int64_t row) { return scratch + row / kLanes * byte_panel_bytes(weight.n_cols); };
    for (std::int64_t begin = row_begin; begin < row_end; begin += n_rows) {
        const std::int64_t end = std::min(begin + n_rows, row_end);
        for (std::int64_t row = begin; row < end; row += kLanes) {
            format.dots->unpack(weight, layout, row, end - row, scratch_at(row - begin));
        }
        // A share of the bytes to prefetch, or the next rows. Interleaved rows are
        // prefetched while they are unpacked.
        const std::int64_t n_steps = n_tiles * n_multiplied(end - begin) * (weight.n_cols / kInputsPerScale);
        const std::byte* from = next;
        std::int64_t n_from = 0;
        if (next != nullptr) {
            from = next + n_bytes * (begin - row_begin) / (row_end - row_begin);
            n_from = next + n_bytes * (end - row_begin) / (row_end - row_begin) - from;
        } else if (!weight.interleaved) {
            from = weight.row(end);
            n_from = std::min(n_rows, row_end - end) * static_cast<std::int64_t>(weight.stride_bytes());
        }
        LinesAhead ahead(from, n_from, n_steps);
        for (int tile = 0; tile < n_tiles; ++tile) {
            const int first = n_tokens * tile / n_tiles;
            const int count = n_tokens * (tile + 1) / n_tiles - first;
            for (std::int64_t row = begin; row < end; row += kPanelsAtOnce * kLanes) {
                // An odd last panel is taken twice.
                const std::int64_t second = end - row > kLanes ? kLanes : 0;
                const CodePanel panels[2] = {{scratch_at(row - begin), weight.n_cols},
                                             {scratch_at(row - begin + second), weight.n_cols}};
                format.products[static_cast<std::size_t>(count - 1)](panels, format.inputs.places, inputs + first,
                                                                     end - row, y + first * y_stride + row, y_stride,
                                                                     ahead);
            }
        }
    }
}

}  // namespace

namespace OFFSTAGE_INSTRUCTION_SET {

void round_inputs(WeightType type, const float* x, std::int64_t x_stride, int n_tokens, std::int64_t n, std::byte* to) {
    const InputForm& form = format_of(type).inputs;
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
    const Format& format = format_of(weight.type);
    const std::uint32_t facts = kProductFacts | (weight.interleaved ? product_needs::kInterleaved : 0);
    switch (find_cpu_product({ProductOf::kMatrix, weights_of(weight.type), ProductInputs::kBytes, n_tokens, facts})) {
        case CpuProduct::kQuantizedStrips:
            format.dots->by_strips(weight, inputs, n_tokens, row_begin, row_end, y, y_stride, scratch);
            return;
        case CpuProduct::kQuantizedRows:
            format.dots->by_rows(weight, inputs, n_tokens, row_begin, row_end, y, y_stride, scratch);
            return;
        default:
            multiply_in_panels(format, weight, inputs, n_tokens, row_begin, row_end, y, y_stride, scratch, next,
                               n_bytes);
    }
}

}  // namespace OFFSTAGE_INSTRUCTION_SET
}  // namespace offstage::kernels
