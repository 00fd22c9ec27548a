#pragma once
// The part of the runtime that the host layer's cuBLAS needs.

#include <functional>

#include "tests/cuda_host/cuda_runtime.h"

namespace cuda_host {

// Counts a call of a function; cudaSuccess, or the failure that a test injected.
cudaError_t enter(const char* function);
bool has_cublas();
int compute_major();
// Runs the task on the stream's thread, after all that was submitted before.
void enqueue(cudaStream_t stream, std::function<void()> task);

}  // namespace cuda_host
