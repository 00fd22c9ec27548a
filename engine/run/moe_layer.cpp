#include "engine/run/moe_layer.h"

#include <algorithm>
#include <cassert>
#include <chrono>

#include "engine/as_size.h"

namespace offstage::engine {

using Queue = DeviceEvent::Queue;

namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::micro>(to - from).count();
}

}  // namespace

MoeLayer::MoeLayer(const ExpertGrid& grid, ExpertStore& experts, Backend& device, CpuOperations& host,
                   Dispatcher& dispatcher, std::int64_t max_step)
    : grid_(grid),
      experts_(experts),
      device_(device),
      host_(host),
      dispatcher_(dispatcher),
      token_counts_(as_size(grid.n_experts), 0),
      next_row_(as_size(grid.n_experts), 0) {
    const std::int64_t max_rows = max_step * grid.n_active;
    chosen_ = Mirror<std::int32_t>(device, as_size(max_rows), MemoryUse::kWorkspace, "routing");
    row_map_ = Mirror<std::int32_t>(device, as_size(2 * max_rows), MemoryUse::kWorkspace, "routing");
    weights_ = device.memory().allocate(as_size(max_rows) * sizeof(float), MemoryUse::kWorkspace, "routing");
    rows_ = Mirror<float>(device, as_size(max_rows * grid.hidden_dim), MemoryUse::kWorkspace, "the experts' outputs");
    if (!device.shares_host_memory()) {
        guesses_ =
            Mirror<std::int32_t>(device, as_size(kGuessingTokens * grid.n_active), MemoryUse::kWorkspace, "guesses");
        guess_weights_ = device.memory().allocate(as_size(kGuessingTokens * grid.n_active) * sizeof(float),
                                                  MemoryUse::kWorkspace, "guesses");
        inputs_ = PinnedHost<float>(device, as_size(max_step * grid.hidden_dim), "the experts' inputs");
    }
}

std::uint64_t MoeLayer::bytes_per_token(const ExpertGrid& grid) {
    return static_cast<std::uint64_t>(grid.n_active) *
           (4 * sizeof(std::int32_t) + static_cast<std::uint64_t>(grid.hidden_dim) * sizeof(float));
}

void MoeLayer::run(std::int64_t layer, const RouterWeights& router, const RouterWeights* next,
                   const NetworkModule& shared, const StepContext& step, std::int32_t* routing,
                   std::int64_t routing_stride) {
    const std::int64_t hidden = grid_.hidden_dim;
    const std::int64_t n_active = grid_.n_active;
    const std::int64_t n_tokens = step.n_tokens;
    const float* const normalised = step.normalised;
    n_rows_ = n_tokens * n_active;
    device_.route(router.spec, router.gate, router.selection_bias, normalised, n_tokens, hidden, chosen_.device(),
                  weights_.as<float>());
    chosen_.download(0, as_size(n_rows_));
    guess(next, normalised, n_tokens);
    inputs_here_ = device_.shares_host_memory();
    if (!inputs_here_ && n_tokens <= kEagerTokens) fetch_inputs(normalised, n_tokens);
    const DeviceEvent routed = device_.record(Queue::kCompute);
    if (shared) shared.run(step);
    device_.host_wait(routed);
    if (!device_.ok()) return;  // what was brought over may be anything: no index may be taken from it
    const auto begin = Clock::now();
    record_layer();  // the one before has ended: its times can be read
    const auto recorded = Clock::now();
    dispatcher_.add_recording(microseconds(begin, recorded));
    experts_.poll();

    collect_loads(layer, n_tokens);
    for (std::int64_t t = 0; t < n_tokens; ++t) {
        std::copy_n(chosen_.host() + t * n_active, n_active, routing + t * routing_stride);
    }
    schedule_ = &dispatcher_.schedule(loads_, experts_.staging().n_demand());
    dispatcher_.add_deciding(microseconds(recorded, Clock::now()));
    order_rows(n_tokens);
    if (!device_.ok()) return;

    pending_.times.clear();
    pending_.layer = static_cast<std::int32_t>(layer);
    pending_.begin = last_end_;
    pending_.routed = routed;
    pending_.cpu_us = 0;
    pending_.bytes_copied = 0;
    pending_.guessed_copies = pending_.used_guesses = pending_.admissions = 0;
    pending_.used_copy = false;

    submit_device(layer, normalised, n_tokens);
    if (prefill_) {
        copy_ahead(layer);
    } else {
        copy_guesses(layer);
    }
    if (!host_groups_.empty()) run_host(layer, normalised, n_tokens);
    device_.combine(rows_.device(), row_map_.device() + n_rows_, weights_.as<float>(), n_tokens, n_active, hidden,
                    step.x);
    pending_.end = device_.record(Queue::kCompute);
    last_end_ = pending_.end;
    pending_.active = true;
    const auto submitted = Clock::now();
    keep_copies(layer);
    std::swap(pending_schedule_, *schedule_);  // the next decision overwrites it anyhow
    dispatcher_.add_recording(microseconds(submitted, Clock::now()));
}

void MoeLayer::fetch_inputs(const float* normalised, std::int64_t n_tokens) {
    device_.download(inputs_.host(), normalised, as_size(n_tokens * grid_.hidden_dim) * sizeof(float));
    inputs_here_ = true;
}

void MoeLayer::collect_loads(std::int64_t layer, std::int64_t n_tokens) {
    std::fill(token_counts_.begin(), token_counts_.end(), 0);
    for (std::int64_t i = 0; i < n_tokens * grid_.n_active; ++i) ++token_counts_[as_size(chosen_.host()[i])];
    loads_.clear();
    for (std::int64_t e = 0; e < grid_.n_experts; ++e) {
        const std::int32_t n = token_counts_[as_size(e)];
        if (n == 0) continue;
        Place place = experts_.place(layer, e);
        if (place != Place::kDevice && !device_.shares_host_memory()) {
            // A guessed copy counts when it is whole; it is never waited for. One that a prompt made ahead of demand
            // comes in any case.
            const auto slot = experts_.staging().find(experts_.index(layer, e));
            if (slot.has_value() && (prefill_ || device_.has_happened(experts_.staging().slot(*slot).copied))) {
                place = Place::kDevice;
            }
        }
        loads_.push_back({static_cast<std::int32_t>(e), n, place, experts_.format(layer, e)});
    }
}

void MoeLayer::order_rows(std::int64_t n_tokens) {
    groups_.clear();
    std::int64_t row = 0;
    for (const Assignment& a : schedule_->assignments) {
        groups_.push_back({a.expert, row, a.n_tokens});
        next_row_[as_size(a.expert)] = row;
        row += a.n_tokens;
    }
    assert(row == n_rows_);
    std::int32_t* row_token = row_map_.host();
    std::int32_t* row_of = row_token + n_rows_;
    for (std::int64_t t = 0; t < n_tokens; ++t) {
        for (std::int64_t a = 0; a < grid_.n_active; ++a) {
            const std::int64_t i = t * grid_.n_active + a;
            const std::int64_t r = next_row_[as_size(chosen_.host()[i])]++;
            row_token[r] = static_cast<std::int32_t>(t);
            row_of[i] = static_cast<std::int32_t>(r);
        }
    }
    row_map_.upload(0, as_size(2 * n_rows_));
}

void MoeLayer::submit_device(std::int64_t layer, const float* normalised, std::int64_t n_tokens) {
    host_groups_.clear();
    copied_.clear();
    arrived_.clear();
    calls_.clear();
    Staging& staging = experts_.staging();
    std::size_t n_there = 0;  // of copied_, from the first on: whole already
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        const Group& group = groups_[g];
        Way& way = schedule_->assignments[g].way;
        const std::size_t index = experts_.index(layer, group.expert);
        // Where RAM is short the device has the only copy; then the work goes there whatever the policy says.
        if (way == Way::kCpu && experts_.on_device(index) && !experts_.in_ram(index)) way = Way::kResident;
        if (way == Way::kCpu) {
            host_groups_.push_back(g);
            continue;
        }
        if (way == Way::kResident && experts_.on_device(index)) {
            calls_.push_back({experts_.device_view(layer, group.expert), group.first_row, group.n_rows});
            continue;
        }
        const auto slot = staging.find(index);  // it is in staging already, or on its way there
        if (slot.has_value()) staging.slot(*slot).awaited = true;
        const bool is_there = way == Way::kResident && device_.has_happened(staging.slot(*slot).copied);
        if (is_there && !prefill_) {
            calls_.push_back(
                {{staging.slot(*slot).memory.data, experts_.format(index), grid_.hidden_dim, grid_.ffn_dim},
                 group.first_row,
                 group.n_rows});
            arrived_.emplace_back(g, *slot);
        } else {
            if (is_there && n_there == copied_.size()) ++n_there;
            copied_.push_back({g, slot, {}});
            if (slot.has_value()) copied_.back().done = staging.slot(*slot).copied;
        }
        if (prefill_) way = Way::kCopy;  // no hit, though it came early
    }
    forget_unused(layer);
    // As many copies as there are slots start at once, before the device is given anything else.
    n_started_ = 0;
    if (!copied_.empty()) pending_.copy_begin = device_.record(Queue::kCopy);
    start_copies(layer);
    if (!host_groups_.empty() && !inputs_here_) fetch_inputs(normalised, n_tokens);
    inputs_ready_ = device_.record(Queue::kCompute);

    // Those of a prompt that are there before the residents: their slots are wanted.
    for (std::size_t j = 0; j < n_there; ++j) compute_copied(layer, j, normalised);
    if (!calls_.empty()) {
        const DeviceEvent begin = device_.record(Queue::kCompute);
        device_.experts(calls_, normalised, row_map_.device(), rows_.device());
        const DeviceEvent end = device_.record(Queue::kCompute);
        pending_.times.push_back({begin, end});
        for (const auto& [group, slot] : arrived_) {
            staging.slot(slot).free = end;
            staging.slot(slot).awaited = false;
        }
        start_copies(layer);
    }
    for (std::size_t j = n_there; j < copied_.size(); ++j) compute_copied(layer, j, normalised);
}

void MoeLayer::compute_copied(std::int64_t layer, std::size_t j, const float* normalised) {
    if (n_started_ == j) {  // all before it have been computed, and yet there is no slot
        refuse_copy(j);
        ++n_started_;
    }
    const Copied& copied = copied_[j];
    if (!copied.done.has_value()) return;  // refused: the CPU's now
    const Group& group = groups_[copied.group];
    Staging::Slot& slot = experts_.staging().slot(*copied.slot);
    device_.wait(*copied.done);
    const DeviceEvent begin = device_.record(Queue::kCompute);
    const ExpertCall call{{slot.memory.data, experts_.format(layer, group.expert), grid_.hidden_dim, grid_.ffn_dim},
                          group.first_row,
                          group.n_rows};
    device_.experts({&call, 1}, normalised, row_map_.device(), rows_.device());
    const DeviceEvent end = device_.record(Queue::kCompute);
    slot.free = end;
    slot.awaited = false;
    if (prefill_) slot.expert = -1;
    pending_.times.push_back({begin, end});
    start_copies(layer);
}

// What was brought for this layer, or one before it, and is not called makes room.
void MoeLayer::forget_unused(std::int64_t layer) {
    Staging& staging = experts_.staging();
    const std::size_t next_layer = experts_.index(layer, 0) + as_size(grid_.n_experts);
    for (Staging::Slot& slot : staging.all()) {
        if (slot.expert < 0 || slot.awaited || as_size(slot.expert) >= next_layer) continue;
        if (prefill_) ++prompt_copies_.unused_ahead;
        slot.expert = -1;
    }
}

void MoeLayer::start_copies(std::int64_t layer) {
    while (n_started_ < copied_.size()) {
        const std::size_t j = n_started_;
        if (!start_copy(layer, j)) return;
        n_started_ = j + 1;  // refused ones count too
    }
}

// False: every slot still waits to be computed with.
bool MoeLayer::start_copy(std::int64_t layer, std::size_t j) {
    Copied& copied = copied_[j];
    if (copied.done.has_value()) return true;  // on its way already
    const Group& group = groups_[copied.group];
    const std::size_t index = experts_.index(layer, group.expert);
    const std::uint64_t bytes = experts_.expert_bytes(experts_.format(index));
    copied.slot = experts_.staging().next(bytes);
    if (!copied.slot.has_value()) return false;
    Staging::Slot& slot = experts_.staging().slot(*copied.slot);
    const kernels::ExpertView view = experts_.on_host(layer, group.expert);
    copied.done = device_.copy_weights(slot.memory.data, view.data, static_cast<std::size_t>(bytes), slot.free);
    if (!copied.done.has_value()) {
        refuse_copy(j);
        return true;
    }
    experts_.hold(layer, group.expert, *copied.done);
    slot.content = static_cast<std::int64_t>(index);
    slot.awaited = true;
    pending_.copy_end = *copied.done;
    pending_.used_copy = true;
    pending_.bytes_copied += bytes;
    return true;
}

void MoeLayer::refuse_copy(std::size_t j) {
    schedule_->assignments[copied_[j].group].way = Way::kCpu;
    host_groups_.push_back(copied_[j].group);
}

void MoeLayer::run_host(std::int64_t layer, const float* normalised, std::int64_t n_tokens) {
    const float* inputs = normalised;
    if (!device_.shares_host_memory()) {
        if (!inputs_here_) {
            fetch_inputs(normalised, n_tokens);
            inputs_ready_ = device_.record(Queue::kCompute);
        }
        device_.host_wait(inputs_ready_);
        inputs = inputs_.host();
    }
    // Experts in RAM in one go; those on disk as many at a time as there are slots for them.
    const auto run_calls = [&] {
        if (calls_.empty()) return;
        host_work_.clear();
        for (const ExpertCall& call : calls_) {
            host_work_.push_back({static_cast<double>(experts_.expert_bytes(call.weights.type)),
                                  2.0 * static_cast<double>(grid_.expert_weights() * call.n_rows)});
        }
        pending_.cpu_us +=
            device_.run_on_host(host_work_, [&] { host_.experts(calls_, inputs, row_map_.host(), rows_.host()); });
    };
    calls_.clear();
    for (const std::size_t g : host_groups_) {
        const Group& group = groups_[g];
        if (experts_.place(layer, group.expert) == Place::kDisk) continue;
        calls_.push_back({experts_.on_host(layer, group.expert), group.first_row, group.n_rows});
    }
    run_calls();
    calls_.clear();
    for (const std::size_t g : host_groups_) {
        const Group& group = groups_[g];
        if (experts_.place(layer, group.expert) != Place::kDisk) continue;
        if (static_cast<std::int64_t>(calls_.size()) == experts_.n_host_slots()) {
            run_calls();
            calls_.clear();
        }
        calls_.push_back({experts_.on_host(layer, group.expert), group.first_row, group.n_rows});
    }
    run_calls();
    // Neighbouring groups go up together: the schedule puts the CPU's last.
    for (std::size_t i = 0; i < host_groups_.size();) {
        const std::int64_t first = groups_[host_groups_[i]].first_row;
        std::int64_t end = first;
        while (i < host_groups_.size() && groups_[host_groups_[i]].first_row == end) {
            end += groups_[host_groups_[i++]].n_rows;
        }
        rows_.upload(as_size(first * grid_.hidden_dim), as_size((end - first) * grid_.hidden_dim));
    }
}

// The next layer's gate on this layer's input says which experts that layer is likely to want.
void MoeLayer::guess(const RouterWeights* next, const float* normalised, std::int64_t n_tokens) {
    n_guesses_ = 0;
    if (next == nullptr || prefill_ || n_tokens > kGuessingTokens || cache_rests_) return;
    if (!experts_.staging().guesses() || !dispatcher_.prefetches()) return;
    device_.route(next->spec, next->gate, next->selection_bias, normalised, n_tokens, grid_.hidden_dim,
                  guesses_.device(), guess_weights_.as<float>());
    n_guesses_ = n_tokens * grid_.n_active;
    guesses_.download(0, as_size(n_guesses_));
}

// Time that the copy engine has nothing to do before the next layer's experts are wanted. While the CPU reads experts
// beside it, its copies cost as much as they gain: then there is none, unless measuring has shown that the memory has
// room for both.
double MoeLayer::slack_us() const {
    constexpr double kFreeOfCharge = 1.05;
    if (!host_groups_.empty() && dispatcher_.cost().table().cpu_slowdown > kFreeOfCharge) return 0;
    return schedule_->makespan_us - schedule_->copy_us + attention_us_;
}

void MoeLayer::copy_guesses(std::int64_t layer) {
    Staging& staging = experts_.staging();
    if (!staging.guesses()) return;
    double slack = slack_us();
    std::int64_t n_copies = 0;
    for (std::int64_t i = 0; i < n_guesses_ && n_copies < kMostGuessedCopies; ++i) {
        const std::int64_t expert = guesses_.host()[i];
        const std::size_t index = experts_.index(layer + 1, expert);
        if (experts_.on_device(index) || !experts_.in_ram(index) || staging.find(index).has_value()) continue;
        const double copy_us = dispatcher_.cost().weight_copy_us(experts_.format(index));
        if (copy_us > slack && !dispatcher_.prefetches_regardless()) break;
        const std::uint64_t bytes = experts_.expert_bytes(experts_.format(index));
        const auto free = staging.next_speculative(bytes);
        if (!free.has_value()) break;
        Staging::Slot& slot = staging.slot(*free);
        const auto copied = device_.copy_weights(slot.memory.data, experts_.ram_block(index),
                                                 static_cast<std::size_t>(bytes), slot.free);
        if (!copied.has_value()) break;
        slot.expert = static_cast<std::int64_t>(index);
        slot.copied = *copied;
        slot.content = slot.expert;
        experts_.hold(layer + 1, expert, *copied);
        pending_.bytes_copied += bytes;
        ++pending_.guessed_copies;
        slack -= copy_us;
        ++n_copies;
    }
}

// What a prompt's next layer will call, into the slots that are free by then. As much as the copy engine can bring
// until that layer's router has run: more would only come earlier than it would on demand.
void MoeLayer::copy_ahead(std::int64_t layer) {
    if (!loads_ahead_ || layer + 1 == grid_.n_layers) {
        if (last_ || !loads_ahead_) experts_.set_lending(false);
        return;
    }
    std::int64_t n_copied = 0;
    std::uint64_t largest = 0;
    for (const Assignment& a : schedule_->assignments) {
        // Where the CPU takes a part, it already fills the time that the copies need; what would come ahead is decided
        // before it is known what the CPU had better do.
        if (a.way == Way::kCpu) return;
        if (a.way != Way::kCopy) continue;
        ++n_copied;
        largest = std::max(largest, experts_.expert_bytes(a.format));
    }
    if (n_copied == 0) return;  // the policy copies nothing, or nothing is worth it
    double idle_us = schedule_->makespan_us - schedule_->copy_us + prompt_attention_us_;
    lend_places(layer, n_copied, largest, idle_us);
    Staging& staging = experts_.staging();
    for (std::int64_t expert = 0; expert < grid_.n_experts && n_copied > 0 && idle_us > 0; ++expert) {
        const std::size_t index = experts_.index(layer + 1, expert);
        if (experts_.on_device(index) || !experts_.in_ram(index) || staging.find(index).has_value()) continue;
        const std::uint64_t bytes = experts_.expert_bytes(experts_.format(index));
        const auto free = staging.next(bytes);
        if (!free.has_value()) return;
        Staging::Slot& slot = staging.slot(*free);
        const auto copied = device_.copy_weights(slot.memory.data, experts_.ram_block(index),
                                                 static_cast<std::size_t>(bytes), slot.free);
        if (!copied.has_value()) return;
        slot.expert = slot.content = static_cast<std::int64_t>(index);
        slot.copied = *copied;
        experts_.hold(layer + 1, expert, *copied);
        pending_.bytes_copied += bytes;
        ++prompt_copies_.ahead;
        --n_copied;
        idle_us -= dispatcher_.cost().weight_copy_us(experts_.format(index));
    }
}

// A place that is lent lets one more copy run in what would be the copy engine's idle time, at each layer that follows.
// It costs two: the lender's own layer needs it copied, and it has to come back.
void MoeLayer::lend_places(std::int64_t layer, std::int64_t n_copied, std::uint64_t bytes, double idle_us) {
    if (prompt_loading_ != PromptLoading::kLend || cache_ == nullptr || cache_rests_) return;
    Staging& staging = experts_.staging();
    const double copy_us = dispatcher_.cost().weight_copy_us(schedule_->assignments.front().format);
    double gpu_us = 0;
    for (const Assignment& a : schedule_->assignments) {
        if (a.way != Way::kCpu) gpu_us += dispatcher_.cost().gpu_us(a.n_tokens, a.format);
    }
    // Where the GPU is what takes longest, copies that come earlier gain nothing.
    const double copies_us = static_cast<double>(n_copied) * copy_us;
    const double to_gain_us = std::min({idle_us, copies_us + idle_us - prompt_attention_us_ - gpu_us, copies_us});
    const auto left = static_cast<double>(grid_.n_layers - layer - 1);
    const auto value_us = [&](std::int64_t n_lent) {
        const auto hidden = static_cast<double>(staging.n_slots() + n_lent - 1) * copy_us;
        return left * std::min(to_gain_us, hidden) - 2 * static_cast<double>(n_lent) * copy_us;
    };
    std::int64_t best = staging.n_lent();
    for (std::int64_t n = best + 1; n <= kMostLent; ++n) {
        if (value_us(n) > value_us(best)) best = n;
    }
    while (staging.n_lent() < best) {
        residents_.clear();
        for (const std::uint32_t i : experts_.residents()) {
            const ExpertKey key = experts_.key(i);
            // Not the next layers': they would be copied at once.
            const bool soon = key.layer > layer && key.layer <= layer + 2;
            if (experts_.place_bytes(i) >= bytes && experts_.in_ram(i) && !experts_.is_pinned(i) && !soon) {
                residents_.push_back(key);
            }
        }
        const std::int64_t least = cache_->least_useful(residents_);
        if (least < 0) return;
        const ExpertKey& key = residents_[as_size(least)];
        if (!experts_.lend(experts_.index(key.layer, key.expert))) return;
        experts_.set_lending(true);
        ++prompt_copies_.lent;
    }
}

// What was brought for this layer may stay, in the place of another.
void MoeLayer::keep_copies(std::int64_t layer) {
    if (!prefill_) pending_.used_guesses = static_cast<std::uint16_t>(arrived_.size());
    if (cache_ == nullptr) return;
    for (const ExpertLoad& load : loads_) cache_->used({static_cast<std::int32_t>(layer), load.expert}, load.n_tokens);
    // A prompt wants nearly all experts once: what the answers need stays.
    if (cache_rests_ || prefill_ || cache_->kind() == CacheKind::kStatic) return;
    for (const auto& [group, slot] : arrived_) keep_copy(layer, group, slot);
    for (const Copied& copied : copied_) {
        if (copied.done.has_value()) keep_copy(layer, copied.group, *copied.slot);
    }
}

void MoeLayer::keep_copy(std::int64_t layer, std::size_t group, std::size_t slot) {
    const std::size_t admitted = experts_.index(layer, groups_[group].expert);
    // Where a layer brings more experts than there are slots, another one may have come after it.
    if (experts_.staging().slot(slot).content != static_cast<std::int64_t>(admitted)) return;
    // A place of its own size, or else a larger one, whose rest is then no use until a larger expert comes back.
    const std::uint64_t bytes = experts_.expert_bytes(experts_.format(admitted));
    residents_.clear();
    larger_.clear();
    for (const std::uint32_t i : experts_.residents()) {
        const std::uint64_t place = experts_.place_bytes(i);
        if (place < bytes || experts_.is_pinned(i)) continue;
        const ExpertKey key = experts_.key(i);
        if (key.layer == layer && is_needed(key.expert)) continue;
        (place == bytes ? residents_ : larger_).push_back(key);
    }
    for (const std::vector<ExpertKey>* places : {&residents_, &larger_}) {
        const std::int64_t victim = places->empty() ? -1 : cache_->victim(experts_.key(admitted), *places);
        if (victim < 0) continue;
        const ExpertKey& key = (*places)[as_size(victim)];
        if (experts_.admit(slot, admitted, experts_.index(key.layer, key.expert))) ++pending_.admissions;
        return;
    }
}

void MoeLayer::begin_step(bool prefill, std::int64_t n_tokens, bool last) {
    prefill_ = prefill;
    last_ = last;
    loads_ahead_ = prefill && prompt_loading_ != PromptLoading::kOnDemand && !device_.shares_host_memory() &&
                   n_tokens * grid_.n_active >= kSureTokens * grid_.n_experts;
    prompt_attention_us_ = 0;
    if (!loads_ahead_) experts_.set_lending(false);
    if (cache_ != nullptr) cache_->begin_step();
    experts_.staging().forget_speculation();
    experts_.staging().read_prompt(prefill);
    last_end_ = device_.record(Queue::kCompute);
    pending_.active = false;
}

void MoeLayer::finish() {
    const auto begin = Clock::now();
    record_layer();
    dispatcher_.add_recording(microseconds(begin, Clock::now()));
}

void MoeLayer::record_layer() {
    if (!pending_.active) return;
    pending_.active = false;
    LayerTimes times;
    times.attention_us = device_.elapsed_us(pending_.begin, pending_.routed);
    if (prefill_) {
        prompt_attention_us_ = times.attention_us;
    } else {
        attention_us_ += (times.attention_us - attention_us_) / 16;
    }
    times.layer_us = device_.elapsed_us(pending_.routed, pending_.end);
    for (const Span& span : pending_.times) times.gpu_us += device_.elapsed_us(span.begin, span.end);
    if (pending_.used_copy) times.copy_us = device_.elapsed_us(pending_.copy_begin, pending_.copy_end);
    times.cpu_us = pending_.cpu_us;
    times.bytes_copied = pending_.bytes_copied;
    times.guessed_copies = pending_.guessed_copies;
    times.used_guesses = pending_.used_guesses;
    times.admissions = pending_.admissions;
    for (const Assignment& a : pending_schedule_.assignments) {
        (a.way == Way::kCpu ? times.host_read_bytes : times.device_read_bytes) +=
            kernels::expert_bytes(a.format, grid_.hidden_dim, grid_.ffn_dim);
    }
    dispatcher_.finish_layer(pending_.layer, pending_schedule_, times);
}

}  // namespace offstage::engine
