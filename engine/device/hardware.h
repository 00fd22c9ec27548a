#pragma once
// What Offstage runs on, as plain values: for the command line's `info`, for reports, and for the window.

#include <string>

#include "engine/device/memory_size.h"
#include "engine/message.h"
#include "kernels/cuda_devices.h"

namespace offstage::engine {

struct Hardware {
    std::string cpu_model;        // "AMD EPYC 9755 128-Core Processor"
    int n_cores = 0;              // logical cores that this process may run on
    std::string instruction_set;  // the kernels in use: "scalar", "avx2", "avx512", "avx512_bf16"
    MemorySize ram;
    kernels::CudaDevices cuda;

    // Why there is none, where there is none: a part of a sentence.
    Message no_gpu_because() const;
};

// Takes as long as the NVIDIA driver's first start (a second or so where there is one, microseconds elsewhere): not for
// the GUI thread. Throws nothing but std::bad_alloc: what cannot be found out stays empty or 0. Any thread.
Hardware detect_hardware();

// The same without looking for GPUs (`cuda` stays empty): in no time.
Hardware detect_host();

}  // namespace offstage::engine
