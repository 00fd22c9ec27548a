#include "engine/experts/expert_copier.h"

#include "engine/as_size.h"

namespace offstage::engine {

void ExpertCopier::set_neuron_cache(std::uint64_t bytes) {
    neurons_.emplace(device_, bytes);
}

void ExpertCopier::begin_step(bool prefill) {
    prefill_ = prefill;
    if (neurons_) neurons_->begin_step();
    overlap_.begin_step();
}

void ExpertCopier::begin_layer(std::int64_t layer) {
    moves_ = {};
    sparse_.begin_layer(layer);
    if (neurons_) neurons_->begin_layer();
}

std::optional<DeviceEvent> ExpertCopier::copy(void* to, const void* from, std::size_t bytes, DeviceEvent after) {
    const DeviceEvent submitted = device_.record(DeviceEvent::Queue::kCopy);
    const auto end = device_.copy_weights(to, from, bytes, after);
    if (end.has_value()) overlap_.add_copy(submitted, after, *end);
    return end;
}

std::optional<DeviceEvent> ExpertCopier::copy_whole(std::size_t expert, const std::byte* from, Staging::Slot& slot) {
    const std::uint64_t bytes = experts_.expert_bytes(experts_.format(expert));
    const auto whole = copy(slot.memory.data, from, as_size(bytes), slot.free);
    if (!whole.has_value()) return whole;
    const ExpertKey key = experts_.key(expert);
    experts_.hold(key.layer, key.expert, *whole);
    slot.content = static_cast<std::int64_t>(expert);
    slot.neurons.clear();
    moves_.bytes_copied += bytes;
    return whole;
}

}  // namespace offstage::engine
