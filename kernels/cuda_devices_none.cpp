// The answer of a build without CUDA (OFFSTAGE_CUDA=OFF, or no nvcc when it was
// configured).
#include "kernels/cuda_devices.h"

namespace offstage::kernels {

CudaDevices cuda_devices() {
    CudaDevices found;
    found.none_because.fault = CudaFault::kBuiltWithoutCuda;
    return found;
}

}  // namespace offstage::kernels
