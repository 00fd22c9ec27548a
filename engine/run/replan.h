#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/message.h"
#include "engine/plan/forecast.h"
#include "engine/plan/load_settings.h"
#include "engine/plan/plan.h"

namespace offstage::engine {

// A user's changes to the plan during a conversation. Unset fields stay as they are.
struct ReplanRequest {
    std::optional<std::uint64_t> vram_bytes;
    std::optional<std::uint64_t> ram_bytes;
    std::optional<std::int64_t> context;
    std::optional<std::int64_t> kept_context;  // room for other conversations, as LoadRequest::kept_context
    std::optional<KvType> kv;                  // the type of keys and values: the conversation's are converted
    std::optional<QualityFloor> quality;       // the planner chooses each expert's format
    std::optional<FormatId> experts;           // one format for all; excludes `quality`
    // The thresholds that previews count with. Plans do not change them;
    // Session::set_theta() does.
    std::optional<ThetaChoice> theta;
    // For previews with QualityFloor::max_kl: the planner chooses the thresholds too
    // (Plan::theta). Otherwise they are `theta`, or the present ones, and the formats get
    // the rest of the floor.
    bool chooses_theta = false;
};

// A user's wish for some experts, which overrides the plan.
struct ExpertChange {
    enum class Kind : std::uint8_t {
        kPin,  // keeps them on the device against the cache's policy
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
    kFailed,      // the plan before is in use again; the problem has the reason
};
std::string_view name_of(ReplanState state);  // "waiting", "moving", "done", "cancelled", "superseded", "failed"

// One re-plan, as of now.
struct ReplanReport {
    std::uint64_t id = 0;
    ReplanState state = ReplanState::kWaiting;
    std::int64_t at_token = 0;           // tokens made by the session when it was begun
    std::int64_t in_force_at_token = 0;  // and when it ended
    // Copies of experts, in RAM or on the device: requested by the plan, in use, given
    // up.
    std::int64_t requested = 0;
    std::int64_t visible = 0;
    std::int64_t cancelled = 0;
    std::uint64_t bytes_requested = 0;
    std::uint64_t bytes_moved = 0;
    double seconds = 0;  // since it was begun, by Migrator::now_us()
    // The time until the last copy is made, at the present pace; 0: none is left.
    double seconds_left = 0;
    Message problem;  // a sentence
    Message note;     // for the user, although it succeeded: a sentence, or nothing
    // Figures of the requested plan.
    std::int64_t resident_experts = 0;  // on the device; on the CPU in RAM
    double mean_bits = 0;
    std::int64_t context = 0;
    std::uint64_t vram_bytes = 0, ram_bytes = 0;  // budgets; VRAM on the CPU: 0
};

// The outcome of a re-plan, before it is begun.
struct ReplanPreview {
    Plan plan;
    // Measured decode steps with the present plan: tokens/s and hit rate before are
    // theirs, and the other figures are corrected by the same error of their forecast
    // (correct()). 0: all is forecast.
    std::int64_t measured_steps = 0;
    Forecast before, after;  // tokens/s of 0: no costs were measured
    std::uint64_t bytes_to_move = 0;
    double seconds = 0;          // duration, from the times of re-plans so far, else from those of the parts alone,
    std::int64_t quantized = 0;  // with so many experts quantized, as if the cache on disk had none of them
    bool was_timed = false;      // re-plans so far had every part; else `seconds` is rather too short
};

// A preview, or a sentence with the reason why there is none.
using PreviewFn = std::function<void(const std::optional<ReplanPreview>& preview, const Message& problem)>;

}  // namespace offstage::engine
