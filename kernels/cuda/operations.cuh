#pragma once
// What the operations behind CudaContext compute with, and what they share. compute() of
// each (kernels/ops) starts its kernels on the worker's stream and returns.

#include <cstddef>
#include <cstdint>
#include <cuda_runtime.h>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/cuda/cublas_library.cuh"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/launch_list.cuh"
#include "kernels/cuda/row_layout.cuh"
#include "kernels/cuda_context.h"
#include "kernels/cuda_product_table.h"

namespace offstage::kernels::cuda {

// Memory for one operation: pieces are taken from the start, and all are freed when the
// next operation begins. This is safe because operations follow each other on one stream.
class Scratch {
  public:
    void set(void* data, std::size_t bytes) {
        data_ = static_cast<unsigned char*>(data);
        bytes_ = bytes;
    }
    void restart() { used_ = 0; }
    std::size_t size() const { return bytes_; }
    std::size_t left() const { return bytes_ - used_; }
    static constexpr std::size_t rounded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

    // nullptr: not enough was reserved.
    template <typename T>
    T* take(std::int64_t n) {
        const std::size_t bytes = rounded(static_cast<std::size_t>(n) * sizeof(T));
        if (bytes > left()) return nullptr;
        T* piece = reinterpret_cast<T*>(data_ + used_);
        used_ += bytes;
        return piece;
    }

  private:
    unsigned char* data_ = nullptr;
    std::size_t bytes_ = 0;
    std::size_t used_ = 0;
};

// Takes pieces of scratch memory and counts their bytes; of a Scratch without memory the
// pieces are nullptr, and only the count counts.
class ScratchPieces {
  public:
    explicit ScratchPieces(Scratch& scratch) : scratch_(scratch) {}
    template <typename T>
    void take(std::int64_t n, T*& piece) {
        bytes_ += Scratch::rounded(static_cast<std::size_t>(n) * sizeof(T));
        piece = scratch_.take<T>(n);
    }
    std::size_t left() const { return scratch_.left(); }
    std::size_t bytes() const { return bytes_; }

  private:
    Scratch& scratch_;
    std::size_t bytes_ = 0;
};

class StagedKeys;

// AttentionSegment for kernels. `blocks`, in the device's memory: addresses that its
// kernels can use, in its own memory or in pinned host memory.
struct CudaSegment {
    std::int64_t first_row = 0;
    std::int64_t n_tokens = 0;
    std::int64_t past = 0;
    std::byte* const* blocks = nullptr;
    // If set, kernels read `past` from here: the same number, in the device's memory.
    // Only for segments of one token.
    const std::int32_t* device_past = nullptr;
    // In host memory: 1 for each block that lies there; nullptr: none does, or the caller
    // does not say.
    const std::uint8_t* in_host = nullptr;
    // Besides it, a copy of the table in host memory, which must exist until the call
    // returns.
    std::byte* const* host_table = nullptr;
    // Of a recurrent layer, the states that are written: one behind all rows, or one
    // behind each.
    std::int64_t n_states = 1;
};

// One expert's rows. weights: a block (ExpertLayout) in the device's memory.
struct CudaExpertCall {
    const void* weights = nullptr;
    std::int64_t first_row = 0;
    std::int64_t n_rows = 0;
};

constexpr std::int64_t kArrivals = 1024;

// For a kernel that waits until the host has answered the stores with a number before it
// (arrival_word.cuh). The last three are words in host memory, or how long it waits.
struct HostAnswer {
    const unsigned* count = nullptr;     // their number, in the device's memory; nullptr: it does not wait
    const unsigned* answered = nullptr;  // the last number that the host has answered
    unsigned* unanswered = nullptr;      // set where the limit ended a wait; then none waits any more
    std::uint64_t limit_ns = 0;
};

// The stream, memory and state that an operation uses.
struct Worker {
    cudaStream_t stream = nullptr;
    Failure failure;
    Scratch scratch;
    const Cublas* cublas = nullptr;
    int compute_major = 0;
    ByteInputTypes byte_inputs;
    StagedKeys* staged_keys = nullptr;
    unsigned* arrivals = nullptr;    // (kArrivals), 0 between two kernels: see is_last_block()
    HostAnswer answer;               // for kernels that wait; without a count where they cannot
    std::size_t unpacked_bytes = 0;  // of weights unpacked at once: see unpacked_bytes_for()
    bool early_edges = false;        // takes_early_edges()
    bool lays_out = true;            // rows of files' blocks: CudaContext::set_lays_out()
    bool graphs = true;              // sequences of operations may be repeated: CudaContext::set_graphs()
    LaunchList* kept = nullptr;      // kernels are recorded here instead of being started; nullptr: they are started

    std::vector<CudaSegment> segments;  // these two: an operation's, kept, so that a step allocates nothing
    std::vector<CudaExpertCall> calls;

    // Arguments are converted to the kernel's own parameter types.
    template <typename... Parameters, typename... Arguments>
    void start(void (*kernel)(Parameters...), dim3 grid, int block, std::size_t shared_bytes,
               Arguments&&... arguments) {
        start_kernel(false, kernel, grid, block, shared_bytes, std::forward<Arguments>(arguments)...);
    }
    // A kernel that calls wait_for_previous().
    template <typename... Parameters, typename... Arguments>
    void start_dependent(void (*kernel)(Parameters...), dim3 grid, int block, std::size_t shared_bytes,
                         Arguments&&... arguments) {
        start_kernel(early_edges, kernel, grid, block, shared_bytes, std::forward<Arguments>(arguments)...);
    }
    template <typename... Parameters, typename... Arguments>
    void start_kernel(bool early, void (*kernel)(Parameters...), dim3 grid, int block, std::size_t shared_bytes,
                      Arguments&&... arguments) {
        shared_bytes = shared_room(shared_bytes);
        static_assert(sizeof...(Parameters) == sizeof...(Arguments), "one argument per parameter");
        if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
        if (kept != nullptr) {
            kept->add(early, kernel, grid, block, shared_bytes, static_cast<Parameters>(arguments)...);
            return;
        }
        failure.check(launch_kernel(kernel, grid, block, shared_bytes, stream, static_cast<Parameters>(arguments)...),
                      "Starting a kernel");
    }
    // Starts the recorded kernels one by one. From now on nothing is recorded.
    void start_kept() {
        if (kept != nullptr) kept->start(stream, failure);
        kept = nullptr;
    }
    void lacks_scratch() { failure.set("A CUDA operation got less scratch memory than its step needs."); }
};

// The type by which kernels read the rows: laid_out() where they are.
inline WeightType row_type(const Worker& worker, const WeightView& rows) {
    return worker.lays_out && can_lay_out(rows) ? laid_out(rows.type) : rows.type;
}
// An expert at some place, for row_type() of its matrices.
inline ExpertView any_expert(const ExpertLayout& layout) {
    return {reinterpret_cast<const void*>(std::uintptr_t{256}), layout};
}

inline unsigned blocks_for(std::int64_t n, std::int64_t per_block) {
    return static_cast<unsigned>((n + per_block - 1) / per_block);
}

__host__ __device__ inline bool is_aligned(const void* data) {
    return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

// The stride of plain weights, counted in weights.
inline std::int64_t row_stride(const WeightView& weight) {
    return static_cast<std::int64_t>(weight.stride_bytes() / bytes_per_weight(weight.type));
}

// decode_products.cu: whether the kernels of Worker::start_dependent() may begin early on
// this GPU: they were compiled so that they wait, and the driver (its version) knows such
// edges of graphs.
bool takes_early_edges(int compute_major, int driver_version);

// kernels/ops/attend.cu
std::uint64_t attention_scratch_bytes(const CudaStep& step);

// kernels/ops/choose_keys.cu: 0 where no layer has an indexer
std::uint64_t indexer_scratch_bytes(const CudaStep& step);

// kernels/ops/route.cu
std::uint64_t router_scratch_bytes(const CudaStep& step);

// kernels/ops/choose_token.cu
std::uint64_t choice_scratch_bytes(const CudaStep& step);

// products.cu
constexpr std::int64_t kProductRows = 1024;  // activations, converted at once
// unpacked_bytes: the worker's.
std::uint64_t product_scratch_bytes(const CudaStep& step, std::size_t unpacked_bytes);
void multiply(Worker& worker, const WeightView& weight, const float* x, std::int64_t n, float* y);
// Activations: values of row t and head h begin at data + t * stride + h * head_stride.
struct InputRows {
    const float* data;
    std::int64_t stride;
    std::int64_t head_stride;
};
struct OutputRows {
    float* data;
    std::int64_t stride;
    std::int64_t head_stride;
};
// Each head's rows of the weight with its inputs, for any n; float32 throughout, and a
// row's bits do not depend on n.
void multiply_heads(Worker& worker, const WeightView& weight, std::int64_t n_heads, const InputRows& x, std::int64_t n,
                    const OutputRows& y);

// few_products.cu: CudaProduct::kTensorCoreRows.
void multiply_on_tensor_cores(Worker& worker, const WeightView& weight, const float* x, std::int64_t n, float* y);

// An output's weights: rows (n_out, n_in) or, transposed, (n_in, n_out); rows `stride`
// weights apart.
struct Factor {
    const void* data = nullptr;
    WeightType type = WeightType::kF32;
    std::int64_t n_out = 0;
    std::int64_t n_in = 0;
    std::int64_t stride = 0;
    bool transposed = false;
};
// The input type for a product of many rows: the weights' type if cuBLAS multiplies it,
// F32 without cuBLAS. With cuBLAS, packed weights, a file's blocks, and bf16 before
// compute capability 8.0 are unpacked to another type: to bf16, which holds every
// activation, where cuBLAS serves it (8.0), otherwise to f16.
WeightType input_type(const Worker& worker, WeightType weights);
// What holds for products of such weights: cuBLAS, and tensor cores.
std::uint32_t product_facts(const Worker& worker, WeightType weights);
// Whether such weights, matrix by matrix, go through multiply_unpacked().
bool unpacks(const Worker& worker, WeightType weights);
// y (n, n_out), rows y_stride apart = x (n, n_in) * factor^T; x of input_type(), the
// factor plain.
void multiply_many(Worker& worker, const Factor& factor, const void* x, std::int64_t n, float* y,
                   std::int64_t y_stride);
// to (n, n_columns) of `type` = rows tokens[r] (nullptr: r) of from.
void gather(Worker& worker, const float* from, const std::int32_t* tokens, std::int64_t n, std::int64_t n_columns,
            WeightType type, void* to);
// `to` of `type` = the activation of gate and up, n values, without biases.
void activate(Worker& worker, const ExpertSpec& spec, const float* gate, const float* up, std::int64_t n,
              WeightType type, void* to);

// packed_products.cu
// False, and a failure: packed weights lie at multiples of 8 bytes, their inputs at
// multiples of 16.
bool can_read_packed(Worker& worker, const void* weight, const float* x);
void multiply_packed_heads(Worker& worker, const WeightView& weight, std::int64_t n_heads, const InputRows& x,
                           std::int64_t n, const OutputRows& y);
// Large enough for a product that fills a GPU with this much memory, and small compared
// with that memory.
std::size_t unpacked_bytes_for(std::uint64_t memory_bytes);
// The most bytes that multiply_unpacked() needs for a weight of this shape, over all
// types of its products.
std::size_t unpack_bytes(std::int64_t n_rows, std::int64_t n_cols, bool transposed, std::size_t unpacked_bytes);
// y (n, n_rows) = x (n, n_cols) * weight^T or, transposed, y (n, n_cols) = x (n, n_rows)
// * weight; x of input_type(). The weight is one that unpacks(); a file's blocks only if
// not transposed. room: unpack_bytes(), 16-byte aligned. The division of the weight
// depends on its shape and the GPU alone.
void multiply_unpacked(Worker& worker, const WeightView& weight, bool transposed, const void* x, std::int64_t n,
                       float* y, void* room);

// block_products.cu: files' blocks, at any address.
void multiply_block_heads(Worker& worker, const WeightView& weight, std::int64_t n_heads, const InputRows& x,
                          std::int64_t n, const OutputRows& y);
// to (n_rows, n_cols) of `type`, 16-byte aligned = the weight's rows that `rows` names,
// in the device's memory (nullptr: the first ones).
void unpack_block_rows(Worker& worker, const WeightView& weight, const std::int32_t* rows, std::int64_t n_rows,
                       WeightType type, void* to);

// experts.cu
std::uint64_t expert_scratch_bytes(const Worker& worker, const CudaStep& step);
bool takes_chosen(const ExpertLayout& layout);
// Whether ops::GroupedExperts takes such a step.
bool takes_grouped(const Worker& worker, const ExpertLayout& layout, std::int64_t n_tokens, std::int64_t n_active,
                   std::int64_t n_experts);

// quantize.cu
bool can_quantize(const WeightView& rows, WeightType format, const void* out);
void quantize(Worker& worker, const WeightView& rows, WeightType format, void* out);  // precondition: can_quantize()

// Calls body with a null pointer of the plain type that `type` means.
template <typename Body>
void with_type(WeightType type, const Body& body) {
    switch (type) {
        case WeightType::kF32:
            body(static_cast<const float*>(nullptr));
            return;
        case WeightType::kF16:
            body(static_cast<const F16*>(nullptr));
            return;
        case WeightType::kBf16:
            body(static_cast<const Bf16*>(nullptr));
            return;
        default:
            return;
    }
}

template <typename Pointer>
using ValueOf = std::remove_const_t<std::remove_pointer_t<Pointer>>;

}  // namespace offstage::kernels::cuda
