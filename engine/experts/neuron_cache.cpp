#include "engine/experts/neuron_cache.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "engine/as_size.h"

namespace offstage::engine {
namespace {

constexpr std::uint64_t kStretchAlignment = 256;
constexpr double kKeptUses = 63.0 / 64;      // weight of a step before
constexpr std::uint64_t kLayersAwaited = 2;  // the current one and the one that is guessed for

std::uint64_t rounded(std::uint64_t bytes) {
    return (bytes + kStretchAlignment - 1) / kStretchAlignment * kStretchAlignment;
}

}  // namespace

NeuronCache::NeuronCache(Backend& device, std::uint64_t bytes) : device_(device) {
    if (bytes > 0) memory_ = device.memory().allocate(bytes, MemoryUse::kWorkspace, std::string("neuron cache"));
}

std::uint64_t NeuronCache::used_bytes() const {
    std::uint64_t bytes = 0;
    for (const auto& [offset, taken] : taken_) bytes += taken;
    return bytes;
}

NeuronCache::Entry* NeuronCache::find(std::size_t expert, kernels::WeightType format) {
    const auto found = entries_.find(expert);
    if (found == entries_.end()) return nullptr;
    if (found->second.format != format) {
        drop(expert);
        return nullptr;
    }
    Entry& entry = found->second;
    entry.uses = uses_now(entry) + 1;
    entry.last_step = step_;
    entry.awaited = layer_;
    return &entry;
}

NeuronCache::Entry* NeuronCache::room(std::size_t expert, kernels::WeightType format, std::int64_t n_neurons,
                                      std::size_t neuron_bytes) {
    const auto found = entries_.find(expert);
    Entry* entry = found != entries_.end() ? &found->second : nullptr;
    const std::uint64_t needed = rounded(as_size(n_neurons) * neuron_bytes);
    if (entry != nullptr && entry->bytes >= needed) return entry;
    if (needed > bytes()) return nullptr;
    std::optional<std::uint64_t> offset = find_room(needed);
    while (!offset && evict_one(expert)) offset = find_room(needed);
    if (!offset) return nullptr;
    Entry made;
    made.data = memory_.as<std::byte>() + *offset;
    made.bytes = needed;
    made.format = format;
    made.uses = 1;
    made.last_step = step_;
    made.awaited = layer_;
    taken_.emplace(*offset, needed);
    if (entry == nullptr) return &entries_.emplace(expert, made).first->second;
    // The compute queue moves the old neurons, once they have arrived and no operation
    // reads the new place any more.
    device_.wait(entry->copied);
    device_.copy_within(made.data, entry->data, entry->neurons.size() * neuron_bytes);
    made.used = device_.record(DeviceEvent::Queue::kCompute);
    entry->used = made.used;
    give_back(*entry);
    made.neurons = std::move(entry->neurons);
    made.copied = entry->copied;
    made.uses = entry->uses;
    made.guessed_at = entry->guessed_at;
    made.speculative_bytes = entry->speculative_bytes;
    made.hits = entry->hits;
    *entry = std::move(made);
    return entry;
}

void NeuronCache::add(Entry& entry, std::span<const std::int32_t> neurons, DeviceEvent copied) {
    entry.neurons.insert(entry.neurons.end(), neurons.begin(), neurons.end());
    entry.copied = copied;
}

void NeuronCache::count(Entry& entry, std::size_t n_needed, std::size_t n_held) {
    if (n_needed == 0) return;
    const double share = static_cast<double>(n_held) / static_cast<double>(n_needed);
    entry.hits = n_held == 0 ? 0 : entry.hits + (share - entry.hits) / 4;
}

double NeuronCache::held_share(std::size_t expert, kernels::WeightType format) const {
    const auto found = entries_.find(expert);
    return found != entries_.end() && found->second.format == format ? found->second.hits : 0;
}

void NeuronCache::order_of(const Entry& entry, std::vector<std::int32_t>& neurons,
                           std::vector<std::int32_t>& order) const {
    order.resize(entry.neurons.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](std::int32_t a, std::int32_t b) { return entry.neurons[as_size(a)] < entry.neurons[as_size(b)]; });
    neurons.resize(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) neurons[i] = entry.neurons[as_size(order[i])];
}

void NeuronCache::drop(std::size_t expert) {
    const auto found = entries_.find(expert);
    if (found == entries_.end()) return;
    give_back(found->second);
    entries_.erase(found);
}

std::optional<std::uint64_t> NeuronCache::find_room(std::uint64_t bytes) const {
    // The smallest gap that is large enough.
    std::optional<std::uint64_t> best;
    std::uint64_t best_bytes = 0, end = 0;
    const auto look = [&](std::uint64_t next) {
        const std::uint64_t gap = next - end;
        if (gap >= bytes && (!best || gap < best_bytes)) {
            best = end;
            best_bytes = gap;
        }
    };
    for (const auto& [offset, taken] : taken_) {
        look(offset);
        end = offset + taken;
    }
    look(this->bytes());
    return best;
}

bool NeuronCache::evict_one(std::size_t except) {
    auto least = entries_.end();
    double least_worth = 0;
    for (auto i = entries_.begin(); i != entries_.end(); ++i) {
        const Entry& entry = i->second;
        if (i->first == except || entry.awaited + kLayersAwaited > layer_) continue;
        const double worth = uses_now(entry) / static_cast<double>(entry.bytes);
        if (least != entries_.end() && worth >= least_worth) continue;
        least = i;
        least_worth = worth;
    }
    if (least == entries_.end()) return false;
    give_back(least->second);
    entries_.erase(least);
    return true;
}

// Events of one queue happen in order: waiting for the last one covers all.
void NeuronCache::give_back(const Entry& entry) {
    taken_.erase(static_cast<std::uint64_t>(entry.data - memory_.as<std::byte>()));
    if (entry.used.ticket > freed_.ticket) freed_ = entry.used;
}

double NeuronCache::uses_now(const Entry& entry) const {
    return entry.uses * std::pow(kKeptUses, static_cast<double>(step_ - entry.last_step));
}

}  // namespace offstage::engine
