#pragma once
// How kernels are started, and how they get at their shared memory. In the tests' host layer (tests/cuda_host) the same
// kernels run as ordinary functions; these are the only places that know.

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <string>
#include <type_traits>

namespace offstage::kernels::cuda {

// Keeps the first failure of a context.
class Failure {
  public:
    const std::string& text() const { return text_; }
    bool none() const { return text_.empty(); }
    void set(const std::string& sentence) {
        if (text_.empty()) text_ = sentence;
    }
    void clear() { text_.clear(); }
    // True when all is well.
    bool check(cudaError_t status, const char* what) {
        if (status == cudaSuccess) return true;
        (void)cudaGetLastError();  // not to be met again by the next call
        set(std::string(what) + " failed: " + cudaGetErrorString(status) + ".");
        return false;
    }

  private:
    std::string text_;
};

#ifdef OFFSTAGE_CUDA_ON_HOST
// Exactly as large as the launch said, filled with NaN.
template <typename T>
__device__ T* shared_memory() {
    return static_cast<T*>(cuda_host::shared_memory());
}
#else
template <typename T>
__device__ T* shared_memory() {
    extern __shared__ float4 offstage_shared[];
    return reinterpret_cast<T*>(offstage_shared);
}
#endif

// Arguments are converted to the kernel's own parameter types. Shared memory: at most 48 KiB.
template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, int block, std::size_t shared_bytes, cudaStream_t stream,
            Failure& failure, Arguments&&... arguments) {
    static_assert(sizeof...(Parameters) == sizeof...(Arguments), "one argument per parameter");
    if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
    const dim3 threads(static_cast<unsigned>(block));
#ifdef OFFSTAGE_CUDA_ON_HOST
    failure.check(cuda_host::launch<Parameters...>(kernel, grid, threads, shared_bytes, stream,
                                                   static_cast<Parameters>(arguments)...),
                  "Starting a kernel");
#else
    const auto start = [&](Parameters... parameters) {
        void* pointers[] = {static_cast<void*>(&parameters)...};
        return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, threads, pointers, shared_bytes, stream);
    };
    failure.check(start(static_cast<Parameters>(arguments)...), "Starting a kernel");
#endif
}

}  // namespace offstage::kernels::cuda
