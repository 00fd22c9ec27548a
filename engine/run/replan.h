#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/message.h"
#include "engine/plan/plan.h"
#include "engine/plan/theta_choice.h"

namespace offstage::engine {

// What a person changes while the conversation goes on. What is not named stays as it is.
struct ReplanRequest {
    std::optional<std::uint64_t> vram_bytes;
    std::optional<std::uint64_t> ram_bytes;
    std::optional<std::int64_t> context;
    std::optional<std::int64_t> kept_context;  // room for other conversations, as LoadRequest::kept_context
    std::optional<KvType> kv;  // what keys and values are kept in: those of the conversation are written anew
    std::optional<QualityFloor> quality;  // the planner chooses each expert's format
    std::optional<FormatId> experts;      // one format for all; excludes `quality`
    // What would be left out after: previews count with it. Plans do not change it; Session::set_theta() does.
    std::optional<ThetaChoice> theta;
    // Of previews with QualityFloor::max_kl: what is left out is the planner's choice too (Plan::theta). Otherwise it
    // is `theta`, or what is left out now, and the formats keep what is left of the floor.
    bool chooses_theta = false;
};

// What a person wants of some experts, whatever the plan says.
struct ExpertChange {
    enum class Kind : std::uint8_t {
        kPin,  // keeps them on the device whatever the cache says
        kUnpin,
        kEvict,
        kFormat,
    };
    struct Expert {
        std::int64_t layer = 0;  // among those with experts
        std::int64_t expert = 0;
    };
    Kind kind = Kind::kPin;
    std::vector<Expert> experts;
    FormatId format{};  // of kFormat
};

enum class ReplanState : std::uint8_t {
    kWaiting,  // for the end of a step
    kMoving,
    kDone,        // in force
    kCancelled,   // the plan before is in force again
    kSuperseded,  // a later request took its place
    kFailed,      // the plan before is in force again; the problem says why
};
std::string_view name_of(ReplanState state);  // "waiting", "moving", "done", "cancelled", "superseded", "failed"

// One re-plan, as of now.
struct ReplanReport {
    std::uint64_t id = 0;
    ReplanState state = ReplanState::kWaiting;
    std::int64_t at_token = 0;           // tokens made by the session when it was begun
    std::int64_t in_force_at_token = 0;  // and when it ended
    // Copies of experts, in RAM or on the device: what the plan asked for, what of it is in force, what was given up.
    std::int64_t requested = 0;
    std::int64_t visible = 0;
    std::int64_t cancelled = 0;
    std::uint64_t bytes_requested = 0;
    std::uint64_t bytes_moved = 0;
    double seconds = 0;  // since it was begun, by Migrator::now_us()
    // Until the last copy is made, at the pace so far; 0: it is, or there is none.
    double seconds_left = 0;
    Message problem;  // a sentence
    Message note;     // what a person should know although it succeeded: a sentence, or nothing
    // The plan asked for.
    std::int64_t resident_experts = 0;
    double mean_bits = 0;
    std::int64_t context = 0;
    std::uint64_t vram_bytes = 0, ram_bytes = 0;  // budgets
};

// What a re-plan would lead to, before it is begun.
struct ReplanPreview {
    Plan plan;
    // Decode steps that were measured with the plan in force: tokens/s and hit rate before are theirs, and what the
    // forecast of them had left out is in the other figures too (plan/measured_forecast.h). 0: all is forecast.
    std::int64_t measured_steps = 0;
    double tokens_per_s_before = 0, tokens_per_s_after = 0;  // 0: no costs were measured that could tell
    double ttft_s_before = 0, ttft_s_after = 0;              // forecast, of a prompt of 512 tokens
    double hit_rate_before = 0, hit_rate_after = 0;
    std::uint64_t bytes_to_move = 0;
    double seconds = 0;          // to get there, by what re-plans took so far and else by what the parts take alone,
    std::int64_t quantized = 0;  // with so many experts quantized, as if the cache on disk had none of them
    double predicted_loss_before = 0, predicted_loss_after = 0;
    double mean_bits_before = 0, mean_bits_after = 0;
};

// A preview, or a sentence that says why there is none.
using PreviewFn = std::function<void(const std::optional<ReplanPreview>& preview, const Message& problem)>;

}  // namespace offstage::engine
