#pragma once
// The CUDA backend with its real kernels, on a CUDA that runs on the host
// (tests/cuda_host): no GPU is needed, and none is tested.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <QString>

#include "engine/device/cuda_backend.h"
#include "tests/cuda_host/cuda_host.h"

namespace offstage::test {

constexpr std::uint64_t kOnHostBudget = std::uint64_t{256} << 20;

inline std::unique_ptr<engine::Backend> open_on_host(std::uint64_t budget = kOnHostBudget) {
    return engine::make_cuda_backend(kernels::open_cuda_context_on_host(0), 0, budget);
}
// lays_out: CudaContext::set_lays_out().
inline std::unique_ptr<engine::Backend> open_with_rows(bool lays_out) {
    kernels::CudaOpening opening = kernels::open_cuda_context_on_host(0);
    if (opening.context != nullptr) opening.context->set_lays_out(lays_out);
    return engine::make_cuda_backend(std::move(opening), 0, kOnHostBudget);
}

// cuda_host::problems(); empty: none.
inline QString problems_on_host() {
    QString all;
    for (const std::string& problem : cuda_host::problems()) all += QString::fromStdString(problem) + "; ";
    return all;
}

}  // namespace offstage::test
