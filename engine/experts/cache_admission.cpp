#include "engine/experts/cache_admission.h"

#include <algorithm>

namespace offstage::engine {

void CacheAdmission::set_policy(CachePolicy* policy) {
    policy_ = policy;
    experts_.set_cache_policy(policy);
}

void CacheAdmission::begin_step(bool prefill) {
    prefill_ = prefill;
    if (policy_ != nullptr) policy_->begin_step();
}

void CacheAdmission::begin_layer(std::int64_t layer, std::span<const Assignment> assignments) {
    layer_ = layer;
    called_.clear();
    for (const Assignment& a : assignments) called_.push_back(a.expert);
}

void CacheAdmission::add_calls(std::int64_t layer, std::span<const ExpertLoad> loads) {
    if (policy_ == nullptr) return;
    for (const ExpertLoad& load : loads) {
        policy_->used({static_cast<std::int32_t>(layer), load.expert}, load.n_tokens);
    }
}

bool CacheAdmission::keeps_copies() const {
    return policy_ != nullptr && !rests_ && !prefill_ && policy_->kind() != CacheKind::kStatic;
}

// The resident that makes room for it: one with a place of its size, or else one with a
// larger place, the rest of which stays unused until a larger expert returns.
std::optional<ExpertKey> CacheAdmission::victim_for(std::size_t admitted) const {
    const std::uint64_t bytes = experts_.expert_bytes(experts_.format(admitted));
    for (const bool larger : {false, true}) {
        const auto victim = policy_->victim(experts_.key(admitted), [&](ExpertKey key) {
            const std::size_t i = experts_.index(key.layer, key.expert);
            const std::uint64_t place = experts_.place_bytes(i);
            if ((larger ? place <= bytes : place != bytes) || experts_.is_pinned(i)) return false;
            return key.layer != layer_ || std::find(called_.begin(), called_.end(), key.expert) == called_.end();
        });
        if (victim) return victim;
    }
    return std::nullopt;
}

bool CacheAdmission::admit(std::size_t expert, std::size_t slot) {
    // If a layer copies more experts than there are slots, a later one may have
    // overwritten it; and a copy without some neurons cannot stay.
    if (experts_.staging().slot(slot).content != static_cast<std::int64_t>(expert)) return false;
    const auto victim = victim_for(expert);
    return victim && experts_.places().admit(slot, expert, experts_.index(victim->layer, victim->expert));
}

}  // namespace offstage::engine
