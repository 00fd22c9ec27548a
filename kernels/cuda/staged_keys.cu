#include "kernels/cuda/staged_keys.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kPiecesPerBlock = 16;  // thread blocks that copy one
constexpr int kBlocksPerLaunch = 128;
constexpr std::int64_t kLeastSlots = 4;

struct StagedBlocks {
    std::int32_t blocks[kBlocksPerLaunch] = {};  // places in the table
    int n = 0;
    std::int64_t first_slot = 0;
};

__global__ void __launch_bounds__(kThreads) copy_table(std::byte* const* from, std::int64_t n, std::byte** to) {
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (i < n) to[i] = from[i];
}

// The layer of these blocks -> slots one after the other, and the table says so. grid: (pieces, blocks).
__global__ void __launch_bounds__(kThreads)
    stage_blocks(StagedBlocks list, std::byte* const* blocks, LayerPlace layer, std::byte* slots, std::byte** table) {
    const std::int32_t block = list.blocks[blockIdx.y];
    std::byte* const slot = slots + (list.first_slot + blockIdx.y) * layer.bytes;
    const auto* const from = reinterpret_cast<const uint4*>(blocks[block] + layer.offset);
    auto* const to = reinterpret_cast<uint4*>(slot);
    const std::int64_t n = layer.bytes / static_cast<std::int64_t>(sizeof(uint4));
    const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += step) {
        to[i] = from[i];
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) table[block] = slot - layer.offset;
}

std::int64_t n_table_blocks(std::int64_t n_tokens) {
    return (n_tokens + kKvBlockTokens - 1) / kKvBlockTokens;
}

}  // namespace

std::uint64_t staged_keys_bytes(const CudaStep& step) {
    if (step.n_tokens <= kFewTokens) return 0;
    const AttentionShape& shape = step.attention;
    const auto bytes = [](std::int64_t n, std::size_t each) {
        return Scratch::rounded(static_cast<std::size_t>(n) * each);
    };
    // Rows of int8 with their scales are no larger than float32.
    const std::int64_t layer = shape.n_kv_heads * (shape.key_dim + shape.value_dim + 2) * kKvBlockTokens;
    return bytes(n_table_blocks(step.context) + 1, sizeof(std::byte*)) +
           bytes(step.n_tokens * shape.n_heads, sizeof(float2)) + bytes(kLeastSlots * layer, sizeof(float));
}

void for_staged_keys(const Attention& attention, const CudaSegment& segment, const LayerPlace& layer,
                     const std::function<void(const CudaSegment& segment, const KeyRange& range)>& attend) {
    Worker& worker = attention.worker;
    const std::int64_t window = attention.shape.window;
    const std::int64_t n_blocks = n_table_blocks(segment.past + segment.n_tokens);
    const std::int64_t first_block =
        window > 0 && segment.past + 1 > window ? (segment.past + 1 - window) / kKvBlockTokens : 0;
    std::int64_t n_host = 0;
    for (std::int64_t b = first_block; b < n_blocks; ++b) n_host += segment.in_host[b];
    CudaSegment staged = segment;
    staged.in_host = nullptr;
    if (n_host == 0) {
        attend(staged, {});
        return;
    }
    // Tiles of keys begin where the first query's do, which in a window may be anywhere: a tile may end in the next
    // block.
    const std::int64_t n_shared = window > 0 ? 1 : 0;
    worker.scratch.restart();
    auto** const table = worker.scratch.take<std::byte*>(n_blocks);
    auto* const state = worker.scratch.take<float2>(segment.n_tokens * attention.shape.n_heads);
    std::int64_t n_slots = static_cast<std::int64_t>(worker.scratch.left()) / layer.bytes;
    if (n_slots > n_host) n_slots = n_host;
    auto* const slots = worker.scratch.take<std::byte>(n_slots * layer.bytes);
    if (table == nullptr || state == nullptr || slots == nullptr || (n_slots < n_host && n_slots < 1 + n_shared)) {
        worker.lacks_scratch();
        return;
    }
    worker.start(copy_table, blocks_for(n_blocks, kThreads), kThreads, 0, segment.blocks, n_blocks, table);
    staged.blocks = table;
    for (std::int64_t begin = first_block;;) {
        StagedBlocks list;
        const auto flush = [&] {
            if (list.n == 0) return;
            worker.start(stage_blocks, dim3(kPiecesPerBlock, static_cast<unsigned>(list.n)), kThreads, 0, list,
                         segment.blocks, layer, slots, table);
            list.first_slot += list.n;
            list.n = 0;
        };
        std::int64_t end = begin;
        for (std::int64_t used = 0; end < n_blocks && used + segment.in_host[end] <= n_slots; ++end) {
            if (segment.in_host[end] == 0) continue;
            ++used;
            list.blocks[list.n++] = static_cast<std::int32_t>(end);
            if (list.n == kBlocksPerLaunch) flush();
        }
        flush();
        KeyRange range;
        range.state = state;
        range.resumes = begin != first_block;
        range.is_last = end == n_blocks;
        if (range.resumes) range.first = begin * kKvBlockTokens;
        if (!range.is_last) range.end = (end - n_shared) * kKvBlockTokens;
        attend(staged, range);
        if (range.is_last) return;
        begin = end - n_shared;
    }
}

}  // namespace offstage::kernels::cuda
