#include "engine/experts/expert_mover.h"

#include <algorithm>

#include "engine/as_size.h"

namespace offstage::engine {

using Queue = DeviceEvent::Queue;

ExpertMover::ExpertMover(const ExpertGrid& grid, ExpertStore& experts, Backend& device, CpuOperations& operations,
                         const CostModel& cost)
    : grid_(grid),
      experts_(experts),
      device_(device),
      copier_(experts, device, operations, cost),
      admission_(experts),
      prefetcher_(grid, experts, device, cost, copier_, admission_) {}

void ExpertMover::begin_step(const Prefetcher::Step& step) {
    prefill_ = step.prefill;
    prefetcher_.begin_step(step);
    admission_.begin_step(step.prefill);
    copier_.begin_step(step.prefill);
    experts_.staging().forget_speculation();
    experts_.staging().read_prompt(step.prefill);
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
    copier_.begin_layer(layer);
    admission_.begin_layer(layer, assignments);
    demanded_.clear();
    early_.clear();
    n_started_ = n_asked_ = 0;
    n_completed_ = 0;
    Staging& staging = experts_.staging();
    NeuronCache* const neurons = copier_.neuron_cache();
    for (Assignment& a : assignments) {
        const std::size_t expert = experts_.index(layer, a.expert);
        // Where RAM is short the device has the only copy; then the device computes the
        // expert against the policy.
        if (a.target == ExecutionTarget::kCpu && experts_.on_device(expert) && !experts_.in_ram(expert))
            a.target = ExecutionTarget::kResident;
        if (neurons != nullptr && experts_.on_device(expert)) neurons->drop(expert);
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
    if (!demanded_.empty()) copier_.moves().first_copy = device_.record(Queue::kCopy);
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
    free_slot(experts_.staging().slot(*experts_.staging().find(experts_.index(layer_, expert))), end);
    start_copies();
}

std::optional<ExpertMover::Arrival> ExpertMover::next_arrival(const SparseCopies::Rows& rows) {
    const std::size_t i = n_asked_++;
    rows_ = rows;
    if (copier_.copies_sparse()) start_copies();
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
        free_slot(experts_.staging().slot(*demanded.slot), end);
    }
    start_copies();
}

void ExpertMover::free_slot(Staging::Slot& slot, DeviceEvent used) {
    slot.free = used;
    slot.awaited = false;
    if (prefill_) slot.expert = -1;
}

// Gives up copies for this layer or an earlier one that were not called.
void ExpertMover::give_up_uncalled() {
    const std::size_t next_layer = experts_.index(layer_, 0) + as_size(grid_.n_experts);
    for (Staging::Slot& slot : experts_.staging().all()) {
        if (slot.expert < 0 || slot.awaited || as_size(slot.expert) >= next_layer) continue;
        if (prefill_) prefetcher_.add_unused_ahead();
        slot.expert = -1;
    }
}

void ExpertMover::start_copies() {
    // Sparse copies start when the expert's rows are known.
    const std::size_t n = copier_.copies_sparse() ? n_asked_ : demanded_.size();
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
    copier_.moves().last_copy = *demanded.whole;
    copier_.moves().copied_on_demand = true;
    return true;
}

std::optional<DeviceEvent> ExpertMover::copy_on_demand(Demanded& demanded, const kernels::ExpertView& from,
                                                       Staging::Slot& slot) {
    const std::size_t expert = demanded.expert;
    const kernels::WeightType format = experts_.format(expert);
    // A copy that will stay is made whole: it serves more than this layer.
    const std::span<const std::int32_t> held =
        demanded.held ? std::span<const std::int32_t>(slot.neurons) : std::span<const std::int32_t>();
    if (demanded.held && copier_.sparse().accepts_guesses()) {
        return accept_guess(demanded, held, held.size() * grid_.layout(format).neuron_bytes(), slot.copied);
    }
    const auto gathered =
        copier_.copies_sparse() && rows_.n_rows > 0 && !demanded.goes_whole && !admission_.would_stay(expert)
            ? copier_.sparse().gather(experts_.key(expert), from, format, rows_, held)
            : std::nullopt;
    if (!gathered.has_value()) return copier_.copy_whole(expert, from, slot);
    const kernels::ExpertLayout& layout = gathered->expert.layout;
    const auto n_held = demanded.held ? static_cast<std::int64_t>(slot.neurons.size()) : 0;
    const std::uint64_t bytes = layout.bytes();
    const std::uint64_t held_bytes = as_size(n_held) * layout.neuron_bytes();
    std::optional<DeviceEvent> end = slot.copied;
    if (layout.ffn_dim > 0) {
        end = copier_.copy(slot.memory.data + held_bytes, gathered->expert.data, as_size(bytes), slot.free);
        if (!end.has_value()) return end;
        copier_.sparse().copied(gathered->buffer, *end);
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
    ExpertCopier::Moves& moves = copier_.moves();
    moves.bytes_copied += bytes;
    moves.copy_bytes_saved += whole - std::min(whole, bytes + held_bytes);
    moves.unread_bytes += whole - std::min(whole, read);
    ++moves.sparse_copies;
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
    return copier_.caches_neurons() && copier_.copies_sparse() && rows_.n_rows > 0 && !experts_.is_pinned(expert) &&
           !grid_.layout(experts_.format(expert)).spec.biases;
}

double ExpertMover::held_share(std::int64_t layer, std::int64_t expert) const {
    const NeuronCache* const neurons = copier_.neuron_cache();
    if (neurons == nullptr || !copier_.copies_sparse()) return 0;
    const std::size_t index = experts_.index(layer, expert);
    return neurons->held_share(index, experts_.format(index));
}

// False: the expert is copied whole, or there is no room.
bool ExpertMover::copy_to_cache(Demanded& demanded) {
    NeuronCache& neurons = *copier_.neuron_cache();
    const ExpertKey key = experts_.key(demanded.expert);
    const kernels::WeightType format = experts_.format(demanded.expert);
    NeuronCache::Entry* entry = neurons.find(demanded.expert, format);
    if (entry != nullptr && neurons.is_guessed(*entry) && copier_.sparse().accepts_guesses()) {
        neurons.order_of(*entry, accepted_places_, accepted_order_);
        demanded.cached = entry;
        demanded.whole = accept_guess(demanded, accepted_places_, entry->speculative_bytes, entry->copied);
        demanded.order = accepted_order_.data();
        entry->speculative_bytes = 0;
        return true;
    }
    const auto held =
        entry != nullptr ? std::span<const std::int32_t>(entry->neurons) : std::span<const std::int32_t>();
    const kernels::ExpertView from = experts_.on_host(key.layer, key.expert);
    const auto gathered = copier_.sparse().gather(key, from, format, rows_, held);
    if (!gathered.has_value()) {
        demanded.goes_whole = true;
        return false;
    }
    const auto [n_needed, n_held] = copier_.sparse().last_hits();
    const kernels::ExpertLayout& layout = gathered->expert.layout;
    const std::int64_t n_there = static_cast<std::int64_t>(held.size());
    const std::size_t neuron_bytes = layout.neuron_bytes();
    entry = neurons.room(demanded.expert, format, n_there + layout.ffn_dim, neuron_bytes);
    std::optional<DeviceEvent> end = entry != nullptr ? std::optional(entry->copied) : std::nullopt;
    if (entry != nullptr && layout.ffn_dim > 0) {
        end = copier_.copy(entry->data + as_size(n_there) * neuron_bytes, gathered->expert.data, layout.bytes(),
                           neurons.after());
    }
    if (!end.has_value()) {
        copier_.sparse().take_back();
        return false;
    }
    if (layout.ffn_dim > 0) {
        copier_.sparse().copied(gathered->buffer, *end);
        experts_.hold(key.layer, key.expert, *end);
        copier_.moves().last_copy = *end;
        copier_.moves().copied_on_demand = true;
    }
    // In stored order: the old neurons, then the new ones.
    neurons.add(*entry, copier_.sparse().came(), *end);
    neurons.count(*entry, n_needed, n_held);
    demanded.cached = entry;
    demanded.whole = end;
    demanded.ffn_dim = n_there + layout.ffn_dim;
    demanded.neurons = gathered->neurons;
    demanded.order = gathered->order;
    n_completed_ += neurons.is_guessed(*entry);
    came_without(demanded, layout.bytes(), entry->speculative_bytes);
    entry->speculative_bytes = 0;
    return true;
}

void ExpertMover::finish_layer(std::span<const ExpertLoad> loads, std::span<Assignment> assignments) {
    if (prefill_) {
        for (Assignment& a : assignments) {
            if (a.target == ExecutionTarget::kResident && came_early(a.expert))
                a.target = ExecutionTarget::kCopy;  // no hit
        }
    } else {
        copier_.moves().used_guesses = early_.size() + n_completed_;
    }
    admission_.add_calls(layer_, loads);
    if (!admission_.keeps_copies()) return;
    std::uint64_t& admissions = copier_.moves().admissions;
    for (const Early& early : early_) {
        if (admission_.admit(early.expert, early.slot)) ++admissions;
    }
    for (const Demanded& demanded : demanded_) {
        if (!demanded.whole.has_value() || demanded.cached != nullptr) continue;
        if (admission_.admit(demanded.expert, *demanded.slot)) ++admissions;
    }
}

}  // namespace offstage::engine
