#pragma once
// Owners of CUDA's handles.

#include <cuda_runtime.h>
#include <utility>

namespace offstage::kernels::cuda {

// The one owner of every CUDA handle: destroyed by the function named.
template <typename Handle, cudaError_t (*destroy)(Handle)>
class Owned {
  public:
    Owned() = default;
    ~Owned() { reset(); }
    Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Owned& operator=(Owned&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    Handle get() const { return handle_; }
    Handle* out() { return &handle_; }
    void reset() {
        if (handle_ != nullptr) (void)destroy(handle_);
        handle_ = nullptr;
    }

  private:
    Handle handle_ = nullptr;
};

using Stream = Owned<cudaStream_t, cudaStreamDestroy>;
using Event = Owned<cudaEvent_t, cudaEventDestroy>;
using MemoryPool = Owned<cudaMemPool_t, cudaMemPoolDestroy>;
using Graph = Owned<cudaGraph_t, cudaGraphDestroy>;
using GraphExec = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;

// Work that the next token waits for has the higher priority.
inline cudaError_t create_stream(Stream& stream, bool goes_first) {
    int least = 0;
    int greatest = 0;
    const cudaError_t status = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    if (status != cudaSuccess) return status;
    return cudaStreamCreateWithPriority(stream.out(), cudaStreamNonBlocking, goes_first ? greatest : least);
}

}  // namespace offstage::kernels::cuda
