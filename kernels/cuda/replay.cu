#include <utility>

#include "kernels/cuda/replay.cuh"

namespace offstage::kernels::cuda {
namespace {

// Sequences that did not come for so many others are forgotten: some tokens, where each layer is one.
constexpr std::uint64_t kMostOthersBetween = 4096;

}  // namespace

void Replay::begin(Worker& worker, std::int64_t place) {
    if (!on_) return;
    kept_.clear();
    place_ = place;
    thread_ = std::this_thread::get_id();
    worker.kept = &kept_;
}

void Replay::end(Worker& worker) {
    if (worker.kept == nullptr || kept_.empty() || !worker.failure.none()) {
        worker.start_kept();
        return;
    }
    Sequence& sequence = sequence_at(place_);
    if (sequence.list == kept_ && (sequence.graph.get() != nullptr || build(sequence)) &&
        start_graph(sequence, worker)) {
        worker.kept = nullptr;
        ++counts_.n_replayed;
        return;
    }
    worker.start_kept();
    if (problem_.none()) {
        if (!(sequence.list == kept_)) {
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

bool Replay::build(Sequence& sequence) {
    Graph graph;
    cudaError_t status = cudaGraphCreate(graph.out(), 0);
    std::vector<cudaEvent_t> events;
    while (status == cudaSuccess && events.size() < sequence.list.n_points()) {
        status = cudaEventCreate(sequence.events.emplace_back().out());
        if (status == cudaSuccess) events.push_back(sequence.events.back().get());
    }
    if (status == cudaSuccess) status = sequence.list.add_nodes(graph.get(), events.data());
    if (status == cudaSuccess) status = cudaGraphInstantiateWithFlags(sequence.graph.out(), graph.get(), 0);
    if (status == cudaSuccess) {
        ++counts_.n_graphs;
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
    if (!problem_.check(cudaGraphLaunch(sequence.graph.get(), worker.stream), "Starting a CUDA graph")) return false;
    if (kept_.n_points() == 0) return true;
    const cudaEvent_t end = points_.next();
    worker.failure.check(cudaEventRecord(end, worker.stream), "Recording an event");
    for (std::size_t i = 0; i < kept_.n_points(); ++i) {
        points_.set_recorded(kept_.ticket(i), sequence.events[i].get(), points_.last());
        sequence.tickets.push_back(kept_.ticket(i));
    }
    return true;
}

void Replay::drop_graph(Sequence& sequence) {
    for (std::size_t i = 0; i < sequence.tickets.size(); ++i) {
        points_.forget_time(sequence.tickets[i], sequence.events[i].get());
    }
    sequence.tickets.clear();
    sequence.graph.reset();  // one that is running ends first
    sequence.events.clear();
}

void Replay::forget_all() {
    for (auto& [place, sequence] : sequences_) drop_graph(sequence);
    sequences_.clear();
}

}  // namespace offstage::kernels::cuda
