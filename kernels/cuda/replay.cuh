#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "kernels/cuda/device_memory.cuh"
#include "kernels/cuda/event_ring.cuh"
#include "kernels/cuda/handles.cuh"
#include "kernels/cuda/launch_list.cuh"
#include "kernels/cuda/operations.cuh"

namespace offstage::kernels::cuda {

// Sequences of kernels that come again as CUDA graphs: one call starts what were some
// hundred.
//
// Graphs are built of the launches themselves, node by node, rather than by capturing a
// stream: what other threads and streams do meanwhile (memory is given back in stream
// order, events are recorded) has no part in them, and nothing that is forbidden while a
// stream is captured can happen. A sequence is kept until its end, and compared with the
// last one at its place, kernel by kernel and each parameter byte by byte. The same a
// second time: a graph is built of it. The same again: the graph is started. Different:
// it is started kernel by kernel, and the graph goes. So a graph is never older than what
// it is started for: whatever changes - an address, a format, a number of splits - is
// seen, and what is to change without a difference lies in the device's memory
// (DecodeItem::device_past).
//
// One thread, the context's, but is_of_this_thread(); the device must be the calling
// thread's.
class Replay {
  public:
    // memory: what the GPU's memory that graphs take is told from.
    Replay(EventRing& points, const DeviceMemory& memory) : points_(points), memory_(memory) {}
    ~Replay() { forget_all(); }
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

    // Keeps what the worker is to start from now on. Nothing while it is off.
    void begin(Worker& worker, std::int64_t place);
    // Starts it, unless Worker::start_kept() has done so. After a failure of the worker:
    // its events alone.
    void end(Worker& worker);
    // On at first. Off: all graphs go.
    void set_on(bool on);
    void give_up(const std::string& why);

    bool is_of_this_thread() const { return thread_ == std::this_thread::get_id(); }  // that called begin() last
    CudaReplays counts() const { return counts_; }
    // Building or starting a graph failed, or give_up(): they are off since.
    const std::string& problem() const { return problem_.text(); }

  private:
    struct Sequence {
        LaunchList list;
        GraphExec graph;                     // empty: none was built of the list
        std::vector<Event> events;           // of its points
        std::vector<std::uint64_t> tickets;  // that the events were recorded for last
        std::uint64_t bytes = 0;             // that the graph took
        std::uint64_t last_use = 0;
    };
    Sequence& sequence_at(std::int64_t place);
    bool build(Sequence& sequence, cudaStream_t stream);
    bool start_graph(Sequence& sequence, Worker& worker);  // in the place of kept_
    void drop_graph(Sequence& sequence);
    void forget_all();

    EventRing& points_;
    const DeviceMemory& memory_;
    LaunchList kept_;
    std::int64_t place_ = 0;
    std::map<std::int64_t, Sequence> sequences_;
    std::uint64_t n_uses_ = 0;
    std::uint64_t bytes_ = 0;  // of the graphs that there are
    bool on_ = true;
    Failure problem_;
    CudaReplays counts_;
    std::atomic<std::thread::id> thread_;
};

// Of one token through so many layers, each node an estimate of what drivers take.
std::uint64_t expected_graph_bytes(std::int64_t n_layers);

}  // namespace offstage::kernels::cuda
