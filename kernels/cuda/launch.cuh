#pragma once
// Starts kernels and gives them their shared memory. In the tests' host layer
// (tests/cuda_host) the same kernels run as ordinary functions; only this file depends on
// that.

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <string>
#include <type_traits>

#include "kernels/cuda_failure.h"

namespace offstage::kernels::cuda {

// Keeps the first failure of a context.
class Failure {
  public:
    const std::string& text() const { return text_; }
    bool none() const { return text_.empty(); }
    // For the log: no sentence that the floors above know.
    CudaFailure for_host() const {
        if (none()) return {};
        return {CudaFault::kOther, text_};
    }
    void set(const std::string& sentence) {
        if (text_.empty()) text_ = sentence;
    }
    void clear() { text_.clear(); }
    // True when all is well.
    bool check(cudaError_t status, const char* what) {
        if (status == cudaSuccess) return true;
        (void)cudaGetLastError();  // so that no later call returns it
        set(std::string(what) + " failed: " + cudaGetErrorString(status) + ".");
        return false;
    }

  private:
    std::string text_;
};

#ifdef OFFSTAGE_CUDA_ON_HOST
// Exactly the size of the launch, filled with NaN.
template <typename T>
__device__ T* shared_memory() {
    return static_cast<T*>(cuda_host::shared_memory());
}
inline std::size_t shared_room(std::size_t bytes) {
    return bytes;
}
#else
// Whole float4: the compiler reads four floats where the code reads three, because of the
// array's declaration.
inline std::size_t shared_room(std::size_t bytes) {
    return (bytes + sizeof(float4) - 1) / sizeof(float4) * sizeof(float4);
}
template <typename T>
__device__ T* shared_memory() {
    extern __shared__ float4 offstage_shared[];
    return reinterpret_cast<T*>(offstage_shared);
}
#endif

// A kernel that Worker::start_dependent() starts may begin while the one before it still
// runs. It calls let_next_begin(), then may load weights and constants, and calls
// wait_for_previous(), in every thread, before it reads anything else and before it
// writes anything. On older GPUs all kernels before it have ended anyway.
#ifdef OFFSTAGE_CUDA_ON_HOST
__device__ inline void let_next_begin() {}
__device__ inline void wait_for_previous() {
    cuda_host::wait_for_previous();
}
#else
__device__ inline void let_next_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}
__device__ inline void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
#endif

// Loads a row into the L2 cache, by a warp, where this has a use before
// wait_for_previous().
__device__ inline void prefetch_row(const unsigned char* row, std::int64_t bytes, int lane) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    constexpr int kLine = 128;
    for (std::int64_t at = std::int64_t{kLine} * lane; at < bytes; at += kLine * 32) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(row + at));
    }
#else
    (void)row, (void)bytes, (void)lane;
#endif
}

// Shared memory: at most 48 KiB.
#ifdef OFFSTAGE_CUDA_ON_HOST
template <typename... Parameters>
cudaError_t launch_kernel(void (*kernel)(Parameters...), dim3 grid, int block, std::size_t shared_bytes,
                          cudaStream_t stream, Parameters... parameters) {
    return cuda_host::launch<Parameters...>(kernel, grid, dim3(static_cast<unsigned>(block)), shared_bytes, stream,
                                            parameters...);
}
// A node of a graph, after another one (nullptr: after none). early: it may begin before
// that one, a kernel, has ended. The parameters are copied.
template <typename... Parameters>
cudaError_t add_kernel_node(void (*kernel)(Parameters...), dim3 grid, int block, std::size_t shared_bytes,
                            cudaGraph_t graph, const cudaGraphNode_t* after, bool early, cudaGraphNode_t* node,
                            Parameters... parameters) {
    return cuda_host::add_kernel_node<Parameters...>(node, graph, after, after == nullptr ? 0 : 1, early, kernel, grid,
                                                     dim3(static_cast<unsigned>(block)), shared_bytes, parameters...);
}
#else
template <typename... Parameters>
cudaError_t launch_kernel(void (*kernel)(Parameters...), dim3 grid, int block, std::size_t shared_bytes,
                          cudaStream_t stream, Parameters... parameters) {
    void* pointers[] = {static_cast<void*>(&parameters)...};
    return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, dim3(static_cast<unsigned>(block)), pointers,
                            shared_bytes, stream);
}
template <typename... Parameters>
cudaError_t add_kernel_node(void (*kernel)(Parameters...), dim3 grid, int block, std::size_t shared_bytes,
                            cudaGraph_t graph, const cudaGraphNode_t* after, bool early, cudaGraphNode_t* node,
                            Parameters... parameters) {
    void* pointers[] = {static_cast<void*>(&parameters)...};
#if CUDART_VERSION >= 12030
    if (early) {
        cudaGraphNodeParams params{};
        params.type = cudaGraphNodeTypeKernel;
        params.kernel.func = reinterpret_cast<void*>(kernel);
        params.kernel.gridDim = grid;
        params.kernel.blockDim = dim3(static_cast<unsigned>(block));
        params.kernel.sharedMemBytes = static_cast<unsigned>(shared_bytes);
        params.kernel.kernelParams = pointers;
        cudaGraphEdgeData edge{};
        edge.from_port = cudaGraphKernelNodePortProgrammatic;
        edge.type = cudaGraphDependencyTypeProgrammatic;
#if CUDART_VERSION >= 13000
        return cudaGraphAddNode(node, graph, after, &edge, 1, &params);
#else
        return cudaGraphAddNode_v2(node, graph, after, &edge, 1, &params);
#endif
    }
#endif
    (void)early;
    cudaKernelNodeParams start{};
    start.func = reinterpret_cast<void*>(kernel);
    start.gridDim = grid;
    start.blockDim = dim3(static_cast<unsigned>(block));
    start.sharedMemBytes = static_cast<unsigned>(shared_bytes);
    start.kernelParams = pointers;
    return cudaGraphAddKernelNode(node, graph, after, after == nullptr ? 0 : 1, &start);
}
#endif

}  // namespace offstage::kernels::cuda
