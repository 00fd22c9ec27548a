#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/block_parts.h"
#include "kernels/cpu/operations.h"

namespace offstage::kernels::scalar {
namespace {

constexpr std::int64_t kInputsPerScale = 32;

struct RoundedInputs {
    std::vector<int> codes;
    std::vector<float> scales;  // of kInputsPerScale each

    RoundedInputs(const float* x, std::int64_t n) {
        for (std::int64_t i = 0; i < n; i += kInputsPerScale) {
            float most = 0.0f;
            for (std::int64_t j = i; j < i + kInputsPerScale; ++j) most = std::max(most, std::fabs(x[j]));
            const float factor = most > 0.0f ? 127.0f / most : 0.0f;
            scales.push_back(most / 127.0f);
            for (std::int64_t j = i; j < i + kInputsPerScale; ++j) {
                codes.push_back(static_cast<int>(std::nearbyint(x[j] * factor)));
            }
        }
    }
};

template <WeightType kType>
float dot_parts(const std::uint8_t* row, const RoundedInputs& x) {
    constexpr int kWeights = traits_of(kType).group;
    constexpr int kBytes = traits_of(kType).block_bytes;
    float sum = 0.0f;
    for (std::size_t i = 0; i < x.codes.size(); i += kPartWeights) {
        BlockPart part;
        read_part<kType>(row + i / kWeights * kBytes, static_cast<int>(i % kWeights) / kPartWeights, kBlockCodebooks,
                         part);
        int products = 0;
        int inputs = 0;
        for (int j = 0; j < kPartWeights; ++j) {
            const int input = x.codes[i + static_cast<std::size_t>(j)];
            products += part.codes[j] * input;
            inputs += input;
        }
        const float scale = x.scales[i / kInputsPerScale];
        sum += part.scale * scale * static_cast<float>(products);
        if (has_bias(kType)) sum += part.bias * scale * static_cast<float>(inputs);
    }
    return sum;
}

}  // namespace

void matvec_bytes(const WeightView& weight, const float* x, std::int64_t x_stride, int n_tokens, std::int64_t row_begin,
                  std::int64_t row_end, float* y, std::int64_t y_stride) {
    for (int t = 0; t < n_tokens; ++t) {
        const RoundedInputs inputs(x + t * x_stride, weight.n_cols);
        for (std::int64_t r = row_begin; r < row_end; ++r) {
            const auto* const row = reinterpret_cast<const std::uint8_t*>(weight.row(r));
            with_block_type(weight.type, [&](auto constant) {
                y[t * y_stride + r] = dot_parts<decltype(constant)::value>(row, inputs);
            });
        }
    }
}

}  // namespace offstage::kernels::scalar
