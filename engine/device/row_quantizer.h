#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/types.h"

namespace offstage::engine {

// Packs rows of weights for the host (see Quantizer) on a device, in a separate queue
// with a lower priority than the work for tokens. One thread at a time, which may be
// another than the engine's. Nothing throws.
class RowQuantizer {
  public:
    virtual ~RowQuantizer() = default;

    static constexpr int kSlots = 2;  // pieces on their way at once

    // Rows that a piece may have; 0: such rows are not for this device.
    virtual std::int64_t rows_per_piece(std::int64_t n_cols, kernels::WeightType from,
                                        kernels::WeightType format) const = 0;
    // Starts packing a piece; `rows`, in any host memory, may be freed when this returns.
    // HQQ, or INT8; the weights must be finite and within kernels::kLargestPackedWeight.
    // False: the slot stays empty, and the caller should not try again.
    virtual bool start(int slot, const kernels::WeightView& rows, kernels::WeightType format) = 0;
    // Waits and returns the packed rows, one after the other, valid until the slot's next
    // piece; nullptr: the device failed.
    virtual const std::byte* finish(int slot) = 0;
};

}  // namespace offstage::engine
