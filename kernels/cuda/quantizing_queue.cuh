#pragma once

#include <memory>

#include "kernels/cuda_context.h"

namespace offstage::kernels::cuda {

// A stream of its own on that GPU; nullptr: the driver refused it.
std::unique_ptr<CudaQuantizer> open_quantizing_queue(int ordinal, int compute_major);

}  // namespace offstage::kernels::cuda
