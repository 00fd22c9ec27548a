#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/experts/expert_store.h"
#include "engine/model/model_spec.h"
#include "engine/plan/prefetch_settings.h"
#include "engine/run/dispatcher.h"
#include "engine/run/layers/network.h"
#include "engine/run/layers/router.h"
#include "engine/run/mirror.h"

namespace offstage::engine {

// Router and experts of one layer for a step's tokens. The router runs on the device; its answer comes to the host, the
// dispatcher says what each expert does, and then all three work at once: the device on the experts it holds, its copy
// queue on those to be brought (through the staging slots, in turn, copy beside compute), the CPU on the rest. The
// outputs meet on the device.
//
// The rows of a step are its (token, chosen expert) pairs, grouped by expert. Each row's result is the same wherever it
// was computed, and a token's rows are added in the router's order: placement and policy change no bit of the output
// (on backends that compute as the CPU does).
class MoeLayer {
  public:
    // Throws Error (kOutOfMemory). max_step: tokens of the largest step. The referents must outlive this object.
    MoeLayer(const ExpertGrid& grid, ExpertStore& experts, Backend& device, CpuOperations& host, Dispatcher& dispatcher,
             std::int64_t max_step);

    // Bytes of workspace on the device for one more token of a step.
    static std::uint64_t bytes_per_token(const ExpertGrid& grid);

    // Which experts that were copied on demand stay on the device; nullptr: none do. Must outlive this object or be
    // replaced.
    void set_cache(CachePolicy* policy) { cache_ = policy; }
    // While experts are moved by somebody else, nothing else moves them.
    void set_cache_resting(bool rests) { cache_rests_ = rests; }
    void set_prefetch(PrefetchMode mode) { dispatcher_.set_prefetch(mode); }
    void set_prompt_loading(PromptLoading loading) { prompt_loading_ = loading; }

    // x (n_tokens, hidden_dim) += experts(normalised), both on the device; `layer` counts the layers with experts.
    // `shared`: what every token passes besides, computed by the device while the router's answer comes to the host.
    // next: the next layer's router, for guessing its experts (Mixtral-Offloading, 3.2); nullptr: there is none. The
    // experts of token t are written to routing[t * routing_stride + 0 .. n_active) on the host, best first. When the
    // device fails (Backend::ok) both are worthless.
    void run(std::int64_t layer, const RouterWeights& router, const RouterWeights* next, const NetworkModule& shared,
             const StepContext& step, std::int32_t* routing, std::int64_t routing_stride);
    // Around the layers of a step; `last`: no further piece of the prompt follows. finish(): after a host_wait for all
    // of the step; without it the step's last layer is forgotten, as it should be when the step failed or was stopped.
    void begin_step(bool prefill, std::int64_t n_tokens, bool last);
    void finish();

    // Steps of up to so many tokens bring the experts' input to the host at once, before it is known whether the CPU
    // takes part: one wait less per layer.
    static constexpr std::int64_t kEagerTokens = 64;

    // Steps of up to so many tokens guess the next layer's experts; at most so many copies of a layer are begun
    // unasked.
    static constexpr std::int64_t kGuessingTokens = 4;
    static constexpr std::int64_t kMostGuessedCopies = 2;

    // A prompt's step calls all experts of a layer as good as surely when it has so many tokens for each (chance would
    // miss one in e^8). At most so many residents lend their places.
    static constexpr std::int64_t kSureTokens = 8;
    static constexpr std::int64_t kMostLent = 8;

    // What reading prompts has done so far.
    struct PromptCopies {
        std::uint64_t ahead = 0;         // copies of the next layer's experts
        std::uint64_t unused_ahead = 0;  // of these, what the router did not call
        std::uint64_t lent = 0;          // places
    };
    const PromptCopies& prompt_copies() const { return prompt_copies_; }

  private:
    struct Group {  // one expert's rows
        std::int32_t expert = 0;
        std::int64_t first_row = 0;
        std::int64_t n_rows = 0;
    };
    struct Copied {
        std::size_t group = 0;
        std::optional<std::size_t> slot;  // of the staging slots
        std::optional<DeviceEvent> done;
    };
    struct Span {
        DeviceEvent begin, end;
    };
    // Events of a layer whose times are read once they have happened.
    struct Pending {
        bool active = false;
        std::int32_t layer = 0;
        DeviceEvent begin, routed, copy_begin, copy_end, end;
        std::vector<Span> times;  // of the device's experts
        bool used_copy = false;
        double cpu_us = 0;
        std::uint64_t bytes_copied = 0;
        std::uint16_t guessed_copies = 0, used_guesses = 0, admissions = 0;  // as in LayerEvent
    };

    void record_layer();
    void fetch_inputs(const float* normalised, std::int64_t n_tokens);
    void collect_loads(std::int64_t layer, std::int64_t n_tokens);
    void order_rows(std::int64_t n_tokens);
    void submit_device(std::int64_t layer, const float* normalised, std::int64_t n_tokens);
    void compute_copied(std::int64_t layer, std::size_t j, const float* normalised);
    void forget_unused(std::int64_t layer);
    void start_copies(std::int64_t layer);
    bool start_copy(std::int64_t layer, std::size_t j);
    void refuse_copy(std::size_t j);
    void guess(const RouterWeights* next, const float* normalised, std::int64_t n_tokens);
    void copy_guesses(std::int64_t layer);
    void copy_ahead(std::int64_t layer);
    void lend_places(std::int64_t layer, std::int64_t n_copied, std::uint64_t bytes, double idle_us);
    double slack_us() const;
    void keep_copies(std::int64_t layer);
    void keep_copy(std::int64_t layer, std::size_t group, std::size_t slot);
    bool is_needed(std::int64_t expert) const { return token_counts_[static_cast<std::size_t>(expert)] > 0; }
    void run_host(std::int64_t layer, const float* normalised, std::int64_t n_tokens);

    const ExpertGrid& grid_;
    ExpertStore& experts_;
    Backend& device_;
    CpuOperations& host_;
    Dispatcher& dispatcher_;

    Mirror<std::int32_t> chosen_;   // (n_tokens, n_active)
    Mirror<std::int32_t> row_map_;  // row_token (n_rows), then row_of (n_rows)
    DeviceBlock weights_;           // (n_tokens, n_active) float
    Mirror<float> rows_;            // (n_rows, hidden_dim): experts' outputs
    PinnedHost<float> inputs_;      // (n_tokens, hidden_dim): the experts' input on the host
    bool inputs_here_ = false;
    DeviceEvent inputs_ready_;

    std::vector<ExpertLoad> loads_;
    std::vector<std::int32_t> token_counts_;  // (n_experts)
    std::vector<std::int64_t> next_row_;      // (n_experts)
    Schedule* schedule_ = nullptr;
    std::vector<Group> groups_;  // in the schedule's order
    std::vector<ExpertCall> calls_;
    std::vector<HostWork> host_work_;
    std::vector<std::size_t> host_groups_;  // of groups_: what the CPU does
    std::vector<Copied> copied_;            // what goes through the staging slots
    std::size_t n_started_ = 0;             // of copied_: on their way, or refused
    // Experts that were guessed, arrived in time and were used: group and staging slot.
    std::vector<std::pair<std::size_t, std::size_t>> arrived_;
    CachePolicy* cache_ = nullptr;
    bool cache_rests_ = false;
    bool prefill_ = false;
    PromptLoading prompt_loading_ = PromptLoading::kOnDemand;
    bool loads_ahead_ = false;        // this step does
    bool last_ = false;               // this step is the prompt's last
    double prompt_attention_us_ = 0;  // of the layer before, in this step
    PromptCopies prompt_copies_;
    std::vector<ExpertKey> residents_, larger_;
    Mirror<std::int32_t> guesses_;  // (kGuessingTokens, n_active)
    DeviceBlock guess_weights_;
    std::int64_t n_guesses_ = 0;  // 0: none were made for the next layer
    double attention_us_ = 0;     // of a layer in decode, a moving average
    std::int64_t n_rows_ = 0;

    DeviceEvent last_end_;
    Pending pending_;
    Schedule pending_schedule_;
};

}  // namespace offstage::engine
