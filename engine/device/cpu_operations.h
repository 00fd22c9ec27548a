#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/device/backend.h"
#include "kernels/cpu_worker.h"
#include "kernels/gemm.h"
#include "kernels/sparse_experts.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

// The operations of kernels/ops on host memory, with the compute pool. Used by
// CpuBackend, by EmulatedAccelerator, and for experts that stay on the CPU beside a GPU.
// Grows its scratch buffers to the largest step seen. One thread at a time.
class CpuOperations {
  public:
    // The pool must outlive this object.
    CpuOperations(kernels::ThreadPool& pool, kernels::ProductForm form);
    ~CpuOperations();

    kernels::ThreadPool& pool();
    kernels::ProductForm form() const;
    bool wants_interleaved() const { return form().wants_interleaved(); }

    // With SumOrder::kByNumber an expert with at most this many rows uses the one-pass
    // kernel. Its neurons are summed in pieces that depend on its shape and number of
    // rows alone, so that neither the number of threads nor the other experts change a
    // bit.
    static constexpr std::int64_t kFewTokens = kernels::CpuWorker::kFewTokens;

    void set_sum_order(SumOrder order);
    SumOrder sum_order() const;

    // Counts of all experts that were computed with a theta above 0
    // (kernels::ExpertSpec). Where w2 lies neuron by neuron and an expert has few rows,
    // weights of neurons that are left out are not read; otherwise they are read and
    // ignored. Calls with missing neurons are not counted: the code that chose the
    // neurons has counted them.
    const kernels::NeuronCounts& neurons() const;
    // Whether ops::Experts computes such an expert, with a theta, by the kernels that
    // choose neurons first.
    bool chooses_neurons(const kernels::ExpertLayout& layout, std::int64_t n_rows) const;
    // The neurons that these kernels choose for any of the rows, ascending, bit by bit;
    // only w1 is read. Precondition: chooses_neurons(). counts: (token, neuron) pairs are
    // added.
    void choose_neurons(const ExpertCall& call, const float* inputs, const std::int32_t* row_token,
                        std::vector<std::int32_t>& chosen, kernels::NeuronCounts& counts);

    // Computes the operation (kernels/ops); it is done on return.
    void run(const ops::Operation& operation);

    struct State;  // the operations' own: cpu_operations_state.h

  private:
    std::unique_ptr<State> state_;
};

}  // namespace offstage::engine
