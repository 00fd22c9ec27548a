#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/device/host_memory.h"
#include "engine/device/memory_size.h"
#include "engine/dispatch/dispatcher.h"
#include "engine/experts/expert_store.h"
#include "engine/message.h"
#include "engine/model/model_spec.h"
#include "engine/model/weights.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/load_request.h"
#include "engine/plan/planner.h"
#include "engine/plan/popularity.h"
#include "engine/plan/product_choice.h"
#include "engine/quant/expert_source.h"
#include "engine/quant/quant_cache.h"
#include "kernels/gemm.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

class Measurements;

// A model's routed experts on this machine, with everything for computing them: their
// master and its quantized copies on disk, the device, both memories, the store, and the
// costs of each kind of computation. Attention, the other dense weights, the KV cache and
// the tokenizer are not part of it, so that a machine that computes experts for another
// one needs nothing else.
//
// Owns everything it returns a reference to. One thread, the engine's; the pool's threads
// work for it.
class ExpertHost {
  public:
    // Opens the weights and the device; no expert is read yet. Measures what fewer bits
    // cost where the request allows them and nothing is kept, with progress; `stop` ends
    // that. Throws Error: kInvalidInput (the request), kNotFound, kInvalidModel,
    // kUnsupported, kOutOfMemory, kDevice, kCancelled.
    explicit ExpertHost(const LoadRequest& request, const LoadProgressFn& progress = {},
                        const std::stop_token& stop = {});
    ExpertHost(const ExpertHost&) = delete;
    ExpertHost& operator=(const ExpertHost&) = delete;

    // Puts the experts in the plan's places and formats: of a plan only places, formats,
    // duplicates and the slots count. Once, after device().reserve() for the steps that
    // follow. Progress and stop: source().master().watch(). Throws Error as ExpertStore
    // does.
    void fill(const Plan& plan);

    const LoadRequest& request() const { return request_; }
    const ModelSpec& spec() const { return spec_; }
    const std::string& name() const { return name_; }
    const std::filesystem::path& directory() const { return directory_; }  // empty: synthetic
    const std::vector<Message>& notes() const { return notes_; }           // for the user, from opening

    kernels::ThreadPool& pool() { return *pool_; }
    const ComputeChoice& compute() const { return compute_; }
    const DeviceProducts& device_products() const { return device_products_; }
    kernels::ProductForm form() const { return compute_.form; }
    CpuOperations& host() { return *host_; }
    Backend& device() { return *device_; }
    Arena& ram() { return *ram_; }                        // the device's memory where it shares the host's
    const MemorySize& memory() const { return memory_; }  // of the machine, before the load took any

    ExpertSource& source() { return *expert_source_; }
    // The layer that drafts (LayerDrafter); nullptr: none.
    PredictionLayer* prediction_layer() { return prediction_.get(); }
    void drop_prediction_layer() { prediction_.reset(); }
    // Popularity, sensitivity and the machine are there; costs, and what describe_load()
    // sets where plans are made, are for the owner to fill in.
    PlanInputs& plan_inputs() { return plan_inputs_; }
    const PlanInputs& plan_inputs() const { return plan_inputs_; }
    const ModelDemand& demand() const { return plan_inputs_.demand; }
    const Popularity& popularity() const { return plan_inputs_.popularity; }
    CostModel& cost() { return plan_inputs_.cost; }
    Measurements measurements() const;  // of this model
    // The same function's: this model's, on its device.
    void describe_load(const LoadRequest& request, std::int64_t advised_context = 0);

    // ---- after fill()
    ExpertStore& experts() { return *experts_; }
    Dispatcher& dispatcher() { return *dispatcher_; }

    // ---- for re-plans
    // Before experts are moved towards a plan: budgets and slots that must be larger
    // meanwhile are. Throws Error; then no expert has lost its last copy.
    void grow_for(const Plan& plan);
    // Call it when the experts are as planned: sets the slots as planned and lowers
    // budgets. Throws Error, also kOutOfMemory if more memory is in use than the budget
    // allows.
    void shrink_to(const Plan& plan);

  private:
    void open_source();
    void open_devices();
    void make_disk_slots(const Plan& plan);
    std::uint64_t largest_expert_of(const Plan& plan) const;

    const LoadRequest request_;
    std::unique_ptr<kernels::ThreadPool> pool_;
    ModelSpec spec_;
    std::string name_;
    std::filesystem::path directory_;
    std::vector<Message> notes_;
    std::unique_ptr<WeightSource> source_;
    std::unique_ptr<PredictionLayer> prediction_;
    std::unique_ptr<QuantCache> quant_cache_;  // nullptr: synthetic
    std::unique_ptr<ExpertSource> expert_source_;
    ComputeChoice compute_;
    DeviceProducts device_products_;
    std::unique_ptr<CpuOperations> host_;
    MemorySize memory_;
    HostMemory host_memory_;
    AddressSpace addresses_;  // in its place in a dry run
    std::unique_ptr<Backend> device_;
    std::unique_ptr<Arena> own_ram_;  // if the device has a separate memory
    Arena* ram_ = nullptr;
    PlanInputs plan_inputs_;
    std::unique_ptr<ExpertStore> experts_;
    std::unique_ptr<Dispatcher> dispatcher_;
};

}  // namespace offstage::engine
