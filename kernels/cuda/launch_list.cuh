#pragma once
// Kernels that are started later, with copies of their parameters, and events that are
// recorded between them: a sequence that can be started one by one, become a CUDA graph,
// and be compared with another one.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cuda_runtime.h>
#include <tuple>
#include <type_traits>
#include <vector>

#include "kernels/cuda/launch.cuh"

namespace offstage::kernels::cuda {

// Kernels with these parameters; their copies follow each other at multiples of
// kParameterAlignment.
template <typename... Parameters>
struct KernelCall {
    static constexpr std::size_t kParameterAlignment = 16;
    static_assert((std::is_trivially_copyable_v<Parameters> && ...), "they are copied and compared by their bytes");
    static_assert(((alignof(Parameters) <= kParameterAlignment) && ...), "see place()");

    template <typename T>
    static constexpr std::size_t room() {
        return (sizeof(T) + kParameterAlignment - 1) / kParameterAlignment * kParameterAlignment;
    }
    static constexpr std::size_t bytes() { return (room<Parameters>() + ... + 0); }

    // Clears the padding between the members of a struct, so that equal parameters have
    // equal bytes. (With a compiler that cannot do so, sequences are never equal and are
    // started one by one.) GCC 12 clears nothing behind an array of structs: it
    // must be the end of a parameter.
    static void pack(std::byte* to, Parameters... parameters) {
        const auto append = [&](auto& parameter) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
            __builtin_clear_padding(&parameter);
#endif
#endif
            std::memcpy(to, &parameter, sizeof parameter);
            to += room<std::decay_t<decltype(parameter)>>();
        };
        (append(parameters), ...);
    }

    template <typename Body>
    static cudaError_t with(std::byte* parameters, const Body& body) {
        const auto place = [&](auto* null) {
            using T = std::remove_pointer_t<decltype(null)>;
            T* const here = reinterpret_cast<T*>(parameters);
            parameters += room<T>();
            return here;
        };
        const std::tuple<Parameters*...> places{place(static_cast<Parameters*>(nullptr))...};  // from left to right
        return std::apply([&](Parameters*... each) { return body(*each...); }, places);
    }

    static cudaError_t start(const void* kernel, dim3 grid, int block, std::size_t shared_bytes, std::byte* parameters,
                             cudaStream_t stream) {
        return with(parameters, [&](Parameters&... each) {
            return launch_kernel(reinterpret_cast<void (*)(Parameters...)>(const_cast<void*>(kernel)), grid, block,
                                 shared_bytes, stream, each...);
        });
    }
    static cudaError_t add_node(const void* kernel, dim3 grid, int block, std::size_t shared_bytes,
                                std::byte* parameters, cudaGraph_t graph, const cudaGraphNode_t* after, bool early,
                                cudaGraphNode_t* node) {
        return with(parameters, [&](Parameters&... each) {
            return add_kernel_node(reinterpret_cast<void (*)(Parameters...)>(const_cast<void*>(kernel)), grid, block,
                                   shared_bytes, graph, after, early, node, each...);
        });
    }
};

class LaunchList {
  public:
    // early: in a graph the kernel may begin before the one before it has ended.
    template <typename... Parameters>
    void add(bool early, void (*kernel)(Parameters...), dim3 grid, int block, std::size_t shared_bytes,
             Parameters... parameters) {
        using Call = KernelCall<Parameters...>;
        const std::size_t first = bytes_.size();
        bytes_.resize(first + Call::bytes());  // zeros
        if (!has_kernels()) n_leading_ = points_.size();
        n_before_last_ = points_.size();
        Call::pack(bytes_.data() + first, parameters...);
        entries_.push_back({reinterpret_cast<const void*>(kernel), grid, block, shared_bytes, first, Call::bytes(),
                            Call::start, Call::add_node, early});
    }
    // Here `event` is recorded where the list is started one by one. Which one it is does
    // not count in comparisons.
    void add_point(cudaEvent_t event, std::uint64_t ticket) {
        entries_.push_back({});
        points_.push_back({event, ticket});
    }
    // One more key, as the next token has, takes other launches.
    void set_last_of_its_kind() { last_of_its_kind_ = true; }
    bool last_of_its_kind() const { return last_of_its_kind_; }
    // A kernel waits for the host (HostAnswer), which may have to start all of them first:
    // one by one they might be more than a stream takes.
    void set_awaits_host() { awaits_host_ = true; }
    bool awaits_host() const { return awaits_host_; }
    void clear() {
        entries_.clear();
        points_.clear();
        bytes_.clear();
        n_leading_ = n_before_last_ = 0;
        last_of_its_kind_ = awaits_host_ = false;
    }

    std::size_t n_kernels() const { return entries_.size() - points_.size(); }
    bool has_kernels() const { return n_kernels() > 0; }
    // Points since this ticket are of the list: tickets count upwards.
    std::uint64_t first_ticket() const { return points_.empty() ? ~std::uint64_t{0} : points_.front().ticket; }
    std::size_t n_points() const { return points_.size(); }
    std::uint64_t ticket(std::size_t point) const { return points_[point].ticket; }
    cudaEvent_t event(std::size_t point) const { return points_[point].event; }
    // The points between two kernels are leading_points() <= i < inner_points_end().
    std::size_t leading_points() const { return n_leading_; }
    std::size_t inner_points_end() const { return n_before_last_; }

    // The same kernels with the same parameters, and points at the same places.
    bool operator==(const LaunchList& other) const;

    // After a failure no kernel is started any more, but the events are recorded, because
    // a thread may wait for them.
    void start(cudaStream_t stream, Failure& failure);
    // Nodes one after the other; the i-th point between two kernels records events[i],
    // and the other points have no node. The first failure ends it.
    cudaError_t add_nodes(cudaGraph_t graph, const cudaEvent_t* events);

  private:
    struct Entry {
        const void* kernel = nullptr;  // nullptr: a point
        dim3 grid;
        int block = 0;
        std::size_t shared_bytes = 0;
        std::size_t first_byte = 0, n_bytes = 0;  // of bytes_
        decltype(&KernelCall<int>::start) start = nullptr;
        decltype(&KernelCall<int>::add_node) add_node = nullptr;
        bool early = false;
    };
    struct Point {
        cudaEvent_t event;
        std::uint64_t ticket;
    };
    std::vector<Entry> entries_;
    std::vector<Point> points_;
    std::size_t n_leading_ = 0, n_before_last_ = 0;  // points before the first kernel, before the last one
    std::vector<std::byte> bytes_;                   // the parameters; allocated with KernelCall's alignment
    static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= KernelCall<>::kParameterAlignment, "of bytes_");
    bool last_of_its_kind_ = false, awaits_host_ = false;
};

}  // namespace offstage::kernels::cuda
