#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/backend.h"
#include "engine/device/memory_size.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/forecast.h"
#include "engine/plan/load_settings.h"
#include "engine/plan/neuron_thresholds.h"
#include "engine/plan/plan.h"
#include "engine/plan/popularity.h"
#include "engine/plan/sensitivity.h"
#include "engine/telemetry/decode_meter.h"
#include "kernels/types.h"

namespace offstage::engine {

enum class PlacementKind : std::uint8_t {
    kPopular,  // the most popular experts of all layers
    kLayers,   // whole layers, the last ones first
};

// The placement that a policy decodes with.
inline PlacementKind placement_for(PolicyKind decode) {
    return decode == PolicyKind::kLayers ? PlacementKind::kLayers : PlacementKind::kPopular;
}

// The actual or wanted copies of an expert, and their format.
struct ExpertCopies {
    bool ram = false;
    bool device = false;
    kernels::WeightType format = kernels::WeightType::kBf16;
};

// The steps that give an expert its wanted copies: one rule for estimates and for the
// Migrator.
struct ExpertMove {
    bool packs = false;    // reads it from the master into RAM, in the format that it should have,
    bool changes = false;  // which is another one than it has
    bool uploads = false;  // copies it to the device
    int copies = 0;        // that exist afterwards, and did not before
};
ExpertMove move_of(const ExpertCopies& has, const ExpertCopies& wanted);

// The work of a migration, planned or done.
struct MigrationWork {
    using Counts = std::array<std::int64_t, kernels::kWeightTypes>;  // experts, by the format that they should have
    Counts packed{};                                                 // as they are in the master or were before
    Counts changed{};                                                // packed in another format
    Counts uploaded{};
    std::int64_t copies = 0;

    void add(const ExpertMove& move, kernels::WeightType format);
    MigrationWork operator-(const MigrationWork& done) const;
    friend bool operator==(const MigrationWork&, const MigrationWork&) = default;
};

// Microseconds of each of these for one expert, by format; 0: not known.
struct MigrationRates {
    using Us = std::array<double, kernels::kWeightTypes>;
    Us pack_us{}, change_us{}, upload_us{};

    // Adds the time of one expert with weight one half, so that the last few experts
    // decide the rate.
    static void learn(Us& rates, kernels::WeightType format, double us);
};

inline constexpr std::pair<MigrationWork::Counts MigrationWork::*, MigrationRates::Us MigrationRates::*>
    kMigrationKinds[] = {{&MigrationWork::packed, &MigrationRates::pack_us},
                         {&MigrationWork::changed, &MigrationRates::change_us},
                         {&MigrationWork::uploaded, &MigrationRates::upload_us}};

// One after the other, as a migration in the background works. `expected` replaces values
// that were not measured.
double us_of(const MigrationWork& work, const MigrationRates& measured, const MigrationRates& expected);

// The work that turns one plan into another.
struct Transition {
    MigrationWork work;
    std::uint64_t bytes_to_move = 0;  // of the copies: to the device over the bus, in RAM from the master
    std::int64_t quantized = 0;       // experts that change to a packed format, from the master
};

// Both plans are of the demand's model.
Transition transition(const Plan& from, const Plan& to, const ModelDemand& demand);

// All inputs of a model's plans and of their forecasts. A load, its estimate, its report
// (engine/run/load_planner.h), What if and re-plans (engine/run/replanner.h) use the
// same one. A value, so that any thread may plan with a copy while tokens are generated
// (tens of kilobytes to some megabytes). A plan takes milliseconds to tenths of a second.
struct PlanInputs {
    // ---- the model, as it was measured
    ModelDemand demand;
    Popularity popularity;
    Sensitivity sensitivity;
    CostModel cost;                                     // without a table: not measured
    std::optional<QuantizingSpeeds> quantizing_speeds;  // measured at load
    kernels::WeightType master = kernels::WeightType::kBf16;
    NeuronThresholds thresholds;  // measured of the model
    // ---- the request
    PolicyKind prefill = PolicyKind::kBalanced;
    PolicyKind decode = PolicyKind::kBalanced;
    bool dry = false;
    SparseLoading sparse_loading = SparseLoading::kOff;
    double active_share = 0;    // LoadRequest::active_share
    std::string calibrations;   // folder where measured speeds are kept; empty: nowhere
    Budget asked;               // at load, with the budgets that the arenas got
    bool ram_is_asked = false;  // its RAM is the user's limit, not what was free
    bool drawn = false;         // a synthetic model: no weights are read
    // ---- the machine
    DeviceInfo device;
    MemorySize memory{};  // before the load took any
    // For an emulated device: whether a plan may be for a machine that has the device's
    // memory beside the RAM that the request names, and whether plans are.
    bool may_be_elsewhere = false, is_elsewhere = false;
    // ---- a loaded model at one moment, between two steps; nothing: it is not loaded
    struct Present {
        Plan base;                         // that a request changes: on its way, or in force
        Plan in_force;                     // the last to be so as a whole
        Plan now;                          // with the places and formats of this moment
        std::vector<std::uint8_t> pinned;  // by a user, (n_layers, n_experts)
        ThetaChoice theta;                 // the thresholds of neurons that are left out
        std::int64_t tokens_in_use = 0;    // no context may be shorter
        std::uint64_t ram_used_bytes = 0, ram_budget_bytes = 0;
        MeasuredDecode measured;    // with the plan in force
        MigrationRates migrations;  // measured, while tokens are made or not, as now
    };
    std::optional<Present> present;

    bool has_costs() const { return cost.table().expert_bytes > 0; }
    // Whether the plan leaves experts on disk, and the time of reading one is unknown. A
    // synthetic model on an emulated device has no file: the time to draw its weights is
    // not that of a disk.
    bool lacks_disk_cost(const Plan& plan) const {
        if (device.emulated && (device.emulated_host || drawn)) return false;
        return cost.table().disk.us == 0 && plan.n_in(Place::kDisk) > 0;
    }
    // Reads run beside the CPU's work (ExpertStore::reads_ahead()).
    void set_disk(const DiskReadCost& read) { cost.set_disk(read, !device.emulated && demand.reads_directly); }
    // Of a prompt of prompt_tokens and the decode after it.
    // Draws routings from the popularity (experts of a token without repetition, by
    // share), lets the policy decide each layer with the cost model, and averages.
    // Deterministic. An estimate: dense work counts only if the table has it, and experts
    // on disk cost CostTable::disk more than those in RAM.
    Forecast forecast(const Plan& plan, std::int64_t prompt_tokens = kForecastPrompt) const;
    // Makes the costs account for neurons that are left out.
    void set_theta(const ThetaChoice& choice);
    // Mean bits and predicted loss of the plan's formats.
    void describe_formats(Plan& plan) const;
    // The expected time of each expert of a migration, before any was observed: from the
    // measured speeds of the disk, the bus and quantizing. speeds may be nullptr.
    MigrationRates migration_rates(const QuantizingSpeeds* speeds) const;

    // Measured loss of all experts in one of the model's formats, nats per token; infinite
    // where it was not measured.
    double kl_of(kernels::WeightType format) const;
    double share(std::size_t expert) const {  // of its layer's calls
        const auto n = static_cast<std::int64_t>(expert);
        return popularity.share(n / demand.n_experts, n % demand.n_experts);
    }
};

// Dense weights, KV cache and workspace first, then two staging slots, then experts by
// popularity while the budget lasts (Fiddler, section 3.3); the remaining experts stay in
// RAM while its budget lasts, the rest on disk. Without counts the experts are spread
// evenly over the layers. A context that the user did not set is shortened before experts
// have to leave for it, to no less than kUsualContext (kShortestContext where memory does
// not hold that even without experts). While experts do not all fit, the workspace may
// take a tenth of the VRAM for longer steps (512 .. 4096 tokens): they copy experts less
// often. More VRAM never lowers the hit rate. RAM: when it is short, experts on the
// device give up their copy in RAM first (duplicates), then the least popular go to disk.
// On a device that shares the host's memory only ram_bytes counts, all places are kRam or
// kDisk, expert_bytes and staging stay 0, and Plan::ram_bytes holds everything.
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
// of neurons as well: trade_quality().
//
// Experts of a file's blocks keep their format unless budget.uniform or budget.quality is
// set; the plan's note names those that are quantized a second time, and the loss.
//
// Throws Error: kOutOfMemory when dense weights, KV cache and the smallest workspace do
// not fit (with the missing bytes, and what would fit: a shorter context, this much
// memory), kInvalidInput when the popularity is of another model, a format is not the
// model's, or no format reaches the floor.
Plan make_plan(const PlanInputs& inputs, const Budget& budget, PlacementKind kind);

// The formats of experts, and the order in which they get the fastest places: decided
// before anything is placed.
struct FormatChoice {
    std::vector<std::uint8_t>
        formats;  // (n_layers, n_experts), indices into ModelDemand::formats; empty: all `uniform`
    std::uint8_t uniform = 0;
    // The experts to place, in this order. Another machine holds the others
    // (Place::kDisk, no bytes). nullptr: all, in placement_order().
    const std::vector<std::size_t>* order = nullptr;
};

// Throws Error (kInvalidInput) when the three do not belong together or are out of range.
void check_demand(const PlanInputs& inputs, const Budget& budget);

// All experts, those with a higher worth (n_layers, n_experts) first, equal ones in turn
// through the layers: without counts each layer gets its share.
std::vector<std::size_t> order_by(const std::vector<double>& worth, std::int64_t n_experts);

// Experts by popularity (order_by()), or by layers, the last first.
std::vector<std::size_t> placement_order(const PlanInputs& inputs, PlacementKind kind);

// make_plan() for given formats: the longest beginning of the order that fits goes to the
// device, the next part to RAM, the rest to disk. So a larger budget's experts on the
// device include those of a smaller one. Slots are as large as the largest expert. Fills
// all of Plan except predicted_loss. Throws as make_plan().
Plan place_experts(const PlanInputs& inputs, const Budget& budget, PlacementKind kind, const FormatChoice& choice);

// Sensitivity's loss of these formats, (n_layers, n_experts); 0 where there are none.
double predicted_loss(const std::vector<FormatId>& formats, const Sensitivity& sensitivity,
                      const Popularity& popularity);

// make_plan() for a floor of bits or of predicted loss, with costs and sensitivity:
// chooses every expert's format and place. Throws as make_plan().
//
// The formats do not depend on the size of VRAM: a family of assignments is made
// beforehand, each allowed by the floor -
//   uniform    all experts in one format
//   mixtures   the least used experts in one format, the others in another (CORM,
//              section 4.1), as many as the floor allows
//   priced     each expert alone takes the format and place that cost least, at a price
//              per byte of VRAM, per byte of RAM and per loss; several prices of memory,
//              the price of loss the smallest that keeps the floor
// - and each is placed in its own order (time gained per byte), as much as fits. The
// forecasts of all decide. For one assignment, more VRAM holds the same experts and more;
// so the best of the family never gets slower with it.
Plan search_formats(const PlanInputs& inputs, const Budget& budget, PlacementKind kind);

// One floor of loss for the formats of experts and for the neurons that are left out
// (QualityFloor::max_kl), in nats per token: mean KL divergence from the model as stored
// in its files, over a text.
//
// Formats. All experts in one format have the measured loss FormatLoss::mean_kl. A small
// change of weights costs by its square, so that an expert's share is that of its
// Sensitivity loss; the loss of mixed formats is the sum of the shares. Formats without a
// measured loss are not chosen.
// Neurons. Thresholds of each expert cost ChosenThresholds::mean_kl, one theta
// NeuronThreshold::mean_kl; no others are chosen, and guesses are corrected.
// Both. Each was measured alone, on the otherwise unchanged model. Their sum is the
// estimated loss of both, as for two small independent changes. It is no bound.
//
// make_plan() for a floor of nats, with costs and sensitivity: tries every allowed choice
// of thresholds within the floor, each with the formats that are fastest within the rest
// (FormatSearch), and takes the fastest decode by forecast; of equals the one with less
// loss. Neurons are left out only if that decodes faster by more than the error of such
// forecasts. Sets Plan::theta, neuron_kl, format_kl and the note about them. Throws Error
// as make_plan(), and kInvalidInput if Budget::theta was not measured or costs more
// than the floor.
Plan trade_quality(const PlanInputs& inputs, const Budget& budget, PlacementKind kind);

}  // namespace offstage::engine
