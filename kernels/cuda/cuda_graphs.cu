#include <algorithm>
#include <utility>

#include "kernels/cuda/cuda_graphs.cuh"

namespace offstage::kernels::cuda {
namespace {

// Sequences that did not repeat while this many others did are dropped: this is some
// tokens if each layer is a sequence.
constexpr std::uint64_t kMostOthersBetween = 4096;

// No driver reports a node's memory; a graph's memory is measured when it is built. A
// layer has some twenty kernels, in the graphs of steps with times and of those without.
#ifdef OFFSTAGE_GRAPH_NODE_BYTES  // the tests' host layer: its own size
constexpr std::uint64_t kNodeBytes = OFFSTAGE_GRAPH_NODE_BYTES;
#else
constexpr std::uint64_t kNodeBytes = std::uint64_t{16} << 10;
#endif
constexpr std::uint64_t kLayerNodes = 48;
constexpr std::uint64_t kOtherNodes = 16;
constexpr std::size_t kMostBehindAWait = 500;

std::int64_t free_memory() {
    std::size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) == cudaSuccess) return static_cast<std::int64_t>(free);
    (void)cudaGetLastError();
    return 0;
}

}  // namespace

void Replay::begin(Worker& worker, std::int64_t place) {
    if (!on_) return;
    kept_.clear();
    place_ = place;
    thread_ = std::this_thread::get_id();
    worker.kept = &kept_;
    again_ = again_ == Again::kStarted && place == started_ ? Again::kRecorded : Again::kNo;
    started_ = kNone;
}

bool Replay::start_again(Worker& worker, std::int64_t place) {
    forget_again();
    if (started_ != place || !worker.failure.none() || kept_.n_points() > 0 || kept_.last_of_its_kind() ||
        kept_.awaits_host()) {
        return false;
    }
    const cudaGraphExec_t graph = sequences_.at(place).graph.get();
    if (problem_.check(cudaGraphLaunch(graph, worker.stream), "Starting a CUDA graph")) {
        again_ = Again::kStarted;
        return true;
    }
    on_ = false;
    forget_all();
    return false;
}

void Replay::end(Worker& worker) {
    const bool again = again_ == Again::kRecorded;
    forget_again();
    if (worker.kept == nullptr || !kept_.has_kernels() || !worker.failure.none()) {
        worker.start_kept();
        return;
    }
    Sequence& sequence = sequence_at(place_);
    bool same = sequence.list == kept_;
    const bool is_running = again && same;
    if (!same && kept_.awaits_host()) {
        drop_graph(sequence);
        sequence.list = kept_;
        same = true;
    }
    if (same && (sequence.graph.get() != nullptr || build(sequence, worker.stream)) &&
        (is_running || start_graph(sequence, worker))) {
        worker.kept = nullptr;
        started_ = place_;
        ++counts_.n_replayed;
        counts_.n_ahead += is_running ? 1 : 0;
        return;
    }
    // A stream takes about a thousand kernels before the first one has ended.
    if (kept_.awaits_host() && kept_.n_kernels() > kMostBehindAWait) {
        worker.failure.set("The GPU has no room for the graph of a token.");
    }
    worker.start_kept();
    if (problem_.none()) {
        if (!same) {
            drop_graph(sequence);
            std::swap(sequence.list, kept_);
        }
        return;
    }
    on_ = false;
    forget_all();
}

void Replay::set_on(bool on) {
    if (!on) forget_all();
    on_ = on;
    problem_.clear();
}

void Replay::give_up(const std::string& why) {
    set_on(false);
    problem_.set(why);
}

Replay::Sequence& Replay::sequence_at(std::int64_t place) {
    const auto [found, is_new] = sequences_.try_emplace(place);
    found->second.last_use = ++n_uses_;
    if (is_new) {
        for (auto next = sequences_.begin(); next != sequences_.end();) {
            const auto each = next++;
            if (each->second.last_use + kMostOthersBetween > n_uses_) continue;
            drop_graph(each->second);
            sequences_.erase(each);
        }
    }
    return found->second;
}

bool Replay::build(Sequence& sequence, cudaStream_t stream) {
    Graph graph;
    // Meanwhile the pool takes memory for other threads too.
    const auto left = [&] { return free_memory() + static_cast<std::int64_t>(memory_.held_bytes()); };
    const std::int64_t before = left();
    cudaError_t status = cudaGraphCreate(graph.out(), 0);
    std::vector<cudaEvent_t> events;
    const std::size_t n_inner = sequence.list.inner_points_end() - sequence.list.leading_points();
    while (status == cudaSuccess && events.size() < n_inner) {
        status = cudaEventCreate(sequence.events.emplace_back().out());
        if (status == cudaSuccess) events.push_back(sequence.events.back().get());
    }
    if (status == cudaSuccess) status = sequence.list.add_nodes(graph.get(), events.data());
    if (status == cudaSuccess) status = cudaGraphInstantiateWithFlags(sequence.graph.out(), graph.get(), 0);
    if (status == cudaSuccess) status = cudaGraphUpload(sequence.graph.get(), stream);  // allocates what a launch would
    if (status == cudaSuccess) {
        ++counts_.n_graphs;
        sequence.bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, before - left()));
        bytes_ += sequence.bytes;
        // Drivers reuse the memory of a destroyed graph for the next one, which then
        // seems to take nothing.
        counts_.bytes = std::max(counts_.bytes, bytes_);
        return true;
    }
    drop_graph(sequence);
    return problem_.check(status, "Building a CUDA graph");
}

bool Replay::start_graph(Sequence& sequence, Worker& worker) {
    for (std::size_t i = 0; i < sequence.tickets.size(); ++i) {
        points_.forget_time(sequence.tickets[i], sequence.events[i].get());
    }
    sequence.tickets.clear();
    const auto record = [&](cudaEvent_t event) {
        worker.failure.check(cudaEventRecord(event, worker.stream), "Recording an event");
    };
    const std::size_t first = kept_.leading_points(), end = kept_.inner_points_end();
    for (std::size_t i = 0; i < first; ++i) record(kept_.event(i));
    if (!problem_.check(cudaGraphLaunch(sequence.graph.get(), worker.stream), "Starting a CUDA graph")) return false;
    for (std::size_t i = end; i < kept_.n_points(); ++i) record(kept_.event(i));
    if (first == end) return true;
    // A point behind the graph, for waiters.
    if (end == kept_.n_points()) record(points_.next());
    const std::uint64_t behind = end == kept_.n_points() ? points_.last() : kept_.ticket(end);
    for (std::size_t i = first; i < end; ++i) {
        points_.set_recorded(kept_.ticket(i), sequence.events[i - first].get(), behind);
        sequence.tickets.push_back(kept_.ticket(i));
    }
    return true;
}

void Replay::drop_graph(Sequence& sequence) {
    started_ = kNone;
    for (std::size_t i = 0; i < sequence.tickets.size(); ++i) {
        points_.forget_time(sequence.tickets[i], sequence.events[i].get());
    }
    sequence.tickets.clear();
    sequence.graph.reset();  // waits for the end of a running one
    sequence.events.clear();
    bytes_ -= sequence.bytes;
    sequence.bytes = 0;
}

void Replay::forget() {
    for (auto& [place, sequence] : sequences_) drop_graph(sequence);
    sequences_.clear();
}

void Replay::forget_all() {
    forget();
    counts_.bytes = 0;
}

std::uint64_t expected_graph_bytes(std::int64_t n_layers) {
    return (static_cast<std::uint64_t>(n_layers) * kLayerNodes + kOtherNodes) * kNodeBytes;
}

}  // namespace offstage::kernels::cuda
