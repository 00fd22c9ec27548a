// C++17 here: nvcc 11 supports no newer standard.
#include <cuda_runtime.h>
#include <dlfcn.h>

#include "kernels/cuda_devices.h"

namespace offstage::kernels {
namespace {

// 12040 -> "12.4"; 0 (no driver) -> "".
std::string version_text(int version) {
    return version <= 0 ? std::string() : std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Free memory from NVML, the management library that comes with every NVIDIA driver.
// cudaMemGetInfo reports it too, but creates a context on each device, which takes some
// hundred megabytes of that memory. Loaded by name, because a machine without the driver
// has no such library. The signatures are those of nvml.h, stable since NVML 5.
class Nvml {
  public:
    Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
        if (library_ == nullptr) return;
        const auto init = symbol<int (*)()>("nvmlInit_v2");
        shutdown_ = symbol<int (*)()>("nvmlShutdown");
        by_bus_id_ = symbol<int (*)(const char*, void**)>("nvmlDeviceGetHandleByPciBusId_v2");
        memory_info_ = symbol<int (*)(void*, Memory*)>("nvmlDeviceGetMemoryInfo");
        ready_ =
            init != nullptr && shutdown_ != nullptr && by_bus_id_ != nullptr && memory_info_ != nullptr && init() == 0;
    }
    ~Nvml() {
        if (ready_) shutdown_();
        if (library_ != nullptr) dlclose(library_);
    }
    Nvml(const Nvml&) = delete;
    Nvml& operator=(const Nvml&) = delete;

    std::int64_t free_bytes(const char* pci_bus_id) const {
        void* device = nullptr;
        Memory memory{};
        if (!ready_ || by_bus_id_(pci_bus_id, &device) != 0 || memory_info_(device, &memory) != 0) return -1;
        return static_cast<std::int64_t>(memory.free);
    }

  private:
    struct Memory {  // nvmlMemory_t
        unsigned long long total, free, used;
    };
    template <typename Function>
    Function symbol(const char* name) const {
        return reinterpret_cast<Function>(dlsym(library_, name));
    }

    void* library_;
    bool ready_ = false;
    int (*shutdown_)() = nullptr;
    int (*by_bus_id_)(const char*, void**) = nullptr;
    int (*memory_info_)(void*, Memory*) = nullptr;
};

}  // namespace

CudaDevices cuda_devices() {
    CudaDevices found;
    int version = 0;
    if (cudaRuntimeGetVersion(&version) == cudaSuccess) found.runtime_version = version_text(version);
    version = 0;
    if (cudaDriverGetVersion(&version) == cudaSuccess) found.driver_version = version_text(version);

    int n_devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&n_devices);
    if (status != cudaSuccess) (void)cudaGetLastError();  // so that no later call returns it
    if (found.driver_version.empty()) {
        found.none_because.fault = CudaFault::kNoDriver;
    } else if (status == cudaErrorInsufficientDriver) {
        found.none_because = {CudaFault::kDriverTooOld, found.driver_version, found.runtime_version};
    } else if (status == cudaErrorNoDevice || (status == cudaSuccess && n_devices == 0)) {
        found.none_because.fault = CudaFault::kNoGpu;
    } else if (status != cudaSuccess) {
        found.none_because = {CudaFault::kDriverReports, cudaGetErrorString(status)};
    }
    if (!found.none_because.none()) return found;

    const Nvml nvml;
    for (int ordinal = 0; ordinal < n_devices; ++ordinal) {
        cudaDeviceProp properties{};
        char bus_id[32] = "";
        if (cudaGetDeviceProperties(&properties, ordinal) != cudaSuccess ||
            cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, ordinal) != cudaSuccess) {
            (void)cudaGetLastError();
            continue;
        }
        CudaDevice device;
        device.ordinal = ordinal;
        device.name = properties.name;
        device.pci_bus_id = bus_id;
        device.compute_major = properties.major;
        device.compute_minor = properties.minor;
        device.total_bytes = static_cast<std::int64_t>(properties.totalGlobalMem);
        device.free_bytes = nvml.free_bytes(bus_id);
        found.devices.push_back(std::move(device));
    }
    if (found.devices.empty()) found.none_because.fault = CudaFault::kNoGpuDescribed;
    return found;
}

}  // namespace offstage::kernels
