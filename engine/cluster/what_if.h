#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/cluster/network.h"
#include "engine/device/hardware_profile.h"
#include "engine/message.h"
#include "engine/run/fit_estimate.h"

namespace offstage::engine {

// Forecasts a model on a GPU that this machine does not have, or on several machines with
// one GPU each. It measures nothing.
struct WhatIfRow {
    std::string id;    // of the profile
    std::string name;  // "GeForce RTX 3060"
    std::int64_t n_machines = 1;
    std::uint64_t memory_bytes = 0;        // of each machine
    std::uint64_t vram_bytes = 0;          // the budget, of each machine
    Message failure;                       // why the model does not run there; all below is 0 then
    bool lacks_memory = false;             // too little memory; false: more machines than experts
    std::int64_t resident = 0, total = 0;  // experts
    double tokens_per_s = 0;
    double ttft_s = 0;  // for a prompt of WhatIf::kPromptTokens
    double hit_rate = 0;
    double bytes_per_token = 0;  // weights copied
    double busiest_experts = 0;  // a token's experts of one layer on the machine that has most of them
    double network_share = 0;    // of a decoded token's time
    bool own_host = false;       // true: the CPU's part comes from the profile; false: measured on this computer
};

// Forecasts of one model over many GPUs, sizes of VRAM and numbers of machines
// (engine/cluster/cluster_forecast). The cost of an expert on this computer's CPU is
// measured once (up to three seconds), when this is made, for profiles without a host;
// everything else is arithmetic. Experts count in the checkpoint's format, and their
// outputs are sent in 32 bits, as computed. One thread.
class WhatIf {
  public:
    static constexpr std::int64_t kPromptTokens = kForecastPrompt;

    // Uses only model, context, RAM, threads, compute, dispatch and popularity of the
    // request. Throws Error as plan_model().
    WhatIf(const LoadRequest& request, const LoadProgressFn& progress, const std::stop_token& stop);

    // The measured time of a token beyond its forecast, for this model's present run
    // (Snapshot::decode_overhead_us): from now on part of every forecast, because it is
    // launches and the host's time, which another GPU has too. 0: not known.
    void set_overhead_us(double us) { overhead_us_ = us; }

    // vram_bytes 0: all that the profile has free; above its memory: as if it had so
    // much. More machines than experts in a layer is a failure of the row.
    WhatIfRow on(const HardwareProfile& profile, std::uint64_t vram_bytes = 0, const Cluster& cluster = {}) const;
    // The VRAM with which all experts fit on so many machines, rounded up to whole MiB:
    // more VRAM changes nothing on one machine, and holds spare copies on several.
    std::uint64_t enough_vram_bytes(std::int64_t n_machines = 1) const;
    // Smallest budget first, n of them evenly from the need of the dense part to
    // enough_vram_bytes().
    std::vector<WhatIfRow> curve(const HardwareProfile& profile, int n, const Cluster& cluster,
                                 const std::stop_token& stop) const;
    // 1 to most machines with all VRAM that the profile leaves.
    std::vector<WhatIfRow> machines(const HardwareProfile& profile, const Network& network, std::int64_t most,
                                    const std::stop_token& stop) const;

  private:
    LoadRequest request_;
    FitEstimate base_;
    bool interleaves_ = false;  // Measurements::interleaves()
    double overhead_us_ = 0;
};

// JSON of a profile, as parse_hardware_profile() reads it.
std::string to_json(const HardwareProfile& profile);

}  // namespace offstage::engine
