#include "engine/run/snapshot_filler.h"

#include <algorithm>

#include "engine/device/hardware.h"
#include "engine/model/file_formats.h"
#include "engine/run/loaded_model.h"

namespace offstage::engine {
namespace {

std::uint64_t of(const ArenaUsage& usage, MemoryUse use) {
    return usage.by_use[static_cast<std::size_t>(use)];
}

MemoryLedger ledger_of(const Arena& arena) {
    const ArenaUsage usage = arena.usage();
    MemoryLedger ledger;
    ledger.budget = usage.budget_bytes;
    ledger.dense = of(usage, MemoryUse::kDense);
    ledger.kv_cache = of(usage, MemoryUse::kKvCache);
    ledger.staging = of(usage, MemoryUse::kStaging);
    ledger.workspace = of(usage, MemoryUse::kWorkspace);
    ledger.experts_spare = of(usage, MemoryUse::kExperts);
    return ledger;
}

void add_expert(MemoryLedger& ledger, kernels::WeightType format, std::uint64_t bytes) {
    bytes = std::min(bytes, ledger.experts_spare);
    ledger.add_experts(format, bytes);
    ledger.experts_spare -= bytes;
}

constexpr std::uint64_t kCountedSteps = 32;

void fill_active_shares(const Recorder& recorder, std::int64_t n_layers, std::vector<float>& shares) {
    struct Counted {
        std::uint64_t neurons = 0, active = 0;
    };
    std::vector<Counted> layers(static_cast<std::size_t>(n_layers));
    shares.clear();
    const std::uint64_t end = recorder.n_events();
    const std::uint64_t n_looked = std::min({end, kCountedSteps * layers.size(), Recorder::kEvents});
    bool any = false;
    for (std::uint64_t i = end - n_looked; i < end; ++i) {
        const LayerEvent& event = recorder.event(i);
        const auto layer = static_cast<std::size_t>(event.layer);
        if (layer >= layers.size()) continue;
        layers[layer].neurons += event.neurons;
        layers[layer].active += event.active_neurons;
        any |= event.neurons > 0;
    }
    if (!any) return;
    for (const Counted& layer : layers) {
        shares.push_back(layer.neurons > 0 ? static_cast<float>(layer.active) / static_cast<float>(layer.neurons) : -1);
    }
}

}  // namespace

void SnapshotFiller::fill(LoadedModel& model, Snapshot& snapshot) {
    const ExpertStore& experts = model.experts();
    ExpertStates& states = snapshot.experts;
    states.place.resize(experts.size());
    states.format.resize(experts.size());
    states.pinned.resize(experts.size());
    for (std::size_t i = 0; i < experts.size(); ++i) {
        const ExpertKey key = experts.key(i);
        states.place[i] = static_cast<std::uint8_t>(experts.place(key.layer, key.expert));
        states.format[i] = static_cast<std::uint8_t>(experts.format(i));
        states.pinned[i] = experts.is_pinned(i) ? 1 : 0;
    }
    const Dispatcher& dispatcher = model.dispatcher();
    states.step = dispatcher.recorder().uses(states.uses);
    snapshot.totals = dispatcher.recorder().all_totals();
    snapshot.drafts = model.drafts();
    fill_active_shares(dispatcher.recorder(), model.spec().experts.n_layers, snapshot.active_shares);
    snapshot.telemetry_us = dispatcher.recorder().overhead_us();
    snapshot.answer_us = dispatcher.recorder().totals().steps_us;
    snapshot.n_events = dispatcher.recorder().n_events();
    snapshot.decode_policy = name_of(dispatcher.decode_policy());
    snapshot.decisions.assign(dispatcher.decisions().begin(), dispatcher.decisions().end());
    snapshot.n_decisions = dispatcher.n_decisions();
    Plan formats;
    formats.formats = experts.formats();
    formats.places.resize(experts.size());
    model.plan_inputs().describe_formats(formats);
    snapshot.mean_bits = formats.mean_bits;
    snapshot.formats = format_rows_of(model.spec().experts);
    fill_memories(model, snapshot);
}

void SnapshotFiller::fill_memories(LoadedModel& model, Snapshot& snapshot) {
    Backend& device = model.device();
    const bool own_memory = !device.shares_host_memory();
    const auto now = std::chrono::steady_clock::now();
    if (looked_ == std::chrono::steady_clock::time_point{} || now - looked_ >= kLookEvery) {
        looked_ = now;
        device_others_ = own_memory ? device.others_bytes() : 0;
        const MemorySize memory = memory_size();
        ram_total_ = static_cast<std::uint64_t>(std::max<std::int64_t>(0, memory.total_bytes));
        const auto available = static_cast<std::uint64_t>(std::max<std::int64_t>(0, memory.available_bytes));
        const std::uint64_t taken = ram_total_ - std::min(ram_total_, available);
        ram_others_ = taken - std::min(taken, model.ram().usage().used_bytes);
    }
    snapshot.ram = ledger_of(model.ram());
    snapshot.ram.total = ram_total_;
    snapshot.ram.others = ram_others_;
    if (own_memory) {
        snapshot.vram = ledger_of(device.memory());
        snapshot.vram.total = device.info().memory_bytes;
        snapshot.vram.others = device_others_;
    }
    const ExpertStore& experts = model.experts();
    for (std::size_t i = 0; i < experts.size(); ++i) {
        const kernels::WeightType format = experts.format(i);
        if (own_memory && experts.on_device(i)) add_expert(snapshot.vram, format, experts.expert_bytes(format));
        if (experts.in_ram(i)) add_expert(snapshot.ram, format, experts.expert_bytes(format));
    }
    if (model.layer_drafter() != nullptr) {
        add_expert(snapshot.ram, experts.master_type(), LayerDrafter::expert_bytes(*model.prediction_layer()));
    }
    // Room for copies on demand is taken from the experts' memory, so that a copied
    // expert may stay there.
    const Staging& staging = model.experts().staging();
    const std::uint64_t waiting =
        std::min(snapshot.vram.experts_spare, static_cast<std::uint64_t>(staging.n_slots()) * staging.slot_bytes());
    snapshot.vram.staging += waiting;
    snapshot.vram.experts_spare -= waiting;
}

}  // namespace offstage::engine
