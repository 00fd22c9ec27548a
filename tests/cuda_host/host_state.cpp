// The tests' interface of the host layer, and the runtime's device properties.
#include "tests/cuda_host/host_state.h"

#include <algorithm>
#include <cstdio>

#include "tests/cuda_host/host_stream.h"

namespace {

thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

namespace cuda_host {

Host& host() {
    static Host instance;
    return instance;
}

cudaError_t answer(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
    return error;
}

cudaError_t begin(const char* function, cudaError_t injected) {
    Host& h = host();
    ++h.calls[function];
    ++h.calls_by[{function, std::this_thread::get_id()}];
    const auto found = h.fail_in.find(function);
    if (found != h.fail_in.end() && (found->second < 0 || (found->second > 0 && --found->second == 0))) {
        return answer(injected);
    }
    return h.lost ? answer(cudaErrorIllegalAddress) : cudaSuccess;
}

void reset(const Settings& settings) {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    h.settings = settings;
    h.fail_in.clear();
    h.calls.clear();
    h.calls_by.clear();
    h.problems.clear();
    h.registered.clear();
    h.pageable_copies.clear();
    h.launches = 0;
    h.lost = false;
    h.held = false;
    last_error = cudaSuccess;
}

void fail_call(const std::string& function, int n) {
    const std::lock_guard lock(host().mutex);
    host().fail_in[function] = n;
}

int calls_of(const std::string& function) {
    const std::lock_guard lock(host().mutex);
    return host().calls[function];
}

int calls_of(const std::string& function, std::thread::id thread) {
    const std::lock_guard lock(host().mutex);
    return host().calls_by[{function, thread}];
}

int calls_of_all(std::thread::id thread) {
    const std::lock_guard lock(host().mutex);
    int n = 0;
    for (const auto& [call, times] : host().calls_by) {
        if (call.second == thread) n += times;
    }
    return n;
}

void lose_context(bool lost) {
    const std::lock_guard lock(host().mutex);
    host().lost = lost;
}

bool has_lost_context() {
    const std::lock_guard lock(host().mutex);
    return host().lost;
}

std::vector<std::size_t> pageable_copies() {
    const std::lock_guard lock(host().mutex);
    return host().pageable_copies;
}

std::size_t taken_bytes() {
    const std::lock_guard lock(host().mutex);
    return host().allocated_bytes;
}

std::vector<std::string> problems() {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    std::vector<std::string> all = h.problems;
    for (const auto& [data, allocation] : h.allocations) {
        if (!guards_intact(data, allocation.bytes)) all.push_back("something wrote beside an allocation");
        all.push_back("an allocation of " + std::to_string(allocation.bytes) + " bytes was never freed");
    }
    for (const auto& [data, memory] : h.registered) {
        all.push_back("host memory of " + std::to_string(memory.bytes) + " bytes is still pinned");
    }
    if (!h.streams.empty()) all.push_back("a stream was never destroyed");
    if (!h.pools.empty()) all.push_back("a memory pool was never destroyed");
    if (!h.events.empty()) all.push_back("an event was never destroyed");
    if (!h.graphs.empty()) all.push_back("a graph was never destroyed");
    if (!h.graph_execs.empty()) all.push_back("an executable graph was never destroyed");
    return all;
}

cudaError_t enter(const char* function) {
    const std::lock_guard lock(host().mutex);
    return begin(function);
}

bool has_cublas() {
    const std::lock_guard lock(host().mutex);
    return host().settings.cublas;
}

int compute_major() {
    const std::lock_guard lock(host().mutex);
    return host().settings.compute_major;
}

}  // namespace cuda_host

using cuda_host::answer;
using cuda_host::begin;
using cuda_host::host;

const char* cudaGetErrorString(cudaError_t error) {
    switch (error) {
        case cudaSuccess:
            return "no error";
        case cudaErrorMemoryAllocation:
            return "out of memory";
        case cudaErrorIllegalAddress:
            return "an illegal memory access was encountered";
        case cudaErrorInvalidValue:
            return "invalid argument";
        case cudaErrorInvalidConfiguration:
            return "invalid configuration argument";
        default:
            return "another error of the host layer";
    }
}

cudaError_t cudaGetLastError() {
    const cudaError_t error = last_error;
    last_error = cudaSuccess;
    return error;
}

cudaError_t cudaGetDeviceCount(int* count) {
    const std::lock_guard lock(host().mutex);
    *count = host().settings.n_devices;
    return begin("cudaGetDeviceCount");
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    const std::lock_guard lock(host().mutex);
    const cuda_host::Settings& settings = host().settings;
    if (device < 0 || device >= settings.n_devices) return answer(cudaErrorInvalidDevice);
    std::snprintf(properties->name, sizeof properties->name, "CUDA on the host (no GPU)");
    properties->major = settings.compute_major;
    properties->minor = settings.compute_minor;
    properties->multiProcessorCount = 1;
    properties->totalGlobalMem = settings.memory_bytes;
    return begin("cudaGetDeviceProperties");
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
    const std::lock_guard lock(host().mutex);
    *value = attribute == cudaDevAttrMemoryPoolsSupported && !host().settings.memory_pools ? 0
             : attribute == cudaDevAttrKernelExecTimeout ? host().settings.limits_kernels
                                                         : 1;
    return begin("cudaDeviceGetAttribute");
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaFuncGetAttributes");
    const cuda_host::Settings& settings = host().settings;
    if (status == cudaSuccess) attributes->ptxVersion = 10 * settings.compute_major + settings.compute_minor;
    return status;
}

cudaError_t cudaDriverGetVersion(int* version) {
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
    *version = 13000;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
    const std::lock_guard lock(host().mutex);
    if (device < 0 || device >= host().settings.n_devices) return answer(cudaErrorInvalidDevice);
    return begin("cudaSetDevice");
}
