// Products with files' blocks. Few rows: straight from the blocks, each read once. Many
// rows: packed_products.cu unpacks parts of the weight by unpack_block_rows().
#include "kernels/cuda/block_dots.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/cuda/tensor_core.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kUnpackThreads = 256;

// Rows of each head with its inputs: blockIdx.y is the head, blockIdx.z which kInputs.
struct HeadsJob {
    const unsigned char* weight = nullptr;
    std::int64_t n_rows = 0;  // of a head
    std::int64_t n_columns = 0;
    std::int64_t stride = 0;  // bytes
    InputRows x = {};
    OutputRows y = {};
    int n = 0;

    template <int kInputs>
    __device__ int n_inputs() const {
        const int left = n - static_cast<int>(blockIdx.z) * kInputs;
        return left < kInputs ? left : kInputs;
    }
    __device__ const unsigned char* row(std::int64_t r) const {
        return weight + (static_cast<std::int64_t>(blockIdx.y) * n_rows + r) * stride;
    }
    template <int kInputs>
    __device__ const float* input(int t) const {
        return x.data + (static_cast<std::int64_t>(blockIdx.z) * kInputs + t) * x.stride + blockIdx.y * x.head_stride;
    }
    template <int kInputs, int kRows>
    __device__ void store(std::int64_t first, int t, const float (&sums)[kRows]) const {
        float* const place = y.data + (static_cast<std::int64_t>(blockIdx.z) * kInputs + t) * y.stride +
                             blockIdx.y * y.head_stride + first;
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
            if (first + r < n_rows) place[r] = sums[r];
        }
    }
    template <int kInputs>
    __device__ void finish(std::int64_t, int, int*) const {}
};

__device__ inline unsigned two_of(Bf16, float low, float high) {
    return pack_bf16(low, high);
}
__device__ inline unsigned two_of(F16, float low, float high) {
    return narrow<F16>(low).bits | static_cast<unsigned>(narrow<F16>(high).bits) << 16;
}

// to (rows, parts_per_row * 16) = the rows that `tokens` names (nullptr: one after the
// other); a thread per part, an even number of them.
template <RowType kRowsType, typename T>
__global__ void __launch_bounds__(kUnpackThreads)
    unpack_parts(const unsigned char* rows, std::int64_t stride, const std::int32_t* tokens, unsigned n_parts,
                 unsigned parts_per_row, T* to) {
    const unsigned wanted = blockIdx.x * kUnpackThreads + threadIdx.x;
    // Beyond the end the last one is taken again: the warp stays together.
    const unsigned index = wanted < n_parts ? wanted : n_parts - 1;
    const unsigned row = index / parts_per_row;
    const std::int64_t from = tokens == nullptr ? row : tokens[row];
    RowPart<static_cast<WeightType>(kRowsType)> part;
    part.load(rows + from * stride, static_cast<int>(index % parts_per_row), static_cast<int>(parts_per_row));
    [[maybe_unused]] unsigned words[kPartWeights / 2];
#pragma unroll
    for (int k = 0; k < kPartWeights / 4; ++k) {
        float weights[4];
        part.quad(k, weights);
#pragma unroll
        for (float& weight : weights) weight = fmaf(part.scale, weight, part.bias);
        if constexpr (sizeof(T) == 2) {
            words[2 * k] = two_of(T(), weights[0], weights[1]);
            words[2 * k + 1] = two_of(T(), weights[2], weights[3]);
        } else if (wanted < n_parts) {
            store_four(to + static_cast<std::int64_t>(index) * kPartWeights + 4 * k, weights);
        }
    }
    if constexpr (sizeof(T) == 2) {
        // Two neighbours store the halves of the even one's part, then of the odd one's:
        // 32 bytes together.
        const bool odd = threadIdx.x % 2 == 1;
        uint4 mine, its;
        unsigned given[4];
#pragma unroll
        for (int w = 0; w < 4; ++w) given[w] = __shfl_xor_sync(kAllLanes, odd ? words[w] : words[4 + w], 1);
        mine.x = odd ? given[0] : words[0], mine.y = odd ? given[1] : words[1];
        mine.z = odd ? given[2] : words[2], mine.w = odd ? given[3] : words[3];
        its.x = odd ? words[4] : given[0], its.y = odd ? words[5] : given[1];
        its.z = odd ? words[6] : given[2], its.w = odd ? words[7] : given[3];
        if (wanted >= n_parts) return;
        uint4* const place = reinterpret_cast<uint4*>(to + static_cast<std::int64_t>(index - odd) * kPartWeights) + odd;
        place[0] = mine;
        place[2] = its;
    }
}

}  // namespace

void unpack_block_rows(Worker& worker, const WeightView& weight, const std::int32_t* rows, std::int64_t n_rows,
                       WeightType type, void* to) {
    const std::int64_t parts_per_row = weight.n_cols / kPartWeights;
    const std::int64_t n_parts = n_rows * parts_per_row;
    with_row_type(row_type(worker, weight), [&](auto block_type) {
        with_type(type, [&](auto* pointer) {
            using T = ValueOf<decltype(pointer)>;
            worker.start(unpack_parts<kRowType<decltype(block_type)::value>, T>, blocks_for(n_parts, kUnpackThreads),
                         kUnpackThreads, 0, static_cast<const unsigned char*>(weight.data),
                         static_cast<std::int64_t>(weight.stride_bytes()), rows, static_cast<unsigned>(n_parts),
                         static_cast<unsigned>(parts_per_row), static_cast<T*>(to));
        });
    });
}

void multiply_block_heads(Worker& worker, const WeightView& weight, std::int64_t n_heads, const InputRows& x,
                          std::int64_t n, const OutputRows& y) {
    with_block_inputs(n, [&](auto number) {
        constexpr int kInputs = decltype(number)::value;
        HeadsJob job;
        job.weight = static_cast<const unsigned char*>(weight.data);
        job.n_rows = weight.n_rows / n_heads;
        job.n_columns = weight.n_cols;
        job.stride = static_cast<std::int64_t>(weight.stride_bytes());
        job.x = x;
        job.y = y;
        job.n = static_cast<int>(n);
        start_block_products<kInputs>(worker, row_type(worker, weight),
                                      dim3(1, static_cast<unsigned>(n_heads), blocks_for(n, kInputs)), job);
    });
}

}  // namespace offstage::kernels::cuda
