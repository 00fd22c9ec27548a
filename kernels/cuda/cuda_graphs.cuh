#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <limits>
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

// Repeated sequences of kernels as CUDA graphs: one call replaces some hundred launches.
//
// Graphs are built from the launches themselves, node by node, rather than by capturing a
// stream. So other threads and streams (memory is released in stream order, events are
// recorded) are not captured, and no operation that is forbidden during a capture can
// occur. A sequence is recorded to its end, and compared with the last one at its place,
// kernel by kernel and each parameter byte by byte. If it is the same a second time, a
// graph is built from it; if it is the same again, the graph is started. If it differs,
// it is started kernel by kernel, and the graph is destroyed. So a graph never runs with
// old parameters: every change (an address, a format, a number of splits) is detected.
// Of a sequence in which a kernel waits for the host a graph is built at once.
// Values that change without a new graph lie in the device's memory
// (DecodeItem::device_past).
//
// A point between two kernels is a node, and costs the device some microseconds. Points
// before the first kernel and behind the last one are recorded before and after the
// graph.
//
// One thread, the context's, except is_of_this_thread(); the device must be the calling
// thread's.
class Replay {
  public:
    // memory: counts what the pool holds, to measure the memory of graphs.
    Replay(EventRing& points, const DeviceMemory& memory) : points_(points), memory_(memory) {}
    ~Replay() { forget_all(); }
    Replay(const Replay&) = delete;
    Replay& operator=(const Replay&) = delete;

    // Records the launches that the worker makes from now on. Does nothing while graphs
    // are off.
    void begin(Worker& worker, std::int64_t place);
    // Starts the recorded sequence, unless Worker::start_kept() has done so. After a
    // failure of the worker it only records the events.
    void end(Worker& worker);
    // CudaContext::start_again().
    bool start_again(Worker& worker, std::int64_t place);
    // Other work goes to the queue: the next sequence is started whatever it is.
    void forget_again() { again_ = Again::kNo; }
    // All graphs go. Their memory still counts: drivers keep it for the next ones.
    void forget();
    // On at first. Off: all graphs go.
    void set_on(bool on);
    void give_up(const std::string& why);

    bool is_of_this_thread() const { return thread_ == std::this_thread::get_id(); }  // that called begin() last
    CudaReplays counts() const { return counts_; }
    // Building or starting a graph failed, or give_up(): they are off since.
    const std::string& problem() const { return problem_.text(); }

  private:
    static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
    enum class Again : std::uint8_t {
        kNo,
        kStarted,   // the sequence at started_ was started once more, and nothing came since
        kRecorded,  // the sequence that is being recorded may be that one
    };
    struct Sequence {
        LaunchList list;
        GraphExec graph;                     // empty: none was built of the list
        std::vector<Event> events;           // the graph's points between two kernels
        std::vector<std::uint64_t> tickets;  // for which the events were recorded last
        std::uint64_t bytes = 0;             // memory that the graph took
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
    std::int64_t started_ = kNone;  // the place of the graph that was started last, if one was
    Again again_ = Again::kNo;
    std::map<std::int64_t, Sequence> sequences_;
    std::uint64_t n_uses_ = 0;
    std::uint64_t bytes_ = 0;  // of the existing graphs
    bool on_ = true;
    Failure problem_;
    CudaReplays counts_;
    std::atomic<std::thread::id> thread_;
};

// For one token through so many layers; each node counts with an estimate of the drivers'
// memory.
std::uint64_t expected_graph_bytes(std::int64_t n_layers);

}  // namespace offstage::kernels::cuda
