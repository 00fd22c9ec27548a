#pragma once
// The shared state of the runtime on the host, with one lock for all of it.

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cuda_host/cuda_host.h"
#include "tests/cuda_host/cuda_runtime.h"
#include "tests/cuda_host/fibers.h"

// One recording of an event: a waiter waits for this one, though the event may be
// recorded elsewhere since.
struct EventState {
    bool happened = false;
    std::chrono::steady_clock::time_point when{};
};
struct HostEvent {
    std::shared_ptr<EventState> state;  // the last recording; empty: there was none
};
// Released blocks, by size; not yet returned to the GPU.
struct HostPool {
    std::multimap<std::size_t, std::byte*> kept;
    std::size_t reserved_bytes = 0;
};
// A kernel, or an event that is recorded.
struct HostGraphNode {
    cuda_host::KernelStart kernel;
    bool early = false;  // a block of it begins before the node that it depends on
    cudaEvent_t event = nullptr;
    std::vector<std::size_t> after;  // numbers of nodes
};
struct HostGraph {
    std::vector<std::unique_ptr<HostGraphNode>> nodes;
};
struct HostGraphExec {
    std::vector<HostGraphNode> nodes;  // as they were when it was made
    std::size_t bytes = 0;             // of GPU memory, since it was uploaded
};
struct HostStream {
    std::deque<std::function<void()>> tasks;
    std::condition_variable asked;  // by new tasks, or to end
    bool busy = false;
    bool ends = false;
    std::array<cuda_host::BlockRunner*, 3> runners{};  // the next kernel's, and those of early ones behind it
    std::thread thread;
};

namespace cuda_host {

struct Allocation {
    std::size_t bytes;
    HostPool* pool = nullptr;
};

struct Host {
    std::mutex mutex;
    std::condition_variable changed;  // notified of streams' progress
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
    std::mutex copy_engines[2];  // to the GPU, and from it: each makes one copy at a time
    std::uint32_t launches = 0;
    bool lost = false;
    bool held = false;  // streams begin nothing
};

Host& host();

// Sets the thread's cudaGetLastError().
cudaError_t answer(cudaError_t error);

// The caller of the functions below holds the lock.

// Counts the call; returns its immediate result.
cudaError_t begin(const char* function, cudaError_t injected = cudaErrorUnknown);
// True if no write outside an allocation was found.
bool guards_intact(std::byte* data, std::size_t bytes);
// Nothing is left to do in the stream; in all of them.
bool is_idle(const HostStream* stream);
bool all_idle();
void enqueue_locked(HostStream* stream, std::function<void()> task);
// The runtime's error for such a launch.
cudaError_t refusal_of(dim3 grid, dim3 block, std::size_t shared_bytes, std::size_t parameter_bytes);
// A kernel of which a block begins before another one, how far before.
struct EarlyStart {
    std::size_t distance = 0;
    std::shared_ptr<const KernelStart> kernel;
};
void enqueue_kernel_locked(HostStream* stream, const KernelStart& kernel, const std::vector<EarlyStart>& early = {});
void happen(const std::shared_ptr<EventState>& state);

}  // namespace cuda_host
