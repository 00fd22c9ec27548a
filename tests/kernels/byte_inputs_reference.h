#pragma once
// The rounding of products' inputs to 8 bits (CpuKernels::round_inputs, ByteInputTypes),
// as a plain reference.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace offstage::kernels::test {

// n rounded inputs, a multiple of 32.
struct RoundedInputs {
    std::vector<double> values;
    std::vector<double> steps;  // from one code to the next
    // The distance of a value before rounding from the next code, in codes.
    std::vector<double> margins;
};

inline RoundedInputs rounded_inputs(const float* x, std::int64_t n) {
    RoundedInputs rounded;
    for (std::int64_t i = 0; i < n; i += 32) {
        float most = 0.0f;
        for (std::int64_t j = i; j < i + 32; ++j) most = std::max(most, std::abs(x[j]));
        const float factor = most > 0.0f ? 127.0f / most : 0.0f;
        for (std::int64_t j = i; j < i + 32; ++j) {
            const float code = x[j] * factor;
            rounded.values.push_back(std::nearbyint(code) * static_cast<double>(most / 127.0f));
            rounded.steps.push_back(static_cast<double>(most / 127.0f));
            rounded.margins.push_back(0.5 - std::abs(double{code} - std::nearbyint(double{code})));
        }
    }
    return rounded;
}

}  // namespace offstage::kernels::test
