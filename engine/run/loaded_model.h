#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/device/host_memory.h"
#include "engine/device/memory_size.h"
#include "engine/dispatch/dispatcher.h"
#include "engine/experts/expert_store.h"
#include "engine/model/model_spec.h"
#include "engine/model/weights.h"
#include "engine/plan/compute_choice.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/placement_learner.h"
#include "engine/plan/planner.h"
#include "engine/plan/popularity.h"
#include "engine/plan/sensitivity.h"
#include "engine/plan/weight_reads.h"
#include "engine/quant/expert_source.h"
#include "engine/quant/quant_cache.h"
#include "engine/run/device_weights.h"
#include "engine/run/forward.h"
#include "engine/run/kv_cache.h"
#include "engine/run/load_planner.h"
#include "engine/run/plan_basis.h"
#include "engine/run/session.h"
#include "engine/text/chat_template.h"
#include "engine/text/tokenizer.h"
#include "kernels/gemm.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

// A model with all that computing and talking with it needs: device, plan, weights and experts in their places. Built
// whole or not at all.
class LoadedModel {
  public:
    enum class Text { kWanted, kNotNeeded };  // kNotNeeded: logits and benches; the folder may lack a tokenizer

    // Throws Error; progress and stop as in Session::load.
    LoadedModel(const LoadRequest& request, Text text, const LoadProgressFn& progress, const std::stop_token& stop);
    LoadedModel(const LoadedModel&) = delete;
    LoadedModel& operator=(const LoadedModel&) = delete;

    const ModelSpec& spec() const { return spec_; }
    const ModelSummary& summary() const { return summary_; }
    kernels::ThreadPool& pool() { return *pool_; }
    kernels::GemmMode mode() const { return compute_.mode; }
    const Tokenizer* tokenizer() const { return tokenizer_.get(); }             // nullptr: none
    const ChatTemplate* chat_template() const { return chat_template_.get(); }  // nullptr: none

    Backend& device() { return *device_; }
    CpuOperations& host() { return *host_; }
    Arena& ram() { return *ram_; }
    const PlanBasis& basis() const { return basis_; }
    const ModelDemand& demand() const { return basis_.demand; }
    const Plan& plan() const { return plan_; }
    const Popularity& popularity() const { return basis_.popularity; }
    CostModel& cost() { return basis_.cost; }
    Dispatcher& dispatcher() { return *dispatcher_; }
    ExpertStore& experts() { return *experts_; }
    KvCache& kv() { return *kv_; }
    Forward& forward() { return *forward_; }
    ExpertSource& source() { return *expert_source_; }
    const LoadRequest& request() const { return request_; }
    CachePolicy& cache_policy() { return *cache_policy_; }

    Budget budget() const { return planner_->budget(); }  // as loaded

    // An empty one that holds up to plan().context tokens. Must not outlive the model.
    KvSequence new_sequence() { return KvSequence(*kv_, plan_.context); }
    // ---- for re-plans (Replanner)
    // Before experts are moved towards a plan: what must be larger meanwhile is. Throws Error; then nothing changed.
    void make_room_for(const Plan& plan, const Budget& budget);
    // The KV cache goes towards the plan's by about one expert's bytes a call. True when it is there. Throws Error;
    // what was reached before stays.
    bool resize_kv(const Plan& plan);
    // The plan has fewer blocks of it on the device than there are.
    bool frees_device_of_kv(const Plan& plan) const;
    // When experts and KV cache are the plan's: staging is as well, and what may be smaller is. Throws Error, among
    // them kOutOfMemory where more memory is in use than the budget allows: a plan that does not fit is never in force.
    void put_in_force(const Plan& plan, const Budget& budget);
    // The conversation's learning rests while somebody else moves experts.
    void set_resting(bool rests);
    // From now on experts change places by live counts (LoadRequest::learn_placement).
    void learn_placement();
    // After a step: exchanges experts by live counts, where that was asked for and is worth it.
    void learn(std::span<const std::int32_t> routing, std::int64_t n_tokens);

    // What a decoded token reads, with the experts in the formats that they are in now.
    WeightReads reads() const;

  private:
    void open_source(const LoadRequest& request, Text text);
    void open_devices(const LoadRequest& request);
    void make_plans(const LoadRequest& request);
    void note_memory(const LoadProgressFn& progress);
    void measure_costs(const LoadRequest& request, const LoadProgressFn& progress, const std::stop_token& stop);
    void describe(const LoadRequest& request);
    void load_sensitivity(const LoadRequest& request, const LoadProgressFn& progress, const std::stop_token& stop);
    void pack_sample(kernels::WeightType format, std::int64_t n, std::byte* block);
    std::uint64_t expert_bytes_of(const Plan& plan) const;
    std::uint64_t largest_expert_of(const Plan& plan) const;

    ModelSpec spec_;
    std::unique_ptr<kernels::ThreadPool> pool_;
    std::unique_ptr<Tokenizer> tokenizer_;
    std::unique_ptr<ChatTemplate> chat_template_;
    std::filesystem::path directory_;  // empty: synthetic
    LoadRequest request_;
    std::unique_ptr<WeightSource> source_;
    std::unique_ptr<QuantCache> quant_cache_;
    std::unique_ptr<ExpertSource> expert_source_;
    ComputeChoice compute_;
    std::unique_ptr<CpuOperations> host_;
    MemorySize memory_;  // as it was before the load took any
    HostMemory host_memory_;
    AddressSpace addresses_;
    std::unique_ptr<Backend> device_;
    std::unique_ptr<Arena> own_ram_;  // where the device has a memory of its own
    Arena* ram_ = nullptr;
    PlanBasis basis_;
    std::optional<LoadPlanner> planner_;
    Plan plan_;
    std::unique_ptr<CachePolicy> cache_policy_;
    DeviceWeights weights_;
    std::unique_ptr<ExpertStore> experts_;
    std::unique_ptr<KvCache> kv_;
    std::unique_ptr<Dispatcher> dispatcher_;
    std::unique_ptr<Forward> forward_;
    std::unique_ptr<PlacementLearner> learner_;
    bool rests_ = false;
    std::vector<std::uint8_t> resident_;
    std::uint64_t dense_bytes_ = 0, dense_read_bytes_ = 0;
    ModelSummary summary_;
};

}  // namespace offstage::engine
