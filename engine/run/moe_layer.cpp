#include "engine/run/moe_layer.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <limits>
#include <utility>

#include "engine/as_size.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {

using Queue = DeviceEvent::Queue;

namespace {

using Clock = std::chrono::steady_clock;

// Layers whose times have not been read: each has at most five of the events that the
// device remembers.
constexpr std::size_t kMostUnread = Backend::kTimedEvents / 8;

// Places for Backend::begin_repeated(): the device's work of a layer before the host has
// the choice, and the work after the layer's experts. Forward uses the places from 0 on.
std::int64_t place_ahead(std::int64_t layer) {
    return -1 - 2 * layer;
}
std::int64_t place_behind(std::int64_t layer) {
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
      dispatcher_(dispatcher),
      mover_(grid, experts, device, host, dispatcher.cost()),
      rows_(grid, device, max_step),
      inputs_(device, max_step * grid.hidden_dim, messages::expert_inputs),
      work_(rows_, inputs_),
      resident_(device, mover_),
      copied_(device, mover_),
      host_(grid, experts, device, host),
      executors_{&resident_, &copied_, &host_},
      habits_(grid.n_layers, grid.n_experts),
      operations_(host) {
    work_.groups_of.resize(executors_.size());
    mover_.set_excluded([this](std::int64_t layer, std::int64_t expert) { return is_preferred(layer, expert); });
    const std::size_t n = as_size(ExpertMover::kGuessingTokens * grid.n_active);
    if (device.shares_host_memory()) {
        own_guesses_.resize(n);
        own_guess_weights_.resize(n);
        return;
    }
    guesses_ = Mirror<std::int32_t>(device, n, MemoryUse::kWorkspace, messages::guesses);
    guess_weights_ = device.memory().allocate(n * sizeof(float), MemoryUse::kWorkspace, messages::guesses);
    if (!device.takes_chosen_experts(grid.layout(kernels::WeightType::kBf16))) return;  // nor of any other layout
    residents_ = std::make_unique<ResidentLayers>(grid, experts, device);
    unread_.resize(as_size(grid.n_layers));
}

void MoeLayer::set_max_step(std::int64_t max_step) {
    rows_.set_max_step(max_step);
    inputs_.resize(max_step * grid_.hidden_dim, messages::expert_inputs);
}

void MoeLayer::add_executor(std::unique_ptr<ElsewhereExecutor> executor) {
    assert(elsewhere_.size() < kMostElsewhere);
    executors_.push_back(executor.get());
    elsewhere_costs_.push_back(executor.get());
    elsewhere_.push_back(std::move(executor));
    work_.groups_of.resize(executors_.size());
}

void MoeLayer::remove_executors() {
    executors_.resize(executors_.size() - elsewhere_.size());
    elsewhere_costs_.clear();
    elsewhere_.clear();
    work_.groups_of.resize(executors_.size());
}

void MoeLayer::run(std::int64_t layer, const RouterWeights& router, const RouterWeights* next,
                   const NetworkModule& shared, const StepContext& step, float* sum, std::int32_t* routing,
                   std::int64_t routing_stride) {
    if (chooses_on_device(layer, next)) {
        run_resident(layer, router, next == nullptr, shared, step, sum, routing);
        return;
    }
    route(layer, router, next, step);
    fetch_choices();  // they are there when this layer's is
    const DeviceEvent routed = device_.record(Queue::kCompute);
    device_.end_repeated();
    compute_ahead(layer, shared, step, sum);
    device_.host_wait(routed);
    if (!device_.ok()) return;  // after a failed copy the choice may be garbage: it must not be used as an index
    const double routed_seen_us = device_.shares_host_memory() ? 0 : device_.now_us();
    read_fetched(true);  // those before have ended: their times can be read
    const auto recorded = Clock::now();
    experts_.places().poll();

    if (rows_.leaves_out()) habits_.count(layer, rows_.count_all());
    find_experts(layer);
    if (!rows_.leaves_out()) habits_.count(layer, rows_.loads());
    if (n_tokens_ == 1) habits_.follow(layer, rows_.loads(), expected_);
    rows_.copy_choice(routing, routing_stride);
    Schedule& schedule = dispatcher_.schedule(rows_.loads(), experts_.staging().n_demand(), elsewhere_costs_, layer);
    apply_machine_choice(layer, schedule.assignments);
    dispatcher_.add_deciding(microseconds(recorded, Clock::now()));
    rows_.group(schedule.assignments, find_looked_up(layer, schedule.assignments));
    if (!device_.ok()) return;

    work_.layer = layer;
    work_.normalised = step.normalised;
    for (std::size_t n = 0; thetas_.leaves_out() && n < work_.active_shares.size(); ++n) {
        work_.active_shares[n] = dispatcher_.cost().active_share(layer, static_cast<std::int64_t>(n) + 1);
    }
    const kernels::NeuronCounts counted = operations_.neurons();
    execute(schedule);
    const SparseCopies::Work& sparse = mover_.sparse().work();
    pending_.sparse = sparse;
    pending_.neurons = {operations_.neurons().neurons - counted.neurons + sparse.counted.neurons,
                        operations_.neurons().active - counted.active + sparse.counted.active, work_.skipped_bytes};
    if (repeats()) device_.begin_repeated(place_behind(layer));
    clear_wanted(step, sum);
    rows_.combine(sum);
    pending_.layer = static_cast<std::int32_t>(layer);
    pending_.events = {last_end_, routed, device_.record(Queue::kCompute), shared_end_, routed_seen_us};
    last_end_ = pending_.events.end;
    pending_.active = true;
    const auto submitted = Clock::now();
    mover_.finish_layer(rows_.loads(), schedule.assignments);
    pending_.moves = mover_.moves();
    std::swap(pending_.schedule, schedule);  // the next decision overwrites it in any case
    dispatcher_.add_recording(microseconds(submitted, Clock::now()));
}

void MoeLayer::compute_shared(const NetworkModule& shared, const StepContext& step, float* sum) {
    if (!shared) return;
    for (const TokenRange& tokens : step.wanted) {
        const StepContext wanted = step.only(tokens);
        shared.compute(wanted);
        if (sum == step.x) shared.add(wanted, wanted.x);
    }
}

void MoeLayer::clear_wanted(const StepContext& step, float* sum) {
    if (sum == step.x) return;
    for (const TokenRange& tokens : step.wanted) {
        device_.submit(ops::Clear{tokens.n * grid_.hidden_dim, sum + tokens.first * grid_.hidden_dim});
    }
}

// Whether the device computes its experts of a token before the dispatcher decides.
bool MoeLayer::computes_speculatively() const {
    return residents_ != nullptr && repeats() && !prefill_ && !thetas_.leaves_out() &&
           dispatcher_.cost().table().has_accelerator();
}

// Whether the choice is not needed before the step's end: the device has every expert
// that may be chosen.
bool MoeLayer::chooses_on_device(std::int64_t layer, const RouterWeights* next) {
    if (!computes_speculatively() || !elsewhere_.empty()) return false;
    if (next != nullptr && wants_guesses(1)) return false;
    return residents_->holds(layer);
}

// While the router's choice is copied to the host.
void MoeLayer::compute_ahead(std::int64_t layer, const NetworkModule& shared, const StepContext& step, float* sum) {
    const auto insists = [](const auto& executor) { return executor->insists(); };
    looks_up_ = computes_speculatively() && rows_.room_behind() && dispatcher_.uses_residents() &&
                std::none_of(elsewhere_.begin(), elsewhere_.end(), insists) && residents_->holds_some(layer);
    if (looks_up_) residents_->upload(layer);
    if (repeats()) device_.begin_repeated(place_ahead(layer));
    compute_shared(shared, step, sum);
    shared_end_ = {};
    if (looks_up_ || (shared && !device_.shares_host_memory())) shared_end_ = device_.record(Queue::kCompute);
    if (looks_up_) {
        looking_up_.begin = shared_end_;
        residents_->compute(layer, rows_.chosen(), step.normalised, rows_.outputs().device());
        looking_up_.end = device_.record(Queue::kCompute);
    }
    device_.end_repeated();
}

// One entry per assignment; empty if nothing was looked up.
std::span<const std::uint8_t> MoeLayer::find_looked_up(std::int64_t layer, std::span<const Assignment> assignments) {
    looked_up_.clear();
    for (std::size_t i = 0; looks_up_ && i < assignments.size(); ++i) {
        const Assignment& a = assignments[i];
        const bool is_resident =
            a.target == ExecutionTarget::kResident && experts_.place(layer, a.expert) == Place::kDevice;
        looked_up_.push_back(is_resident && residents_->looked_up(layer, a.expert) ? 1 : 0);
    }
    return looked_up_;
}

void MoeLayer::run_resident(std::int64_t layer, const RouterWeights& router, bool is_last, const NetworkModule& shared,
                            const StepContext& step, float* sum, std::int32_t* routing) {
    Unread& unread = unread_[n_unread_];
    unread.layer = layer;
    unread.format = residents_->format(layer);
    unread.routing = routing;
    const auto guessed = guesses();
    unread.expected.assign(guessed.begin(), guessed.end());
    n_guesses_ = 0;
    device_.submit(ops::Route{router.spec, router.arrays, router.input(step), 1, grid_.hidden_dim,
                              residents_->chosen(layer), rows_.weights()});
    unread.events.begin = last_end_;
    unread.events.routed = device_.record(Queue::kCompute);
    compute_shared(shared, step, sum);
    residents_->upload(layer);
    unread.experts.begin = device_.record(Queue::kCompute);
    unread.events.shared_end = shared ? unread.experts.begin : DeviceEvent{};
    residents_->compute(layer, residents_->chosen(layer), step.normalised, rows_.outputs().device());
    unread.experts.end = device_.record(Queue::kCompute);
    clear_wanted(step, sum);
    device_.submit(ops::Combine{rows_.outputs().device(), residents_->row_of(), rows_.weights(), 1, grid_.n_active,
                                grid_.hidden_dim, sum});
    unread.events.end = last_end_ = device_.record(Queue::kCompute);
    ++n_unread_;
    if (n_unread_ - n_read_ >= kMostUnread) device_.host_wait(last_end_);
    // Between two fetches the host requests nothing from the device, so that these
    // layers' operations may be kept back until then; after the last ones come the
    // operations that make the logits.
    if (is_last || n_unread_ - n_fetched_ < as_size(ResidentLayers::kFetchedTogether)) return;
    fetch_choices();
    device_.end_repeated();
    experts_.places().poll();
    read_fetched(false);
}

// Unfetched layers follow each other: they are fetched before any other layer runs.
void MoeLayer::fetch_choices() {
    if (n_fetched_ == n_unread_) return;
    const auto n = static_cast<std::int64_t>(n_unread_ - n_fetched_);
    const DeviceEvent fetched = residents_->fetch(unread_[n_fetched_].layer, n);
    while (n_fetched_ < n_unread_) unread_[n_fetched_++].fetched = fetched;
}

// Records the layers before the present one: all of them, which have ended then, or only
// those that have ended; always in their order.
void MoeLayer::read_fetched(bool all) {
    const auto begin = Clock::now();
    const double deciding_us = dispatcher_.deciding_us();
    const auto is_there = [&](DeviceEvent event) { return all || (device_.has_happened(event) && device_.ok()); };
    if (pending_.active && is_there(pending_.events.end)) record_layer();
    while (!pending_.active && n_read_ < n_fetched_ && is_there(unread_[n_read_].fetched)) {
        read_choice(unread_[n_read_++]);
    }
    if (n_read_ == n_unread_) n_read_ = n_fetched_ = n_unread_ = 0;
    dispatcher_.add_recording(microseconds(begin, Clock::now()) - (dispatcher_.deciding_us() - deciding_us));
}

// Does for a resident layer, after the fact, what run() does with a choice and
// record_layer() at the layer's end.
void MoeLayer::read_choice(const Unread& unread) {
    const auto begin = Clock::now();
    const std::span<const std::int32_t> choice = residents_->choice(unread.layer);
    std::copy(choice.begin(), choice.end(), unread.routing);
    for (ExpertLoad& load : rows_.count(choice)) {
        load.place = Place::kDevice;
        load.format = unread.format;
    }
    habits_.count(unread.layer, rows_.loads());
    habits_.follow(unread.layer, rows_.loads(), unread.expected);
    const Schedule& schedule =
        dispatcher_.schedule(rows_.loads(), experts_.staging().n_demand(), elsewhere_costs_, unread.layer);
    dispatcher_.add_deciding(microseconds(begin, Clock::now()));
    mover_.add_calls(unread.layer, rows_.loads());
    LayerTimes times = measure(unread.events, {&unread.experts, 1}, {});
    times.device_read_bytes = schedule.assignments.size() * experts_.expert_bytes(unread.format);
    dispatcher_.finish_layer(static_cast<std::int32_t>(unread.layer), schedule, times);
}

// The next layer's gate on this layer's input guesses the experts that the next layer
// will call.
void MoeLayer::route(std::int64_t layer, const RouterWeights& router, const RouterWeights* next,
                     const StepContext& step) {
    const std::int64_t n = step.n_tokens;
    rows_.begin(n, step.wanted);
    device_.submit(ops::Route{router.spec, router.arrays, router.input(step), n, grid_.hidden_dim, rows_.chosen(),
                              rows_.weights()});
    const auto guessed = guesses();
    expected_.assign(guessed.begin(), guessed.end());
    n_guesses_ = 0;
    if (next != nullptr && wants_guesses(n)) {
        const bool own = !own_guesses_.empty();
        device_.submit(ops::Route{next->spec, next->arrays, next->input(step), n, grid_.hidden_dim,
                                  own ? own_guesses_.data() : guesses_.device(),
                                  own ? own_guess_weights_.data() : guess_weights_.as<float>()});
        n_guesses_ = n * grid_.n_active;
    }
    rows_.download(repeats());
    if (n_guesses_ > 0 && own_guesses_.empty()) guesses_.store(0, as_size(n_guesses_));
    const TokenRange wanted = rows_.span();
    inputs_.set(step.normalised, wanted.first * grid_.hidden_dim, wanted.n * grid_.hidden_dim);
    // The host will probably need the inputs soon: for its own experts or another
    // machine's, or to find active neurons.
    const bool on_device_alone = residents_ != nullptr && residents_->has_all(layer) && elsewhere_.empty();
    if (wanted.n > 0 && wanted.n <= kEagerTokens && (!on_device_alone || thetas_.leaves_out())) {
        inputs_.fetch(repeats());
    }
}

std::span<const std::int32_t> MoeLayer::guesses() {
    return {own_guesses_.empty() ? guesses_.host() : own_guesses_.data(), as_size(n_guesses_)};
}

void MoeLayer::find_experts(std::int64_t layer) {
    for (ExpertLoad& load : rows_.count()) {
        load.place = mover_.place(layer, load.expert);
        // As good as in RAM if a slot still has it.
        if (load.place == Place::kDisk && experts_.disk_slots().holds(experts_.index(layer, load.expert))) {
            load.place = Place::kRam;
        }
        load.format = experts_.format(layer, load.expert);
        load.held = load.place == Place::kDevice ? 0 : mover_.held_share(layer, load.expert);
        for (std::size_t i = 0; i < elsewhere_.size(); ++i) {
            if (elsewhere_[i]->takes(layer, load.expert)) load.elsewhere |= 1u << i;
        }
    }
}

// A machine elsewhere computes the expert, unless it is on the device.
bool MoeLayer::is_preferred(std::int64_t layer, std::int64_t expert) const {
    return std::any_of(elsewhere_.begin(), elsewhere_.end(), [&](const auto& executor) {
        return executor->is_preferred() && executor->takes(layer, expert);
    });
}

// Before anything is begun with the experts.
void MoeLayer::apply_machine_choice(std::int64_t layer, std::span<Assignment> assignments) const {
    for (std::size_t i = 0; i < elsewhere_.size(); ++i) {
        if (!elsewhere_[i]->insists()) continue;
        for (Assignment& a : assignments) {
            if (elsewhere_[i]->takes(layer, a.expert)) a.target = target_elsewhere(i);
        }
    }
}

bool MoeLayer::wants_guesses(std::int64_t n_tokens) const {
    return (mover_.guesses(n_tokens) && dispatcher_.prefetches()) || guesses_for_disk(n_tokens);
}

bool MoeLayer::guesses_for_disk(std::int64_t n_tokens) const {
    return !prefill_ && n_tokens <= ExpertMover::kGuessingTokens && dispatcher_.prefetch() != PrefetchMode::kOff &&
           experts_.reads_ahead();
}

// Reads needed experts before anything is computed. Guesses for the next layer follow:
// for a long prompt that is all of its experts.
void MoeLayer::begin_disk_reads(const Schedule& schedule) {
    if (!experts_.reads_ahead()) return;
    needed_.clear();
    likely_.clear();
    for (const Assignment& a : schedule.assignments) {
        const std::size_t expert = experts_.index(work_.layer, a.expert);
        const bool staged = a.target == ExecutionTarget::kCopy && experts_.staging().find(expert).has_value();
        if ((a.target == ExecutionTarget::kCopy && !staged) || a.target == ExecutionTarget::kCpu)
            needed_.push_back(expert);
    }
    if (work_.layer + 1 < grid_.n_layers && dispatcher_.prefetch() != PrefetchMode::kOff) {
        const std::size_t next = experts_.index(work_.layer + 1, 0);
        const std::int64_t n = work_.layer + 2 < grid_.n_layers ? n_tokens_ : n_last_;
        const bool calls_all = prefill_ && n * grid_.n_active >= kSureTokens * grid_.n_experts;
        const auto expect = [&](std::int64_t e) {
            if (!is_preferred(work_.layer + 1, e)) likely_.push_back(next + as_size(e));
        };
        for (std::int64_t e = 0; calls_all && e < grid_.n_experts; ++e) expect(e);
        for (const std::int32_t e : guesses()) expect(e);
    }
    experts_.expect(needed_, likely_);
}

void MoeLayer::execute(Schedule& schedule) {
    work_.assignments = schedule.assignments;
    begin_disk_reads(schedule);
    work_.device_times.clear();
    work_.host_times.clear();
    work_.cpu_us = 0;
    work_.skipped_bytes = 0;
    mover_.begin_layer(work_.layer, schedule.assignments);  // copies first: they take longest
    for (LayerWork::Groups& groups : work_.groups_of) groups.clear();
    if (looks_up_) work_.device_times.push_back(looking_up_);
    for (std::size_t g = 0; g < schedule.assignments.size(); ++g) {
        if (!rows_.groups()[g].looked_up) work_.groups(schedule.assignments[g].target).push_back(g);
    }
    for (std::size_t i = 0; i < executors_.size(); ++i) {
        if (!work_.groups_of[i].empty() && executors_[i]->needs_host_inputs()) inputs_.fetch();
    }
    for (std::size_t i = 0; i < executors_.size(); ++i) executors_[i]->submit(work_, work_.groups_of[i]);
    if (prefill_) {
        mover_.copy_ahead(schedule);
    } else {
        const double slack_us = mover_.slack_us(schedule, !work_.groups(ExecutionTarget::kCpu).empty());
        const auto copied = dispatcher_.prefetches() ? guesses() : std::span<const std::int32_t>();
        const float* const inputs = mover_.copies_sparse() && !copied.empty() ? work_.inputs.get() : nullptr;
        mover_.copy_guesses(copied, slack_us, dispatcher_.prefetches_regardless(), inputs);
    }
    const LayerWork::Groups& on_cpu = work_.groups(ExecutionTarget::kCpu);
    std::size_t n_computed = 0;
    for (std::size_t i = 0; i < executors_.size(); ++i) {
        executors_[i]->complete(work_, work_.groups_of[i]);
        if (executors_[i] == &host_) n_computed = on_cpu.size();
    }
    // Groups that a machine elsewhere did not deliver.
    if (on_cpu.size() > n_computed) redirect_to_machines(n_computed);
    if (on_cpu.size() > n_computed) host_.complete(work_, std::span(on_cpu).subspan(n_computed));
}

// Moves groups of the CPU, from `first` on, to another machine that also has the expert,
// if it would compute it sooner or must compute it. Each group is moved once: if that
// machine does not deliver it either, it stays on the CPU.
void MoeLayer::redirect_to_machines(std::size_t first) {
    LayerWork::Groups& on_cpu = work_.groups(ExecutionTarget::kCpu);
    std::vector<LayerWork::Groups> taken(elsewhere_.size());
    LayerWork::Groups kept(on_cpu.begin() + static_cast<std::ptrdiff_t>(first), on_cpu.end());
    on_cpu.resize(first);
    std::erase_if(kept, [&](std::size_t g) {
        Assignment& a = work_.assignments[g];
        const double read_us = a.place == Place::kDisk ? dispatcher_.cost().disk_read(a.format).us : 0;
        const bool stays_away = is_preferred(work_.layer, a.expert);
        double soonest = stays_away ? std::numeric_limits<double>::infinity() : a.cpu_us + read_us;
        std::size_t to = elsewhere_.size();
        for (std::size_t i = 0; i < elsewhere_.size(); ++i) {
            if (!elsewhere_[i]->takes(work_.layer, a.expert)) continue;
            if (stays_away && !elsewhere_[i]->is_preferred()) continue;
            const auto n_before = static_cast<double>(taken[i].size());
            const double us = elsewhere_[i]->expert_us(a.format, a.n_tokens) * (n_before + 1) +
                              elsewhere_[i]->transfer_us(a.n_tokens);
            if (us >= soonest) continue;
            soonest = us;
            to = i;
        }
        if (to == elsewhere_.size()) return false;
        a.target = target_elsewhere(to);
        taken[to].push_back(g);
        return true;
    });
    on_cpu.insert(on_cpu.end(), kept.begin(), kept.end());
    for (std::size_t i = 0; i < taken.size(); ++i) elsewhere_[i]->submit(work_, taken[i]);
    for (std::size_t i = 0; i < taken.size(); ++i) elsewhere_[i]->complete(work_, taken[i]);
}

void MoeLayer::begin_step(bool prefill, std::int64_t n_tokens, bool last, std::int64_t n_last) {
    prefill_ = prefill;
    n_tokens_ = n_tokens;
    n_last_ = n_last;
    n_guesses_ = 0;
    work_.thetas = thetas_;
    mover_.sparse().set_mode(sparse_loading_);
    mover_.sparse().set_thetas(thetas_);
    dispatcher_.set_theta(thetas_.mean(), mover_.sparse().on() ? sparse_loading_ : SparseLoading::kOff, prior_);
    resident_.set_prefill(prefill);
    mover_.begin_step(prefill, n_tokens, last, n_last);
    last_end_ = device_.record(Queue::kCompute);
    pending_.active = false;
    n_read_ = n_fetched_ = n_unread_ = 0;
    if (residents_ != nullptr && !finished_) residents_->forget();
    finished_ = false;
}

void MoeLayer::finish() {
    if (n_unread_ > 0) experts_.places().poll();
    read_fetched(true);
    finished_ = true;
}

// The layer must have ended.
LayerTimes MoeLayer::measure(const Events& events, std::span<const LayerWork::Span> device,
                             std::span<const LoadingOverlap::Span> host) {
    const auto at_us = [&](DeviceEvent event) { return device_.elapsed_us(events.begin, event); };
    LayerTimes times;
    times.attention_us = at_us(events.routed);
    mover_.add_attention(times.attention_us);
    const double end_us = at_us(events.end);
    times.layer_us = end_us - times.attention_us;
    device_spans_.clear();
    for (const LayerWork::Span& span : device) {
        const double begin_us = at_us(span.begin);
        if (begin_us <= 0) continue;  // no longer known
        device_spans_.push_back({begin_us, at_us(span.end)});
        times.gpu_us += device_spans_.back().end_us - begin_us;
    }
    if (device_.shares_host_memory()) return times;
    if (events.shared_end.ticket > 0) device_spans_.push_back({times.attention_us, at_us(events.shared_end)});
    times.loading = mover_.overlap().measure({events.begin, times.attention_us, end_us, events.routed_seen_us},
                                             device_spans_, host);
    return times;
}

void MoeLayer::record_layer() {
    if (!pending_.active) return;
    pending_.active = false;
    LayerTimes times = measure(pending_.events, work_.device_times, work_.host_times);
    const ExpertMover::Moves& moves = pending_.moves;
    if (moves.copied_on_demand) times.copy_us = device_.elapsed_us(moves.first_copy, moves.last_copy);
    times.cpu_us = work_.cpu_us;
    times.bytes_copied = moves.bytes_copied;
    times.guessed_copies = moves.guessed_copies;
    times.used_guesses = moves.used_guesses;
    times.admissions = moves.admissions;
    times.sparse_copies = moves.sparse_copies;
    times.copy_bytes_saved = moves.copy_bytes_saved;
    times.sparse = pending_.sparse;
    for (const Assignment& a : pending_.schedule.assignments) {
        if (is_elsewhere(a.target)) continue;
        (a.target == ExecutionTarget::kCpu ? times.host_read_bytes : times.device_read_bytes) +=
            experts_.expert_bytes(a.format);
    }
    times.device_read_bytes -= std::min(times.device_read_bytes, moves.unread_bytes);
    times.host_read_bytes -= std::min(times.host_read_bytes, pending_.neurons.skipped_bytes);
    times.neurons = pending_.neurons.neurons;
    times.active_neurons = pending_.neurons.active;
    dispatcher_.finish_layer(pending_.layer, pending_.schedule, times);
}

}  // namespace offstage::engine
