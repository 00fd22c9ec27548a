#pragma once
// The limits of a plan, and the quality that a user gives up for speed.

#include <cstdint>
#include <optional>

#include "engine/formats.h"
#include "engine/plan/kv_type.h"
#include "engine/plan/theta_choice.h"

namespace offstage::engine {

// How much quality a user gives up for speed. Nothing unless one of these is set: then
// every expert stays in its master's format.
struct QualityFloor {
    // Bits per expert weight, mean over all experts; 0: not set. A floor of bits is one
    // of quality as well: a plan then has no larger predicted loss than the plain mixture
    // of that mean (the two formats next to it, the least used experts in fewer bits), so
    // that no bits are moved from the popular experts to the others.
    double min_mean_bits = 0;
    double max_loss = 0;  // Sensitivity's predicted loss of the whole plan; 0: not set
    // Nats per token (mean KL divergence from the model as stored in its files), as
    // measured over a text: the sum for the formats and for the neurons that are left
    // out. Lets the planner choose both; it uses nothing without a measured loss
    // (engine/plan/quality_trade.h). 0: not set.
    double max_kl = 0;
    bool allows_fewer_bits() const { return min_mean_bits > 0 || max_loss > 0 || max_kl > 0; }
    bool operator==(const QualityFloor&) const = default;
};

// A user's limits. 0: all there is; make_plan() treats it as no limit, so callers fill in
// the device's memory.
struct Budget {
    std::uint64_t vram_bytes = 0;
    std::uint64_t ram_bytes = 0;
    std::int64_t context = 0;  // tokens; 0: the planner's choice
    QualityFloor quality{};
    KvType kv = KvType::kBf16;                     // the format of keys and values
    std::optional<kernels::WeightType> uniform{};  // all experts in this format; `quality` must be unset then
    std::optional<std::int64_t> kept_context{};    // LoadRequest::kept_context; nothing: ModelDemand's
    // What every plan leaves out, with a floor of nats per token; nothing: the planner's
    // choice.
    std::optional<ThetaChoice> theta{};
    std::int64_t largest_step = 0;   // tokens; 0: as the context allows
    std::int64_t least_context = 0;  // tokens; a default context is no shorter than this, nor than kShortestContext
};

// While experts lack room, a default context is shortened, to no less than this number of
// tokens (or Budget::least_context); its prompts are read in no longer steps.
inline constexpr std::int64_t kShortestContext = 2048;

}  // namespace offstage::engine
