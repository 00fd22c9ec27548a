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

// How well a layer's experts and their active neurons are known one layer ahead (CORM, section 4.2): the layer's gate
// on the input of the experts of the layer before chooses experts, and their w1 on the same input, with a theta, their
// neurons. No predictor is trained. Measured; nothing is loaded.
struct PredictionReport {
    // Sums of one layer; of the first one nothing is known ahead.
    struct Experts {
        std::uint64_t chosen = 0;   // (token, expert) pairs
        std::uint64_t guessed = 0;  // as many for each token
        std::uint64_t both = 0;
    };
    // Of the experts that were guessed and chosen: (token, neuron) pairs.
    struct Neurons {
        std::uint64_t all = 0;
        std::uint64_t active = 0;
        std::uint64_t guessed = 0;
        std::uint64_t both = 0;

        // 0 .. 1; below 0: nothing to divide by.
        double recall() const;        // of the active ones, guessed
        double precision() const;     // of the guessed ones, active
        double agreement() const;     // of all, those said to be active or inactive rightly
        double active_share() const;  // the precision of a guess by lot
        Neurons& operator+=(const Neurons& other);
    };
    struct OfTheta {
        double theta = 0;
        std::vector<Neurons> layers;  // (n_layers)
        Neurons sum() const;
    };
    std::string model;
    std::string text;  // its name, for the person
    std::int64_t n_layers = 0, n_experts = 0, n_active = 0;
    std::int64_t n_tokens = 0;
    std::vector<Experts> experts;  // (n_layers)
    std::vector<OfTheta> thetas;   // ascending
};

// Runs each sequence (at most the model's context) through the model, with the theta that is in force. thetas: above 0.
// Any device. `progress` (may be empty) gets tokens done. Throws Error: kInvalidInput (no theta, or one that
// check_theta() refuses), kCancelled, kOutOfMemory, kDevice.
PredictionReport measure_prediction(LoadedModel& model, std::span<const std::vector<TokenId>> sequences,
                                    std::vector<double> thetas, const std::function<void(std::int64_t done)>& progress,
                                    const std::stop_token& stop);

nlohmann::ordered_json to_json(const PredictionReport& report);
std::string to_text(const PredictionReport& report);

}  // namespace offstage::engine
