#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "engine/device/arena.h"
#include "engine/device/host_buffer.h"
#include "engine/device/row_quantizer.h"
#include "kernels/cuda_context.h"

namespace offstage::engine {

// Rows by way of page-locked buffers, two pieces at a time: one is copied and packed
// while the other is checked.
class CudaRowQuantizer final : public RowQuantizer {
  public:
    // Bytes on the device, for rows of up to n_cols weights in matrices of n_rows rows;
    // 0: no such rows are packed.
    static std::uint64_t device_bytes(std::int64_t n_rows, std::int64_t n_cols);

    // memory: device_bytes(). nullptr where the driver refuses a queue, or the system to
    // lock pages.
    static std::unique_ptr<CudaRowQuantizer> open(kernels::CudaContext& context, DeviceBlock memory);
    ~CudaRowQuantizer() override;

    std::uint64_t size() const { return memory_.size(); }
    std::int64_t rows_per_piece(std::int64_t n_cols, kernels::WeightType from,
                                kernels::WeightType format) const override;
    bool start(int slot, const kernels::WeightView& rows, kernels::WeightType format) override;
    const std::byte* finish(int slot) override;

  private:
    explicit CudaRowQuantizer(kernels::CudaContext& context) : context_(context) {}
    // A slot's two places: plain rows, then packed ones.
    std::size_t slot_bytes() const { return memory_.size() / kSlots / 256 * 256; }

    kernels::CudaContext& context_;
    DeviceBlock memory_;
    HostBuffer staging_;  // laid out as memory_ is
    bool pinned_ = false;
    std::array<std::size_t, kSlots> packed_at_{};
    std::unique_ptr<kernels::CudaQuantizer> queue_;  // the last member: it works on the others
};

}  // namespace offstage::engine
