#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/experts/cache_policy.h"
#include "engine/experts/expert_store.h"
#include "engine/plan/dispatch_policy.h"

namespace offstage::engine {

// Decides which of the experts that were copied to the device stay there, and which
// resident gives each its place: the cache policy chooses among the residents that may
// go. One thread, the engine's.
class CacheAdmission {
  public:
    // The referent must outlive this object.
    explicit CacheAdmission(ExpertStore& experts) : experts_(experts) {}
    ~CacheAdmission() { experts_.set_cache_policy(nullptr); }
    CacheAdmission(const CacheAdmission&) = delete;
    CacheAdmission& operator=(const CacheAdmission&) = delete;

    // nullptr: no copy stays. Must outlive this object or be replaced.
    void set_policy(CachePolicy* policy);
    const CachePolicy* policy() const { return policy_; }
    // While a migration moves experts no copy stays.
    void set_resting(bool rests) { rests_ = rests; }
    bool rests() const { return rests_; }

    void begin_step(bool prefill);
    void begin_layer(std::int64_t layer, std::span<const Assignment> assignments);
    // The router's calls in a layer.
    void add_calls(std::int64_t layer, std::span<const ExpertLoad> loads);

    // Whether this step's copies may stay. A prompt uses nearly all experts once: the
    // residents that answers need stay.
    bool keeps_copies() const;
    // Whether a copy of the expert would stay now.
    bool would_stay(std::size_t expert) const { return keeps_copies() && victim_for(expert).has_value(); }
    // True: the expert, which the slot had for the present layer, got a resident's place.
    // Precondition: keeps_copies().
    bool admit(std::size_t expert, std::size_t slot);

  private:
    std::optional<ExpertKey> victim_for(std::size_t admitted) const;

    ExpertStore& experts_;
    CachePolicy* policy_ = nullptr;
    bool rests_ = false;
    bool prefill_ = false;
    std::int64_t layer_ = 0;
    std::vector<std::int32_t> called_;  // experts of this layer
};

}  // namespace offstage::engine
