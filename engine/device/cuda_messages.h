#pragma once

#include "engine/message.h"
#include "kernels/cuda_failure.h"

namespace offstage::engine {

// A CUDA failure in words: a sentence, or a phrase with the reason why a device is
// missing. Empty: none.
Message message_of(const kernels::CudaFailure& failure);

}  // namespace offstage::engine
