#pragma once
// The NVIDIA GPUs of this machine, as plain values. Usable with and without
// offstage-cuda.so (kernels/cuda_part.h), and on machines without a GPU or a driver: then
// the list is empty and contains the reason.

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda_failure.h"

namespace offstage::kernels {

struct CudaDevice {
    int ordinal = 0;   // the CUDA runtime's number; CUDA_VISIBLE_DEVICES renumbers
    std::string name;  // "NVIDIA GeForce RTX 4070"
    std::string pci_bus_id;
    int compute_major = 0;  // 8.9: major 8, minor 9
    int compute_minor = 0;
    std::int64_t total_bytes = 0;
    std::int64_t free_bytes = -1;  // of the whole device, all processes counted, as of the call; -1: not reported
};

struct CudaDevices {
    std::vector<CudaDevice> devices;
    CudaFailure none_because;     // why `devices` is empty, where it is
    std::string driver_version;   // the newest CUDA that the driver serves, "13.0"; empty without one
    std::string runtime_version;  // the CUDA that offstage-cuda.so was built with; empty without it
};

// Queries the driver. Creates no context, so it takes no GPU memory. The driver's first
// start can take a second or so: not for the GUI thread. Throws only for lack of memory;
// any thread.
CudaDevices cuda_devices();

}  // namespace offstage::kernels
