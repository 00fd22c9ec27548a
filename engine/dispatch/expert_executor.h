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
#include "engine/plan/dispatch_policy.h"
#include "engine/plan/expert_thetas.h"

namespace offstage::engine {

// What the executors of a layer and step work on, and what they report.
struct LayerWork {
    struct Span {
        DeviceEvent begin, end;
    };
    using Groups = std::vector<std::size_t>;  // indices into rows.groups()

    LayerWork(RoutedRows& routed, HostInputs& host_inputs) : rows(routed), inputs(host_inputs) {}

    RoutedRows& rows;
    HostInputs& inputs;                 // the experts' input, on the host
    std::int64_t layer = 0;             // counts the layers with experts
    const float* normalised = nullptr;  // the same on the device
    std::span<Assignment> assignments;  // of the groups
    std::vector<Groups> groups_of;      // each executor's, by Way
    std::vector<Span> device_times;     // of the device's experts
    double cpu_us = 0;                  // of the CPU's
    ExpertThetas thetas;                // kernels::ExpertSpec::theta of each
    std::uint64_t skipped_bytes = 0;    // of the CPU's experts, for its sake
    // Of an expert's neurons those that 1 .. kFewTokens rows are expected to need (CostModel::active_share).
    std::array<double, CpuOperations::kFewTokens> active_shares = {};

    // Of an expert's bytes those that the CPU is expected to read for it.
    double read_share(const ExpertCall& call) const {
        const kernels::ExpertLayout& layout = call.weights.layout;
        const bool whole =
            layout.spec.theta == 0 || layout.down_rows_are_outputs || call.n_rows > CpuOperations::kFewTokens;
        return whole ? 1.0 : (1 + 2 * active_shares[static_cast<std::size_t>(call.n_rows - 1)]) / 3;
    }

    float theta_of(const RowGroup& group) const { return thetas.at(layer, group.expert); }
    ExpertCall call(kernels::ExpertView weights, const RowGroup& group) const {
        weights.layout.spec.theta = theta_of(group);
        return {weights, group.first_row, group.n_rows};
    }

    Groups& groups(Way way) { return groups_of[static_cast<std::size_t>(way)]; }
    // What an executor that was asked first cannot do, another one does: the CPU can do
    // everything.
    void leave_to_cpu(std::size_t group) {
        assignments[group].way = Way::kCpu;
        groups(Way::kCpu).push_back(group);
    }
};

// Computes experts of a layer. A layer asks its executors in order: first each submits,
// then each completes. One thread, the engine's; nothing throws.
class ExpertExecutor {
  public:
    virtual ~ExpertExecutor() = default;
    // Begins with the groups; returns without waiting for them. What is refused is left
    // to the CPU.
    virtual void submit(LayerWork& work, std::span<const std::size_t> groups) = 0;
    // When it returns, the outputs of the groups are on the device, or will be before
    // what is submitted to it from now on.
    virtual void complete(LayerWork& /*work*/, std::span<const std::size_t> /*groups*/) {}
    // Reads LayerWork::inputs.
    virtual bool needs_host_inputs() const { return false; }
};

// An executor with weights of its own, which works beside this machine's: another
// machine. What it costs is its own to say.
class ElsewhereExecutor : public ExpertExecutor, public ExecutorCost {
  public:
    virtual bool takes(std::int64_t layer, std::int64_t expert) const = 0;
    // What it takes is its to compute, whatever that costs: the machines have agreed on it.
    virtual bool insists() const { return false; }
    bool needs_host_inputs() const override { return true; }
};

}  // namespace offstage::engine
