#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/device/backend.h"
#include "engine/experts/expert_store.h"
#include "engine/experts/loading_overlap.h"
#include "engine/experts/neuron_cache.h"
#include "engine/experts/sparse_copies.h"
#include "engine/plan/cost_model.h"
#include "engine/telemetry/layer_event.h"

namespace offstage::engine {

// Begins copies of experts from RAM to the device, and counts those of the present layer:
// ExpertMover copies on demand with it, Prefetcher ahead of demand. It has the tools for
// copies without all neurons (SparseCopies, NeuronCache). One thread, the engine's.
class ExpertCopier {
  public:
    // The moves of a layer, as in LayerEvent.
    struct Moves : CopyCounts {
        std::uint64_t unread_bytes = 0;     // of experts computed on the device without all of their neurons
        DeviceEvent first_copy, last_copy;  // on demand
        bool copied_on_demand = false;
    };

    // The referents must outlive this object.
    ExpertCopier(ExpertStore& experts, Backend& device, CpuOperations& operations, const CostModel& cost)
        : experts_(experts), device_(device), sparse_(device, operations, cost), overlap_(device) {}

    // Keeps copies without all of their neurons in `bytes` of the device's memory. Throws
    // Error (kOutOfMemory).
    void set_neuron_cache(std::uint64_t bytes);
    NeuronCache* neuron_cache() { return neurons_ ? &*neurons_ : nullptr; }  // nullptr: none was set
    const NeuronCache* neuron_cache() const { return neurons_ ? &*neurons_ : nullptr; }
    bool caches_neurons() const { return neurons_ && neurons_->on(); }

    // If it is on, an answer's experts are copied without the neurons that they do not
    // need.
    SparseCopies& sparse() { return sparse_; }
    const SparseCopies& sparse() const { return sparse_; }
    bool copies_sparse() const { return !prefill_ && sparse_.on(); }

    void begin_step(bool prefill);
    void begin_layer(std::int64_t layer);
    Moves& moves() { return moves_; }
    const Moves& moves() const { return moves_; }
    // Measures what is computed beside the copies.
    LoadingOverlap& overlap() { return overlap_; }

    // On the copy queue, when `after` has happened. The event of its end; nullopt: the
    // device refused.
    std::optional<DeviceEvent> copy(void* to, const void* from, std::size_t bytes, DeviceEvent after);
    // The same for a whole expert, from its block on the host into the slot.
    std::optional<DeviceEvent> copy_whole(std::size_t expert, const kernels::ExpertView& from, Staging::Slot& slot);

  private:
    // begin(): Backend's copy, after the same event.
    template <typename Begin>
    std::optional<DeviceEvent> timed(DeviceEvent after, const Begin& begin);

    ExpertStore& experts_;
    Backend& device_;
    SparseCopies sparse_;
    LoadingOverlap overlap_;
    std::optional<NeuronCache> neurons_;
    bool prefill_ = false;
    Moves moves_;
};

}  // namespace offstage::engine
