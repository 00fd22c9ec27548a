#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/run/loaded_model.h"

namespace offstage::engine {

// How well a layer's experts and their active neurons can be predicted one layer ahead
// (CORM, section 4.2): the layer's gate on the input of the experts of the layer before
// chooses experts, and their w1 on the same input, with a theta, their neurons. No
// predictor is trained. Only measured; nothing is loaded.
struct PredictionReport {
    // Sums of one layer; the first one has no prediction.
    struct Experts {
        std::uint64_t chosen = 0;   // (token, expert) pairs
        std::uint64_t guessed = 0;  // as many for each token
        std::uint64_t both = 0;
    };
    // For experts that were guessed and chosen: (token, neuron) pairs.
    struct Neurons {
        std::uint64_t all = 0;
        std::uint64_t active = 0;
        std::uint64_t guessed = 0;
        std::uint64_t both = 0;

        // 0 .. 1; below 0: nothing to divide by.
        double recall() const;        // the guessed share of the active ones
        double precision() const;     // the active share of the guessed ones
        double agreement() const;     // the share of all with a right prediction
        double active_share() const;  // the precision of a guess by lot
        Neurons& operator+=(const Neurons& other);
    };
    struct OfTheta {
        double theta = 0;
        std::vector<Neurons> layers;  // (n_layers)
        Neurons sum() const;
    };
    std::string model;
    std::string text;  // its name, for the user
    std::int64_t n_layers = 0, n_experts = 0, n_active = 0;
    std::int64_t n_tokens = 0;
    std::vector<Experts> experts;  // (n_layers)
    std::vector<OfTheta> thetas;   // ascending
};

// Runs each sequence (at most the model's context) through the model, with its present
// theta. thetas: above 0. Any device. `progress` (may be empty) gets tokens done. Throws
// Error: kInvalidInput (no theta, or one that check_theta() refuses), kCancelled,
// kOutOfMemory, kDevice.
PredictionReport measure_prediction(LoadedModel& model, std::span<const std::vector<TokenId>> sequences,
                                    std::vector<double> thetas, const std::function<void(std::int64_t done)>& progress,
                                    const std::stop_token& stop);

nlohmann::ordered_json to_json(const PredictionReport& report);
std::string to_text(const PredictionReport& report);

}  // namespace offstage::engine
