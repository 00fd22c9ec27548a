#include "engine/experts/prefetcher.h"

#include <algorithm>

#include "engine/as_size.h"
#include "engine/plan/planner_objective.h"

namespace offstage::engine {

void Prefetcher::begin_step(const Step& step) {
    step_ = step;
    loads_ahead_ = step.prefill && prompt_loading_ != PromptLoading::kOnDemand && !device_.shares_host_memory() &&
                   calls_all(step.n_tokens);
    prompt_attention_us_ = 0;
    if (!loads_ahead_) experts_.places().set_borrowing(false);
}

void Prefetcher::add_attention(double us) {
    if (step_.prefill) {
        prompt_attention_us_ = us;
    } else {
        attention_us_ += (us - attention_us_) / 16;
    }
}

// Of each layer's experts.
bool Prefetcher::calls_all(std::int64_t n_tokens) const {
    return n_tokens * grid_.n_active >= kSureTokens * grid_.n_experts;
}

bool Prefetcher::reads_guesses() const {
    return !step_.prefill && step_.n_tokens <= kGuessingTokens && step_.reads && experts_.reads_ahead();
}

bool Prefetcher::wants_guesses() const {
    const bool copies = step_.copies && !step_.prefill && step_.n_tokens <= kGuessingTokens && !admission_.rests() &&
                        experts_.staging().guesses();
    return copies || reads_guesses();
}

void Prefetcher::read_ahead(std::int64_t layer, std::span<const Assignment> assignments,
                            std::span<const std::int32_t> guesses) {
    if (!experts_.reads_ahead()) return;
    needed_.clear();
    likely_.clear();
    for (const Assignment& a : assignments) {
        const std::size_t expert = experts_.index(layer, a.expert);
        const bool staged = a.target == ExecutionTarget::kCopy && experts_.staging().find(expert).has_value();
        if ((a.target == ExecutionTarget::kCopy && !staged) || a.target == ExecutionTarget::kCpu)
            needed_.push_back(expert);
    }
    if (layer + 1 < grid_.n_layers && step_.reads) {
        const std::size_t next = experts_.index(layer + 1, 0);
        const std::int64_t n = layer + 2 < grid_.n_layers ? step_.n_tokens : step_.n_last;
        const auto expect = [&](std::int64_t e) {
            if (!is_excluded(layer + 1, e)) likely_.push_back(next + as_size(e));
        };
        const bool all = step_.prefill && calls_all(n);
        for (std::int64_t e = 0; all && e < grid_.n_experts; ++e) expect(e);
        for (const std::int32_t e : guesses) expect(e);
    }
    experts_.expect(needed_, likely_);
}

bool Prefetcher::may_copy(std::int64_t layer, std::int64_t expert) const {
    const std::size_t index = experts_.index(layer, expert);
    return !experts_.on_device(index) && experts_.in_ram(index) && !experts_.staging().find(index).has_value() &&
           !is_excluded(layer, expert);
}

void Prefetcher::copy_guesses(std::int64_t layer, const Schedule& schedule, std::span<const std::int32_t> guesses,
                              bool host_computes, const float* inputs) {
    constexpr double kFreeOfCharge = 1.05;
    if (!step_.copies || !experts_.staging().guesses()) return;
    // Between this layer's last copy and the next layer's first.
    double slack_us = host_computes && cost_.table().cpu_slowdown > kFreeOfCharge
                          ? 0
                          : schedule.makespan_us - schedule.copy_us + attention_us_;
    for (std::size_t i = 0; i < guesses.size(); ++i) {
        if (copier_.moves().guessed_copies == kMostGuessedCopies) return;
        if (!may_copy(layer + 1, guesses[i])) continue;
        const std::size_t index = experts_.index(layer + 1, guesses[i]);
        const kernels::WeightType format = experts_.format(index);
        const bool cached = inputs != nullptr && copier_.caches_neurons();
        const bool sparse = inputs != nullptr && (cached || !admission_.would_stay(index));
        const CostModel::ExpertCosts costs = cost_.expert_costs({layer + 1, false}, 1, format);
        const double copy_us = sparse ? costs.preparing_us + costs.copy_us : cost_.weight_copy_us(format);
        if (copy_us > slack_us && !step_.regardless) return;
        const auto token = static_cast<std::int32_t>(i / as_size(grid_.n_active));
        SparseCopies::Rows rows;
        if (sparse) rows = {inputs, &token, 0, 1, true};
        if (!(cached && rows.n_rows > 0 && copy_to_cache(index, rows)) &&
            !copy(index, experts_.staging().next_speculative(experts_.expert_bytes(format)), rows)) {
            return;
        }
        ++copier_.moves().guessed_copies;
        slack_us -= copy_us;
    }
}

// False: there is no slot, or the device refused the copy.
bool Prefetcher::copy(std::size_t expert, std::optional<std::size_t> free, const SparseCopies::Rows& rows) {
    if (!free.has_value()) return false;
    Staging::Slot& slot = experts_.staging().slot(*free);
    const auto gathered = rows.n_rows > 0 ? copier_.sparse().gather(experts_.key(expert), experts_.ram_view(expert),
                                                                    experts_.format(expert), rows)
                                          : std::nullopt;
    if (gathered.has_value()) {
        const std::uint64_t bytes = gathered->expert.layout.bytes();
        const auto end = copier_.copy(slot.memory.data, gathered->expert.data, as_size(bytes), slot.free);
        if (!end.has_value()) return false;
        copier_.sparse().copied(gathered->buffer, *end);
        slot.content = -1;
        slot.expert = static_cast<std::int64_t>(expert);
        slot.neurons.assign(gathered->neurons.begin(), gathered->neurons.end());
        slot.copied = *end;
        copier_.moves().bytes_copied += bytes;
        return true;
    }
    const auto whole = copier_.copy_whole(expert, experts_.ram_view(expert), slot);
    if (!whole.has_value()) return false;
    slot.expert = slot.content;
    slot.copied = *whole;
    return true;
}

// The neurons that the cache does not have.
bool Prefetcher::copy_to_cache(std::size_t expert, const SparseCopies::Rows& rows) {
    NeuronCache& cache = *copier_.neuron_cache();
    const ExpertKey key = experts_.key(expert);
    const kernels::WeightType format = experts_.format(expert);
    NeuronCache::Entry* entry = cache.find(expert, format);
    const auto held =
        entry != nullptr ? std::span<const std::int32_t>(entry->neurons) : std::span<const std::int32_t>();
    const auto gathered = copier_.sparse().gather(key, experts_.ram_view(expert), format, rows, held);
    if (!gathered.has_value()) return false;
    const kernels::ExpertLayout& layout = gathered->expert.layout;
    const std::int64_t n_there = static_cast<std::int64_t>(held.size());
    const std::size_t neuron_bytes = layout.neuron_bytes();
    entry = cache.room(expert, format, n_there + layout.ffn_dim, neuron_bytes);
    if (entry == nullptr) return false;
    cache.set_guessed(*entry);
    if (layout.ffn_dim == 0) return true;  // all there
    const auto end = copier_.copy(entry->data + as_size(n_there) * neuron_bytes, gathered->expert.data, layout.bytes(),
                                  cache.after());
    if (!end.has_value()) return false;
    copier_.sparse().copied(gathered->buffer, *end);
    experts_.hold(key.layer, key.expert, *end);
    cache.add(*entry, copier_.sparse().came(), *end);
    entry->speculative_bytes += layout.bytes();
    copier_.moves().bytes_copied += layout.bytes();
    return true;
}

void Prefetcher::copy_ahead(std::int64_t layer, const Schedule& schedule) {
    if (!loads_ahead_ || layer + (calls_all(step_.n_last) ? 1 : 2) >= grid_.n_layers) {
        if (step_.last || !loads_ahead_) experts_.places().set_borrowing(false);
        return;
    }
    std::int64_t n_copied = 0;
    std::uint64_t largest = 0;
    for (const Assignment& a : schedule.assignments) {
        // If the CPU computes a part, it already fills the time of the copies; and
        // whether an expert is better left to the CPU is known only after copies ahead
        // are chosen.
        if (a.target == ExecutionTarget::kCpu) return;
        const bool came_ahead =
            a.target == ExecutionTarget::kResident && !experts_.on_device(experts_.index(layer, a.expert));
        if (a.target != ExecutionTarget::kCopy && !came_ahead) continue;
        ++n_copied;
        largest = std::max(largest, experts_.expert_bytes(a.format));
    }
    if (n_copied == 0) return;  // the policy copies nothing, or nothing is worth it
    double idle_us = schedule.makespan_us - schedule.copy_us + prompt_attention_us_;
    borrow_slots(layer, schedule, n_copied, largest, idle_us);
    for (std::int64_t expert = 0; expert < grid_.n_experts && n_copied > 0 && idle_us > 0; ++expert) {
        if (!may_copy(layer + 1, expert)) continue;
        const std::size_t index = experts_.index(layer + 1, expert);
        const std::uint64_t bytes = experts_.expert_bytes(experts_.format(index));
        if (!copy(index, experts_.staging().next(bytes))) return;
        ++prompt_copies_.ahead;
        --n_copied;
        idle_us -= cost_.weight_copy_us(experts_.format(index));
    }
}

// A borrowed place lets one more copy run in what would be the copy engine's idle time,
// at each layer that follows. It costs two copies: its owner for the owner's layer, and
// the owner back into its place.
void Prefetcher::borrow_slots(std::int64_t layer, const Schedule& schedule, std::int64_t n_copied, std::uint64_t bytes,
                              double idle_us) {
    if (prompt_loading_ != PromptLoading::kLend || admission_.policy() == nullptr || admission_.rests()) return;
    Staging& staging = experts_.staging();
    const double copy_us = cost_.weight_copy_us(schedule.assignments.front().format);
    double gpu_us = 0;
    for (const Assignment& a : schedule.assignments) {
        if (a.target < ExecutionTarget::kCpu) gpu_us += cost_.gpu_us(a.n_tokens, a.format);
    }
    // Where the GPU takes longest, earlier copies gain nothing.
    const double copies_us = static_cast<double>(n_copied) * copy_us;
    const double to_gain_us = std::min({idle_us, copies_us + idle_us - prompt_attention_us_ - gpu_us, copies_us});
    const auto left = static_cast<double>(grid_.n_layers - layer - 1);
    const auto value_us = [&](std::int64_t n_borrowed) {
        const auto hidden = static_cast<double>(staging.n_slots() + n_borrowed - 1) * copy_us;
        return left * std::min(to_gain_us, hidden) - 2 * static_cast<double>(n_borrowed) * copy_us;
    };
    std::int64_t best = staging.n_borrowed();
    for (std::int64_t n = best + 1; n <= kMostBorrowed; ++n) {
        if (value_us(n) > value_us(best)) best = n;
    }
    while (staging.n_borrowed() < best) {
        const auto least = admission_.policy()->least_useful([&](ExpertKey key) {
            const std::size_t i = experts_.index(key.layer, key.expert);
            // Not experts of the next layers: they would be copied back at once.
            const bool soon = key.layer > layer && key.layer <= layer + 2;
            return experts_.place_bytes(i) >= bytes && experts_.in_ram(i) && !experts_.is_pinned(i) && !soon;
        });
        if (!least || !experts_.places().borrow_slot(experts_.index(least->layer, least->expert))) return;
        experts_.places().set_borrowing(true);
        ++prompt_copies_.borrowed;
    }
}

}  // namespace offstage::engine
