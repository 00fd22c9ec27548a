#pragma once
// kernels::ExpertSpec's definition, in double precision.

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/expert_spec.h"

namespace offstage::kernels::test {

// One of each activation; the clamped one with its published constants, and with a limit
// that common values reach.
inline std::vector<ExpertSpec> all_expert_specs() {
    std::vector<ExpertSpec> specs(8);
    specs[1].activation = Activation::kGelu;
    specs[2].activation = Activation::kGeluTanh;
    specs[3].activation = specs[4].activation = Activation::kClamped;
    specs[4].limit = 0.3f;
    specs[4].alpha = 2.5f;
    specs[5].activation = Activation::kSiluCapped;
    specs[5].limit = 0.2f;
    specs[6].activation = Activation::kSiluClamped;
    specs[6].limit = 0.2f;
    specs[7].activation = Activation::kReluSquared;
    return specs;
}

// The activated gate, and the up factor.
inline double gate_in_double(const ExpertSpec& spec, double gate) {
    switch (spec.activation) {
        case Activation::kSilu:
            break;
        case Activation::kGelu:
            return 0.5 * gate * (1 + std::erf(gate / std::sqrt(2.0)));
        case Activation::kGeluTanh:
            return 0.5 * gate * (1 + std::tanh(std::sqrt(2 / M_PI) * (gate + 0.044715 * gate * gate * gate)));
        case Activation::kClamped:
            gate = std::min(gate, double{spec.limit});
            return gate / (1 + std::exp(-double{spec.alpha} * gate));
        case Activation::kReluSquared:
            return std::max(gate, 0.0);
        case Activation::kSiluCapped:
            return std::min(gate / (1 + std::exp(-gate)), double{spec.limit});
        case Activation::kSiluClamped:
            gate = std::min(gate, double{spec.limit});
            break;
    }
    return gate / (1 + std::exp(-gate));
}
inline double up_in_double(const ExpertSpec& spec, double up) {
    if (!spec.clamps_up()) return up;
    return std::clamp(up, -double{spec.limit}, double{spec.limit}) + (spec.activation == Activation::kClamped ? 1 : 0);
}
inline double activation_in_double(const ExpertSpec& spec, double gate, double up) {
    return gate_in_double(spec, gate) * up_in_double(spec, up);
}

}  // namespace offstage::kernels::test
