#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/device/backend.h"
#include "engine/experts/cache_admission.h"
#include "engine/experts/expert_copier.h"
#include "engine/experts/expert_store.h"
#include "engine/experts/prefetcher.h"
#include "engine/model/model_spec.h"
#include "engine/plan/dispatch_policy.h"

namespace offstage::engine {

// Brings a layer's experts to the device: it finds those that were copied ahead of demand
// (Prefetcher), and copies the others on demand, through the staging slots in turn. A
// copy that was used may stay (CacheAdmission).
//
// One thread, the engine's. For each layer: begin_layer(), then the executors request the
// weights that they use, then the prefetcher's turn, then finish_layer().
class ExpertMover {
  public:
    // The referents must outlive this object.
    ExpertMover(const ExpertGrid& grid, ExpertStore& experts, Backend& device, CpuOperations& operations,
                const CostModel& cost);
    ExpertMover(const ExpertMover&) = delete;
    ExpertMover& operator=(const ExpertMover&) = delete;

    ExpertCopier& copier() { return copier_; }
    const ExpertCopier& copier() const { return copier_; }
    CacheAdmission& admission() { return admission_; }
    Prefetcher& prefetcher() { return prefetcher_; }
    const Prefetcher& prefetcher() const { return prefetcher_; }
    SparseCopies& sparse() { return copier_.sparse(); }

    void begin_step(const Prefetcher::Step& step);

    // The expert's place for the policy. A copy made ahead of demand counts when it is
    // whole; the policy never waits for it. A prompt's copy ahead of demand always
    // counts.
    Place place(std::int64_t layer, std::int64_t expert) const;
    // The share of the neurons that the expert is expected to need that the device has
    // (NeuronCache).
    double held_share(std::int64_t layer, std::int64_t expert) const;

    // Corrects assignments that cannot be carried out, gives up copies that no token
    // called, and starts copies on demand: as many as there are slots.
    void begin_layer(std::int64_t layer, std::span<Assignment> assignments);

    // ---- for the executors of the device
    // Weights that are there, of an expert with ExecutionTarget::kResident.
    kernels::ExpertView weights(std::int64_t expert) const;
    // Whether the weights lie in a staging slot, which is needed for other copies.
    bool came_early(std::int64_t expert) const;
    // Computed with, by that time on the compute queue.
    void computed_early(std::int64_t expert, DeviceEvent end);
    // The weights of the next expert with ExecutionTarget::kCopy, in their order, and the
    // event of their arrival; nullopt: the device refused the copy. Call computed()
    // before the next one. neurons: see ExpertCall.
    struct Arrival {
        kernels::ExpertView weights;
        std::span<const std::int32_t> neurons;
        std::int64_t whole_ffn_dim = 0;
        DeviceEvent whole;
    };
    // rows: the expert's rows, needed where ExpertCopier::copies_sparse(): then the copy
    // begins now.
    std::optional<Arrival> next_arrival(const SparseCopies::Rows& rows = {});
    void computed(DeviceEvent end);

    // After everything was submitted: records the layer's calls; copies that were used
    // may stay.
    void finish_layer(std::span<const ExpertLoad> loads, std::span<Assignment> assignments);

  private:
    struct Demanded {
        std::size_t expert = 0;  // index in the store
        std::optional<std::size_t> slot;
        std::optional<DeviceEvent> whole;
        // For an expert that was copied without some neurons.
        std::int64_t ffn_dim = 0;
        std::span<const std::int32_t> neurons;
        const std::int32_t* order = nullptr;
        bool held = false;                     // some neurons were copied ahead, into `slot`
        NeuronCache::Entry* cached = nullptr;  // in the place of `slot`
        bool goes_whole = false;               // its neurons were looked for: it is not worth it
    };
    struct Early {  // copied ahead of demand, and used
        std::size_t expert = 0;
        std::size_t slot = 0;
    };

    kernels::ExpertView staged(const Staging::Slot& slot, std::size_t expert) const;
    void free_slot(Staging::Slot& slot, DeviceEvent used);
    void give_up_uncalled();
    void start_copies();
    bool start_copy(Demanded& demanded);
    std::optional<DeviceEvent> copy_on_demand(Demanded& demanded, const kernels::ExpertView& from, Staging::Slot& slot);
    bool comes_into_cache(std::size_t expert) const;
    bool copy_to_cache(Demanded& demanded);
    DeviceEvent accept_guess(Demanded& demanded, std::span<const std::int32_t> neurons, std::uint64_t speculative_bytes,
                             DeviceEvent copied);
    void came_without(const Demanded& demanded, std::uint64_t bytes, std::uint64_t held_bytes);

    const ExpertGrid& grid_;
    ExpertStore& experts_;
    Backend& device_;
    ExpertCopier copier_;
    CacheAdmission admission_;
    Prefetcher prefetcher_;

    bool prefill_ = false;
    std::int64_t layer_ = 0;
    SparseCopies::Rows rows_;  // of the requested copy
    std::vector<Demanded> demanded_;
    std::size_t n_started_ = 0;      // of demanded_: on their way, or refused
    std::size_t n_asked_ = 0;        // of demanded_: requested by next_arrival()
    std::uint16_t n_completed_ = 0;  // copies ahead whose missing neurons followed
    std::vector<Early> early_;
    std::vector<std::int32_t> accepted_places_, accepted_order_;
};

}  // namespace offstage::engine
