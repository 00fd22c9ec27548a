#include "engine/dispatch/resident_share.h"

namespace offstage::engine {

bool ResidentShare::begin(std::int64_t layer, bool wanted) {
    layer_ = layer;
    const bool on = wanted && residents_.holds_some(layer);
    if (on) residents_.upload(layer);
    return on;
}

std::span<const std::uint8_t> ResidentShare::looked_up(std::int64_t layer, std::span<const Assignment> assignments) {
    looked_up_.clear();
    for (const Assignment& a : assignments) {
        const bool is_resident =
            a.target == ExecutionTarget::kResident && experts_.place(layer, a.expert) == Place::kDevice;
        looked_up_.push_back(is_resident && residents_.looked_up(layer, a.expert) ? 1 : 0);
    }
    return looked_up_;
}

}  // namespace offstage::engine
