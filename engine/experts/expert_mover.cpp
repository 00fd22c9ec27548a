#include "engine/experts/expert_mover.h"

#include <algorithm>
#include <cassert>

#include "engine/as_size.h"

namespace offstage::engine {

using Queue = DeviceEvent::Queue;

ExpertMover::ExpertMover(const ExpertGrid& grid, ExpertStore& experts, Backend& device, CpuOperations& operations,
                         const CostModel& cost)
    : grid_(grid),
      experts_(experts),
      device_(device),
      cost_(cost),
      sparse_(device, operations, cost),
      overlap_(device) {}

ExpertMover::~ExpertMover() {
    experts_.set_cache_policy(nullptr);
}

void ExpertMover::set_cache(CachePolicy* policy) {
    cache_ = policy;
    experts_.set_cache_policy(policy);
}

void ExpertMover::begin_step(bool prefill, std::int64_t n_tokens, bool last, std::int64_t n_last) {
    prefill_ = prefill;
    last_ = last;
    calls_last_ = n_last * grid_.n_active >= kSureTokens * grid_.n_experts;
    loads_ahead_ = prefill && prompt_loading_ != PromptLoading::kOnDemand && !device_.shares_host_memory() &&
                   n_tokens * grid_.n_active >= kSureTokens * grid_.n_experts;
    prompt_attention_us_ = 0;
    if (!loads_ahead_) experts_.places().set_borrowing(false);
    if (cache_ != nullptr) cache_->begin_step();
    if (neurons_) neurons_->begin_step();
    experts_.staging().forget_speculation();
    experts_.staging().read_prompt(prefill);
    overlap_.begin_step();
}

void ExpertMover::add_attention(double us) {
    if (prefill_) {
        prompt_attention_us_ = us;
    } else {
        attention_us_ += (us - attention_us_) / 16;
    }
}

Place ExpertMover::place(std::int64_t layer, std::int64_t expert) const {
    const Place place = experts_.place(layer, expert);
    if (place == Place::kDevice || device_.shares_host_memory()) return place;
    const auto slot = experts_.staging().find(experts_.index(layer, expert));
    if (slot.has_value() && experts_.staging().slot(*slot).neurons.empty() &&
        (prefill_ || device_.has_happened(experts_.staging().slot(*slot).copied))) {
        return Place::kDevice;
    }
    return place;
}

void ExpertMover::begin_layer(std::int64_t layer, std::span<Assignment> assignments) {
    layer_ = layer;
    moves_ = {};
    sparse_.begin_layer(layer);
    if (neurons_) neurons_->begin_layer();
    called_.clear();
    for (const Assignment& a : assignments) called_.push_back(a.expert);
    demanded_.clear();
    early_.clear();
    n_started_ = n_asked_ = 0;
    n_completed_ = 0;
    Staging& staging = experts_.staging();
    for (Assignment& a : assignments) {
        const std::size_t expert = experts_.index(layer, a.expert);
        // Where RAM is short the device has the only copy; then the device computes the
        // expert against the policy.
        if (a.target == ExecutionTarget::kCpu && experts_.on_device(expert) && !experts_.in_ram(expert))
            a.target = ExecutionTarget::kResident;
        if (neurons_ && experts_.on_device(expert)) neurons_->drop(expert);
        if (a.target != ExecutionTarget::kCopy &&
            (a.target != ExecutionTarget::kResident || experts_.on_device(expert)))
            continue;
        const auto slot = staging.find(expert);  // it is in staging already, or on its way there
        if (slot.has_value()) staging.slot(*slot).awaited = true;
        if (a.target == ExecutionTarget::kResident) {
            if (device_.has_happened(staging.slot(*slot).copied)) {
                early_.push_back({expert, *slot});
                continue;
            }
            a.target = ExecutionTarget::kCopy;  // a prompt's copy that is still on its way
        }
        demanded_.push_back({expert, slot, {}, 0, {}, nullptr, false, nullptr, false});
        demanded_.back().held = slot.has_value() && !staging.slot(*slot).neurons.empty();
        if (slot.has_value() && !demanded_.back().held) demanded_.back().whole = staging.slot(*slot).copied;
    }
    give_up_uncalled();
    if (!demanded_.empty()) moves_.first_copy = device_.record(Queue::kCopy);
    start_copies();
}

kernels::ExpertView ExpertMover::staged(const Staging::Slot& slot, std::size_t expert) const {
    return {slot.memory.data, grid_.layout(experts_.format(expert))};
}

kernels::ExpertView ExpertMover::weights(std::int64_t expert) const {
    const std::size_t index = experts_.index(layer_, expert);
    if (experts_.on_device(index)) return experts_.device_view(layer_, expert);
    return staged(experts_.staging().slot(*experts_.staging().find(index)), index);
}

bool ExpertMover::came_early(std::int64_t expert) const {
    return !early_.empty() && !experts_.on_device(experts_.index(layer_, expert));
}

void ExpertMover::computed_early(std::int64_t expert, DeviceEvent end) {
    Staging::Slot& slot = experts_.staging().slot(*experts_.staging().find(experts_.index(layer_, expert)));
    slot.free = end;
    slot.awaited = false;
    if (prefill_) slot.expert = -1;
    start_copies();
}

std::optional<ExpertMover::Arrival> ExpertMover::next_arrival(const SparseCopies::Rows& rows) {
    const std::size_t i = n_asked_++;
    rows_ = rows;
    if (copies_sparse()) start_copies();
    // All earlier copies have been used, and yet there is no slot: that counts as
    // refused.
    if (n_started_ == i) ++n_started_;
    const Demanded& demanded = demanded_[i];
    if (!demanded.whole.has_value()) {
        start_copies();
        return std::nullopt;
    }
    const kernels::ExpertView view =
        demanded.cached != nullptr ? kernels::ExpertView{demanded.cached->data, grid_.layout(demanded.cached->format)}
                                   : staged(experts_.staging().slot(*demanded.slot), demanded.expert);
    Arrival arrival{view, demanded.neurons, 0, *demanded.whole};
    if (!demanded.neurons.empty()) {
        arrival.whole_ffn_dim = arrival.weights.layout.ffn_dim;
        arrival.weights.layout.ffn_dim = demanded.ffn_dim;
        arrival.weights.order = demanded.order;
    }
    return arrival;
}

void ExpertMover::computed(DeviceEvent end) {
    const Demanded& demanded = demanded_[n_asked_ - 1];
    if (demanded.cached != nullptr) {
        demanded.cached->used = end;
    } else {
        Staging::Slot& slot = experts_.staging().slot(*demanded.slot);
        slot.free = end;
        slot.awaited = false;
        if (prefill_) slot.expert = -1;
    }
    start_copies();
}

// Gives up copies for this layer or an earlier one that were not called.
void ExpertMover::give_up_uncalled() {
    const std::size_t next_layer = experts_.index(layer_, 0) + as_size(grid_.n_experts);
    for (Staging::Slot& slot : experts_.staging().all()) {
        if (slot.expert < 0 || slot.awaited || as_size(slot.expert) >= next_layer) continue;
        if (prefill_) ++prompt_copies_.unused_ahead;
        slot.expert = -1;
    }
}

void ExpertMover::start_copies() {
    // Sparse copies start when the expert's rows are known.
    const std::size_t n = copies_sparse() ? n_asked_ : demanded_.size();
    while (n_started_ < n && start_copy(demanded_[n_started_])) ++n_started_;  // refused ones count too
}

// False: every slot still waits to be computed with.
bool ExpertMover::start_copy(Demanded& demanded) {
    if (demanded.whole.has_value()) return true;  // on its way already
    if (!demanded.held && !demanded.goes_whole && comes_into_cache(demanded.expert) && copy_to_cache(demanded))
        return true;
    if (!demanded.held) {
        demanded.slot = experts_.staging().next(experts_.expert_bytes(experts_.format(demanded.expert)));
    }
    if (!demanded.slot.has_value()) return false;
    Staging::Slot& slot = experts_.staging().slot(*demanded.slot);
    const ExpertKey key = experts_.key(demanded.expert);
    demanded.whole = copy_on_demand(demanded, experts_.on_host(key.layer, key.expert), slot);
    if (!demanded.whole.has_value()) return true;
    slot.awaited = true;
    if (demanded.held && demanded.whole->ticket == slot.copied.ticket) return true;  // nothing was missing
    moves_.last_copy = *demanded.whole;
    moves_.copied_on_demand = true;
    return true;
}

std::optional<DeviceEvent> ExpertMover::copy_on_demand(Demanded& demanded, const kernels::ExpertView& from,
                                                       Staging::Slot& slot) {
    const std::size_t expert = demanded.expert;
    const kernels::WeightType format = experts_.format(expert);
    // A copy that will stay is made whole: it serves more than this layer.
    const std::span<const std::int32_t> held =
        demanded.held ? std::span<const std::int32_t>(slot.neurons) : std::span<const std::int32_t>();
    if (demanded.held && sparse_.accepts_guesses()) {
        return accept_guess(demanded, held, held.size() * grid_.layout(format).neuron_bytes(), slot.copied);
    }
    const auto gathered = copies_sparse() && rows_.n_rows > 0 && !demanded.goes_whole && !would_stay(expert)
                              ? sparse_.gather(experts_.key(expert), from, format, rows_, held)
                              : std::nullopt;
    if (!gathered.has_value()) return copy(expert, static_cast<const std::byte*>(from.data), slot);
    const kernels::ExpertLayout& layout = gathered->expert.layout;
    const auto n_held = demanded.held ? static_cast<std::int64_t>(slot.neurons.size()) : 0;
    const std::uint64_t bytes = layout.bytes();
    const std::uint64_t held_bytes = as_size(n_held) * layout.neuron_bytes();
    std::optional<DeviceEvent> end = slot.copied;
    if (layout.ffn_dim > 0) {
        end = copy_timed(slot.memory.data + held_bytes, gathered->expert.data, as_size(bytes), slot.free);
        if (!end.has_value()) return end;
        sparse_.copied(gathered->buffer, *end);
    }
    n_completed_ += demanded.held;
    const ExpertKey key = experts_.key(expert);
    experts_.hold(key.layer, key.expert, *end);
    slot.content = -1;  // no expert that others could compute with
    demanded.ffn_dim = n_held + layout.ffn_dim;
    demanded.neurons = gathered->neurons;
    demanded.order = gathered->order;
    came_without(demanded, bytes, held_bytes);
    return end;
}

void ExpertMover::came_without(const Demanded& demanded, std::uint64_t bytes, std::uint64_t held_bytes) {
    const kernels::WeightType format = experts_.format(demanded.expert);
    const std::uint64_t whole = experts_.expert_bytes(format);
    const std::uint64_t read = as_size(demanded.ffn_dim) * grid_.layout(format).neuron_bytes();
    moves_.bytes_copied += bytes;
    moves_.copy_bytes_saved += whole - std::min(whole, bytes + held_bytes);
    moves_.unread_bytes += whole - std::min(whole, read);
    ++moves_.sparse_copies;
}

// The expert is computed with the copied neurons only, even if it needs others.
DeviceEvent ExpertMover::accept_guess(Demanded& demanded, std::span<const std::int32_t> neurons,
                                      std::uint64_t speculative_bytes, DeviceEvent copied) {
    demanded.ffn_dim = static_cast<std::int64_t>(neurons.size());
    demanded.neurons = neurons;
    demanded.order = nullptr;
    came_without(demanded, 0, speculative_bytes);
    ++n_completed_;
    return copied;
}

// ---- the neuron cache
bool ExpertMover::comes_into_cache(std::size_t expert) const {
    return neurons_ && neurons_->on() && copies_sparse() && rows_.n_rows > 0 && !experts_.is_pinned(expert) &&
           !grid_.layout(experts_.format(expert)).spec.biases;
}

double ExpertMover::held_share(std::int64_t layer, std::int64_t expert) const {
    if (!neurons_ || !copies_sparse()) return 0;
    const std::size_t index = experts_.index(layer, expert);
    return neurons_->held_share(index, experts_.format(index));
}

// False: the expert is copied whole, or there is no room.
bool ExpertMover::copy_to_cache(Demanded& demanded) {
    const ExpertKey key = experts_.key(demanded.expert);
    const kernels::WeightType format = experts_.format(demanded.expert);
    NeuronCache::Entry* entry = neurons_->find(demanded.expert, format);
    if (entry != nullptr && neurons_->is_guessed(*entry) && sparse_.accepts_guesses()) {
        neurons_->order_of(*entry, accepted_places_, accepted_order_);
        demanded.cached = entry;
        demanded.whole = accept_guess(demanded, accepted_places_, entry->speculative_bytes, entry->copied);
        demanded.order = accepted_order_.data();
        entry->speculative_bytes = 0;
        return true;
    }
    const auto held =
        entry != nullptr ? std::span<const std::int32_t>(entry->neurons) : std::span<const std::int32_t>();
    const kernels::ExpertView from = experts_.on_host(key.layer, key.expert);
    const auto gathered = sparse_.gather(key, from, format, rows_, held);
    if (!gathered.has_value()) {
        demanded.goes_whole = true;
        return false;
    }
    const auto [n_needed, n_held] = sparse_.last_hits();
    const kernels::ExpertLayout& layout = gathered->expert.layout;
    const std::int64_t n_there = static_cast<std::int64_t>(held.size());
    const std::size_t neuron_bytes = layout.neuron_bytes();
    entry = neurons_->room(demanded.expert, format, n_there + layout.ffn_dim, neuron_bytes);
    std::optional<DeviceEvent> end = entry != nullptr ? std::optional(entry->copied) : std::nullopt;
    if (entry != nullptr && layout.ffn_dim > 0) {
        end = copy_timed(entry->data + as_size(n_there) * neuron_bytes, gathered->expert.data, layout.bytes(),
                         neurons_->after());
    }
    if (!end.has_value()) {
        sparse_.take_back();
        return false;
    }
    if (layout.ffn_dim > 0) {
        sparse_.copied(gathered->buffer, *end);
        experts_.hold(key.layer, key.expert, *end);
        moves_.last_copy = *end;
        moves_.copied_on_demand = true;
    }
    // In stored order: the old neurons, then the new ones.
    neurons_->add(*entry, sparse_.came(), *end);
    neurons_->count(*entry, n_needed, n_held);
    demanded.cached = entry;
    demanded.whole = end;
    demanded.ffn_dim = n_there + layout.ffn_dim;
    demanded.neurons = gathered->neurons;
    demanded.order = gathered->order;
    n_completed_ += neurons_->is_guessed(*entry);
    came_without(demanded, layout.bytes(), entry->speculative_bytes);
    entry->speculative_bytes = 0;
    return true;
}

bool ExpertMover::copy_speculatively_to_cache(std::size_t expert, const SparseCopies::Rows& rows) {
    const ExpertKey key = experts_.key(expert);
    const kernels::WeightType format = experts_.format(expert);
    NeuronCache::Entry* entry = neurons_->find(expert, format);
    const auto held =
        entry != nullptr ? std::span<const std::int32_t>(entry->neurons) : std::span<const std::int32_t>();
    const kernels::ExpertView in_ram{experts_.ram_block(expert), experts_.ram_layout(format)};
    const auto gathered = sparse_.gather(key, in_ram, format, rows, held);
    if (!gathered.has_value()) return false;
    const kernels::ExpertLayout& layout = gathered->expert.layout;
    const std::int64_t n_there = static_cast<std::int64_t>(held.size());
    const std::size_t neuron_bytes = layout.neuron_bytes();
    entry = neurons_->room(expert, format, n_there + layout.ffn_dim, neuron_bytes);
    if (entry == nullptr) return false;
    neurons_->set_guessed(*entry);
    if (layout.ffn_dim == 0) return true;  // all there
    const auto end = copy_timed(entry->data + as_size(n_there) * neuron_bytes, gathered->expert.data, layout.bytes(),
                                neurons_->after());
    if (!end.has_value()) return false;
    sparse_.copied(gathered->buffer, *end);
    experts_.hold(key.layer, key.expert, *end);
    neurons_->add(*entry, sparse_.came(), *end);
    entry->speculative_bytes += layout.bytes();
    moves_.bytes_copied += layout.bytes();
    return true;
}

std::optional<DeviceEvent> ExpertMover::copy_timed(void* to, const void* from, std::size_t bytes, DeviceEvent after) {
    const DeviceEvent submitted = device_.record(Queue::kCopy);
    const auto end = device_.copy_weights(to, from, bytes, after);
    if (end.has_value()) overlap_.add_copy(submitted, after, *end);
    return end;
}

std::optional<DeviceEvent> ExpertMover::copy(std::size_t expert, const std::byte* from, Staging::Slot& slot) {
    const std::uint64_t bytes = experts_.expert_bytes(experts_.format(expert));
    const auto whole = copy_timed(slot.memory.data, from, as_size(bytes), slot.free);
    if (!whole.has_value()) return whole;
    const ExpertKey key = experts_.key(expert);
    experts_.hold(key.layer, key.expert, *whole);
    slot.content = static_cast<std::int64_t>(expert);
    slot.neurons.clear();
    moves_.bytes_copied += bytes;
    return whole;
}

bool ExpertMover::may_copy_speculatively(std::int64_t layer, std::int64_t expert) const {
    const std::size_t index = experts_.index(layer, expert);
    return !experts_.on_device(index) && experts_.in_ram(index) && !experts_.staging().find(index).has_value() &&
           !(excluded_ && excluded_(layer, expert));
}

// False: there is no slot, or the device refused the copy.
bool ExpertMover::copy_speculatively(std::size_t expert, std::optional<std::size_t> free,
                                     const SparseCopies::Rows& rows) {
    if (!free.has_value()) return false;
    Staging::Slot& slot = experts_.staging().slot(*free);
    const kernels::WeightType format = experts_.format(expert);
    const kernels::ExpertView in_ram{experts_.ram_block(expert), experts_.ram_layout(format)};
    const auto gathered = rows.n_rows > 0 ? sparse_.gather(experts_.key(expert), in_ram, format, rows) : std::nullopt;
    if (gathered.has_value()) {
        const std::uint64_t bytes = gathered->expert.layout.bytes();
        const auto end = copy_timed(slot.memory.data, gathered->expert.data, as_size(bytes), slot.free);
        if (!end.has_value()) return false;
        sparse_.copied(gathered->buffer, *end);
        slot.content = -1;
        slot.expert = static_cast<std::int64_t>(expert);
        slot.neurons.assign(gathered->neurons.begin(), gathered->neurons.end());
        slot.copied = *end;
        moves_.bytes_copied += bytes;
        return true;
    }
    const auto whole = copy(expert, experts_.ram_block(expert), slot);
    if (!whole.has_value()) return false;
    slot.expert = slot.content;
    slot.copied = *whole;
    return true;
}

bool ExpertMover::guesses(std::int64_t n_tokens) const {
    return !prefill_ && n_tokens <= kGuessingTokens && !cache_rests_ && experts_.staging().guesses();
}

double ExpertMover::slack_us(const Schedule& schedule, bool host_computes) const {
    constexpr double kFreeOfCharge = 1.05;
    if (host_computes && cost_.table().cpu_slowdown > kFreeOfCharge) return 0;
    return schedule.makespan_us - schedule.copy_us + attention_us_;
}

void ExpertMover::copy_guesses(std::span<const std::int32_t> experts, double slack_us, bool regardless,
                               const float* inputs) {
    if (!experts_.staging().guesses()) return;
    for (std::size_t i = 0; i < experts.size(); ++i) {
        if (moves_.guessed_copies == kMostGuessedCopies) return;
        if (!may_copy_speculatively(layer_ + 1, experts[i])) continue;
        const std::size_t index = experts_.index(layer_ + 1, experts[i]);
        const kernels::WeightType format = experts_.format(index);
        const bool cached = inputs != nullptr && neurons_ && neurons_->on();
        const bool sparse = inputs != nullptr && (cached || !would_stay(index));
        const CostModel::ExpertCosts costs = cost_.expert_costs({layer_ + 1, false}, 1, format);
        const double copy_us = sparse ? costs.preparing_us + costs.copy_us : cost_.weight_copy_us(format);
        if (copy_us > slack_us && !regardless) return;
        const auto token = static_cast<std::int32_t>(i / as_size(grid_.n_active));
        SparseCopies::Rows rows;
        if (sparse) rows = {inputs, &token, 0, 1, true};
        if (cached && rows.n_rows > 0 && copy_speculatively_to_cache(index, rows)) {
            ++moves_.guessed_copies;
            slack_us -= copy_us;
            continue;
        }
        if (!copy_speculatively(index, experts_.staging().next_speculative(experts_.expert_bytes(format)), rows))
            return;
        ++moves_.guessed_copies;
        slack_us -= copy_us;
    }
}

// Copies experts that a prompt's next layer will call into free slots: as many as the
// copy engine can finish before that layer's router has run. Later copies would gain
// nothing over copies on demand.
void ExpertMover::copy_ahead(const Schedule& schedule) {
    if (!loads_ahead_ || layer_ + (calls_last_ ? 1 : 2) >= grid_.n_layers) {
        if (last_ || !loads_ahead_) experts_.places().set_borrowing(false);
        return;
    }
    std::int64_t n_copied = 0;
    std::uint64_t largest = 0;
    for (const Assignment& a : schedule.assignments) {
        // If the CPU computes a part, it already fills the time of the copies; and
        // whether an expert is better left to the CPU is known only after copies ahead
        // are chosen.
        if (a.target == ExecutionTarget::kCpu) return;
        if (a.target != ExecutionTarget::kCopy && !came_early(a.expert)) continue;
        ++n_copied;
        largest = std::max(largest, experts_.expert_bytes(a.format));
    }
    if (n_copied == 0) return;  // the policy copies nothing, or nothing is worth it
    double idle_us = schedule.makespan_us - schedule.copy_us + prompt_attention_us_;
    borrow_slots(schedule, n_copied, largest, idle_us);
    for (std::int64_t expert = 0; expert < grid_.n_experts && n_copied > 0 && idle_us > 0; ++expert) {
        if (!may_copy_speculatively(layer_ + 1, expert)) continue;
        const std::size_t index = experts_.index(layer_ + 1, expert);
        const std::uint64_t bytes = experts_.expert_bytes(experts_.format(index));
        if (!copy_speculatively(index, experts_.staging().next(bytes))) return;
        ++prompt_copies_.ahead;
        --n_copied;
        idle_us -= cost_.weight_copy_us(experts_.format(index));
    }
}

// A borrowed place lets one more copy run in what would be the copy engine's idle time,
// at each layer that follows. It costs two copies: its owner for the owner's layer, and
// the owner back into its place.
void ExpertMover::borrow_slots(const Schedule& schedule, std::int64_t n_copied, std::uint64_t bytes, double idle_us) {
    if (prompt_loading_ != PromptLoading::kLend || cache_ == nullptr || cache_rests_) return;
    Staging& staging = experts_.staging();
    const double copy_us = cost_.weight_copy_us(schedule.assignments.front().format);
    double gpu_us = 0;
    for (const Assignment& a : schedule.assignments) {
        if (a.target < ExecutionTarget::kCpu) gpu_us += cost_.gpu_us(a.n_tokens, a.format);
    }
    // Where the GPU takes longest, earlier copies gain nothing.
    const double copies_us = static_cast<double>(n_copied) * copy_us;
    const double to_gain_us = std::min({idle_us, copies_us + idle_us - prompt_attention_us_ - gpu_us, copies_us});
    const auto left = static_cast<double>(grid_.n_layers - layer_ - 1);
    const auto value_us = [&](std::int64_t n_borrowed) {
        const auto hidden = static_cast<double>(staging.n_slots() + n_borrowed - 1) * copy_us;
        return left * std::min(to_gain_us, hidden) - 2 * static_cast<double>(n_borrowed) * copy_us;
    };
    std::int64_t best = staging.n_borrowed();
    for (std::int64_t n = best + 1; n <= kMostLent; ++n) {
        if (value_us(n) > value_us(best)) best = n;
    }
    while (staging.n_borrowed() < best) {
        const auto least = cache_->least_useful([&](ExpertKey key) {
            const std::size_t i = experts_.index(key.layer, key.expert);
            // Not experts of the next layers: they would be copied back at once.
            const bool soon = key.layer > layer_ && key.layer <= layer_ + 2;
            return experts_.place_bytes(i) >= bytes && experts_.in_ram(i) && !experts_.is_pinned(i) && !soon;
        });
        if (!least || !experts_.places().borrow_slot(experts_.index(least->layer, least->expert))) return;
        experts_.places().set_borrowing(true);
        ++prompt_copies_.borrowed;
    }
}

void ExpertMover::add_calls(std::int64_t layer, std::span<const ExpertLoad> loads) {
    if (cache_ == nullptr) return;
    for (const ExpertLoad& load : loads) {
        cache_->used({static_cast<std::int32_t>(layer), load.expert}, load.n_tokens);
    }
}

void ExpertMover::finish_layer(std::span<const ExpertLoad> loads, std::span<Assignment> assignments) {
    if (prefill_) {
        for (Assignment& a : assignments) {
            if (a.target == ExecutionTarget::kResident && came_early(a.expert))
                a.target = ExecutionTarget::kCopy;  // no hit
        }
    } else {
        moves_.used_guesses = static_cast<std::uint16_t>(early_.size() + n_completed_);
    }
    if (cache_ == nullptr) return;
    add_calls(layer_, loads);
    // A prompt uses nearly all experts once: the residents that answers need stay.
    if (cache_rests_ || prefill_ || cache_->kind() == CacheKind::kStatic) return;
    for (const Early& early : early_) keep_copy(early.expert, early.slot);
    for (const Demanded& demanded : demanded_) {
        if (demanded.whole.has_value() && demanded.cached == nullptr) keep_copy(demanded.expert, *demanded.slot);
    }
}

// The resident that makes room for it: one with a place of its size, or else one with a
// larger place, the rest of which stays unused until a larger expert returns.
std::optional<ExpertKey> ExpertMover::victim_for(std::size_t admitted) const {
    const std::uint64_t bytes = experts_.expert_bytes(experts_.format(admitted));
    for (const bool larger : {false, true}) {
        const auto victim = cache_->victim(experts_.key(admitted), [&](ExpertKey key) {
            const std::size_t i = experts_.index(key.layer, key.expert);
            const std::uint64_t place = experts_.place_bytes(i);
            if ((larger ? place <= bytes : place != bytes) || experts_.is_pinned(i)) return false;
            return key.layer != layer_ || std::find(called_.begin(), called_.end(), key.expert) == called_.end();
        });
        if (victim) return victim;
    }
    return std::nullopt;
}

bool ExpertMover::would_stay(std::size_t expert) const {
    const bool admits = cache_ != nullptr && !cache_rests_ && !prefill_ && cache_->kind() != CacheKind::kStatic;
    return admits && victim_for(expert).has_value();
}

void ExpertMover::keep_copy(std::size_t admitted, std::size_t slot) {
    // If a layer copies more experts than there are slots, a later one may have
    // overwritten it; and a copy without some neurons cannot stay.
    if (experts_.staging().slot(slot).content != static_cast<std::int64_t>(admitted)) return;
    const auto victim = victim_for(admitted);
    if (!victim) return;
    if (experts_.places().admit(slot, admitted, experts_.index(victim->layer, victim->expert))) ++moves_.admissions;
}

}  // namespace offstage::engine
