#include "engine/run/model_runtime.h"

#include <cassert>
#include <utility>

#include "engine/error.h"
#include "engine/run/moe_layer.h"

namespace offstage::engine {

ModelRuntime::ModelRuntime(ExpertHost& experts, DeviceWeights weights, std::uint64_t dense_read_bytes, Plan plan)
    : experts_(experts),
      weights_(std::move(weights)),
      dense_read_bytes_(dense_read_bytes),
      plan_(std::move(plan)),
      kv_(kv_layout_of(experts.spec(), plan_.kv), experts.demand().kv_rooms(plan_), experts.device(), experts.ram()),
      cache_policy_(make_cache_policy(experts.request().cache, experts.popularity())),
      forward_(experts.spec(), weights_, experts.experts(), experts.device(), experts.host(), experts.dispatcher(),
               plan_.max_step, plan_.context) {
    const LoadRequest& request = experts.request();
    experts.dispatcher().set_prefetch(request.prefetch);
    forward_.moe().set_sparse_loading(request.sparse_loading, request.neuron_guesses);
    if (experts.device().shares_host_memory()) return;
    ExpertMover& mover = forward_.moe().mover();
    mover.admission().set_policy(cache_policy_.get());
    if (request.neuron_cache_bytes > 0) mover.copier().set_neuron_cache(request.neuron_cache_bytes);
    mover.prefetcher().set_prompt_loading(request.prompt_loading);
    if (request.learn_placement && request.popularity_file.empty() && experts.popularity().n_tokens == 0)
        learn_placement();
}

WeightReads ModelRuntime::reads() const {
    return expected_reads(experts_.spec().experts, dense_read_bytes_, experts_.popularity(),
                          experts_.plan_inputs().master, experts_.experts().formats());
}

bool ModelRuntime::frees_device_of_kv(const Plan& plan) const {
    const std::vector<KvRoom> rooms = experts_.demand().kv_rooms(plan);
    std::int64_t before = 0, after = 0;
    for (std::size_t g = 0; g < rooms.size(); ++g) {
        kernels::KvShape shape = kv_.pool(g).shape();
        before += kv_.pool(g).room().device_blocks * shape.block_bytes();
        if (!kv_.pool(g).keeps_type()) shape.type = plan.kv;
        after += rooms[g].device_blocks * shape.block_bytes();
    }
    return after < before;
}

void ModelRuntime::shorten_steps(const Plan& plan) {
    if (plan.max_step < forward_.reserved_step()) forward_.set_max_step(plan.max_step);
}

bool ModelRuntime::resize_kv(const Plan& plan) {
    const std::uint64_t expert_bytes = experts_.source().expert_bytes(experts_.plan_inputs().master);
    const std::vector<KvRoom> rooms = experts_.demand().kv_rooms(plan);
    if (plan.kv != kv_.type()) {
        if (!kv_.prepare_retype(plan.kv, rooms)) return false;
        // All of the room at once: the next step may need any number of blocks.
        experts_.experts().settle();
        const kernels::KvType type = kv_.type();
        std::vector<KvRoom> before;
        for (std::size_t group = 0; group < kv_.n_groups(); ++group) before.push_back(kv_.pool(group).room());
        kv_.retype(plan.kv);
        try {
            kv_.resize(rooms);
        } catch (const Error&) {
            kv_.retype(type);
            kv_.resize(before);
            throw;
        }
        return true;
    }
    try {
        return kv_.approach(rooms, expert_bytes);
    } catch (const Error& error) {
        // Experts that have gone may still hold their memory.
        if (error.kind() != ErrorKind::kOutOfMemory || !experts_.experts().settle()) throw;
    }
    return kv_.approach(rooms, expert_bytes);
}

void ModelRuntime::put_in_force(const Plan& plan) {
    assert(plan.kv == kv_.type());
    experts_.experts().settle();
    forward_.set_context(plan.context);
    forward_.set_max_step(plan.max_step);
    experts_.shrink_to(plan);
    plan_ = plan;
}

void ModelRuntime::learn_placement() {
    const ExpertGrid& grid = experts_.spec().experts;
    learner_ = std::make_unique<PlacementLearner>(grid.n_layers, grid.n_experts, grid.n_active);
}

void ModelRuntime::learn(std::span<const std::int32_t> routing, std::int64_t n_tokens) {
    ExpertStore& store = experts_.experts();
    store.places().poll();
    if (learner_ == nullptr || rests_) return;
    learner_->observe(routing, n_tokens);
    if (store.places().exchanging()) return;
    store.residency(resident_);
    const auto exchange = learner_->propose(resident_);
    if (exchange.has_value()) store.places().begin(*exchange);
}

void ModelRuntime::set_resting(bool rests) {
    rests_ = rests;
    forward_.moe().mover().admission().set_resting(rests);
}

}  // namespace offstage::engine
