#pragma once

#include <memory>

#include "engine/device/backend.h"
#include "kernels/cuda_context.h"

namespace offstage::engine {

// Opens an NVIDIA GPU as a device. Throws Error (kUnsupported) when Offstage was built
// without CUDA, when there is no such GPU, or when it is older than sm_75; kOutOfMemory
// when its memory is taken; kInvalidInput when the budget is larger than its whole
// memory. budget_bytes 0: the memory that is free now, less a reserve for the driver and
// the display.
std::unique_ptr<Backend> open_cuda_backend(int ordinal, std::uint64_t budget_bytes);

// The same for a context opened elsewhere (a test's host layer); throws the same errors.
std::unique_ptr<Backend> make_cuda_backend(kernels::CudaOpening opening, int ordinal, std::uint64_t budget_bytes);

}  // namespace offstage::engine
