#pragma once
// The CUDA backend with its real kernels, on a CUDA that runs on the host
// (tests/cuda_host): no GPU is needed, and none is tested.

#include <cstdint>
#include <memory>
#include <string>

#include <QString>

#include "engine/device/cuda_backend.h"
#include "tests/cuda_host/cuda_host.h"

namespace offstage::test {

inline std::unique_ptr<engine::Backend> open_on_host(std::uint64_t budget = std::uint64_t{256} << 20) {
    return engine::make_cuda_backend(kernels::open_cuda_context_on_host(0), 0, budget);
}

// cuda_host::problems(); empty: none.
inline QString problems_on_host() {
    QString all;
    for (const std::string& problem : cuda_host::problems()) all += QString::fromStdString(problem) + "; ";
    return all;
}

}  // namespace offstage::test
