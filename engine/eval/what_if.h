#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/device/hardware_profile.h"
#include "engine/eval/plan_report.h"

namespace offstage::engine {

// A model on a GPU that is not there: a forecast, never a measurement.
struct WhatIfRow {
    std::string id;    // of the profile
    std::string name;  // "GeForce RTX 3060"
    std::uint64_t memory_bytes = 0;
    std::uint64_t vram_bytes = 0;          // the budget
    std::string failure;                   // why the model does not run there; all below is 0 then
    std::int64_t resident = 0, total = 0;  // experts
    double tokens_per_s = 0;
    double ttft_s = 0;  // of a prompt of WhatIf::kPromptTokens
    double hit_rate = 0;
    double bytes_per_token = 0;  // weights copied
    bool own_host = false;       // the CPU's part is the profile's too; else it is this computer's, measured
};

// Forecasts of one model over many GPUs and sizes of VRAM. What this computer's CPU takes for an expert is measured
// once (up to three seconds) for profiles that describe no host; everything else is arithmetic. Experts count as they
// are in the checkpoint. One thread.
class WhatIf {
  public:
    static constexpr std::int64_t kPromptTokens = 512;

    // Of the request only model, context, RAM, threads, compute, dispatch and popularity count. Throws Error as
    // plan_model().
    WhatIf(const LoadRequest& request, const LoadProgressFn& progress, const std::stop_token& stop);

    // vram_bytes 0: all that the profile leaves; above its memory: as if it had so much.
    WhatIfRow on(const HardwareProfile& profile, std::uint64_t vram_bytes = 0) const;
    // With which all experts fit, rounded up to whole MiB: beyond it VRAM changes nothing.
    std::uint64_t enough_vram_bytes() const;
    // Smallest budget first, n of them evenly from what the dense part needs to enough_vram_bytes().
    std::vector<WhatIfRow> curve(const HardwareProfile& profile, int n, const std::stop_token& stop) const;

  private:
    LoadRequest request_;
    kernels::WeightType type_ = kernels::WeightType::kBf16;
    PlanReport base_;
};

// JSON of a profile, as parse_hardware_profile() reads it.
std::string to_json(const HardwareProfile& profile);

}  // namespace offstage::engine
