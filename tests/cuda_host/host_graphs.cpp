// The runtime's graphs: their nodes run in any order that dependencies allow.
#include <algorithm>
#include <random>

#include "tests/cuda_host/host_state.h"

using cuda_host::answer;
using cuda_host::begin;
using cuda_host::enqueue_kernel_locked;
using cuda_host::enqueue_locked;
using cuda_host::happen;
using cuda_host::Host;
using cuda_host::host;

namespace {

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

}  // namespace

namespace cuda_host {

cudaError_t add_kernel_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                            std::size_t n_dependencies, bool early, dim3 grid, dim3 block, std::size_t shared_bytes,
                            std::size_t parameter_bytes, std::function<void()> thread) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin(early ? "cudaGraphAddNode" : "cudaGraphAddKernelNode");
    if (status != cudaSuccess) return status;
    const cudaError_t refused = refusal_of(grid, block, shared_bytes, parameter_bytes);
    if (refused != cudaSuccess) return answer(refused);
    if (early && (n_dependencies != 1 || dependencies[0]->event != nullptr || host().settings.compute_major < 9)) {
        return answer(cudaErrorInvalidValue);
    }
    return add_node({{grid, block, shared_bytes, std::move(thread)}, early, nullptr, {}}, graph, dependencies,
                    n_dependencies, node);
}

}  // namespace cuda_host

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

// Waits for the end of its launches.
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
    std::vector<std::size_t> order;
    for (std::size_t n = 0; n < exec->nodes.size(); ++n) {
        std::vector<std::size_t> ready;
        for (std::size_t i = 0; i < exec->nodes.size(); ++i) {
            const std::vector<std::size_t>& after = exec->nodes[i].after;
            const bool free = std::all_of(after.begin(), after.end(), [&](std::size_t each) { return started[each]; });
            if (!started[i] && free) ready.push_back(i);
        }
        const std::size_t next = ready[random() % ready.size()];
        started[next] = true;
        order.push_back(next);
    }
    for (std::size_t n = 0; n < order.size(); ++n) {
        const HostGraphNode& node = exec->nodes[order[n]];
        if (node.event == nullptr) {
            // Behind a kernel that is no early one, the next two that are; behind others
            // the second, as the first has begun already.
            std::vector<cuda_host::EarlyStart> early;
            for (std::size_t i = 1; i <= 2 && n + i < order.size(); ++i) {
                const HostGraphNode& next = exec->nodes[order[n + i]];
                if (!next.early || next.after.front() != order[n + i - 1]) break;
                if (node.early && i == 1) continue;
                early.push_back({i, std::make_shared<const cuda_host::KernelStart>(next.kernel)});
            }
            enqueue_kernel_locked(stream, node.kernel, early);
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
