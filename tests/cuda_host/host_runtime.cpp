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
#include <random>
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

// One recording of an event: whoever waits for it waits for that one, though the event may be recorded elsewhere since.
struct EventState {
    bool happened = false;
    Clock::time_point when{};
};
struct HostEvent {
    std::shared_ptr<EventState> state;  // of the last recording; empty: there was none
};
// Blocks that were given back, by what they take; not yet given back to the GPU.
struct HostPool {
    std::multimap<std::size_t, std::byte*> kept;
    std::size_t reserved_bytes = 0;
};
// A kernel, or an event that is recorded.
struct HostGraphNode {
    dim3 grid, block;
    std::size_t shared_bytes = 0;
    std::function<void()> thread;
    cudaEvent_t event = nullptr;
    std::vector<std::size_t> after;  // numbers of nodes
};
struct HostGraph {
    std::vector<std::unique_ptr<HostGraphNode>> nodes;
};
struct HostGraphExec {
    std::vector<HostGraphNode> nodes;  // as they were when it was made
    std::size_t bytes = 0;             // of the GPU's memory, since it was uploaded
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
    HostPool* pool = nullptr;
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
    std::set<cudaMemPool_t> pools;
    std::set<cudaEvent_t> events;
    std::set<cudaGraph_t> graphs;
    std::set<cudaGraphExec_t> graph_execs;
    std::vector<std::string> problems;
    std::vector<std::size_t> pageable_copies;
    std::size_t allocated_bytes = 0;
    std::mutex copy_engines[2];  // to the GPU, and from it: each makes one copy at a time, whoever asks
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

// Memory of the GPU with room for guards; nullptr: there is none.
std::byte* take_memory(std::size_t bytes) {
    auto* const all =
        static_cast<std::byte*>(::operator new (bytes + 2 * kGuardBytes, std::align_val_t{kGuardBytes}, std::nothrow));
    return all == nullptr ? nullptr : all + kGuardBytes;
}

void give_memory_back(std::byte* place, [[maybe_unused]] std::size_t bytes) {
    std::byte* const all = place - kGuardBytes;
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(all, bytes + 2 * kGuardBytes);
#endif
    ::operator delete (all, std::align_val_t{kGuardBytes});
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

// Whether all of [data, data + bytes) is page-locked, in one piece.
bool is_registered(const void* data, std::size_t bytes) {
    auto* const begins = static_cast<std::byte*>(const_cast<void*>(data));
    const auto& all = host().registered;
    const auto next = all.upper_bound(begins);
    if (next == all.begin()) return false;
    const auto& [first, memory] = *std::prev(next);
    return begins + bytes <= first + memory.bytes;
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

// What the runtime says of such a launch. The limits of every GPU since compute capability 7.5.
cudaError_t refusal_of(dim3 grid, dim3 block, std::size_t shared_bytes, std::size_t parameter_bytes) {
    const unsigned n_threads = block.x * block.y * block.z;
    if (grid.x == 0 || grid.x > 0x7fffffffu || grid.y == 0 || grid.y > 65535 || grid.z == 0 || grid.z > 65535 ||
        n_threads == 0 || n_threads > 1024 || shared_bytes > 48 * 1024) {
        return cudaErrorInvalidConfiguration;
    }
    return parameter_bytes > 4096 ? cudaErrorInvalidValue : cudaSuccess;
}

void enqueue_kernel_locked(HostStream* stream, dim3 grid, dim3 block, std::size_t shared_bytes,
                           std::function<void()> thread) {
    Host& h = host();
    const std::uint32_t seed = h.settings.seed * 2654435761u + ++h.launches;
    enqueue_locked(stream, [=, thread = std::move(thread)] {
        const auto report = [](const std::string& problem) {
            const std::lock_guard problem_lock(host().mutex);
            host().problems.push_back(problem);
        };
        {
            const std::lock_guard lost_lock(host().mutex);
            if (host().lost) return;
        }
        if (stream->runner->run(grid, block, shared_bytes, thread, seed, report)) return;
        report("a kernel used an address that is not there");
        const std::lock_guard lost_lock(host().mutex);
        host().lost = true;
    });
}

// The lock is held.
void happen(const std::shared_ptr<EventState>& state) {
    state->happened = true;
    state->when = Clock::now();
    host().changed.notify_all();
}

cudaError_t add_node(HostGraphNode made, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                     std::size_t n_dependencies, cudaGraphNode_t* node) {
    if (host().graphs.count(graph) == 0) return answer(cudaErrorInvalidValue);
    for (std::size_t i = 0; i < n_dependencies; ++i) {
        const auto is_it = [&](const std::unique_ptr<HostGraphNode>& each) { return each.get() == dependencies[i]; };
        const auto found = std::find_if(graph->nodes.begin(), graph->nodes.end(), is_it);
        if (found == graph->nodes.end()) return answer(cudaErrorInvalidValue);  // of another graph
        made.after.push_back(static_cast<std::size_t>(found - graph->nodes.begin()));
    }
    graph->nodes.push_back(std::make_unique<HostGraphNode>(std::move(made)));
    *node = graph->nodes.back().get();
    return cudaSuccess;
}

void wait_for(const std::shared_ptr<EventState>& event) {
    Host& h = host();
    std::unique_lock lock(h.mutex);
    h.changed.wait(lock, [&] { return event == nullptr || event->happened; });
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
    h.pageable_copies.clear();
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
    const cudaError_t refused = refusal_of(grid, block, shared_bytes, parameter_bytes);
    if (refused != cudaSuccess) return answer(refused);
    if (h.streams.count(stream) == 0) return answer(cudaErrorInvalidValue);
    enqueue_kernel_locked(stream, grid, block, shared_bytes, std::move(thread));
    return cudaSuccess;
}

cudaError_t add_kernel_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                            std::size_t n_dependencies, dim3 grid, dim3 block, std::size_t shared_bytes,
                            std::size_t parameter_bytes, std::function<void()> thread) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaGraphAddKernelNode");
    if (status != cudaSuccess) return status;
    const cudaError_t refused = refusal_of(grid, block, shared_bytes, parameter_bytes);
    if (refused != cudaSuccess) return answer(refused);
    return add_node({grid, block, shared_bytes, std::move(thread), nullptr, {}}, graph, dependencies, n_dependencies,
                    node);
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

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
    const std::lock_guard lock(host().mutex);
    *value = attribute == cudaDevAttrMemoryPoolsSupported && !host().settings.memory_pools ? 0 : 1;
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
    std::byte* const place = take_memory(bytes);
    if (place == nullptr) return answer(cudaErrorMemoryAllocation);
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
    h.allocated_bytes -= found->second.bytes;
    give_memory_back(found->first, found->second.bytes);
    h.allocations.erase(found);
    return status;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    const cudaError_t status = begin("cudaMemPoolCreate");
    if (status != cudaSuccess) return status;
    if (!h.settings.memory_pools || properties->allocType != cudaMemAllocationTypePinned ||
        properties->location.type != cudaMemLocationTypeDevice || properties->location.id >= h.settings.n_devices) {
        return answer(cudaErrorInvalidValue);
    }
    *pool = new HostPool;
    h.pools.insert(*pool);
    return cudaSuccess;
}

namespace {

void trim(HostPool& pool, std::size_t bytes_to_keep) {
    while (pool.reserved_bytes > bytes_to_keep && !pool.kept.empty()) {
        const auto largest = std::prev(pool.kept.end());
        pool.reserved_bytes -= largest->first;
        host().allocated_bytes -= largest->first;
        give_memory_back(largest->second, largest->first);
        pool.kept.erase(largest);
    }
}

}  // namespace

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    Host& h = host();
    std::unique_lock lock(h.mutex);
    (void)begin("cudaMemPoolDestroy");
    if (h.pools.erase(pool) == 0) return answer(cudaErrorInvalidValue);
    h.changed.wait(lock, [&] { return std::all_of(h.streams.begin(), h.streams.end(), is_idle); });
    trim(*pool, 0);
    if (pool->reserved_bytes > 0) h.problems.push_back("a memory pool was destroyed with blocks in use");
    delete pool;
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void*) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaMemPoolSetAttribute");
    if (status != cudaSuccess) return status;
    return attribute == cudaMemPoolAttrReleaseThreshold ? cudaSuccess : answer(cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaMemPoolGetAttribute");
    if (status != cudaSuccess) return status;
    if (attribute != cudaMemPoolAttrReservedMemCurrent) return answer(cudaErrorInvalidValue);
    const std::uint64_t reserved = pool->reserved_bytes;
    std::memcpy(value, &reserved, sizeof reserved);
    return cudaSuccess;
}

// As the real one: what is on its way back in some stream stays.
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes_to_keep) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaMemPoolTrimTo");
    if (status != cudaSuccess) return status;
    trim(*pool, bytes_to_keep);
    return cudaSuccess;
}

// Waits for nothing. The block is usable once the stream has come so far, and no sooner: it is filled with NaNs then.
cudaError_t cudaMallocFromPoolAsync(void** data, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    *data = nullptr;
    const cudaError_t status = begin("cudaMallocFromPoolAsync", cudaErrorMemoryAllocation);
    if (status != cudaSuccess) return status;
    if (h.pools.count(pool) == 0 || h.streams.count(stream) == 0) return answer(cudaErrorInvalidValue);
    const std::size_t page = h.settings.pool_page_bytes;
    const std::size_t taken = (bytes + page - 1) / page * page;
    std::byte* place = nullptr;
    if (const auto kept = pool->kept.find(taken); kept != pool->kept.end()) {
        place = kept->second;
        pool->kept.erase(kept);
    } else {
        // Short of memory it gives up what it keeps.
        if (taken > h.settings.memory_bytes - h.allocated_bytes) trim(*pool, 0);
        if (taken > h.settings.memory_bytes - h.allocated_bytes) return answer(cudaErrorMemoryAllocation);
        place = take_memory(taken);
        if (place == nullptr) return answer(cudaErrorMemoryAllocation);
        pool->reserved_bytes += taken;
        h.allocated_bytes += taken;
#if defined(__SANITIZE_ADDRESS__)
        __asan_poison_memory_region(place, taken);
#endif
    }
    h.allocations[place] = {taken, pool};
    enqueue_locked(stream, [place, taken] {
#if defined(__SANITIZE_ADDRESS__)
        __asan_unpoison_memory_region(place - kGuardBytes, taken + 2 * kGuardBytes);
#endif
        std::memset(place, kUninitialised, taken);
        set_guards(place, taken);
    });
    *data = place;
    return cudaSuccess;
}

// Waits for nothing. From that point of the stream on nobody may use the block.
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
    Host& h = host();
    std::unique_lock lock(h.mutex);
    const cudaError_t status = begin("cudaFreeAsync");
    // On a GPU that was lost nothing runs any more; here what was started does.
    if (h.lost) h.changed.wait(lock, [&] { return std::all_of(h.streams.begin(), h.streams.end(), is_idle); });
    const auto found = h.allocations.find(static_cast<std::byte*>(data));
    if (found == h.allocations.end() || found->second.pool == nullptr) {
        h.problems.push_back("an address that was not allocated in a pool was freed");
        return answer(cudaErrorInvalidValue);
    }
    std::byte* const place = found->first;
    const std::size_t taken = found->second.bytes;
    HostPool* const pool = found->second.pool;
    h.allocations.erase(found);
    enqueue_locked(stream, [place, taken, pool] {
        const std::lock_guard task_lock(host().mutex);
        if (!guards_intact(place, taken)) {
            host().problems.push_back("something wrote beside an allocation of " + std::to_string(taken) + " bytes");
        }
        std::memset(place, kUninitialised, taken);
#if defined(__SANITIZE_ADDRESS__)
        __asan_poison_memory_region(place, taken);
#endif
        pool->kept.emplace(taken, place);
    });
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
    if (is_device_memory(other, bytes)) {
        enqueue_locked(stream, [=] { std::memcpy(to, from, bytes); });
        return cudaSuccess;
    }
    if (!is_registered(other, bytes)) host().pageable_copies.push_back(bytes);
    enqueue_locked(stream, [=] {
        const std::lock_guard engine(host().copy_engines[to_device ? 0 : 1]);
        std::memcpy(to, from, bytes);
    });
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
    enqueue_locked(stream, [state = event->state] { wait_for(state); });
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaEventCreate");
    if (status != cudaSuccess) return status;
    *event = new HostEvent;
    host().events.insert(*event);
    return cudaSuccess;
}

// All events sleep here, and have their times.
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
    return cudaEventCreate(event);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
    const std::lock_guard lock(host().mutex);
    (void)begin("cudaEventDestroy");
    if (host().events.erase(event) == 0) return answer(cudaErrorInvalidResourceHandle);
    delete event;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaEventRecord");
    if (status != cudaSuccess) return status;
    event->state = std::make_shared<EventState>();
    enqueue_locked(stream, [state = event->state] {
        const std::lock_guard task_lock(host().mutex);
        happen(state);
    });
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
    Host& h = host();
    std::unique_lock lock(h.mutex);
    const cudaError_t status = begin("cudaEventSynchronize");
    if (status != cudaSuccess) return status;
    const std::shared_ptr<EventState> state = event->state;
    h.changed.wait(lock, [&] { return state == nullptr || state->happened; });
    return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaEventQuery");
    if (status != cudaSuccess) return status;
    return event->state == nullptr || event->state->happened ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin_event, cudaEvent_t end_event) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaEventElapsedTime");
    if (status != cudaSuccess) return status;
    const std::shared_ptr<EventState>& from = begin_event->state;
    const std::shared_ptr<EventState>& to = end_event->state;
    if (from == nullptr || to == nullptr) return answer(cudaErrorInvalidResourceHandle);
    if (!from->happened || !to->happened) return cudaErrorNotReady;
    *ms = std::chrono::duration<float, std::milli>(to->when - from->when).count();
    return cudaSuccess;
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaGraphCreate", cudaErrorMemoryAllocation);
    if (status != cudaSuccess) return status;
    if (flags != 0) return answer(cudaErrorInvalidValue);
    *graph = new HostGraph;
    host().graphs.insert(*graph);
    return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    const std::lock_guard lock(host().mutex);
    (void)begin("cudaGraphDestroy");
    if (host().graphs.erase(graph) == 0) return answer(cudaErrorInvalidValue);
    delete graph;
    return cudaSuccess;
}

cudaError_t cudaGraphAddEventRecordNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                        std::size_t n_dependencies, cudaEvent_t event) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaGraphAddEventRecordNode");
    if (status != cudaSuccess) return status;
    if (host().events.count(event) == 0) return answer(cudaErrorInvalidValue);
    HostGraphNode made;
    made.event = event;
    return add_node(std::move(made), graph, dependencies, n_dependencies, node);
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaGraphInstantiateWithFlags", cudaErrorMemoryAllocation);
    if (status != cudaSuccess) return status;
    if (host().graphs.count(graph) == 0 || flags != 0) return answer(cudaErrorInvalidValue);
    *exec = new HostGraphExec;
    for (const std::unique_ptr<HostGraphNode>& node : graph->nodes) (*exec)->nodes.push_back(*node);
    host().graph_execs.insert(*exec);
    return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    const cudaError_t status = begin("cudaGraphUpload");
    if (status != cudaSuccess) return status;
    if (h.graph_execs.count(exec) == 0 || h.streams.count(stream) == 0) return answer(cudaErrorInvalidValue);
    const std::size_t bytes = exec->nodes.size() * h.settings.graph_node_bytes;
    if (bytes > h.settings.memory_bytes - h.allocated_bytes) return answer(cudaErrorMemoryAllocation);
    if (exec->bytes == 0) h.allocated_bytes += exec->bytes = bytes;
    return cudaSuccess;
}

// What was launched of it ends.
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
    const std::lock_guard lock(host().mutex);
    (void)begin("cudaGraphExecDestroy");
    if (host().graph_execs.erase(exec) == 0) return answer(cudaErrorInvalidValue);
    host().allocated_bytes -= exec->bytes;
    delete exec;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    const cudaError_t status = begin("cudaGraphLaunch");
    if (status != cudaSuccess) return status;
    if (h.graph_execs.count(exec) == 0 || h.streams.count(stream) == 0) return answer(cudaErrorInvalidValue);
    std::minstd_rand random(h.settings.seed * 2654435761u + ++h.launches);
    std::vector<bool> started(exec->nodes.size());
    for (std::size_t n = 0; n < exec->nodes.size(); ++n) {
        std::vector<std::size_t> ready;
        for (std::size_t i = 0; i < exec->nodes.size(); ++i) {
            const std::vector<std::size_t>& after = exec->nodes[i].after;
            const bool free = std::all_of(after.begin(), after.end(), [&](std::size_t each) { return started[each]; });
            if (!started[i] && free) ready.push_back(i);
        }
        const std::size_t next = ready[random() % ready.size()];
        started[next] = true;
        const HostGraphNode& node = exec->nodes[next];
        if (node.event == nullptr) {
            enqueue_kernel_locked(stream, node.grid, node.block, node.shared_bytes, node.thread);
            continue;
        }
        enqueue_locked(stream, [event = node.event] {
            const std::lock_guard task_lock(host().mutex);
            if (host().events.count(event) == 0) return;  // destroyed since
            event->state = std::make_shared<EventState>();
            happen(event->state);
        });
    }
    return cudaSuccess;
}
