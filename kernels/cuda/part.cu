// What offstage-cuda.so exports.
#include "kernels/cuda_part.h"

#define OFFSTAGE_EXPORT extern "C" __attribute__((visibility("default")))

using namespace offstage::kernels;

OFFSTAGE_EXPORT const char* offstage_cuda_build() {
    return kCudaBuild;
}

OFFSTAGE_EXPORT void offstage_cuda_devices(CudaDevices& found) {
    found = cuda_devices();
}

OFFSTAGE_EXPORT void offstage_cuda_open(int ordinal, CudaOpening& opening) {
    opening = open_cuda_context(ordinal);
}
