#pragma once
// The CUDA code as a library of its own, offstage-cuda.so. The program contains no CUDA:
// it opens the library where there is an NVIDIA driver, and never closes it. Objects of
// C++ cross this boundary, so both sides must come from one build: kCudaBuild is made of
// the version, the compiler and every header that both include.

#include <string>
#include <vector>

#include "kernels/cuda_context.h"
#include "kernels/cuda_devices.h"

namespace offstage::kernels {

extern const char kCudaBuild[];  // "0.1.0-" and 16 hexadecimal digits

// What offstage-cuda.so exports, by C names: const char* offstage_cuda_build(), and
//   offstage_cuda_devices  as cuda_devices()
//   offstage_cuda_open     as open_cuda_context()
struct CudaPart {
    CudaFailure none_because;  // set: the functions are nullptr
    void (*devices)(CudaDevices& found) = nullptr;
    void (*open)(int ordinal, CudaOpening& opening) = nullptr;
};

// Opens the first of `files` that exists, if the driver's library can be opened. Any
// thread.
CudaPart load_cuda_part(const char* driver, const std::vector<std::string>& files);

}  // namespace offstage::kernels
