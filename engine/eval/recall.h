#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/run/loaded_model.h"
#include "engine/telemetry/routing_trace.h"

namespace offstage::engine {

// How often an expert is found early (Mixtral-Offloading, 4.1): in a cache of the k most
// recently used experts of each layer, and among those guessed some layers ahead. Shares
// of (token, chosen expert) pairs, 0 .. 1.
struct RecallReport {
    struct Ahead {
        std::int64_t distance = 1;
        std::int64_t n_guesses = 2;
        std::vector<double> layers;  // (n_layers); those before `distance` cannot be guessed: -1
        double mean = 0;             // over the layers that can be
    };
    std::string model;
    std::int64_t n_layers = 0, n_experts = 0, n_active = 0;
    std::int64_t n_tokens = 0;
    std::vector<double> lru;       // (n_layers, n_experts): hit rate with k = 1 .. n_experts experts kept per layer
    std::vector<double> lru_mean;  // (n_experts)
    std::vector<Ahead> ahead;      // each distance with n_active guesses, and with one more
};

// Token by token, as in decode, independent of the trace's steps; caches begin with the
// experts 0 .. k - 1 and persist from one sequence to the next. A token's experts are
// used in the order of their numbers, the last is the most recent.
RecallReport measure_recall(const RoutingTrace& trace);

// Runs each sequence (at most the model's context) through the model and returns its
// routing, with guesses for the distances that the model has layers for, n_active + 1
// each (or n_experts). Each token is recorded as a separate decode step. `progress` (may
// be empty) gets tokens done. Throws Error: kCancelled, kOutOfMemory, kDevice.
RoutingTrace record_routing(LoadedModel& model, std::span<const std::vector<TokenId>> sequences,
                            std::span<const std::int64_t> distances,
                            const std::function<void(std::int64_t done)>& progress, const std::stop_token& stop);

nlohmann::ordered_json to_json(const RecallReport& report);
std::string to_text(const RecallReport& report);
// One picture: the cache's hit rate over k, and the recall of guesses over the layers.
std::string to_svg(const RecallReport& report);

}  // namespace offstage::engine
