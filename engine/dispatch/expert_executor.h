#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/dispatch/host_inputs.h"
#include "engine/dispatch/routed_rows.h"
#include "engine/experts/loading_overlap.h"
#include "engine/plan/dispatch_policy.h"
#include "engine/plan/neuron_thresholds.h"

namespace offstage::engine {

// The input and results of the executors in one layer of a step.
struct LayerWork {
    struct Span {
        DeviceEvent begin, end;
    };
    using Groups = std::vector<std::size_t>;  // indices into rows.groups()

    LayerWork(RoutedRows& routed, HostInputs& host_inputs) : rows(routed), inputs(host_inputs) {}

    // A layer's work, without results. The spans stay valid until the layer has ended.
    void begin(std::int64_t of_layer, const float* input, std::span<Assignment> of_groups) {
        layer = of_layer;
        normalised = input;
        assignments = of_groups;
        device_times.clear();
        host_times.clear();
        cpu_us = 0;
        skipped_bytes = 0;
    }

    RoutedRows& rows;
    HostInputs& inputs;                 // the experts' input, on the host
    std::int64_t layer = 0;             // counts the layers with experts
    const float* normalised = nullptr;  // the same on the device
    std::span<Assignment> assignments;  // one for each group
    std::vector<Groups> groups_of;      // each executor's, by ExecutionTarget
    std::vector<Span> device_times;     // the device's experts
    double cpu_us = 0;                  // the CPU's
    // The CPU's by Backend::now_us(), where the device is another one.
    std::vector<LoadingOverlap::Span> host_times;
    ExpertThetas thetas;              // kernels::ExpertSpec::theta of each
    float limit = 0;                  // and limit of all
    std::uint64_t skipped_bytes = 0;  // by the CPU's experts, for the CPU
    // The share of an expert's neurons that 1 .. kFewTokens rows are expected to need
    // (CostModel::active_share).
    std::array<double, CpuOperations::kFewTokens> active_shares = {};

    // The share of an expert's bytes that the CPU is expected to read for it.
    double read_share(const ExpertCall& call) const {
        const kernels::ExpertLayout& layout = call.weights.layout;
        const bool whole =
            layout.spec.theta == 0 || layout.down_rows_are_outputs || call.n_rows > CpuOperations::kFewTokens;
        return whole ? 1.0 : layout.spec.read_share(active_shares[static_cast<std::size_t>(call.n_rows - 1)]);
    }

    float theta_of(const RowGroup& group) const { return thetas.at(layer, group.expert); }
    ExpertCall call(kernels::ExpertView weights, const RowGroup& group) const {
        weights.layout.spec.theta = theta_of(group);
        weights.layout.spec.limit = limit;
        return {weights, group.first_row, group.n_rows};
    }

    Groups& groups(ExecutionTarget target) { return groups_of[static_cast<std::size_t>(target)]; }
    // Hands a group that an executor cannot compute to the CPU, which can compute
    // everything.
    void leave_to_cpu(std::size_t group) {
        assignments[group].target = ExecutionTarget::kCpu;
        groups(ExecutionTarget::kCpu).push_back(group);
    }
};

// Computes experts of a layer. A layer calls its executors in order: first each submits,
// then each completes. One thread, the engine's; nothing throws.
class ExpertExecutor {
  public:
    virtual ~ExpertExecutor() = default;
    // Begins with the groups; returns without waiting for them. Refused groups are left
    // to the CPU.
    virtual void submit(LayerWork& work, std::span<const std::size_t> groups) = 0;
    // When it returns, the outputs of the groups are on the device, or will be before
    // work that is submitted from now on.
    virtual void complete(LayerWork& /*work*/, std::span<const std::size_t> /*groups*/) {}
    // Reads LayerWork::inputs.
    virtual bool needs_host_inputs() const { return false; }
};

// An executor with its own weights, which works beside this machine: another machine. It
// supplies its own costs.
class ElsewhereExecutor : public ExpertExecutor, public ExecutorCost {
  public:
    virtual bool takes(std::int64_t layer, std::int64_t expert) const = 0;
    // Whether it must compute its experts at any cost, because the machines have agreed
    // on it.
    virtual bool insists() const { return false; }
    bool needs_host_inputs() const override { return true; }
};

}  // namespace offstage::engine
