#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/dispatch/dispatcher.h"
#include "engine/dispatch/executor_list.h"
#include "engine/dispatch/resident_layers.h"
#include "engine/dispatch/resident_share.h"
#include "engine/experts/expert_mover.h"
#include "engine/experts/expert_store.h"
#include "engine/model/model_spec.h"
#include "engine/run/deferred_layers.h"
#include "engine/run/habit_counter.h"
#include "engine/run/layer_recorder.h"
#include "engine/run/layers/moe_call.h"
#include "engine/run/next_layer_guesses.h"

namespace offstage::engine {

// Router and experts of one layer for a step's tokens, in one pass: the router runs on
// the device, and its choice is copied to the host (NextLayerGuesses guesses the next
// layer's meanwhile); the dispatcher decides which executor computes each expert, and
// ExecutorList has all of them work at once: the device on the experts it holds, its copy
// queue on those to be copied, the CPU on its own, other machines on theirs, while
// Prefetcher begins with the next layer's; the outputs are added on the device, and
// LayerRecorder records the layer when it has ended.
//
// If the device has all experts of the layer and nothing else needs the choice, the
// experts are computed without waiting for it (DeferredLayers), a token's or, where the
// device groups them, those of a prompt's tokens: the host reads the choice while the
// device computes the layers after it, and only then updates its counts and records; in a
// step that is submitted as a whole (begin_step()) after its end. In other layers the
// device computes its share of a token's experts at once (ResidentShare), and the host
// handles the rest. Times of a token's layers in which the device looks up experts are
// measured in one step of kStepsOfOneTimed.
//
// Where the host computes all that the device does not look up, such layers are submitted
// without waiting for any choice (run_awaiting()): the device itself waits for the host's
// rows (Backend::hand_over), so that the token is one sequence (Backend::begin_repeated).
// answer_layers() does the host's part of each in turn. Otherwise, as where experts are
// copied or times measured, such a layer has two sequences: up to the choice, with the
// work after the experts of the layer before; and the device's share. Between them and
// those of the next layer the host waits once.
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
        neurons_.thetas = std::move(thetas);
        neurons_.prior = std::move(prior);
    }
    // Whether experts are copied without such neurons, and the handling of wrong guesses
    // of them.
    void set_sparse_loading(SparseLoading loading, NeuronGuesses guesses = NeuronGuesses::kCorrect) {
        neurons_.loading = loading;
        mover_.sparse().set_guesses(guesses);
    }
    const ExpertThetas& thetas() const { return neurons_.thetas; }
    // See ExecutorList; between two steps.
    void add_executor(std::unique_ptr<ElsewhereExecutor> executor) { executors_.add(std::move(executor)); }
    void remove_executors() { executors_.remove_elsewhere(); }

    // The router's choice is written at once or by the time of finish(). When the device
    // fails (Backend::ok) all results are worthless.
    void run(const MoeCall& call);
    // From the next step on: whether the caller needs the choice of a layer when run()
    // returns.
    void set_choice_awaited(bool awaited) { choice_awaited_ = awaited; }
    // Call these around the layers of a step. `last`: no further piece of the prompt
    // follows; n_last: the number of tokens that the last layer computes. begin_step()
    // comes before the step's operations, begin_layers() right before the layers, fetch()
    // after the last layer. read_choices(): when all of the step has been submitted;
    // records layers while the device computes later ones. finish(): after that and a
    // host_wait for the whole step. Without finish(), as after a failed or stopped step,
    // the choices of layers that were not read yet are lost (at least the last layer's).
    struct Step {
        bool prefill = false;
        std::int64_t n_tokens = 0;
        bool last = false;
        std::int64_t n_last = 0;
        bool whole = false;         // no copy of choices divides the step's layers
        bool experts_move = false;  // between two of them
    };
    void begin_step(const Step& step);
    void begin_layers() { recorder_.begin_layers(); }
    // When the step's sequence is complete, before anything waits for the compute queue:
    // ends it, and does the host's part of the layers that wait for it. False: stopped,
    // or the device failed; then nothing waits any more, and the step is worthless.
    bool answer_layers(const std::stop_token& stop);
    // Nothing waits for the host any more: the step is worthless.
    void give_up_answers();
    // Whether layers may wait for the host's part; for comparisons, on at first.
    void set_awaiting(bool on) { may_await_ = on; }
    void fetch();
    void read_choices();
    void finish();
    // Behind the layers of a step, before finish(): whether neither the host nor another
    // machine had a part in them, and the next step has the same operations as this one,
    // if no expert moves.
    bool is_like_next() const;
    // For Backend::begin_repeated(), of the step: steps with times and without repeat at
    // places of their own.
    std::int64_t place(std::int64_t layer) const { return 2 * layer + (recorder_.is_timed() ? 1 : 0); }
    // For tokens that were decoded one at a time.
    HabitCounter& habits() { return habits_; }

  private:
    // Of routed experts: which neurons are left out.
    struct NeuronRules {
        ExpertThetas thetas;
        ActiveShares prior;
        SparseLoading loading = SparseLoading::kAuto;
    };
    // For a device that looks up its experts by the router's choice.
    struct Residents {
        Residents(const ExpertGrid& grid, ExpertStore& experts, Backend& device, RoutedRows& rows,
                  LayerRecorder& recorder, std::int64_t max_step)
            : layers(grid, experts, device),
              share(experts, layers),
              deferred(grid, device, layers, rows, recorder, max_step) {}
        ResidentLayers layers;
        ResidentShare share;
        DeferredLayers deferred;
    };

    // The host's part of a layer: what it needs of the call.
    struct Part {
        explicit Part(const MoeCall& call)
            : layer(call.layer),
              inputs(call.expert_inputs()),
              routing(call.routing),
              routing_stride(call.routing_stride) {}
        std::int64_t layer = 0;
        const float* inputs = nullptr;  // of the experts
        std::int32_t* routing = nullptr;
        std::int64_t routing_stride = 0;
        bool shares = false;  // the device looks up a share
        // The rest: the device waits for the answer to this number.
        bool awaited = false;
        std::uint32_t number = 0;
        std::int64_t n_guesses = 0;
        std::size_t n_fetched = 0;  // deferred layers before it whose choices were handed over with its own
    };

    static constexpr int kStepsOfOneTimed = 16;
    // So many steps without copies, and the next ones probably have none.
    static constexpr int kSurelyWithoutCopies = 16;

    bool repeats() const { return n_tokens_ == 1 && !choice_awaited_; }
    bool looks_up() const;
    bool is_step_timed();
    bool needs_no_choice(const MoeCall& call);
    bool groups_on_device(const MoeCall& call);
    bool can_await() const;
    void run_deferred(const MoeCall& call);
    void run_awaiting(const MoeCall& call);
    bool answer(const Part& part);
    void submit_router(const MoeCall& call);
    bool begin_share(std::int64_t layer);
    bool compute_ahead(const MoeCall& call, DeviceEvent& shared_end, LayerWork::Span& share);
    Schedule& decide(const Part& part);
    std::span<const std::uint8_t> looked_up(const Part& part, const Schedule& schedule);
    void execute(const Part& part, Schedule& schedule, const LayerWork::Span* share);
    void record_submitted(const Part& part, const LayerRecorder::Events& events, const kernels::NeuronCounts& before,
                          Schedule& schedule);
    void record_ended();
    void record_deferred(const DeferredLayers::Layer& layer);

    const ExpertGrid& grid_;
    ExpertStore& experts_;
    Backend& device_;
    const CpuOperations& operations_;
    Dispatcher& dispatcher_;
    ExpertMover mover_;
    RoutedRows rows_;
    HostInputs inputs_;
    LayerWork work_;
    ExecutorList executors_;
    NextLayerGuesses guesses_;
    LayerRecorder recorder_;
    std::unique_ptr<Residents> residents_;  // nullptr: the device cannot
    HabitCounter habits_;

    NeuronRules neurons_;
    bool choice_awaited_ = false;
    std::int64_t n_tokens_ = 0;  // of the step
    bool prefill_ = false;
    bool whole_ = false;
    std::vector<Part> awaited_;  // submitted; the device waits, or will wait, for the host
    bool awaits_ = false;        // the step's layers may
    bool may_await_ = true;
    int n_without_copies_ = 0;              // steps of one token, up to kSurelyWithoutCopies
    bool finished_ = true;                  // the step before
    int n_untimed_ = kStepsOfOneTimed - 1;  // steps that look up experts since the last of these with times
};

}  // namespace offstage::engine
