// Operations by value on the GPU, and copies of rows.

#include "kernels/cuda/arrival_word.cuh"
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/ops/add.h"
#include "kernels/ops/add_bias.h"
#include "kernels/ops/clamp.h"
#include "kernels/ops/clear.h"
#include "kernels/ops/combine.h"
#include "kernels/ops/embed.h"
#include "kernels/ops/multiply_sigmoid.h"
#include "kernels/ops/scale.h"
#include "kernels/ops/soft_cap.h"
#include "kernels/ops/weigh_inputs.h"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = 256;

template <typename T>
__global__ void __launch_bounds__(kThreads)
    embed_rows(const T* table, std::int64_t stride, std::int64_t hidden_dim, const std::int32_t* tokens, float* x) {
    const std::int64_t row = blockIdx.x;
    const T* from = table + static_cast<std::int64_t>(tokens[row]) * stride;
    for (std::int64_t i = threadIdx.x; i < hidden_dim; i += kThreads) x[row * hidden_dim + i] = widen(from[i]);
}

__global__ void __launch_bounds__(kThreads) add_to_rows(const float* bias, std::int64_t dim, float* x) {
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x;
    if (i < dim) x[blockIdx.x * dim + i] += bias[i];
}

// change(i): value i of n.
template <typename Change>
__device__ inline void for_values(std::int64_t n, const Change& change) {
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step) change(i);
}

__global__ void __launch_bounds__(kThreads) add_values(const float* y, std::int64_t n, float factor, float* x) {
    for_values(n, [&](std::int64_t i) { x[i] = fmaf(factor, y[i], x[i]); });
}

__global__ void __launch_bounds__(kThreads) scale_values(float factor, std::int64_t n, float* x) {
    for_values(n, [&](std::int64_t i) { x[i] *= factor; });
}

__global__ void __launch_bounds__(kThreads)
    multiply_by_sigmoid(const float* gate, std::int64_t n, std::int64_t n_alike, float* x) {
    for_values(n, [&](std::int64_t i) { x[i] /= 1.0f + expf(-gate[n_alike == 1 ? i : i / n_alike]); });
}

__global__ void __launch_bounds__(kThreads) clamp_values(float limit, std::int64_t n, float* x) {
    for_values(n, [&](std::int64_t i) { x[i] = fminf(fmaxf(x[i], -limit), limit); });
}

__global__ void __launch_bounds__(kThreads) cap_values(float limit, std::int64_t n, float* x) {
    for_values(n, [&](std::int64_t i) { x[i] = limit * tanhf(x[i] / limit); });
}

__global__ void __launch_bounds__(kThreads) clear_values(std::int64_t n, float* x) {
    for_values(n, [&](std::int64_t i) { x[i] = 0.0f; });
}

// A block for each row.
__global__ void __launch_bounds__(kThreads) weigh_rows(const float* x, float* weights, std::int64_t dim, float* out) {
    const std::int64_t row = blockIdx.x;
    const float weight = weights[row];
    for (std::int64_t i = threadIdx.x; i < dim; i += kThreads) out[row * dim + i] = weight * x[row * dim + i];
    __syncthreads();  // all threads have read it
    if (threadIdx.x == 0) weights[row] = 1.0f;
}

__device__ inline void write_for_host(unsigned* word, unsigned value) {
#ifdef OFFSTAGE_CUDA_ON_HOST
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
#else
    *static_cast<volatile unsigned*>(word) = value;
#endif
}

__device__ inline unsigned read_from_host(const unsigned* word) {
#ifdef OFFSTAGE_CUDA_ON_HOST
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#else
    unsigned value;
    asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
    return value;
#endif
}

__device__ inline std::uint64_t now_ns() {
#ifdef OFFSTAGE_CUDA_ON_HOST
    return cuda_host::now_ns();
#else
    std::uint64_t ns;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
#endif
}

// By every thread of a block: what the host wrote before its answer can be read then.
__device__ inline void await_host(const HostAnswer& answer) {
    if (threadIdx.x == 0) {
        constexpr unsigned kPauseNs = 200;
        const unsigned number = *answer.count;
        const std::uint64_t begin = now_ns();
        while (static_cast<int>(read_from_host(answer.answered) - number) < 0) {
            if (read_from_host(answer.unanswered) != 0) break;
            if (now_ns() - begin >= answer.limit_ns) {
                write_for_host(answer.unanswered, 1);
                break;
            }
            __nanosleep(kPauseNs);
        }
    }
    __syncthreads();
}

struct StoreJob {
    unsigned* count = nullptr;
    unsigned* arrived = nullptr;
    std::int64_t n = 0;
    HostStore stores[kMostStores] = {};  // the end: see KernelCall::pack()
};
constexpr int kStoreThreads = 512;

// One block: its words cross the bus before the number behind them.
__global__ void __launch_bounds__(kStoreThreads) store_words(StoreJob job) {
    let_next_begin();
    wait_for_previous();
    const auto first = static_cast<std::int64_t>(threadIdx.x);
    for (std::int64_t s = 0; s < job.n; ++s) {
        const HostStore& each = job.stores[s];
        std::int64_t done = 0;
        if (is_aligned(each.from) && is_aligned(each.to)) {
            const auto* const from = reinterpret_cast<const uint4*>(each.from);
            auto* const to = reinterpret_cast<uint4*>(each.to);
            done = each.n / 4 * 4;
            for (std::int64_t i = first; i < each.n / 4; i += kStoreThreads) to[i] = from[i];
        }
        for (std::int64_t i = done + first; i < each.n; i += kStoreThreads) each.to[i] = each.from[i];
    }
    if (job.arrived == nullptr) return;
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned number = *job.count + 1u;
        *job.count = number;
        __threadfence_system();
        write_for_host(job.arrived, number);
    }
}

// Rows are read some at a time: from host memory each takes a microsecond.
__global__ void __launch_bounds__(kThreads)
    combine_rows(const float* rows, const float* host_rows, const std::int32_t* row_of, const float* weights,
                 std::int64_t n_active, std::int64_t hidden_dim, float* x, HostAnswer answer) {
    if (answer.count != nullptr) await_host(answer);
    constexpr int kAtOnce = 8;
    const std::int64_t token = blockIdx.x;
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.y) * kThreads + threadIdx.x;
    if (i >= hidden_dim) return;
    float sum = x[token * hidden_dim + i];
    const std::int64_t end = (token + 1) * n_active;
    for (std::int64_t first = token * n_active; first < end; first += kAtOnce) {
        std::int32_t row[kAtOnce];
        float values[kAtOnce];
#pragma unroll
        for (int a = 0; a < kAtOnce; ++a) row[a] = first + a < end ? row_of[first + a] : 0;
#pragma unroll
        for (int a = 0; a < kAtOnce; ++a) {
            const float* const from = row[a] < 0 ? host_rows : rows;
            const std::int64_t number = row[a] < 0 ? ~row[a] : row[a];
            values[a] = first + a < end ? from[number * hidden_dim + i] : 0.0f;
        }
#pragma unroll
        for (int a = 0; a < kAtOnce; ++a) {
            if (first + a < end) sum = fmaf(weights[first + a], values[a], sum);
        }
    }
    x[token * hidden_dim + i] = sum;
}

unsigned blocks_of_values(std::int64_t n) {
    constexpr std::int64_t kMostBlocks = 4096;
    const std::int64_t blocks = blocks_for(n, kThreads);
    return static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

}  // namespace

void store_for_host(Worker& worker, const HostStore* stores, std::size_t n, unsigned* count, unsigned* arrived) {
    StoreJob job;
    job.count = count;
    job.arrived = arrived;
    job.n = static_cast<std::int64_t>(n);
    for (std::size_t i = 0; i < n; ++i) job.stores[i] = stores[i];
    worker.start_dependent(store_words, 1, kStoreThreads, 0, job);
}

}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

using namespace cuda;

void compute(Worker& worker, const Embed& op) {
    const WeightView& table = op.table;
    if (is_blocks(table.type)) {
        unpack_block_rows(worker, table, op.tokens, op.n, WeightType::kF32, op.x);
        return;
    }
    with_type(table.type, [&](auto* type) {
        using T = ValueOf<decltype(type)>;
        worker.start(embed_rows<T>, blocks_for(op.n, 1), kThreads, 0, static_cast<const T*>(table.data),
                     row_stride(table), table.n_cols, op.tokens, op.x);
    });
}

void compute(Worker& worker, const AddBias& op) {
    worker.start(add_to_rows, dim3(blocks_for(op.n, 1), blocks_for(op.dim, kThreads)), kThreads, 0, op.bias, op.dim,
                 op.x);
}

void compute(Worker& worker, const Add& op) {
    worker.start(add_values, blocks_of_values(op.n), kThreads, 0, op.y, op.n, op.factor, op.x);
}

void compute(Worker& worker, const Scale& op) {
    worker.start(scale_values, blocks_of_values(op.n), kThreads, 0, op.factor, op.n, op.x);
}

void compute(Worker& worker, const MultiplySigmoid& op) {
    worker.start(multiply_by_sigmoid, blocks_of_values(op.n), kThreads, 0, op.gate, op.n, op.n_alike, op.x);
}

void compute(Worker& worker, const Clamp& op) {
    worker.start(clamp_values, blocks_of_values(op.n), kThreads, 0, op.limit, op.n, op.x);
}

void compute(Worker& worker, const SoftCap& op) {
    worker.start(cap_values, blocks_of_values(op.n), kThreads, 0, op.limit, op.n, op.x);
}

void compute(Worker& worker, const WeighInputs& op) {
    worker.start(weigh_rows, blocks_for(op.n, 1), kThreads, 0, op.x, op.weights, op.dim, op.out);
}

void compute(Worker& worker, const Clear& op) {
    worker.start(clear_values, blocks_of_values(op.n), kThreads, 0, op.n, op.x);
}

void compute(Worker& worker, const Combine& op) {
    if (op.awaits_host && worker.kept != nullptr) worker.kept->set_awaits_host();
    worker.start(combine_rows, dim3(blocks_for(op.n, 1), blocks_for(op.hidden_dim, kThreads)), kThreads, 0, op.rows,
                 op.host_rows, op.row_of, op.weights, op.n_active, op.hidden_dim, op.x,
                 op.awaits_host ? worker.answer : HostAnswer());
}

}  // namespace offstage::kernels::ops
