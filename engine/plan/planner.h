#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/cost_model.h"
#include "engine/plan/kv_demand.h"
#include "engine/plan/neuron_thresholds.h"
#include "engine/plan/plan.h"
#include "engine/plan/policy_kind.h"
#include "engine/plan/popularity.h"
#include "engine/plan/sensitivity.h"
#include "kernels/types.h"

namespace offstage::engine {

// A user's limits. 0: all there is; make_plan() treats it as no limit, so callers fill in
// the device's memory.
struct Budget {
    std::uint64_t vram_bytes = 0;
    std::uint64_t ram_bytes = 0;
    std::int64_t context = 0;  // tokens; 0: the planner's choice
    QualityFloor quality{};
    kernels::KvType kv = kernels::KvType::kBf16;   // the format of keys and values
    std::optional<kernels::WeightType> uniform{};  // all experts in this format; `quality` must be unset then
    std::optional<std::int64_t> kept_context{};    // LoadRequest::kept_context; nothing: ModelDemand's
    std::int64_t largest_step = 0;                 // tokens; 0: as the context allows
    std::int64_t least_context = 0;  // tokens; a default context is no shorter than this, nor than kShortestContext
};

// One format that experts may be kept in.
struct FormatDemand {
    kernels::WeightType format = kernels::WeightType::kBf16;
    std::uint64_t expert_bytes = 0;  // rounded up as arenas do
    double bits_per_weight = 16;
};

// A model's needs on one device, in bytes. Filled by code that knows both.
struct ModelDemand {
    std::int64_t n_layers = 0;
    std::int64_t n_experts = 0;
    std::int64_t n_active = 0;
    std::int64_t hidden_dim = 0;        // 0: not known
    std::uint64_t expert_bytes = 0;     // in the master's format
    std::vector<FormatDemand> formats;  // allowed formats of experts, the master's first; empty: only that
    // If the file has experts in several formats: those, and each layer's index into them
    // (n_layers). formats.front() then has the largest one's bytes and the mean bits.
    // Otherwise empty.
    std::vector<FormatDemand> file_formats;
    std::vector<std::uint8_t> layer_format;
    // The block formats of the file's experts, "Q4_K, Q6_K": another format is a second
    // quantization of the same values, and the note of a plan with such experts says so.
    std::string file_blocks;
    std::uint64_t dense_bytes = 0;         // on the device
    std::uint64_t dense_read_bytes = 0;    // of these, the bytes that one decoded token reads
    std::vector<KvGroupDemand> kv_groups;  // of the KV cache, in the order of KvLayout
    kernels::KvType kv = kernels::KvType::kBf16;
    std::uint64_t host_fixed_bytes = 0;  // RAM that is not experts: dense weights kept there, buffers
    std::int64_t max_context = 0;        // of the model
    std::int64_t short_context = 0;      // RopeSpec::original_context; 0: positions are the same in every context
    // Workspace on the device for steps of up to n tokens: fixed + per_token * n. With
    // the blocks that KV groups have beside the context's.
    std::uint64_t workspace_fixed_bytes = 0;
    std::uint64_t workspace_bytes_per_token = 0;
    std::int64_t staging_slots = 2;  // wished for: one is filled while the other is computed with, more for guesses
    // Experts on disk are in files that are read directly (ExpertReader). That needs
    // buffers and, if possible, more slots than a token's experts, for guesses.
    bool reads_directly = false;
    std::int64_t disk_guess_slots = 0;
    bool shares_host_memory = false;  // the device is the CPU: one memory, nothing is copied
    bool residents_change = false;    // experts copied on demand may stay on the device, in others' place
    bool ends_with_experts = false;   // only a prompt's last token passes the experts of the last layer
    bool loads_ahead = false;         // a prompt's experts are copied before their layer's router has run
    bool kv_may_lie_in_ram = false;   // the runtime can keep blocks of the KV cache in RAM
    std::int64_t kept_context = 0;    // LoadRequest::kept_context

    // The format of an expert that is assigned formats[f].
    const FormatDemand& format_of(std::size_t f, std::size_t expert) const {
        if (f > 0 || layer_format.empty()) return formats[f];
        return file_formats[layer_format[expert / static_cast<std::size_t>(n_experts)]];
    }
    // nullptr: not of this model.
    const FormatDemand* find(kernels::WeightType format) const;
    std::uint64_t kv_bytes(std::int64_t context) const;
    // For kept_context: in RAM, or on the device if the two share their memory.
    std::uint64_t kept_bytes() const;
    // Bytes of the states and windows of n other conversations.
    std::uint64_t sequences_bytes(std::int64_t context, std::int64_t n) const;
    // The number of them that fit; 0 also if no layer has any.
    std::int64_t sequences_in(std::int64_t context, std::uint64_t bytes) const;
    // The KV groups' part of the workspace: a line over the tokens of a step.
    std::uint64_t kv_workspace_bytes(std::int64_t max_step) const;
    // The same with keys and values kept otherwise.
    ModelDemand with_kv(kernels::KvType type) const;
    // The pools of a plan, a group's each.
    std::vector<KvRoom> kv_rooms(const Plan& plan) const;
};

enum class PlacementKind : std::uint8_t {
    kPopular,  // the most popular experts of all layers
    kLayers,   // whole layers, the last ones first
};

// The placement that a policy decodes with.
inline PlacementKind placement_for(PolicyKind decode) {
    return decode == PolicyKind::kLayers ? PlacementKind::kLayers : PlacementKind::kPopular;
}

// While experts lack room, a default context is shortened, to no less than this number of
// tokens (or Budget::least_context); its prompts are read in no longer steps.
inline constexpr std::int64_t kShortestContext = 2048;

// A prompt of at most this many tokens is read in one step under any budget.
inline constexpr std::int64_t kSmallestStep = 64;

// A plan's staging slots for copies on demand: one is filled while the other is computed.
// Others are for guesses.
inline constexpr std::int64_t kDemandSlots = 2;

// The planner's inputs for choosing formats. The referents must outlive the call.
struct PlanCosts {
    const CostModel* cost = nullptr;
    const Sensitivity* sensitivity = nullptr;
    PolicyKind decode = PolicyKind::kBalanced;  // for decoding with the plan
    // For QualityFloor::max_kl: measured thresholds; whether experts are copied without
    // inactive neurons; and a fixed choice of thresholds, nothing: the planner's choice.
    const NeuronThresholds* thresholds = nullptr;
    SparseLoading sparse_loading = SparseLoading::kOff;
    std::optional<ThetaChoice> theta{};
};

// Dense weights, KV cache and workspace first, then two staging slots, then experts by
// popularity while the budget lasts (Fiddler, section 3.3); the remaining experts stay in
// RAM while its budget lasts, the rest on disk. Without counts the experts are spread
// evenly over the layers. A context that the user did not set is shortened (to no less
// than 2048) before experts have to leave for it. While experts do not all fit, the
// workspace may take a tenth of the VRAM for longer steps (512 .. 4096 tokens): they copy
// experts less often. More VRAM never lowers the hit rate. RAM: when it is short, experts
// on the device give up their copy in RAM first (duplicates), then the least popular go
// to disk. On a device that shares the host's memory only ram_bytes counts, all places
// are kRam or kDisk, expert_bytes and staging stay 0, and Plan::ram_bytes holds
// everything.
//
// States and windows of other conversations lie in RAM, in up to a quarter of the memory
// that the experts leave there, or, where not all experts fit, in up to a sixteenth of
// the experts' room. Plan::kept_bytes counts them, beside kept_context's.
//
// If VRAM cannot hold a requested context's KV cache beside dense weights and the
// smallest workspace, its last blocks lie in RAM, where demand.kv_may_lie_in_ram; all
// experts leave the device before one block does. The device then holds equally many
// blocks of every KV group: those of a window stay there longest.
//
// Formats: the master's, or budget.uniform. With a floor of quality, and costs and
// sensitivity to choose by, every expert gets a format and a place so that the forecast
// time of a decoded token is smallest under VRAM, RAM and floor: rarely used experts get
// fewer bits (CORM, section 4.1). Among the plans compared are every uniform format that
// the floor allows, placed by popularity and in whole layers, so the result is never
// forecast slower than they. Nor does more VRAM make it slower, wherever an expert's turn
// on the GPU is shorter than on the CPU (engine/plan/format_search). Deterministic.
//
// A floor of nats per token (QualityFloor::max_kl) lets the planner choose the thresholds
// of neurons as well: engine/plan/quality_trade.h.
//
// Experts of a file's blocks keep their format unless budget.uniform or budget.quality is
// set; the plan's note names those that are quantized a second time, and the loss.
//
// Throws Error: kOutOfMemory when dense weights, KV cache and the smallest workspace do
// not fit (with the missing bytes, and what would fit: a shorter context, this much
// memory), kInvalidInput when the popularity is of another model, a format is not the
// model's, or no format reaches the floor.
Plan make_plan(const ModelDemand& demand, const Budget& budget, const Popularity& popularity, PlacementKind kind,
               const PlanCosts& costs = {});

// Exchanges one expert's copy for another's: (layer, expert) of the admitted one and of
// the evicted one, in any layers.
struct Exchange {
    std::int64_t admit_layer = 0, admit_expert = 0;
    std::int64_t evict_layer = 0, evict_expert = 0;
};

}  // namespace offstage::engine
