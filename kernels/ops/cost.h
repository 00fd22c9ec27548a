#pragma once
// What an operation costs at the least, and who computes it. C++17: device code includes
// the headers of operations.

#include <cstdint>

#include "kernels/types.h"

namespace offstage::kernels {

struct CpuWorker;  // kernels/cpu_worker.h
namespace cuda {
struct Worker;  // kernels/cuda/operations.cuh
}

namespace ops {

struct Cost {
    double bytes = 0;      // of the device's memory, read and written
    double flops = 0;      // additions and multiplications
    double bus_bytes = 0;  // of host memory, read and written by the device
};

constexpr double as_double(std::int64_t n) {
    return static_cast<double>(n);
}

inline double matrix_bytes(const WeightView& weight, std::int64_t n_rows) {
    return as_double(n_rows) * static_cast<double>(row_bytes(weight.type, weight.n_cols));
}

}  // namespace ops
}  // namespace offstage::kernels
