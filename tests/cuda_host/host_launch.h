#pragma once
// Starting a kernel on the host layer.

#include <cstddef>
#include <cuda_runtime.h>
#include <functional>

namespace cuda_host {

// Of the running block: exactly as large as the launch said.
void* shared_memory();

cudaError_t start(dim3 grid, dim3 block, std::size_t shared_bytes, std::size_t parameter_bytes, cudaStream_t stream,
                  std::function<void()> thread);

template <typename... Parameters>
cudaError_t launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream,
                   Parameters... parameters) {
    return start(grid, block, shared_bytes, (sizeof(Parameters) + ... + 0), stream, [=] { kernel(parameters...); });
}

}  // namespace cuda_host
