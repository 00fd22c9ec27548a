#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/run/session.h"

namespace offstage::cli {

// Changes during an answer, and their times. A file of JSON lines, each
//   {"at_token": N, ...}   N tokens of the answer were made; ascending
// with any of "vram", "ram" ("8GiB"), "context" (tokens), "quant" ("experts=hqq3"),
// "min_bits", "max_loss", "max_kl" (numbers; with the last one the thresholds of neurons
// stay), "pin", "unpin", "evict" ([layer, expert]), "cancel" (true: back to the plan
// before).
struct ReplanOrder {
    std::string place;  // "FILE, line 3"
    std::int64_t at_token = 0;
    std::optional<engine::ReplanRequest> replan;
    std::optional<std::pair<std::int64_t, std::int64_t>> pin, unpin, evict;
    bool cancel = false;
};

// Throws Error with file, line, key and expected value.
std::vector<ReplanOrder> read_replan_script(const std::string& file);
// Throws Error (kInvalidInput) for an order about an expert that the model does not have.
void check_experts(std::span<const ReplanOrder> orders, const engine::ModelSummary& model);
void carry_out(const ReplanOrder& order, engine::Session& session);

nlohmann::ordered_json to_json(const engine::ReplanReport& report);

}  // namespace offstage::cli
