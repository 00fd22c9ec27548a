#include "kernels/cuda/launch_list.cuh"

namespace offstage::kernels::cuda {

bool LaunchList::operator==(const LaunchList& other) const {
    if (entries_.size() != other.entries_.size() || bytes_.size() != other.bytes_.size()) return false;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const Entry& a = entries_[i];
        const Entry& b = other.entries_[i];
        if (a.kernel != b.kernel || a.grid.x != b.grid.x || a.grid.y != b.grid.y || a.grid.z != b.grid.z ||
            a.block != b.block || a.shared_bytes != b.shared_bytes || a.n_bytes != b.n_bytes || a.early != b.early) {
            return false;
        }
    }
    return bytes_.empty() || std::memcmp(bytes_.data(), other.bytes_.data(), bytes_.size()) == 0;
}

void LaunchList::start(cudaStream_t stream, Failure& failure) {
    std::size_t point = 0;
    for (const Entry& entry : entries_) {
        if (entry.kernel == nullptr) {
            failure.check(cudaEventRecord(points_[point++].event, stream), "Recording an event");
        } else if (failure.none()) {
            failure.check(entry.start(entry.kernel, entry.grid, entry.block, entry.shared_bytes,
                                      bytes_.data() + entry.first_byte, stream),
                          "Starting a kernel");
        }
    }
}

cudaError_t LaunchList::add_nodes(cudaGraph_t graph, const cudaEvent_t* events) {
    cudaGraphNode_t last{};
    bool is_first = true, last_is_kernel = false;
    std::size_t n_points = 0;
    for (const Entry& entry : entries_) {
        if (entry.kernel == nullptr && (n_points++ < n_leading_ || n_points > n_before_last_)) continue;
        cudaGraphNode_t node{};
        const cudaGraphNode_t* const after = is_first ? nullptr : &last;
        const cudaError_t status =
            entry.kernel == nullptr
                ? cudaGraphAddEventRecordNode(&node, graph, after, is_first ? 0 : 1, *events++)
                : entry.add_node(entry.kernel, entry.grid, entry.block, entry.shared_bytes,
                                 bytes_.data() + entry.first_byte, graph, after, entry.early && last_is_kernel, &node);
        if (status != cudaSuccess) return status;
        last = node;
        is_first = false;
        last_is_kernel = entry.kernel != nullptr;
    }
    return cudaSuccess;
}

}  // namespace offstage::kernels::cuda
