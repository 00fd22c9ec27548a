#pragma once

#include "engine/plan/plan_inputs.h"

namespace offstage::engine {

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
Plan make_plan(const PlanInputs& inputs, const Budget& budget, PlacementKind kind);
// The same without costs, and without predicted losses.
Plan make_plan(const ModelDemand& demand, const Budget& budget, const Popularity& popularity, PlacementKind kind);

}  // namespace offstage::engine
