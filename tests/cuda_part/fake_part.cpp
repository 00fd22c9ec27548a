// An offstage-cuda.so without CUDA: its build is what FAKE_CUDA_BUILD says. Like the real
// one it has functions of the program's names, with other bodies.
#include <cstdlib>

#include "kernels/cuda_part.h"

namespace offstage::kernels {

CudaDevices cuda_devices() {
    CudaDevices found;
    found.devices.push_back({0, "A GPU of the tests", "0000:01:00.0", 9, 0, 1 << 30, -1});
    found.driver_version = "13.0";
    return found;
}

}  // namespace offstage::kernels

#define OFFSTAGE_EXPORT extern "C" __attribute__((visibility("default")))

OFFSTAGE_EXPORT const char* offstage_cuda_build() {
    return std::getenv("FAKE_CUDA_BUILD");
}

OFFSTAGE_EXPORT void offstage_cuda_devices(offstage::kernels::CudaDevices& found) {
    found = offstage::kernels::cuda_devices();
}

OFFSTAGE_EXPORT void offstage_cuda_open(int ordinal, offstage::kernels::CudaOpening& opening) {
    opening.reason = {offstage::kernels::CudaFault::kNoSuchOrdinal, {}, {}, ordinal};
}
