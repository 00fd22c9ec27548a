#pragma once
// Copies of experts whose rows lie otherwise in host memory than in the GPU's: there they
// may be interleaved (kernels/interleaved.h), as the CPU multiplies them, here each is a
// row, which may be laid out (row_layout.cuh). A kernel puts each piece of strips in
// order in the GPU's memory while the next one crosses the bus.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>

#include "kernels/cuda/handles.cuh"
#include "kernels/cuda/row_layout.cuh"
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

// Whether copies of the expert change its bytes' order.
bool reorders(const ExpertLayout& on_host, bool lays_out);

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
    cudaError_t copy(void* to, const void* from, const ExpertLayout& on_host, bool back, bool lays_out,
                     cudaStream_t copies);

  private:
    struct Half {
        std::byte* data = nullptr;
        Event copied, in_order;
    };
    // The rows of one matrix, or of two that lie in turn.
    struct RowsOnDevice {
        WeightView first, second;
        std::size_t bytes() const { return static_cast<std::size_t>(first.n_rows) * first.stride_bytes(); }
        bool any_laid_out() const { return can_lay_out(first) || can_lay_out(second); }
        // n of them, at another place.
        RowsOnDevice piece(std::byte* data, std::int64_t n) const {
            RowsOnDevice rows = *this;
            rows.first.data = data;
            rows.second.data =
                data + (static_cast<const std::byte*>(second.data) - static_cast<const std::byte*>(first.data));
            rows.first.n_rows = n;
            rows.second.n_rows = std::min(n, second.n_rows);
            return rows;
        }
    };
    Half& next_half() {
        Half& half = halves_[next_];
        next_ = 1 - next_;
        return half;
    }
    cudaError_t copy_strips(std::byte* to, const std::byte* from, const WeightView& rows, bool lays_out, bool back,
                            cudaStream_t copies);
    cudaError_t copy_laid_out(std::byte* to, const std::byte* from, const RowsOnDevice& rows, bool back,
                              cudaStream_t copies);

    Stream kernels_;  // puts pieces in order
    Half halves_[2];  // used in turn
    std::size_t half_bytes_ = 0;
    int next_ = 0;
};

}  // namespace offstage::kernels::cuda
