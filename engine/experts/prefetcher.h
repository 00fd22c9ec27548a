#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "engine/experts/cache_admission.h"
#include "engine/experts/expert_copier.h"
#include "engine/experts/expert_store.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/dispatch_policy.h"
#include "engine/plan/load_settings.h"

namespace offstage::engine {

// Moves experts before the router calls them: while a layer is computed, it begins to
// read experts of this layer and the next one from the disk, and to copy the next one's
// to the device. An answer's are guesses (Mixtral-Offloading, 3.2); a prompt's layer
// calls nearly all of its experts, so that its copies need no guess, and may use the
// places of residents, which it borrows until the prompt has been read. It changes no
// result: ExpertMover looks for a copy ahead of demand before it begins one.
//
// One thread, the engine's. For each layer: read_ahead(), then, when everything was
// submitted, copy_guesses() or copy_ahead().
class Prefetcher {
  public:
    // Steps of up to so many tokens guess the next layer's experts; at most so many
    // speculative copies are begun in a layer.
    static constexpr std::int64_t kGuessingTokens = 4;
    static constexpr std::int64_t kMostGuessedCopies = 2;

    // The most places that are borrowed at once.
    static constexpr std::int64_t kMostBorrowed = 8;

    // The referents must outlive this object.
    Prefetcher(const ExpertGrid& grid, ExpertStore& experts, Backend& device, const CostModel& cost,
               ExpertCopier& copier, CacheAdmission& admission)
        : grid_(grid), experts_(experts), device_(device), cost_(cost), copier_(copier), admission_(admission) {}

    // Experts that are never moved ahead of demand; empty: none.
    void set_excluded(std::function<bool(std::int64_t layer, std::int64_t expert)> excluded) {
        excluded_ = std::move(excluded);
    }
    void set_prompt_loading(PromptLoading loading) { prompt_loading_ = loading; }

    struct Step {
        bool prefill = false;
        std::int64_t n_tokens = 0;
        bool last = false;        // no further piece of the prompt follows
        std::int64_t n_last = 0;  // the tokens that the last layer computes
        // Speculation in this step: reads of the next layer's experts from disk, copies
        // of guesses, and copies even if the copy engine has no time for them.
        bool reads = false, copies = false, regardless = false;
    };
    void begin_step(const Step& step);
    // The time of attention in the layer that was measured last.
    void add_attention(double us);

    // Whether this step needs guesses of each next layer's experts.
    bool wants_guesses() const;
    // Whether copy_guesses() needs the layer's inputs on the host.
    bool needs_inputs(std::span<const std::int32_t> guesses) const {
        return step_.copies && copier_.copies_sparse() && !guesses.empty();
    }
    // Before anything of the layer is computed: reads experts from disk which the CPU
    // computes or which are copied, then guesses for the next layer; for a long prompt
    // these are all of its experts.
    void read_ahead(std::int64_t layer, std::span<const Assignment> assignments, std::span<const std::int32_t> guesses);
    // Copies guesses into free slots, as far as the copy engine is idle until the next
    // layer's experts are needed, or regardless. While the CPU reads experts at the same
    // time, copies cost as much as they gain: then there are none, unless a measurement
    // has shown that the memory has bandwidth for both. inputs: see needs_inputs(); only
    // the neurons that they make active are copied, and ExpertMover copies the missing
    // ones. Guesses are n_active for each token.
    void copy_guesses(std::int64_t layer, const Schedule& schedule, std::span<const std::int32_t> guesses,
                      bool host_computes, const float* inputs);
    // Copies experts that a prompt's next layer will call into free slots: as many as the
    // copy engine can finish before that layer's router has run. Later copies would gain
    // nothing over copies on demand.
    void copy_ahead(std::int64_t layer, const Schedule& schedule);

    // Totals for reading prompts so far.
    struct PromptCopies {
        std::uint64_t ahead = 0;         // copies of the next layer's experts
        std::uint64_t unused_ahead = 0;  // of these, not called by the router
        std::uint64_t borrowed = 0;      // places
    };
    const PromptCopies& prompt_copies() const { return prompt_copies_; }
    void add_unused_ahead() { ++prompt_copies_.unused_ahead; }

  private:
    bool is_excluded(std::int64_t layer, std::int64_t expert) const { return excluded_ && excluded_(layer, expert); }
    bool calls_all(std::int64_t n_tokens) const;
    bool reads_guesses() const;
    bool may_copy(std::int64_t layer, std::int64_t expert) const;
    bool copy(std::size_t expert, std::optional<std::size_t> slot, const SparseCopies::Rows& rows = {});
    bool copy_to_cache(std::size_t expert, const SparseCopies::Rows& rows);
    void borrow_slots(std::int64_t layer, const Schedule& schedule, std::int64_t n_copied, std::uint64_t bytes,
                      double idle_us);

    const ExpertGrid& grid_;
    ExpertStore& experts_;
    Backend& device_;
    const CostModel& cost_;
    ExpertCopier& copier_;
    CacheAdmission& admission_;
    std::function<bool(std::int64_t layer, std::int64_t expert)> excluded_;
    PromptLoading prompt_loading_ = PromptLoading::kOnDemand;

    Step step_;
    bool loads_ahead_ = false;                  // this step does
    double attention_us_ = 0;                   // of a layer in decode, a moving average
    double prompt_attention_us_ = 0;            // of the layer before, in this step
    std::vector<std::size_t> needed_, likely_;  // room for read_ahead()
    PromptCopies prompt_copies_;
};

}  // namespace offstage::engine
