#include "engine/run/moe_layer.h"

#include <algorithm>
#include <chrono>

#include "engine/as_size.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {

using Queue = DeviceEvent::Queue;
using Phase = HostTimes::Phase;

namespace {

using Clock = std::chrono::steady_clock;

// Numbers for MoeLayer::place(): the device's work of a layer before the host has the
// choice, and the work after the layer's experts. Forward uses the numbers from 0 on.
std::int64_t ahead(std::int64_t layer) {
    return -1 - 2 * layer;
}
std::int64_t behind(std::int64_t layer) {
    return -2 - 2 * layer;
}

double microseconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::micro>(to - from).count();
}

}  // namespace

MoeLayer::MoeLayer(const ExpertGrid& grid, ExpertStore& experts, Backend& device, CpuOperations& host,
                   Dispatcher& dispatcher, std::int64_t max_step)
    : grid_(grid),
      experts_(experts),
      device_(device),
      operations_(host),
      dispatcher_(dispatcher),
      mover_(grid, experts, device, host, dispatcher.cost()),
      rows_(grid, device, max_step),
      inputs_(device, max_step * grid.hidden_dim, messages::expert_inputs),
      work_(rows_, inputs_),
      executors_(grid, experts, device, host, mover_, dispatcher.cost()),
      guesses_(grid, device),
      recorder_(experts, device, work_, mover_, dispatcher),
      habits_(grid.n_layers, grid.n_experts) {
    mover_.prefetcher().set_excluded(
        [this](std::int64_t layer, std::int64_t expert) { return executors_.is_preferred(layer, expert); });
    if (device.shares_host_memory()) return;
    if (!device.takes_chosen_experts(grid.layout(kernels::WeightType::kBf16))) return;  // nor of any other layout
    residents_ = std::make_unique<Residents>(grid, experts, device, rows_, recorder_, max_step);
}

void MoeLayer::set_max_step(std::int64_t max_step) {
    rows_.set_max_step(max_step);
    inputs_.resize(max_step * grid_.hidden_dim, messages::expert_inputs);
    if (residents_ != nullptr) residents_->deferred.set_max_step(max_step);
}

void MoeLayer::begin_step(const Step& step) {
    prefill_ = step.prefill;
    whole_ = step.whole;
    n_tokens_ = step.n_tokens;
    work_.thetas = neurons_.thetas;
    SparseCopies& sparse = mover_.sparse();
    sparse.set_mode(neurons_.loading);
    sparse.set_thetas(neurons_.thetas);
    dispatcher_.set_theta(neurons_.thetas.mean(), sparse.on() ? neurons_.loading : SparseLoading::kOff, neurons_.prior);
    executors_.set_prefill(prefill_);
    mover_.begin_step({prefill_, n_tokens_, step.last, step.n_last, dispatcher_.prefetch() != PrefetchMode::kOff,
                       dispatcher_.prefetches(), dispatcher_.prefetches_regardless()});
    guesses_.begin_step();
    recorder_.begin_step(is_step_timed());
    if (residents_ != nullptr) {
        residents_->deferred.begin_step();
        if (!finished_) residents_->layers.forget();
    }
    finished_ = false;
    awaits_ = !step.experts_move && can_await();
    if (!prefill_) n_without_copies_ = std::min(n_without_copies_ + 1, kSurelyWithoutCopies);
    if (!awaits_) return;
    // Copies would divide the sequence.
    rows_.prepare_await();
    for (std::int64_t layer = 0; layer < grid_.n_layers; ++layer) {
        if (residents_->layers.holds_some(layer)) residents_->layers.upload(layer);
    }
}

// Whether the step's layers may wait for the host: no copy is needed, and none is likely
// to gain time.
bool MoeLayer::can_await() const {
    return may_await_ && looks_up() && !recorder_.is_timed() && device_.awaits_host() && rows_.can_await() &&
           inputs_.stores() && guesses_.stores() && residents_->layers.stores() && dispatcher_.uses_residents() &&
           !executors_.any_insists() && !experts_.places().busy() && !experts_.freeing() &&
           !dispatcher_.prefetches_regardless() &&
           (dispatcher_.never_copies() || n_without_copies_ == kSurelyWithoutCopies);
}

void MoeLayer::run(const MoeCall& call) {
    if (needs_no_choice(call)) {
        run_deferred(call);
        return;
    }
    if (awaits_ && residents_->layers.looks_up_all(call.layer)) {
        run_awaiting(call);
        return;
    }
    if (!awaited_.empty()) {
        if (!answer_layers({})) return;
        device_.begin_repeated(place(behind(call.layer - 1)));
    }
    LayerRecorder::Events events;
    events.timed = recorder_.is_timed();
    events.begin = recorder_.last_end();
    submit_router(call);
    events.routed = device_.record(Queue::kCompute);
    inputs_.set_stored(events.routed);
    device_.end_repeated();
    LayerWork::Span share;
    Part part(call);
    part.shares = compute_ahead(call, events.shared_end, share);
    {
        const HostTimes::Scope waiting(dispatcher_.host_times(), Phase::kWaiting);
        device_.host_wait(events.routed);
    }
    if (!device_.ok()) return;  // after a failed copy the choice may be garbage: it must not be used as an index
    events.routed_seen_us = device_.shares_host_memory() ? 0 : device_.now_us();
    if (residents_ != nullptr) residents_->deferred.all_are_there();
    record_ended();

    Schedule& schedule = decide(part);
    rows_.group(schedule.assignments, looked_up(part, schedule));
    if (!device_.ok()) return;
    const kernels::NeuronCounts before = operations_.neurons();
    execute(part, schedule, part.shares ? &share : nullptr);
    if (repeats()) device_.begin_repeated(place(behind(call.layer)));
    call.clear_sum();
    rows_.combine(call.sum);
    events.end = recorder_.end_layer();
    record_submitted(part, events, before, schedule);
}

void MoeLayer::record_submitted(const Part& part, const LayerRecorder::Events& events,
                                const kernels::NeuronCounts& before, Schedule& schedule) {
    const HostTimes::Scope recording(dispatcher_.host_times(), Phase::kRecording);
    const auto submitted = Clock::now();
    mover_.finish_layer(rows_.loads(), schedule.assignments);
    const kernels::NeuronCounts after = operations_.neurons();
    recorder_.add(part.layer, events,
                  {after.neurons - before.neurons, after.active - before.active, work_.skipped_bytes}, schedule);
    dispatcher_.add_recording(microseconds(submitted, Clock::now()));
}

// A layer without the host: its part follows in answer_layers().
void MoeLayer::run_awaiting(const MoeCall& call) {
    Part& part = awaited_.emplace_back(call);
    submit_router(call);
    part.n_guesses = guesses_.n_made();
    part.n_fetched = residents_->deferred.n_fetched();
    part.number = device_.hand_over();
    part.awaited = true;
    call.compute_shared();
    part.shares = begin_share(call.layer);
    if (part.shares) residents_->share.compute(rows_.chosen(), call.expert_inputs(), rows_.outputs().device());
    call.clear_sum();
    rows_.combine_awaited(call.sum);
}

bool MoeLayer::answer_layers(const std::stop_token& stop) {
    if (awaited_.empty()) return true;
    device_.end_repeated();
    for (const Part& part : awaited_) {
        if (!stop.stop_requested() && answer(part)) continue;
        give_up_answers();
        return false;
    }
    awaited_.clear();
    experts_.places().poll();
    return true;
}

void MoeLayer::give_up_answers() {
    if (!awaited_.empty()) device_.give_up_answers();
    awaited_.clear();
}

// From here to the answer nothing may wait for the compute queue. Behind the answer the
// device overwrites what it has handed over.
bool MoeLayer::answer(const Part& part) {
    {
        const HostTimes::Scope waiting(dispatcher_.host_times(), Phase::kWaiting);
        if (!device_.host_wait_handed(part.number)) return false;
    }
    residents_->deferred.are_there(part.n_fetched);
    inputs_.set_handed();
    guesses_.set_made(part.n_guesses);
    record_ended();
    Schedule& schedule = decide(part);
    rows_.group(schedule.assignments, looked_up(part, schedule));
    const kernels::NeuronCounts before = operations_.neurons();
    execute(part, schedule, nullptr);
    if (&part != &awaited_.back()) guesses_.begin_layer();
    device_.answer(part.number);
    LayerRecorder::Events events;
    events.timed = false;
    record_submitted(part, events, before, schedule);
    return true;
}

// Whether the device looks up its experts of a token by the router's choice, before the
// dispatcher decides.
bool MoeLayer::looks_up() const {
    return residents_ != nullptr && repeats() && !prefill_ && !neurons_.thetas.leaves_out() &&
           dispatcher_.cost().table().has_accelerator();
}

// A point in the compute queue interrupts the device's kernels for some microseconds, so
// steps that need none rarely have any. The first of them behind another step has some: a
// prompt's times are not theirs.
bool MoeLayer::is_step_timed() {
    if (!looks_up()) {
        n_untimed_ = kStepsOfOneTimed - 1;
        return true;
    }
    n_untimed_ = (n_untimed_ + 1) % kStepsOfOneTimed;
    return n_untimed_ == 0;
}

bool MoeLayer::is_like_next() const {
    return residents_ != nullptr && residents_->deferred.n_unread() == as_size(grid_.n_layers) &&
           !recorder_.is_timed() && n_untimed_ + 1 < kStepsOfOneTimed;
}

// Whether the choice is not needed before the step's end: the device has every expert
// that may be chosen.
bool MoeLayer::needs_no_choice(const MoeCall& call) {
    if (n_tokens_ > 1) return groups_on_device(call);
    if (!looks_up() || executors_.any_elsewhere()) return false;
    // The guesses that wait for their layer are not on the host yet.
    if ((call.next != nullptr || !awaited_.empty()) && mover_.prefetcher().wants_guesses()) return false;
    return residents_->layers.holds(call.layer);
}

// The same for several tokens. The host looks a layer ahead for what is to be copied or
// read, so the next one must be there, too.
bool MoeLayer::groups_on_device(const MoeCall& call) {
    if (residents_ == nullptr || choice_awaited_ || neurons_.thetas.leaves_out() || executors_.any_elsewhere() ||
        !dispatcher_.cost().table().has_accelerator()) {
        return false;
    }
    const std::span<const TokenRange> wanted = call.step.wanted;
    if (wanted.size() != 1 || wanted.front().n != n_tokens_) return false;
    ResidentLayers& layers = residents_->layers;
    return layers.takes_tokens(call.layer, n_tokens_) &&
           (call.layer + 1 == grid_.n_layers || layers.has_all(call.layer + 1));
}

void MoeLayer::run_deferred(const MoeCall& call) {
    DeferredLayers& deferred = residents_->deferred;
    guesses_.begin_layer();
    deferred.submit(call, guesses_.expected());
    if (n_tokens_ > 1) {
        if (prefill_) mover_.prefetcher().copy_ahead(call.layer, {});  // nothing is copied: it ends lending
        experts_.places().poll();
        return;
    }
    // Between two fetches the host requests nothing from the device, so that these
    // layers' operations may be kept back until then; after the last ones come the
    // operations that make the logits.
    if (call.next == nullptr || whole_ || !awaited_.empty() || !deferred.fetch_is_due()) return;
    deferred.fetch(true);
    device_.end_repeated();
    experts_.places().poll();
}

// Router, guesses, and their copies to the host with the experts' inputs.
void MoeLayer::submit_router(const MoeCall& call) {
    const StepContext& step = call.step;
    call.normalise();
    rows_.begin(step.n_tokens, step.wanted);
    device_.submit(ops::Route{call.router.spec, call.router.arrays_in(step), call.router.input(step), step.n_tokens,
                              step.hidden_dim, rows_.chosen(), rows_.weights()});
    call.make_inputs(rows_.weights());
    if (awaited_.size() > 1) {
        guesses_.set_made(0);  // those of the layer before are not there yet
    } else {
        guesses_.begin_layer();
    }
    if (call.next != nullptr && mover_.prefetcher().wants_guesses()) guesses_.make(*call.next, step);
    rows_.download(repeats());
    guesses_.fetch();
    const TokenRange wanted = rows_.span();
    inputs_.set(call.expert_inputs(), wanted.first * grid_.hidden_dim, wanted.n * grid_.hidden_dim);
    // The host will probably need the inputs soon: for its own experts or another
    // machine's, or to find active neurons.
    const bool on_device_alone =
        residents_ != nullptr && residents_->layers.has_all(call.layer) && !executors_.any_elsewhere();
    if (wanted.n > 0 && wanted.n <= kEagerTokens && (!on_device_alone || neurons_.thetas.leaves_out())) {
        inputs_.fetch(repeats());
    }
    fetch();  // of the layers before: they are there when this layer's choice is
}

bool MoeLayer::begin_share(std::int64_t layer) {
    return residents_ != nullptr &&
           residents_->share.begin(
               layer, looks_up() && rows_.room_behind() && dispatcher_.uses_residents() && !executors_.any_insists());
}

// The device's work while the router's choice is copied to the host. Returns whether it
// computes its share of the experts.
bool MoeLayer::compute_ahead(const MoeCall& call, DeviceEvent& shared_end, LayerWork::Span& share) {
    const bool shares = begin_share(call.layer);
    if (repeats()) device_.begin_repeated(place(ahead(call.layer)));
    call.compute_shared();
    if (shares || (call.shared && !device_.shares_host_memory())) shared_end = recorder_.point();
    if (shares) {
        residents_->share.compute(rows_.chosen(), call.expert_inputs(), rows_.outputs().device());
        share = {shared_end, recorder_.point()};
    }
    device_.end_repeated();
    return shares;
}

std::span<const std::uint8_t> MoeLayer::looked_up(const Part& part, const Schedule& schedule) {
    if (!part.shares) return {};
    return residents_->share.looked_up(part.layer, schedule.assignments);
}

// From the choice, which is on the host now, to the decision where each expert is
// computed: of a layer that waits for the host, there or on another machine.
Schedule& MoeLayer::decide(const Part& part) {
    const HostTimes::Scope recording(dispatcher_.host_times(), Phase::kRecording);
    const auto begin = Clock::now();
    const std::int64_t layer = part.layer;
    if (!part.awaited) experts_.places().poll();
    if (rows_.leaves_out()) habits_.count(layer, rows_.count_all());
    for (ExpertLoad& load : rows_.count()) {
        load.place = part.awaited ? experts_.place(layer, load.expert) : mover_.place(layer, load.expert);
        // As good as in RAM if a slot still has it.
        if (load.place == Place::kDisk && experts_.disk_slots().holds(experts_.index(layer, load.expert))) {
            load.place = Place::kRam;
        }
        load.format = experts_.format(layer, load.expert);
        load.held = load.place == Place::kDevice ? 0 : mover_.held_share(layer, load.expert);
        load.elsewhere = executors_.takers(layer, load.expert);
    }
    if (!rows_.leaves_out()) habits_.count(layer, rows_.loads());
    if (n_tokens_ == 1) habits_.follow(layer, rows_.loads(), guesses_.expected());
    rows_.copy_choice(part.routing, part.routing_stride);
    const auto schedule_with = [&](std::int64_t n_slots) -> Schedule& {
        return dispatcher_.schedule(rows_.loads(), n_slots, executors_.costs(), layer);
    };
    Schedule* schedule = &schedule_with(experts_.staging().n_demand());
    const auto is_copied = [](const Assignment& a) { return a.target == ExecutionTarget::kCopy; };
    if (std::any_of(schedule->assignments.begin(), schedule->assignments.end(), is_copied)) {
        if (!prefill_) n_without_copies_ = 0;
        if (part.awaited) schedule = &schedule_with(0);
    }
    executors_.apply_machine_choice(layer, schedule->assignments);
    dispatcher_.add_deciding(microseconds(begin, Clock::now()));
    return *schedule;
}

void MoeLayer::execute(const Part& part, Schedule& schedule, const LayerWork::Span* share) {
    const HostTimes::Scope computing(dispatcher_.host_times(), Phase::kComputing);
    Prefetcher& prefetcher = mover_.prefetcher();
    work_.begin(part.layer, part.inputs, schedule.assignments);
    work_.limit = grid_.limit(part.layer);
    for (std::size_t n = 0; neurons_.thetas.leaves_out() && n < work_.active_shares.size(); ++n) {
        work_.active_shares[n] = dispatcher_.cost().active_share(part.layer, static_cast<std::int64_t>(n) + 1);
    }
    if (share != nullptr) work_.device_times.push_back(*share);
    prefetcher.read_ahead(part.layer, schedule.assignments, guesses_.next());
    mover_.begin_layer(part.layer, schedule.assignments);  // copies first: they take longest
    executors_.submit(work_);
    if (prefill_) {
        prefetcher.copy_ahead(part.layer, schedule);
    } else if (!part.awaited) {
        const std::span<const std::int32_t> guesses = guesses_.next();
        const float* const inputs = prefetcher.needs_inputs(guesses) ? work_.inputs.get() : nullptr;
        const bool host_computes = !work_.groups(ExecutionTarget::kCpu).empty();
        prefetcher.copy_guesses(part.layer, schedule, guesses, host_computes, inputs);
        if (mover_.copier().moves().guessed_copies > 0) n_without_copies_ = 0;
    }
    executors_.complete(work_);
}

void MoeLayer::fetch() {
    if (residents_ != nullptr) residents_->deferred.fetch(false);
}

void MoeLayer::read_choices() {
    if (residents_ == nullptr) return;
    while (residents_->deferred.wait_for_choices()) record_ended();
}

void MoeLayer::finish() {
    if (residents_ != nullptr && residents_->deferred.n_unread() > 0) experts_.places().poll();
    if (residents_ != nullptr) residents_->deferred.all_are_there();
    record_ended();
    finished_ = true;
}

// Records the layers before the present one, in their order, whose choices are on the
// host. The host has waited for the end of a layer that it had a part in.
void MoeLayer::record_ended() {
    const HostTimes::Scope recording(dispatcher_.host_times(), Phase::kRecording);
    const auto begin = Clock::now();
    const double deciding_us = dispatcher_.deciding_us();
    recorder_.record();
    if (residents_ != nullptr) {
        while (const auto* const layer = residents_->deferred.read_next()) record_deferred(*layer);
    }
    dispatcher_.add_recording(microseconds(begin, Clock::now()) - (dispatcher_.deciding_us() - deciding_us));
}

// Does what decide() and the end of run() do for a layer that waits for its choice.
void MoeLayer::record_deferred(const DeferredLayers::Layer& layer) {
    const auto begin = Clock::now();
    const std::span<const std::int32_t> choice = residents_->deferred.choice(layer);
    for (std::int64_t t = 0; t < layer.n_tokens; ++t) {
        std::copy_n(choice.begin() + t * grid_.n_active, grid_.n_active, layer.routing + t * layer.routing_stride);
    }
    for (ExpertLoad& load : rows_.count(choice)) {
        load.place = Place::kDevice;
        load.format = layer.format;
    }
    habits_.count(layer.layer, rows_.loads());
    if (layer.n_tokens == 1) habits_.follow(layer.layer, rows_.loads(), layer.expected);
    const Schedule& schedule =
        dispatcher_.schedule(rows_.loads(), experts_.staging().n_demand(), executors_.costs(), layer.layer);
    dispatcher_.add_deciding(microseconds(begin, Clock::now()));
    mover_.admission().add_calls(layer.layer, rows_.loads());
    recorder_.record_resident(layer.layer, layer.events, layer.experts, layer.format, schedule);
}

}  // namespace offstage::engine
