#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/dispatch/device_executors.h"
#include "engine/dispatch/dispatcher.h"
#include "engine/dispatch/host_executor.h"
#include "engine/dispatch/resident_layers.h"
#include "engine/experts/expert_mover.h"
#include "engine/experts/expert_store.h"
#include "engine/model/model_spec.h"
#include "engine/run/habit_counter.h"
#include "engine/run/layers/network.h"
#include "engine/run/layers/router.h"

namespace offstage::engine {

// Router and experts of one layer for a step's tokens. The router runs on the device; its
// choice is copied to the host, the dispatcher decides which executor computes each
// expert, and then all executors work at once: the device on the experts it holds, its
// copy queue on those to be copied, the CPU on its own, other machines on theirs. The
// outputs are added on the device.
//
// If the device has all experts of the layer and nothing else needs the choice, a token's
// experts are computed without waiting for it (ResidentLayers): the host reads the choice
// some layers later, or at the end of the step, and only then updates its counts and
// records. In other layers the device computes its share of a token's experts at once,
// and the host handles the rest. Such a layer has two sequences (Backend::
// begin_repeated): up to the choice, with the work after the experts of the layer before;
// and the device's share. Between them and those of the next layer the host waits once.
//
// The rows of a step are the (token, chosen expert) pairs of the wanted tokens
// (StepContext::wanted), grouped by expert. The router's choice for other tokens is still
// reported, and counts as a habit; nothing is scheduled, copied or computed for it. Each
// row's result does not depend on the device that computes it, and a token's rows are
// added in the router's order: placement and policy change no bit of the output (on
// backends with the CPU's arithmetic).
class MoeLayer {
  public:
    // Throws Error (kOutOfMemory). max_step: tokens of the largest step. The referents
    // must outlive this object.
    MoeLayer(const ExpertGrid& grid, ExpertStore& experts, Backend& device, CpuOperations& host, Dispatcher& dispatcher,
             std::int64_t max_step);

    // See RoutedRows::set_max_step().
    void set_max_step(std::int64_t max_step);

    ExpertMover& mover() { return mover_; }
    // From the next step on: neurons of routed experts that are nearer to zero are left
    // out (kernels::ExpertSpec::theta). 0 at first. prior: the assumed active share of a
    // token's neurons until some are counted.
    void set_theta(ExpertThetas thetas, ActiveShares prior = {}) {
        thetas_ = std::move(thetas);
        prior_ = std::move(prior);
    }
    // Whether experts are copied without such neurons, and the handling of wrong guesses
    // of them.
    void set_sparse_loading(SparseLoading loading, NeuronGuesses guesses = NeuronGuesses::kCorrect) {
        sparse_loading_ = loading;
        mover_.sparse().set_guesses(guesses);
    }
    const ExpertThetas& thetas() const { return thetas_; }
    // At most kMostElsewhere; between two steps, as remove_executors(), which removes all
    // that were added.
    void add_executor(std::unique_ptr<ElsewhereExecutor> executor);
    void remove_executors();

    // sum (n_tokens, hidden_dim) += experts(normalised), both on the device, for the
    // wanted tokens; `layer` counts the layers with experts. `shared`: the network that
    // these tokens also pass, computed by the device while the router's choice is copied
    // to the host. sum is step.x, to which `shared` is added too, or step.further: it is
    // cleared then, and the caller adds `shared`. next: the next layer's router, for
    // guessing its experts (Mixtral-Offloading, 3.2); nullptr: there is none. The experts
    // of token t are written to routing[t * routing_stride + 0 .. n_active) on the host,
    // best first: at once or by the time of finish(). When the device fails (Backend::ok)
    // both are worthless.
    void run(std::int64_t layer, const RouterWeights& router, const RouterWeights* next, const NetworkModule& shared,
             const StepContext& step, float* sum, std::int32_t* routing, std::int64_t routing_stride);
    // From the next step on: whether the caller needs the choice of a layer when run()
    // returns.
    void set_choice_awaited(bool awaited) { choice_awaited_ = awaited; }
    // Call these around the layers of a step. `last`: no further piece of the prompt
    // follows; n_last: the number of tokens that the last layer computes. fetch(): after
    // the last layer. finish(): after that and a host_wait for the whole step. Without
    // finish(), as after a failed or stopped step, the choices of layers that were not
    // read yet are lost (at least the last layer's).
    void begin_step(bool prefill, std::int64_t n_tokens, bool last, std::int64_t n_last);
    void fetch() { fetch_choices(); }
    void finish();
    // For tokens that were decoded one at a time.
    HabitCounter& habits() { return habits_; }

  private:
    // Points of a layer in the compute queue.
    struct Events {
        DeviceEvent begin, routed, end;
        DeviceEvent shared_end;     // of the shared experts, which follow `routed`; without any: long past
        double routed_seen_us = 0;  // LoadingOverlap::Layer; where the CPU may compute
    };

    // A layer whose times are read once it has ended.
    struct Pending {
        bool active = false;
        std::int32_t layer = 0;
        Events events;
        ExpertMover::Moves moves;
        Schedule schedule;
        kernels::NeuronCounts neurons;
        SparseCopies::Work sparse;
    };

    // A layer whose choice stays on the device for a while.
    struct Unread {
        std::int64_t layer = 0;
        kernels::WeightType format = kernels::WeightType::kBf16;  // of its experts
        std::vector<std::int32_t> expected;                       // the guesses for it
        std::int32_t* routing = nullptr;                          // the destination of the choice
        Events events;
        LayerWork::Span experts;
        DeviceEvent fetched;  // the choice is on the host, once fetched
    };

    bool repeats() const { return n_tokens_ == 1 && !choice_awaited_; }
    bool computes_speculatively() const;
    bool chooses_on_device(std::int64_t layer, const RouterWeights* next);
    void compute_ahead(std::int64_t layer, const NetworkModule& shared, const StepContext& step, float* sum);
    std::span<const std::uint8_t> find_looked_up(std::int64_t layer, std::span<const Assignment> assignments);
    void run_resident(std::int64_t layer, const RouterWeights& router, bool is_last, const NetworkModule& shared,
                      const StepContext& step, float* sum, std::int32_t* routing);
    void fetch_choices();
    void read_fetched(bool all);
    void read_choice(const Unread& unread);
    bool wants_guesses(std::int64_t n_tokens) const;
    void route(std::int64_t layer, const RouterWeights& router, const RouterWeights* next, const StepContext& step);
    static void compute_shared(const NetworkModule& shared, const StepContext& step, float* sum);
    void clear_wanted(const StepContext& step, float* sum);
    void find_experts(std::int64_t layer);
    bool is_preferred(std::int64_t layer, std::int64_t expert) const;
    void apply_machine_choice(std::int64_t layer, std::span<Assignment> assignments) const;
    std::span<const std::int32_t> guesses();
    bool guesses_for_disk(std::int64_t n_tokens) const;
    void begin_disk_reads(const Schedule& schedule);
    void execute(Schedule& schedule);
    void redirect_to_machines(std::size_t first);
    void record_layer();
    LayerTimes measure(const Events& events, std::span<const LayerWork::Span> device,
                       std::span<const LoadingOverlap::Span> host);

    const ExpertGrid& grid_;
    ExpertStore& experts_;
    Backend& device_;
    Dispatcher& dispatcher_;
    ExpertMover mover_;

    RoutedRows rows_;
    HostInputs inputs_;
    LayerWork work_;
    ResidentExecutor resident_;
    CopiedExecutor copied_;
    HostExecutor host_;
    std::vector<ExpertExecutor*> executors_;  // by ExecutionTarget
    std::vector<std::unique_ptr<ElsewhereExecutor>> elsewhere_;
    std::vector<const ExecutorCost*> elsewhere_costs_;

    std::vector<std::size_t> needed_, likely_;  // room for begin_disk_reads()
    // (ExpertMover::kGuessingTokens, n_active); the vectors where the device shares the
    // host's memory.
    Mirror<std::int32_t> guesses_;
    DeviceBlock guess_weights_;
    std::vector<std::int32_t> own_guesses_;
    std::vector<float> own_guess_weights_;
    std::int64_t n_guesses_ = 0;          // 0: none were made for the next layer
    std::vector<std::int32_t> expected_;  // the guesses for this one
    HabitCounter habits_;

    const CpuOperations& operations_;
    ExpertThetas thetas_;
    SparseLoading sparse_loading_ = SparseLoading::kAuto;
    ActiveShares prior_;
    bool prefill_ = false;
    std::int64_t n_tokens_ = 0;  // of the step
    std::int64_t n_last_ = 0;    // of these, the tokens that the last layer computes
    DeviceEvent last_end_;
    Pending pending_;

    // Set if the device can choose. Layers unread_[n_read_ .. n_unread_) of this step
    // followed the one of pending_; the choices of those before n_fetched_ have been
    // fetched.
    std::unique_ptr<ResidentLayers> residents_;
    std::vector<Unread> unread_;  // (n_layers): room
    std::size_t n_read_ = 0, n_fetched_ = 0, n_unread_ = 0;
    bool choice_awaited_ = false;
    bool finished_ = true;  // the step before
    // The present layer: whether the device looked up experts that it has, and when;
    // those of its schedule.
    bool looks_up_ = false;
    LayerWork::Span looking_up_;
    DeviceEvent shared_end_;  // as in Events
    std::vector<std::uint8_t> looked_up_;
    std::vector<LoadingOverlap::Span> device_spans_;  // room for measure()
};

}  // namespace offstage::engine
