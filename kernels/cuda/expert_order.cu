// The (token, chosen expert) pairs of a step by experts, on the device: bounds, rows in
// order, each pair's row, and what the kernels for experts read as calls.
#include "kernels/cuda/byte_products.cuh"
#include "kernels/cuda/decode_kernels.cuh"
#include "kernels/cuda/output_tiles.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

struct OrderJob {
    const std::byte* const* blocks;
    const std::int32_t* chosen;
    std::int32_t n_pairs, n_active, n_experts, n_tiles;
    std::int32_t* row_token;
    std::int32_t* row_of;
    std::int32_t* bounds;
    FewCall* few;
    FewCall* tiles;
    unsigned* arrived;
    GroupedPartials sums;
};

__device__ inline std::int32_t warp_total(std::int32_t value) {
#pragma unroll
    for (int distance = kWarp / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(kAllLanes, value, distance);
    return value;
}

// Tiles of more than 32, of 17 to 32 and of up to 16 rows, and rows of an expert of few.
struct TileCounts {
    std::int32_t tiles[3] = {};
    std::int32_t few_rows = 0;

    __device__ static int size_of(std::int32_t n_rows) {
        return n_rows > kTileRows / 2 ? 0 : n_rows > kTileRows / 4 ? 1 : 2;
    }
    __device__ void add_rows(std::int32_t n) {
        if (n <= CudaContext::kFewRows) {
            few_rows += n;
            return;
        }
        for (; n > 0; n -= kTileRows) ++tiles[size_of(n)];
    }
    __device__ void add(const TileCounts& other) {
        for (int i = 0; i < 3; ++i) tiles[i] += other.tiles[i];
        few_rows += other.few_rows;
    }
};

// By one warp: the calls of all experts. counts: (kWarp), of shared memory.
__device__ inline void list_calls(const OrderJob& job, int lane, TileCounts* counts) {
    const int per_lane = (job.n_experts + kWarp - 1) / kWarp;
    const int first = lane * per_lane;
    const int end = first + per_lane < job.n_experts ? first + per_lane : job.n_experts;
    constexpr auto kFewRows = static_cast<std::int32_t>(CudaContext::kFewRows);
    const auto bound = [&](int e) { return static_cast<std::int32_t>(__ldcg(job.bounds + e)); };
    TileCounts mine;
    for (int e = first; e < end; ++e) mine.add_rows(bound(e + 1) - bound(e));
    counts[lane] = mine;
    __syncwarp();
    TileCounts at;   // what the lanes before have
    TileCounts all;  // what all have
    for (int l = 0; l < kWarp; ++l) {
        if (l < lane) at.add(counts[l]);
        all.add(counts[l]);
    }
    at.tiles[1] += all.tiles[0];
    at.tiles[2] += all.tiles[0] + all.tiles[1];
    for (int e = first; e < end; ++e) {
        const std::int32_t row = bound(e);
        const std::int32_t n = bound(e + 1) - row;
        const bool is_few = n <= CudaContext::kFewRows;
        FewCall& few = job.few[e] = {};  // without rows none of its weights are read
        if (is_few && n > 0) {
            const std::int32_t place = e % job.sums.experts_at_once;
            few = {job.blocks[e],
                   row,
                   n,
                   job.sums.rows_of_expert > 0 ? place * kFewRows : at.few_rows,
                   place * job.sums.rows_of_expert,
                   job.sums.stretches[n - 1]};
        }
        if (is_few) at.few_rows += n;
        for (std::int32_t t = 0; !is_few && t < n; t += kTileRows) {
            const std::int32_t n_rows = n - t < kTileRows ? n - t : kTileRows;
            job.tiles[at.tiles[TileCounts::size_of(n_rows)]++] = {job.blocks[e], row + t, n_rows, row + t, 0, 0};
        }
    }
    for (int i = all.tiles[0] + all.tiles[1] + all.tiles[2] + lane; i < job.n_tiles; i += kWarp) job.tiles[i] = {};
}

// A block for each expert; the last one to arrive lists the calls. One on a
// multiprocessor suffices: for more the compiler would save registers that calls need.
__global__ void __launch_bounds__(kThreads, 1) order_by_expert(OrderJob job) {
    struct Shared {
        TileCounts counts[kWarp];
        std::int32_t of_warps[2][kWarps];
        int flag;
    };
    Shared& shared = *shared_memory<Shared>();
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    const auto expert = static_cast<std::int32_t>(blockIdx.x);
    std::int32_t before = 0;
    std::int32_t its = 0;
    for (std::int32_t p = static_cast<std::int32_t>(threadIdx.x); p < job.n_pairs; p += kThreads) {
        before += job.chosen[p] < expert ? 1 : 0;
        its += job.chosen[p] == expert ? 1 : 0;
    }
    before = warp_total(before);
    its = warp_total(its);
    if (lane == 0) shared.of_warps[0][warp] = before, shared.of_warps[1][warp] = its;
    __syncthreads();
    std::int32_t row = 0;  // of the next of its pairs
    its = 0;
    for (int w = 0; w < kWarps; ++w) row += shared.of_warps[0][w], its += shared.of_warps[1][w];
    __syncthreads();
    if (threadIdx.x == 0) {
        job.bounds[expert] = row;
        if (expert + 1 == job.n_experts) job.bounds[job.n_experts] = row + its;
    }
    const std::int32_t end = row + its;
    for (std::int32_t first = 0; row < end; first += kThreads) {  // the same in all threads
        const std::int32_t p = first + static_cast<std::int32_t>(threadIdx.x);
        const bool is_its = p < job.n_pairs && job.chosen[p] == expert;
        const unsigned lanes = __ballot_sync(kAllLanes, is_its);
        if (lane == 0) shared.of_warps[0][warp] = __popc(lanes);
        __syncthreads();
        std::int32_t place = row + __popc(lanes & ((1u << lane) - 1u));
        for (int w = 0; w < kWarps; ++w) {
            if (w < warp) place += shared.of_warps[0][w];
            row += shared.of_warps[0][w];
        }
        if (is_its) {
            job.row_token[place] = p / job.n_active;
            job.row_of[p] = place;
        }
        __syncthreads();
    }
    if (is_last_block(job.arrived, gridDim.x, &shared.flag) && warp == 0) list_calls(job, lane, shared.counts);
}

}  // namespace

std::int64_t most_tiles_of(std::int64_t n_pairs, std::int64_t n_experts) {
    const std::int64_t experts = n_pairs / (CudaContext::kFewRows + 1);  // of many rows
    return n_pairs / kTileRows + (experts < n_experts ? experts : n_experts);
}

void order_pairs(Worker& worker, const ops::GroupedExperts& op, std::int32_t* bounds, FewCall* few, FewCall* tiles,
                 const GroupedPartials& sums) {
    const auto number = [](std::int64_t n) { return static_cast<std::int32_t>(n); };
    const OrderJob job{op.blocks,
                       op.chosen,
                       number(op.n_pairs()),
                       number(op.n_active),
                       number(op.n_experts),
                       number(most_tiles_of(op.n_pairs(), op.n_experts)),
                       op.row_token,
                       op.row_of,
                       bounds,
                       few,
                       tiles,
                       worker.arrivals,
                       sums};
    constexpr std::size_t kShared = kWarp * sizeof(TileCounts) + (2 * kWarps + 1) * sizeof(std::int32_t);
    worker.start(order_by_expert, static_cast<unsigned>(op.n_experts), kThreads, kShared, job);
}

}  // namespace offstage::kernels::cuda
