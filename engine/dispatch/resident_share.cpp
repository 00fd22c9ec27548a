#include "engine/dispatch/resident_share.h"

namespace offstage::engine {

bool ResidentShare::begin(std::int64_t layer, bool wanted) {
    layer_ = layer;
    on_ = wanted && residents_.holds_some(layer);
    if (on_) residents_.upload(layer);
    return on_;
}

std::span<const std::uint8_t> ResidentShare::looked_up(std::span<const Assignment> assignments) {
    looked_up_.clear();
    for (std::size_t i = 0; on_ && i < assignments.size(); ++i) {
        const Assignment& a = assignments[i];
        const bool is_resident =
            a.target == ExecutionTarget::kResident && experts_.place(layer_, a.expert) == Place::kDevice;
        looked_up_.push_back(is_resident && residents_.looked_up(layer_, a.expert) ? 1 : 0);
    }
    return looked_up_;
}

}  // namespace offstage::engine
