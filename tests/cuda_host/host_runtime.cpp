// The runtime API on the host: one lock for all of it, one thread per stream.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <thread>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#include "tests/cuda_host/cuda_host.h"
#include "tests/cuda_host/cuda_runtime.h"
#include "tests/cuda_host/fibers.h"
#include "tests/cuda_host/host_stream.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kGuardBytes = 256;
constexpr unsigned char kGuard = 0xa5;
constexpr unsigned char kUninitialised = 0xff;  // a NaN as float, bf16 and f16

}  // namespace

struct EventState {
    std::uint64_t recorded = 0;
    std::uint64_t happened = 0;
    Clock::time_point when{};
};
struct HostEvent {
    std::shared_ptr<EventState> state = std::make_shared<EventState>();
};
struct HostStream {
    std::deque<std::function<void()>> tasks;
    bool busy = false;
    bool ends = false;
    cuda_host::BlockRunner* runner = nullptr;
    std::thread thread;
};

namespace {

struct Allocation {
    std::size_t bytes;
};

struct Host {
    std::mutex mutex;
    std::condition_variable changed;
    cuda_host::Settings settings;
    std::map<std::string, int> fail_in;
    std::map<std::string, int> calls;
    std::map<std::pair<std::string, std::thread::id>, int> calls_by;
    std::map<std::byte*, Allocation> allocations;
    struct Registered {
        std::size_t bytes;
        unsigned flags;
    };
    std::map<std::byte*, Registered> registered;
    std::set<cudaStream_t> streams;
    std::vector<std::size_t> pageable;  // bytes of each such copy
    std::vector<std::string> problems;
    std::size_t allocated_bytes = 0;
    std::uint32_t launches = 0;
    bool lost = false;
};

Host& host() {
    static Host instance;
    return instance;
}

thread_local cudaError_t last_error = cudaSuccess;

cudaError_t answer(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady) last_error = error;
    return error;
}

// Counts the call; what it has to answer before doing anything. The lock is held.
cudaError_t begin(const char* function, cudaError_t injected = cudaErrorUnknown) {
    Host& h = host();
    ++h.calls[function];
    ++h.calls_by[{function, std::this_thread::get_id()}];
    const auto found = h.fail_in.find(function);
    if (found != h.fail_in.end() && found->second > 0 && --found->second == 0) return answer(injected);
    return h.lost ? answer(cudaErrorIllegalAddress) : cudaSuccess;
}

void set_guards(std::byte* data, std::size_t bytes) {
    std::memset(data - kGuardBytes, kGuard, kGuardBytes);
    std::memset(data + bytes, kGuard, kGuardBytes);
#if defined(__SANITIZE_ADDRESS__)
    __asan_poison_memory_region(data - kGuardBytes, kGuardBytes);
    __asan_poison_memory_region(data + bytes, kGuardBytes);
#endif
}

bool guards_intact([[maybe_unused]] std::byte* data, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    return true;  // a write there would have ended the program
#else
    const auto is_guard = [](std::byte value) { return value == std::byte{kGuard}; };
    return std::all_of(data - kGuardBytes, data, is_guard) &&
           std::all_of(data + bytes, data + bytes + kGuardBytes, is_guard);
#endif
}

// Whether [data, data + bytes) lies in one allocation.
bool is_device_memory(const void* data, std::size_t bytes) {
    auto* begin_of = static_cast<std::byte*>(const_cast<void*>(data));
    const auto& all = host().allocations;
    auto next = all.upper_bound(begin_of);
    if (next == all.begin()) return false;
    --next;
    return begin_of + bytes <= next->first + next->second.bytes;
}

bool is_page_locked(const void* data, std::size_t bytes) {
    auto* const begins = static_cast<std::byte*>(const_cast<void*>(data));
    const auto& all = host().registered;
    auto next = all.upper_bound(begins);
    return next != all.begin() && begins + bytes <= (--next)->first + next->second.bytes;
}

void serve(HostStream* stream) {
    Host& h = host();
    cuda_host::BlockRunner runner;
    std::unique_lock lock(h.mutex);
    stream->runner = &runner;
    for (;;) {
        h.changed.wait(lock, [&] { return !stream->tasks.empty() || stream->ends; });
        if (stream->tasks.empty()) return;
        const std::function<void()> task = std::move(stream->tasks.front());
        stream->tasks.pop_front();
        stream->busy = true;
        lock.unlock();
        task();
        lock.lock();
        stream->busy = false;
        h.changed.notify_all();
    }
}

bool is_idle(const HostStream* stream) {
    return stream->tasks.empty() && !stream->busy;
}

void enqueue_locked(HostStream* stream, std::function<void()> task) {
    stream->tasks.push_back(std::move(task));
    host().changed.notify_all();
}

// The event must have been recorded in some stream.
void wait_for(const std::shared_ptr<EventState>& event, std::uint64_t recorded) {
    Host& h = host();
    std::unique_lock lock(h.mutex);
    h.changed.wait(lock, [&] { return event->happened >= recorded; });
}

}  // namespace

namespace cuda_host {

void reset(const Settings& settings) {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    h.settings = settings;
    h.fail_in.clear();
    h.calls.clear();
    h.calls_by.clear();
    h.problems.clear();
    h.registered.clear();
    h.pageable.clear();
    h.launches = 0;
    h.lost = false;
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

int pageable_copies(std::size_t bytes) {
    const std::lock_guard lock(host().mutex);
    return static_cast<int>(std::count(host().pageable.begin(), host().pageable.end(), bytes));
}

void lose_context(bool lost) {
    const std::lock_guard lock(host().mutex);
    host().lost = lost;
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

void enqueue(cudaStream_t stream, std::function<void()> task) {
    const std::lock_guard lock(host().mutex);
    enqueue_locked(stream, std::move(task));
}

cudaError_t start(dim3 grid, dim3 block, std::size_t shared_bytes, std::size_t parameter_bytes, cudaStream_t stream,
                  std::function<void()> thread) {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    const cudaError_t status = begin("cudaLaunchKernel");
    if (status != cudaSuccess) return status;
    const unsigned n_threads = block.x * block.y * block.z;
    // The limits of every GPU since compute capability 7.5.
    if (grid.x == 0 || grid.x > 0x7fffffffu || grid.y == 0 || grid.y > 65535 || grid.z == 0 || grid.z > 65535 ||
        n_threads == 0 || n_threads > 1024 || shared_bytes > 48 * 1024) {
        return answer(cudaErrorInvalidConfiguration);
    }
    if (parameter_bytes > 4096 || h.streams.count(stream) == 0) return answer(cudaErrorInvalidValue);
    const std::uint32_t seed = h.settings.seed * 2654435761u + ++h.launches;
    enqueue_locked(stream, [=, thread = std::move(thread)] {
        stream->runner->run(grid, block, shared_bytes, thread, seed, [](const std::string& problem) {
            const std::lock_guard problem_lock(host().mutex);
            host().problems.push_back(problem);
        });
    });
    return cudaSuccess;
}

}  // namespace cuda_host

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

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
    const std::lock_guard lock(host().mutex);
    *value = 1;
    return begin("cudaDeviceGetAttribute");
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

cudaError_t cudaDeviceSynchronize() {
    Host& h = host();
    std::unique_lock lock(h.mutex);
    const cudaError_t status = begin("cudaDeviceSynchronize");
    if (status != cudaSuccess) return status;
    h.changed.wait(lock, [&] { return std::all_of(h.streams.begin(), h.streams.end(), is_idle); });
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
    const std::lock_guard lock(host().mutex);
    *total_bytes = host().settings.memory_bytes;
    *free_bytes = host().settings.memory_bytes - host().allocated_bytes;
    return begin("cudaMemGetInfo");
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    *data = nullptr;
    const cudaError_t status = begin("cudaMalloc", cudaErrorMemoryAllocation);
    if (status != cudaSuccess) return status;
    if (bytes > h.settings.memory_bytes - h.allocated_bytes) return answer(cudaErrorMemoryAllocation);
    auto* all =
        static_cast<std::byte*>(::operator new (bytes + 2 * kGuardBytes, std::align_val_t{kGuardBytes}, std::nothrow));
    if (all == nullptr) return answer(cudaErrorMemoryAllocation);
    std::byte* place = all + kGuardBytes;
    std::memset(place, kUninitialised, bytes);
    set_guards(place, bytes);
    h.allocations[place] = {bytes};
    h.allocated_bytes += bytes;
    *data = place;
    return cudaSuccess;
}

// Waits for the device first, as the real one does.
cudaError_t cudaFree(void* data) {
    Host& h = host();
    std::unique_lock lock(h.mutex);
    const cudaError_t status = begin("cudaFree");
    h.changed.wait(lock, [&] { return std::all_of(h.streams.begin(), h.streams.end(), is_idle); });
    const auto found = h.allocations.find(static_cast<std::byte*>(data));
    if (found == h.allocations.end()) {
        h.problems.push_back("an address that was not allocated was freed");
        return answer(cudaErrorInvalidValue);
    }
    if (!guards_intact(found->first, found->second.bytes)) {
        h.problems.push_back("something wrote beside an allocation of " + std::to_string(found->second.bytes) +
                             " bytes");
    }
    std::byte* all = found->first - kGuardBytes;
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(all, found->second.bytes + 2 * kGuardBytes);
#endif
    h.allocated_bytes -= found->second.bytes;
    ::operator delete (all, std::align_val_t{kGuardBytes});
    h.allocations.erase(found);
    return status;
}

cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned flags) {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    const cudaError_t status = begin("cudaHostRegister", cudaErrorMemoryAllocation);
    if (status != cudaSuccess) return status;
    if (!h.registered.try_emplace(static_cast<std::byte*>(data), Host::Registered{bytes, flags}).second) {
        return answer(cudaErrorHostMemoryAlreadyRegistered);
    }
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* data) {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    const cudaError_t status = begin("cudaHostUnregister");
    if (status != cudaSuccess) return status;
    return h.registered.erase(static_cast<std::byte*>(data)) == 1 ? cudaSuccess
                                                                  : answer(cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void** device, void* data, unsigned) {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    const cudaError_t status = begin("cudaHostGetDevicePointer");
    if (status != cudaSuccess) return status;
    auto* const place = static_cast<std::byte*>(data);
    const auto next = h.registered.upper_bound(place);
    if (next == h.registered.begin()) return answer(cudaErrorInvalidValue);
    const auto& [begins, memory] = *std::prev(next);
    if (place >= begins + memory.bytes || (memory.flags & cudaHostRegisterMapped) == 0) {
        return answer(cudaErrorInvalidValue);
    }
    *device = data;
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaMemcpyAsync");
    if (status != cudaSuccess) return status;
    // Unified addressing: the addresses themselves say where they are.
    const bool to_device = kind == cudaMemcpyDefault ? is_device_memory(to, bytes) : kind == cudaMemcpyHostToDevice;
    if (!is_device_memory(to_device ? to : from, bytes)) return answer(cudaErrorInvalidValue);
    const void* const other = to_device ? from : to;
    if (!is_device_memory(other, bytes) && !is_page_locked(other, bytes)) host().pageable.push_back(bytes);
    enqueue_locked(stream, [=] { std::memcpy(to, from, bytes); });
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    const std::lock_guard lock(host().mutex);
    *least = 0;
    *greatest = -2;
    return begin("cudaDeviceGetStreamPriorityRange");
}

// Streams are threads here, and all alike; only a priority that there is not is an error.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int priority) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaStreamCreateWithPriority");
    if (priority < -2 || priority > 0) return answer(cudaErrorInvalidValue);
    if (status != cudaSuccess) return status;
    *stream = new HostStream;
    host().streams.insert(*stream);
    (*stream)->thread = std::thread(serve, *stream);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    {
        const std::lock_guard lock(host().mutex);
        (void)begin("cudaStreamDestroy");
        if (host().streams.erase(stream) == 0) return answer(cudaErrorInvalidResourceHandle);
        stream->ends = true;
        host().changed.notify_all();
    }
    stream->thread.join();
    delete stream;
    return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
    std::unique_lock lock(host().mutex);
    const cudaError_t status = begin("cudaStreamSynchronize");
    if (status != cudaSuccess) return status;
    host().changed.wait(lock, [&] { return is_idle(stream); });
    return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaStreamQuery");
    if (status != cudaSuccess) return status;
    return is_idle(stream) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaStreamWaitEvent");
    if (status != cudaSuccess) return status;
    enqueue_locked(stream, [state = event->state, recorded = event->state->recorded] { wait_for(state, recorded); });
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaEventCreate");
    if (status != cudaSuccess) return status;
    *event = new HostEvent;
    return cudaSuccess;
}

// All events sleep here, and have their times.
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    return cudaEventCreate(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    const std::lock_guard lock(host().mutex);
    (void)begin("cudaEventDestroy");
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaEventRecord");
    if (status != cudaSuccess) return status;
    const std::uint64_t recorded = ++event->state->recorded;
    enqueue_locked(stream, [state = event->state, recorded] {
        const std::lock_guard task_lock(host().mutex);
        state->happened = recorded;
        state->when = Clock::now();
        host().changed.notify_all();
    });
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    Host& h = host();
    std::unique_lock lock(h.mutex);
    const cudaError_t status = begin("cudaEventSynchronize");
    if (status != cudaSuccess) return status;
    const std::shared_ptr<EventState> state = event->state;
    h.changed.wait(lock, [&, recorded = state->recorded] { return state->happened >= recorded; });
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaEventQuery");
    if (status != cudaSuccess) return status;
    return event->state->happened >= event->state->recorded ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin_event, cudaEvent_t end_event) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaEventElapsedTime");
    if (status != cudaSuccess) return status;
    const EventState& from = *begin_event->state;
    const EventState& to = *end_event->state;
    if (from.recorded == 0 || to.recorded == 0) return answer(cudaErrorInvalidResourceHandle);
    if (from.happened < from.recorded || to.happened < to.recorded) return cudaErrorNotReady;
    *ms = std::chrono::duration<float, std::milli>(to.when - from.when).count();
    return cudaSuccess;
}
