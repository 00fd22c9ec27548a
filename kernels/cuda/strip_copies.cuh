#pragma once
// Copies of experts whose rows are interleaved in host memory (kernels/interleaved.h):
// the CPU multiplies them so, and the GPU's kernels read rows that lie one after the
// other. A kernel puts each piece in order in the GPU's memory while the next one crosses
// the bus.

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

#include "kernels/cuda/handles.cuh"
#include "kernels/cuda_context.h"

namespace offstage::kernels::cuda {

// There is one copy engine for each direction, and work of the compute queue waits while
// a copy runs. So an expert is copied in pieces of some tenths of a millisecond; the
// compute queue's copies run between them.
#ifdef OFFSTAGE_COPY_BYTES  // the tests' host layer: little, so that small experts come in pieces there too
constexpr std::size_t kCopyBytes = OFFSTAGE_COPY_BYTES;
#else
constexpr std::size_t kCopyBytes = std::size_t{8} << 20;
#endif

// Bytes as they are, in such pieces.
cudaError_t copy_pieces(void* to, const void* from, std::size_t bytes, cudaStream_t copies);

// One thread; the device must be the calling thread's.
class StripCopies {
  public:
    cudaError_t open();
    // Bytes of device memory for a step's experts; 0: they have no such rows.
    static std::uint64_t bytes_for(const CudaStep& step);
    // Until the next call; no copy may be on its way.
    void set_memory(void* data, std::size_t bytes);

    // Copies a block; `copies` then continues behind it. After a failure `copies` is
    // behind all that was begun.
    cudaError_t copy(void* to, const void* from, const ExpertLayout& on_host, bool back, cudaStream_t copies);

  private:
    struct Half {
        std::byte* data = nullptr;
        Event copied, in_order;
    };
    cudaError_t copy_strips(std::byte* to, const std::byte* from, const ExpertPart& part, bool back,
                            cudaStream_t copies);

    Stream kernels_;  // puts pieces in order
    Half halves_[2];  // used in turn
    std::size_t half_bytes_ = 0;
    int next_ = 0;
};

}  // namespace offstage::kernels::cuda
