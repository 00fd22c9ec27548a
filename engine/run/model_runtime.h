#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/experts/cache_policy.h"
#include "engine/experts/placement_learner.h"
#include "engine/plan/forecast.h"
#include "engine/plan/plan.h"
#include "engine/run/device_weights.h"
#include "engine/run/expert_host.h"
#include "engine/run/forward.h"
#include "engine/run/kv_cache.h"

namespace offstage::engine {

// Makes steps with a model whose experts are loaded: dense weights, KV cache, Forward,
// and the present plan. Experts change their places here, between steps. One thread, the
// engine's.
class ModelRuntime {
  public:
    // `experts` was filled by this plan and must outlive this object. dense_read_bytes:
    // DenseWeights::decode_bytes() of the weights. Throws Error (kOutOfMemory) for the KV
    // cache and the workspace.
    ModelRuntime(ExpertHost& experts, DeviceWeights weights, std::uint64_t dense_read_bytes, Plan plan);
    ModelRuntime(const ModelRuntime&) = delete;
    ModelRuntime& operator=(const ModelRuntime&) = delete;

    const Plan& plan() const { return plan_; }  // in force
    const DeviceWeights& weights() const { return weights_; }
    KvCache& kv() { return kv_; }
    Forward& forward() { return forward_; }
    // An empty sequence for up to plan().context tokens. Must not outlive this object.
    KvSequence new_sequence() { return KvSequence(kv_, plan_.context); }
    // The weights that a decoded token reads, with the experts in their present formats.
    WeightReads reads() const;

    // ---- for re-plans (Replanner), beside ExpertHost::grow_for()
    // Changes the KV cache towards the plan's by about one expert's bytes a call. True
    // when it is reached. Throws Error; the progress so far stays.
    bool resize_kv(const Plan& plan);
    // The plan has fewer blocks of the KV cache on the device than there are now.
    bool frees_device_of_kv(const Plan& plan) const;
    // Limits steps to the plan's length from now on, so that its experts find room.
    // Throws Error (kOutOfMemory) as Forward::set_max_step().
    void shorten_steps(const Plan& plan);
    // Called when experts and KV cache are as planned: sets staging and steps as planned,
    // and shrinks what may be smaller. Throws Error, also kOutOfMemory if more memory is
    // in use than the budget allows: a plan that does not fit is never in force.
    void put_in_force(const Plan& plan);

    // ---- experts that change places by live counts
    // Switches this on (LoadRequest::learn_placement).
    void learn_placement();
    // After a step, with its routing: exchanges experts, if that was requested and pays.
    void learn(std::span<const std::int32_t> routing, std::int64_t n_tokens);
    // Pauses it while a migration moves experts; the cache of copies pauses as well.
    void set_resting(bool rests);

  private:
    ExpertHost& experts_;
    DeviceWeights weights_;
    std::uint64_t dense_read_bytes_;
    Plan plan_;
    KvCache kv_;
    std::unique_ptr<CachePolicy> cache_policy_;
    Forward forward_;
    std::unique_ptr<PlacementLearner> learner_;  // nullptr: experts stay
    bool rests_ = false;
    std::vector<std::uint8_t> resident_;
};

}  // namespace offstage::engine
