#include "engine/device/cuda_row_quantizer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/device/device_messages.h"
#include "engine/error.h"

namespace offstage::engine {
namespace {

using kernels::WeightType;

// Copies share the bus with the experts that tokens wait for: a fifth of a millisecond
// each at 24 GB/s.
constexpr std::int64_t kPieceWeights = std::int64_t{1} << 20;
constexpr std::int64_t kPieces = 12;  // pieces of a small matrix at least: at most half of it lies on the device

std::size_t rounded(std::size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

// The bytes of a row: plain, as float32, and in the largest packed format.
std::size_t largest_row_bytes(std::int64_t n_cols) {
    return static_cast<std::size_t>(n_cols) * sizeof(float) + kernels::row_bytes(WeightType::kInt8, n_cols);
}

}  // namespace

std::uint64_t CudaRowQuantizer::device_bytes(std::int64_t n_rows, std::int64_t n_cols) {
    if (n_cols <= 0 || n_rows <= 0 || n_cols % kernels::kPackedBlock != 0) return 0;
    const std::int64_t rows = std::clamp<std::int64_t>(std::min(kPieceWeights / n_cols, n_rows / kPieces), 1, n_rows);
    return kSlots * rounded(static_cast<std::size_t>(rows) * largest_row_bytes(n_cols) + 256);
}

std::unique_ptr<CudaRowQuantizer> CudaRowQuantizer::open(kernels::CudaContext& context, DeviceBlock memory) {
    std::unique_ptr<CudaRowQuantizer> self(new CudaRowQuantizer(context));
    self->memory_ = std::move(memory);
    try {
        self->staging_ = HostBuffer(self->memory_.size(), messages::gpu_quantizer_buffers);
    } catch (const Error&) {
        return nullptr;
    }
    self->pinned_ = context.pin(self->staging_.data(), self->staging_.size());
    if (self->pinned_) self->queue_ = context.open_quantizer();
    return self->queue_ != nullptr ? std::move(self) : nullptr;
}

CudaRowQuantizer::~CudaRowQuantizer() {
    queue_.reset();
    if (pinned_) context_.unpin(staging_.data());
}

std::int64_t CudaRowQuantizer::rows_per_piece(std::int64_t n_cols, WeightType from, WeightType format) const {
    if (!kernels::is_plain(from) || !kernels::is_packed(format) || n_cols <= 0 || n_cols % kernels::kPackedBlock != 0) {
        return 0;
    }
    return static_cast<std::int64_t>((slot_bytes() - std::min<std::size_t>(slot_bytes(), 256)) /
                                     largest_row_bytes(n_cols));
}

bool CudaRowQuantizer::start(int slot, const kernels::WeightView& rows, WeightType format) {
    const std::size_t begin = static_cast<std::size_t>(slot) * slot_bytes();
    const auto plain_row = static_cast<std::size_t>(rows.n_cols) * kernels::bytes_per_weight(rows.type);
    const std::size_t packed_at = begin + rounded(static_cast<std::size_t>(rows.n_rows) * plain_row);
    std::byte* plain = staging_.data() + begin;
    for (std::int64_t r = 0; r < rows.n_rows; ++r) {
        std::memcpy(plain + static_cast<std::size_t>(r) * plain_row, rows.row(r), plain_row);
    }
    packed_at_[static_cast<std::size_t>(slot)] = packed_at;
    auto* device = static_cast<std::byte*>(memory_.data());
    return queue_->start(slot, {plain, rows.type, rows.n_rows, rows.n_cols}, format, device + begin, device + packed_at,
                         staging_.data() + packed_at);
}

const std::byte* CudaRowQuantizer::finish(int slot) {
    return queue_->finish(slot) ? staging_.data() + packed_at_[static_cast<std::size_t>(slot)] : nullptr;
}

}  // namespace offstage::engine
