#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/block_parts.h"
#include "kernels/cpu/operations.h"

namespace offstage::kernels::scalar {
namespace {

constexpr std::int64_t kInputsPerScale = 32;
constexpr std::int64_t kGroup = 256;

// As integer_dots_simd.cpp has them, in their own order and without sums.
struct RoundedInputs {
    const std::int8_t* codes;
    const std::byte* scales;

    RoundedInputs(const std::byte* bytes, std::int64_t n)
        : codes(reinterpret_cast<const std::int8_t*>(bytes)), scales(bytes + (n + kGroup - 1) / kGroup * kGroup) {}
    float scale(std::int64_t part) const {
        float value = 0.0f;
        std::memcpy(&value, scales + part * 4, sizeof value);
        return value;
    }
};

template <WeightType kType>
float dot_parts(const std::uint8_t* row, std::int64_t n, const RoundedInputs& x) {
    constexpr int kWeights = traits_of(kType).group;
    constexpr int kBytes = traits_of(kType).block_bytes;
    float sum = 0.0f;
    for (std::int64_t i = 0; i < n; i += kPartWeights) {
        BlockPart part;
        read_part<kType>(row + i / kWeights * kBytes, static_cast<int>(i % kWeights) / kPartWeights, kBlockCodebooks,
                         part);
        int products = 0;
        int inputs = 0;
        for (int j = 0; j < kPartWeights; ++j) {
            const int input = x.codes[i + j];
            products += part.codes[j] * input;
            inputs += input;
        }
        const float scale = x.scale(i / kPartWeights);
        sum += part.scale * scale * static_cast<float>(products);
        if (has_bias(kType)) sum += part.bias * scale * static_cast<float>(inputs);
    }
    return sum;
}

}  // namespace

void round_inputs(WeightType /*type*/, const float* x, std::int64_t x_stride, int n_tokens, std::int64_t n,
                  std::byte* to) {
    for (int t = 0; t < n_tokens; ++t, x += x_stride, to += rounded_input_bytes(n)) {
        std::byte* scales = to + (n + kGroup - 1) / kGroup * kGroup;
        for (std::int64_t i = 0; i < n; i += kInputsPerScale) {
            float most = 0.0f;
            for (std::int64_t j = i; j < i + kInputsPerScale; ++j) most = std::max(most, std::fabs(x[j]));
            const float factor = most > 0.0f ? 127.0f / most : 0.0f;
            for (std::int64_t j = i; j < i + kInputsPerScale; ++j) {
                to[j] = static_cast<std::byte>(static_cast<std::int8_t>(std::nearbyint(x[j] * factor)));
            }
            const float scale = most / 127.0f;
            for (std::int64_t part = 0; part < kInputsPerScale / kPartWeights; ++part, scales += sizeof scale) {
                std::memcpy(scales, &scale, sizeof scale);
            }
        }
    }
}

void matvec_bytes(const WeightView& weight, const std::byte* const* inputs, int n_tokens, std::int64_t row_begin,
                  std::int64_t row_end, float* y, std::int64_t y_stride, std::byte* /*scratch*/) {
    const std::int64_t n = weight.n_cols;
    for (int t = 0; t < n_tokens; ++t) {
        const RoundedInputs rounded(inputs[t], n);
        for (std::int64_t r = row_begin; r < row_end; ++r) {
            const auto* const row = reinterpret_cast<const std::uint8_t*>(weight.row(r));
            with_block_type(weight.type, [&](auto constant) {
                y[t * y_stride + r] = dot_parts<decltype(constant)::value>(row, n, rounded);
            });
        }
    }
}

}  // namespace offstage::kernels::scalar
