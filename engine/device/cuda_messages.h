#pragma once

#include "engine/message.h"
#include "kernels/cuda_failure.h"

namespace offstage::engine {

// What a failure of CUDA is in words: a sentence, or why a device is not there as a part
// of one. Empty: none.
Message message_of(const kernels::CudaFailure& failure);

}  // namespace offstage::engine
