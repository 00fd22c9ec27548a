#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/run/loaded_model.h"

namespace offstage::engine {

// How near to zero the experts' neurons are after their activation function (Fiddler,
// appendix B, table 2): for each layer the share of |act(w1 . x)| below a bound, over all
// tokens, the experts that each token chose, and all neurons of these. act is the
// activation function alone, before the product with w3 . x: silu or gelu; for gpt-oss's
// experts g sigmoid(alpha g) with g at most their limit. Includes biases of w1. Experts
// that every token passes do not count.
struct ActivationReport {
    std::string model;
    std::int64_t n_layers = 0;  // with experts
    std::int64_t n_tokens = 0;
    std::vector<double> bounds;
    std::vector<std::uint64_t> n_values;  // (n_layers)
    std::vector<std::uint64_t> n_below;   // (n_layers, bounds)

    // 0 .. 1; of all layers together where `layer` is -1.
    double share(std::int64_t layer, std::size_t bound) const;
};

inline constexpr std::array kActivationBounds = {0.001, 0.01, 0.1, 1.0};  // the paper's

// Runs each sequence (at most the model's context) through the model. It also computes w1
// . x of the experts that its router chose a second time, on the CPU and in the number
// format of the model's products: the kernels for experts keep no neuron's value. Any
// device; experts without a copy in RAM are packed again for each step. `progress` (may
// be empty) gets tokens done. Throws Error: kCancelled, kOutOfMemory, kDevice.
ActivationReport measure_activations(LoadedModel& model, std::span<const std::vector<TokenId>> sequences,
                                     std::span<const double> bounds,
                                     const std::function<void(std::int64_t done)>& progress,
                                     const std::stop_token& stop);

nlohmann::ordered_json to_json(const ActivationReport& report);
std::string to_text(const ActivationReport& report);

}  // namespace offstage::engine
