// The answer of a build without CUDA (OFFSTAGE_CUDA=OFF, or no nvcc when it was
// configured).
#include "kernels/cuda_context.h"

namespace offstage::kernels {

CudaOpening open_cuda_context(int) {
    CudaOpening opening;
    opening.problem = CudaOpenProblem::kUnsupported;
    opening.reason.fault = CudaFault::kBuiltWithoutCuda;
    return opening;
}

}  // namespace offstage::kernels
