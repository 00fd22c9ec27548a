#include "engine/device/cpu_operations.h"

#include "engine/device/cpu_operations_state.h"

namespace offstage::engine {

CpuOperations::CpuOperations(kernels::ThreadPool& pool, kernels::ProductForm form)
    : state_(std::make_unique<State>(pool, form)) {}
CpuOperations::~CpuOperations() = default;

kernels::ThreadPool& CpuOperations::pool() {
    return state_->pool;
}

kernels::ProductForm CpuOperations::form() const {
    return state_->form;
}

void CpuOperations::set_sum_order(SumOrder order) {
    state_->order = order;
}

SumOrder CpuOperations::sum_order() const {
    return state_->order;
}

const kernels::NeuronCounts& CpuOperations::neurons() const {
    return state_->neurons;
}

void CpuOperations::run(const ops::Operation& operation) {
    operation.visit_parts([this](const auto& op) { compute(*state_, op); });
}

}  // namespace offstage::engine
