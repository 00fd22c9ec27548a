#include "engine/experts/expert_copier.h"

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

template <typename Begin>
std::optional<DeviceEvent> ExpertCopier::timed(DeviceEvent after, const Begin& begin) {
    const DeviceEvent submitted = device_.record(DeviceEvent::Queue::kCopy);
    const auto end = begin();
    if (end.has_value()) overlap_.add_copy(submitted, after, *end);
    return end;
}

std::optional<DeviceEvent> ExpertCopier::copy(void* to, const void* from, std::size_t bytes, DeviceEvent after) {
    return timed(after, [&] { return device_.copy_weights(to, from, bytes, after); });
}

std::optional<DeviceEvent> ExpertCopier::copy_whole(std::size_t expert, const kernels::ExpertView& from,
                                                    Staging::Slot& slot) {
    const auto whole = timed(slot.free, [&] { return device_.copy_expert(slot.memory.data, from, slot.free); });
    if (!whole.has_value()) return whole;
    const ExpertKey key = experts_.key(expert);
    experts_.hold(key.layer, key.expert, *whole);
    slot.content = static_cast<std::int64_t>(expert);
    slot.neurons.clear();
    moves_.bytes_copied += from.layout.bytes();
    return whole;
}

}  // namespace offstage::engine
