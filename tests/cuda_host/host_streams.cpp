// The runtime's streams, one thread each, kernels and events.
#include <algorithm>
#include <chrono>

#include "tests/cuda_host/host_state.h"
#include "tests/cuda_host/host_stream.h"

namespace cuda_host {
namespace {

void serve(HostStream* stream) {
    Host& h = host();
    std::array<cuda_host::BlockRunner, 3> runners;
    std::unique_lock lock(h.mutex);
    for (std::size_t i = 0; i < runners.size(); ++i) stream->runners[i] = &runners[i];
    for (;;) {
        stream->asked.wait(lock, [&] { return (!stream->tasks.empty() && !h.held) || stream->ends; });
        if (stream->tasks.empty()) return;
        const std::function<void()> task = std::move(stream->tasks.front());
        stream->tasks.pop_front();
        stream->busy = true;
        lock.unlock();
        task();
        lock.lock();
        stream->busy = false;
        if (stream->tasks.empty()) h.changed.notify_all();
    }
}

void wait_for(const std::shared_ptr<EventState>& event) {
    Host& h = host();
    std::unique_lock lock(h.mutex);
    h.changed.wait(lock, [&] { return event == nullptr || event->happened; });
}

}  // namespace

bool is_idle(const HostStream* stream) {
    return stream->tasks.empty() && !stream->busy;
}

void hold_streams(bool held) {
    const std::lock_guard lock(host().mutex);
    host().held = held;
    for (HostStream* const stream : host().streams) stream->asked.notify_one();
}

bool all_idle() {
    return std::all_of(host().streams.begin(), host().streams.end(), is_idle);
}

void enqueue_locked(HostStream* stream, std::function<void()> task) {
    stream->tasks.push_back(std::move(task));
    stream->asked.notify_one();
}

// The limits of every GPU since compute capability 7.5.
cudaError_t refusal_of(dim3 grid, dim3 block, std::size_t shared_bytes, std::size_t parameter_bytes) {
    const unsigned n_threads = block.x * block.y * block.z;
    if (grid.x == 0 || grid.x > 0x7fffffffu || grid.y == 0 || grid.y > 65535 || grid.z == 0 || grid.z > 65535 ||
        n_threads == 0 || n_threads > 1024 || shared_bytes > 48 * 1024) {
        return cudaErrorInvalidConfiguration;
    }
    return parameter_bytes > 4096 ? cudaErrorInvalidValue : cudaSuccess;
}

void enqueue_kernel_locked(HostStream* stream, const KernelStart& kernel, const std::vector<EarlyStart>& early) {
    Host& h = host();
    const std::uint32_t seed = h.settings.seed * 2654435761u + ++h.launches;
    enqueue_locked(stream, [=] {
        const auto report = [](const std::string& problem) {
            const std::lock_guard problem_lock(host().mutex);
            host().problems.push_back(problem);
        };
        {
            const std::lock_guard lost_lock(host().mutex);
            if (host().lost) {
                for (BlockRunner* const runner : stream->runners) runner->abandon();
                return;
            }
        }
        for (const EarlyStart& each : early) {
            stream->runners[each.distance]->begin(each.kernel, seed + static_cast<std::uint32_t>(each.distance),
                                                  report);
        }
        const bool well = stream->runners[0]->run(kernel, seed, report);
        if (stream->runners[1]->has_begun()) {
            std::rotate(stream->runners.begin(), stream->runners.begin() + 1, stream->runners.end());
        }
        if (well) return;
        report("a kernel used an address that is not there");
        const std::lock_guard lost_lock(host().mutex);
        host().lost = true;
    });
}

void happen(const std::shared_ptr<EventState>& state) {
    state->happened = true;
    state->when = std::chrono::steady_clock::now();
    host().changed.notify_all();
}

void enqueue(cudaStream_t stream, std::function<void()> task) {
    const std::lock_guard lock(host().mutex);
    enqueue_locked(stream, std::move(task));
}

void report(const char* problem) {
    const std::lock_guard lock(host().mutex);
    std::vector<std::string>& all = host().problems;
    if (std::find(all.begin(), all.end(), problem) == all.end()) all.emplace_back(problem);
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
    enqueue_kernel_locked(stream, {grid, block, shared_bytes, std::move(thread)});
    return cudaSuccess;
}

}  // namespace cuda_host

using cuda_host::all_idle;
using cuda_host::answer;
using cuda_host::begin;
using cuda_host::enqueue_locked;
using cuda_host::happen;
using cuda_host::Host;
using cuda_host::host;
using cuda_host::is_idle;

cudaError_t cudaDeviceSynchronize() {
    Host& h = host();
    std::unique_lock lock(h.mutex);
    const cudaError_t status = begin("cudaDeviceSynchronize");
    if (status != cudaSuccess) return status;
    h.changed.wait(lock, [&] { return all_idle(); });
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    const std::lock_guard lock(host().mutex);
    *least = 0;
    *greatest = -2;
    return begin("cudaDeviceGetStreamPriorityRange");
}

// Streams are threads here, and all equal; only an invalid priority is an error.
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned, int priority) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaStreamCreateWithPriority");
    if (priority < -2 || priority > 0) return answer(cudaErrorInvalidValue);
    if (status != cudaSuccess) return status;
    *stream = new HostStream;
    host().streams.insert(*stream);
    (*stream)->thread = std::thread(cuda_host::serve, *stream);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
    {
        const std::lock_guard lock(host().mutex);
        (void)begin("cudaStreamDestroy");
        if (host().streams.erase(stream) == 0) return answer(cudaErrorInvalidResourceHandle);
        stream->ends = true;
        stream->asked.notify_one();
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
    enqueue_locked(stream, [state = event->state] { cuda_host::wait_for(state); });
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

// The flags are ignored: every wait for an event sleeps, and every event has a time.
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
