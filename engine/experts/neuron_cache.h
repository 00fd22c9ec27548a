#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "engine/device/backend.h"

namespace offstage::engine {

// Neurons of experts without a place on the device, kept there after they were copied
// (CORM, section 4.3): the next call of the expert copies only those active neurons that
// are missing, and the union stays. All experts share one piece of the device's memory by
// bytes, so that a partly cached expert costs only its cached neurons (the paper gives
// each a whole expert's room). Without room, the entries with the least use for their
// size are evicted.
//
// An entry is one stretch of the piece, because the kernels need its neurons side by
// side; one that outgrows its stretch is moved within the device. One thread, the
// engine's.
class NeuronCache {
  public:
    struct Entry {
        std::byte* data = nullptr;
        std::uint64_t bytes = 0;  // of the stretch
        kernels::WeightType format = kernels::WeightType::kBf16;
        std::vector<std::int32_t> neurons;    // as they lie, from data on
        DeviceEvent copied;                   // when they are all there
        DeviceEvent used;                     // the last computation that reads them
        std::uint64_t guessed_at = 0;         // the layer that copied neurons ahead of demand; 0: none
        std::uint64_t speculative_bytes = 0;  // copied for guesses since its last call
        double hits = 0;                      // needed neurons that were present: older ones count less
        double uses = 0;                      // needed neurons: older ones count less
        std::uint64_t last_step = 0;
        std::uint64_t awaited = 0;  // the layer at hand, or the next one, computes with it: not before that it goes
    };

    // `bytes` of the device's memory, MemoryUse::kWorkspace. Throws Error (kOutOfMemory).
    // 0: nothing is kept.
    NeuronCache(Backend& device, std::uint64_t bytes);

    bool on() const { return memory_.size() > 0; }
    std::uint64_t bytes() const { return memory_.size(); }
    std::uint64_t used_bytes() const;  // of these, by entries
    std::int64_t n_experts() const { return static_cast<std::int64_t>(entries_.size()); }

    void begin_step() { ++step_; }
    // Entries that are found or made from now on stay until the second next call of this
    // function.
    void begin_layer() { ++layer_; }

    // nullptr: none of its neurons are present in this format. A found entry counts as
    // used.
    Entry* find(std::size_t expert, kernels::WeightType format);
    // Room for so many neurons of neuron_bytes each, after the entry's own: in an
    // existing entry (see find()) or a new one. Writes of the copy queue must wait for
    // after(). nullptr: no room.
    Entry* room(std::size_t expert, kernels::WeightType format, std::int64_t n_neurons, std::size_t neuron_bytes);
    DeviceEvent after() const { return freed_; }
    // Records that neurons for the next layer were guessed; and whether the layer before
    // the present one did so.
    void set_guessed(Entry& entry) const { entry.guessed_at = layer_; }
    bool is_guessed(const Entry& entry) const { return entry.guessed_at > 0 && entry.guessed_at + 1 == layer_; }
    // These neurons were copied after the entry's own; copied: the event after which they
    // are there.
    void add(Entry& entry, std::span<const std::int32_t> neurons, DeviceEvent copied);
    // Counts a call: the neurons that it needed, and those that were present.
    void count(Entry& entry, std::size_t n_needed, std::size_t n_held);
    // Expected of its next call; 0: nothing is there.
    double held_share(std::size_t expert, kernels::WeightType format) const;
    // Its neurons in ascending order, and the place of each.
    void order_of(const Entry& entry, std::vector<std::int32_t>& neurons, std::vector<std::int32_t>& order) const;
    // For example because the expert got a place on the device.
    void drop(std::size_t expert);

  private:
    using Entries = std::map<std::size_t, Entry>;  // by expert

    std::optional<std::uint64_t> find_room(std::uint64_t bytes) const;  // an offset
    bool evict_one(std::size_t except);
    void give_back(const Entry& entry);
    double uses_now(const Entry& entry) const;

    Backend& device_;
    DeviceBlock memory_;
    Entries entries_;
    std::map<std::uint64_t, std::uint64_t> taken_;  // offset to bytes
    DeviceEvent freed_;                             // after it no operation reads released stretches
    std::uint64_t step_ = 0, layer_ = 0;
};

}  // namespace offstage::engine
