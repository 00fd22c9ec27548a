#include "engine/device/cuda_backend.h"

#include "engine/error.h"

namespace offstage::engine {

std::unique_ptr<Backend> open_cuda_backend(int, std::uint64_t) {
    throw Error(ErrorKind::kUnsupported, "This program was built without CUDA.");
}

}  // namespace offstage::engine
