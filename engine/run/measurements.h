#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/device/hardware_profile.h"
#include "engine/message.h"
#include "engine/model/model_spec.h"
#include "engine/model/weights.h"
#include "engine/plan/calibration.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/load_request.h"
#include "engine/plan/measurement_store.h"
#include "engine/plan/popularity.h"
#include "engine/plan/product_choice.h"
#include "engine/plan/sensitivity.h"
#include "engine/run/dense_costs.h"
#include "engine/run/load_planner.h"

namespace offstage::engine {

// All that was measured of a model on this computer, found in one store or measured now
// and stored: which arithmetic is faster, the costs of its steps, the loss of fewer bits,
// its habits. Costs are measured with random weights: only the model's sizes and formats
// count, and the folder of its files. The request and the spec must outlive this object.
// One thread.
class Measurements {
  public:
    // Where costs are measured. The referents must outlive the calls.
    struct Machine {
        Backend& device;
        CpuOperations& host;
        LoadProgressFn progress;
        std::stop_token stop;
    };
    // How thoroughly experts are measured.
    struct Effort {
        std::int64_t largest = kFullCalibration;  // tokens
        double budget_s = 3.0;                    // per format
        bool reserved = false;  // the device is reserve()d for steps of `largest` tokens; else as many as fit
        bool dense = true;      // the rest of a step is measured as well
        bool anew = false;      // stored costs do not count
    };

    // master: format of the checkpoint's experts, as they are read. name: the model's.
    // folder: of the model; empty: synthetic.
    Measurements(const LoadRequest& request, const ModelSpec& spec, kernels::WeightType master, std::string name,
                 std::filesystem::path folder, const ExpertReads& reads = {});

    // ---- the form of products: as requested, or the faster one
    ComputeChoice compute() const;
    // Sets it on the device, which must have no reserved step in use. known_: if nothing
    // has to be measured for it.
    DeviceProducts device_products(Backend& device) const;
    DeviceProducts known_device_products(Backend& device) const;
    // Whether experts in RAM are interleaved, in formats that can be: for the known form,
    // or this one.
    bool interleaves() const { return interleaves(known_form()); }
    bool interleaves(std::optional<kernels::ProductForm> form) const;

    // ---- the experts
    // The counts that placement starts from: the request's file, else the model's own
    // expert_popularity.json, else none; with the model's habits in what has run so far.
    // Throws Error (kInvalidInput) when the counts are another model's.
    Popularity popularity() const;
    void keep_habits(const RoutingHabits& habits) const;
    // The loss of quality in fewer bits: this model's own errors if they are stored or
    // the request allows fewer bits, otherwise those of HQQ on normally distributed
    // weights. `problem`: a sentence if they could not be stored. Throws as
    // measure_sensitivity().
    Sensitivity sensitivity(WeightSource& source, kernels::ThreadPool& pool, const LoadProgressFn& progress,
                            const std::stop_token& stop, Message& problem) const;
    QuantizingSpeeds quantizing_speeds(Backend& device, const std::stop_token& stop) const;

    // ---- costs
    // The stored costs of experts in the master's format and in these, and of the rest of a
    // step; nothing: some are missing. Those of an emulated device follow from its profile,
    // except for the CPU's part if the profile has none.
    std::optional<CostModel> kept_costs(const DeviceInfo& device,
                                        const std::vector<kernels::WeightType>& formats) const;
    // Measures the costs that are missing or do not hold any more
    // (LoadRequest::checks_costs). Throws Error.
    CostModel costs(const Machine& machine, const std::vector<kernels::WeightType>& formats, const Effort& effort);
    bool measured() const { return measured_; }  // costs() measured the master's format

    // The cost of reading an expert of the master from disk into RAM, if no profile has it.
    std::optional<DiskReadCost> kept_disk() const;
    // Measured with these weights if it is not stored, is old, in doubt or differs from a
    // read or two now (LoadRequest::checks_costs), or always (`anew`). A time of 0: not
    // known.
    DiskReadCost disk(WeightSource& source, CpuOperations& host, const std::stop_token& stop, bool anew = false);

    // Measures the costs of the master's experts again and stores them. An emulated device
    // accounts them; only the CPU's part is stored then, if the profile does not have it.
    CostTable remeasured(const Machine& machine);

    // After a run that was far from its forecast: the next load measures these costs again,
    // the disk's among them if the plan reads experts from there. Returns whether any of
    // them was not in doubt yet.
    bool doubt(const Backend& device, const CpuOperations& host, const Plan& plan);

    // Its problem() and notes() are about costs that could not be stored or did not hold.
    const MeasurementStore& kept() const { return kept_; }
    const ExpertReads& reads() const { return reads_; }

  private:
    std::optional<kernels::ProductForm> known_form() const;
    std::optional<CostTable> kept_table(const CostPlace& place, const HardwareProfile* emulated,
                                        kernels::WeightType format) const;
    DenseProbeModel dense_model() const { return {spec_, master_, request_.quant.dense, request_.kv}; }
    FormatCalibration random_experts(const Machine& machine, const Effort& effort) const;
    std::string disk_key(kernels::ProductForm form) const;

    const LoadRequest& request_;
    const ModelSpec& spec_;
    const kernels::WeightType master_;
    const std::string name_;
    const std::filesystem::path folder_;
    const ExpertReads reads_;
    const MeasurementStore kept_;
    bool measured_ = false;
};

// The costs of a hardware profile. Without a host in the profile, cpu_expert stays empty.
// interleaves: Measurements::interleaves().
CostTable costs_of(const HardwareProfile& profile, kernels::WeightType format, const ExpertGrid& grid,
                   bool interleaves);

// The formats beside the master's that a plan of this request may choose, or all that
// there are; with those that the file has beside the first layer's.
std::vector<kernels::WeightType> formats_of(const LoadRequest& request, const ModelDemand& demand, bool all = false);

}  // namespace offstage::engine
