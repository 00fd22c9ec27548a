#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/device/backend.h"
#include "engine/experts/cache_policy.h"
#include "engine/experts/expert_store.h"
#include "engine/experts/loading_overlap.h"
#include "engine/experts/neuron_cache.h"
#include "engine/experts/sparse_copies.h"
#include "engine/model/model_spec.h"
#include "engine/plan/dispatch_policy.h"
#include "engine/plan/load_settings.h"
#include "engine/plan/prompt_steps.h"

namespace offstage::engine {

// Copies experts to the device while a step runs: on demand, through the staging slots in
// turn; ahead for the likely experts of the next layer; and for a prompt's next layer,
// also into borrowed places of residents. A copy that was used may stay, in the place of
// a resident that the cache policy chooses.
//
// One thread, the engine's. For each layer: begin_layer(), then the executors request the
// weights that they use, then copy_guesses() or copy_ahead(), then finish_layer().
class ExpertMover {
  public:
    // Steps of up to so many tokens guess the next layer's experts; at most so many
    // speculative copies are begun in a layer.
    static constexpr std::int64_t kGuessingTokens = 4;
    static constexpr std::int64_t kMostGuessedCopies = 2;

    // The most places that are borrowed at once.
    static constexpr std::int64_t kMostLent = 8;

    // The referents must outlive this object.
    ExpertMover(const ExpertGrid& grid, ExpertStore& experts, Backend& device, CpuOperations& operations,
                const CostModel& cost);
    ~ExpertMover();
    ExpertMover(const ExpertMover&) = delete;
    ExpertMover& operator=(const ExpertMover&) = delete;

    // Decides which experts that were copied on demand stay on the device; nullptr: none.
    // Must outlive this object or be replaced.
    void set_cache(CachePolicy* policy);
    // Experts that are never copied ahead of demand; empty: none.
    void set_excluded(std::function<bool(std::int64_t layer, std::int64_t expert)> excluded) {
        excluded_ = std::move(excluded);
    }
    // While a migration moves experts: no guesses, no borrowed places, and no copy stays.
    void set_cache_resting(bool rests) { cache_rests_ = rests; }
    // Keeps copies without all of their neurons in `bytes` of the device's memory. Throws
    // Error (kOutOfMemory).
    void set_neuron_cache(std::uint64_t bytes) { neurons_.emplace(device_, bytes); }
    const NeuronCache* neuron_cache() const { return neurons_ ? &*neurons_ : nullptr; }
    void set_prompt_loading(PromptLoading loading) { prompt_loading_ = loading; }

    // If it is on, an answer's experts are copied without the neurons that they do not
    // need: next_arrival() needs the rows.
    SparseCopies& sparse() { return sparse_; }
    const SparseCopies& sparse() const { return sparse_; }
    bool copies_sparse() const { return !prefill_ && sparse_.on(); }

    // `last`: no further piece of the prompt follows. n_last: the number of tokens that
    // the last layer computes.
    void begin_step(bool prefill, std::int64_t n_tokens, bool last, std::int64_t n_last);
    // The time of attention in the layer that was measured last.
    void add_attention(double us);

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
    // The weights of the next expert with ExecutionTarget::kCopy, in their order, and the event of
    // their arrival; nullopt: the device refused the copy. Call computed() before the
    // next one. neurons: see ExpertCall.
    struct Arrival {
        kernels::ExpertView weights;
        std::span<const std::int32_t> neurons;
        std::int64_t whole_ffn_dim = 0;
        DeviceEvent whole;
    };
    // rows: the expert's rows, needed where copies_sparse(): then the copy begins now.
    std::optional<Arrival> next_arrival(const SparseCopies::Rows& rows = {});
    void computed(DeviceEvent end);

    // ---- after everything was submitted
    // Whether this step guesses, unless the policy forbids.
    bool guesses(std::int64_t n_tokens) const;
    // Copies guesses into free slots, as far as the copy engine is idle until the next
    // layer's experts are needed (slack_us), or regardless. inputs: this layer's, on the
    // host, where copies_sparse(): then only the neurons that they make active are
    // copied, and next_arrival() copies the missing ones. Guesses are n_active for each
    // token.
    void copy_guesses(std::span<const std::int32_t> experts, double slack_us, bool regardless,
                      const float* inputs = nullptr);
    void copy_ahead(const Schedule& schedule);
    // Time between this layer's last copy and the next layer's first. While the CPU reads
    // experts at the same time, copies cost as much as they gain: then there are none,
    // unless a measurement has shown that the memory has bandwidth for both.
    double slack_us(const Schedule& schedule, bool host_computes) const;
    // Records the layer's calls; copies that were used may stay.
    void finish_layer(std::span<const ExpertLoad> loads, std::span<Assignment> assignments);

    // Replaces all these calls in a layer without any move: records its calls.
    void add_calls(std::int64_t layer, std::span<const ExpertLoad> loads);

    // The moves of this layer, as in LayerEvent.
    struct Moves {
        std::uint64_t bytes_copied = 0;
        std::uint16_t guessed_copies = 0, used_guesses = 0, admissions = 0;
        std::uint16_t sparse_copies = 0;
        std::uint64_t copy_bytes_saved = 0;
        std::uint64_t unread_bytes = 0;     // of experts computed on the device without all of their neurons
        DeviceEvent first_copy, last_copy;  // on demand
        bool copied_on_demand = false;
    };
    const Moves& moves() const { return moves_; }
    // Measures what is computed beside the copies.
    LoadingOverlap& overlap() { return overlap_; }

    // Totals for reading prompts so far.
    struct PromptCopies {
        std::uint64_t ahead = 0;         // copies of the next layer's experts
        std::uint64_t unused_ahead = 0;  // of these, not called by the router
        std::uint64_t borrowed = 0;      // places
    };
    const PromptCopies& prompt_copies() const { return prompt_copies_; }

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
    std::optional<DeviceEvent> copy_timed(void* to, const void* from, std::size_t bytes, DeviceEvent after);
    std::optional<DeviceEvent> copy(std::size_t expert, const std::byte* from, Staging::Slot& slot);
    std::optional<DeviceEvent> copy_on_demand(Demanded& demanded, const kernels::ExpertView& from, Staging::Slot& slot);
    bool comes_into_cache(std::size_t expert) const;
    bool copy_to_cache(Demanded& demanded);
    bool copy_speculatively_to_cache(std::size_t expert, const SparseCopies::Rows& rows);
    DeviceEvent accept_guess(Demanded& demanded, std::span<const std::int32_t> neurons, std::uint64_t speculative_bytes,
                             DeviceEvent copied);
    void came_without(const Demanded& demanded, std::uint64_t bytes, std::uint64_t held_bytes);
    bool would_stay(std::size_t expert) const;
    std::optional<ExpertKey> victim_for(std::size_t admitted) const;
    bool copy_speculatively(std::size_t expert, std::optional<std::size_t> slot, const SparseCopies::Rows& rows = {});
    bool may_copy_speculatively(std::int64_t layer, std::int64_t expert) const;
    void give_up_uncalled();
    void start_copies();
    bool start_copy(Demanded& demanded);
    void borrow_slots(const Schedule& schedule, std::int64_t n_copied, std::uint64_t bytes, double idle_us);
    void keep_copy(std::size_t admitted, std::size_t slot);

    const ExpertGrid& grid_;
    ExpertStore& experts_;
    Backend& device_;
    const CostModel& cost_;
    CachePolicy* cache_ = nullptr;
    std::function<bool(std::int64_t layer, std::int64_t expert)> excluded_;
    bool cache_rests_ = false;
    PromptLoading prompt_loading_ = PromptLoading::kOnDemand;

    bool prefill_ = false;
    bool loads_ahead_ = false;        // this step does
    bool calls_last_ = false;         // and calls all experts of the last layer too
    bool last_ = false;               // this step is the prompt's last
    double attention_us_ = 0;         // of a layer in decode, a moving average
    double prompt_attention_us_ = 0;  // of the layer before, in this step

    std::int64_t layer_ = 0;
    Moves moves_;
    SparseCopies sparse_;
    LoadingOverlap overlap_;
    SparseCopies::Rows rows_;           // of the requested copy
    std::vector<std::int32_t> called_;  // experts of this layer
    std::vector<Demanded> demanded_;
    std::size_t n_started_ = 0;      // of demanded_: on their way, or refused
    std::uint16_t n_completed_ = 0;  // copies ahead whose missing neurons followed
    std::size_t n_asked_ = 0;        // of demanded_: requested by next_arrival()
    std::vector<Early> early_;
    std::optional<NeuronCache> neurons_;
    std::vector<std::int32_t> accepted_places_, accepted_order_;
    PromptCopies prompt_copies_;
};

}  // namespace offstage::engine
