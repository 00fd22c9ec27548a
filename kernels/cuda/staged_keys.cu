#include "kernels/cuda/staged_keys.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kBlocksPerLaunch = kThreads;
constexpr std::int64_t kLeastSlots = 2;  // shared_blocks() needs them

// The size of one of the two copies, where a layer has as much: 4,096 tokens of Mixtral
// 8x7B in bf16, whose copy takes some 0.7 ms.
#ifdef OFFSTAGE_STAGED_BYTES  // the tests' host layer: little, so that short prompts come in ranges there too
constexpr std::int64_t kMostHalfBytes = OFFSTAGE_STAGED_BYTES;
#else
constexpr std::int64_t kMostHalfBytes = std::int64_t{16} << 20;
#endif

struct StagedBlocks {
    std::int32_t blocks[kBlocksPerLaunch] = {};  // places in the table
    int n = 0;
    std::int64_t first_slot = 0;
};

__global__ void __launch_bounds__(kThreads) copy_table(std::byte* const* from, std::int64_t n, std::byte** to) {
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
    if (i < n) to[i] = from[i];
}

// Enters the slots of this layer's blocks, one after the other, in the table.
__global__ void __launch_bounds__(kThreads)
    place_blocks(StagedBlocks list, LayerPlace layer, std::byte* slots, std::byte** table) {
    const int i = static_cast<int>(threadIdx.x);
    if (i < list.n) table[list.blocks[i]] = slots + (list.first_slot + i) * layer.bytes - layer.offset;
}

std::int64_t n_table_blocks(std::int64_t n_tokens) {
    return (n_tokens + kKvBlockTokens - 1) / kKvBlockTokens;
}

// The first block that a segment's queries see.
std::int64_t first_seen(std::int64_t window, const CudaSegment& segment) {
    return window > 0 && segment.past + 1 > window ? (segment.past + 1 - window) / kKvBlockTokens : 0;
}

// Tiles of keys begin where the first query's do, which in a window may be anywhere: a
// tile may end in the next block, which is then of two ranges.
std::int64_t shared_blocks(std::int64_t window) {
    return window > 0 ? 1 : 0;
}

// The end of the longest run of a segment's blocks from `begin` on with at most n_slots
// blocks in host memory.
std::int64_t range_end(const CudaSegment& segment, std::int64_t begin, std::int64_t n_slots) {
    const std::int64_t n_blocks = n_table_blocks(segment.past + segment.n_tokens);
    std::int64_t end = begin;
    for (std::int64_t used = 0; end < n_blocks && used + segment.in_host[end] <= n_slots; ++end) {
        used += segment.in_host[end];
    }
    return end;
}

void list_sources(const CudaSegment& segment, const LayerPlace& layer, std::int64_t begin, std::int64_t end,
                  std::vector<const std::byte*>& sources) {
    sources.clear();
    for (std::int64_t b = begin; b < end; ++b) {
        if (segment.in_host[b] != 0) sources.push_back(segment.host_table[b] + layer.offset);
    }
}

}  // namespace

std::uint64_t staged_keys_scratch_bytes(const CudaStep& step) {
    if (step.n_tokens <= kFewTokens) return 0;
    const auto bytes = [](std::int64_t n, std::size_t each) {
        return Scratch::rounded(static_cast<std::size_t>(n) * each);
    };
    return bytes(n_table_blocks(step.context) + 1, sizeof(std::byte*)) +
           bytes(step.n_tokens * step.attention.n_heads, sizeof(float2));
}

cudaError_t StagedKeys::open() {
    cudaError_t status = create_stream(copies_, true);
    if (status == cudaSuccess) status = cudaEventCreateWithFlags(computed_.out(), cudaEventDisableTiming);
    for (Half& half : halves_) {
        if (status == cudaSuccess) status = cudaEventCreateWithFlags(half.copied.out(), cudaEventDisableTiming);
    }
    return status;
}

std::uint64_t StagedKeys::bytes_for(const CudaStep& step) {
    if (step.n_tokens <= kFewTokens) return 0;
    const AttentionShape& shape = step.attention;
    // Rows of int8 with their scales are no larger than float32.
    const std::int64_t layer = shape.n_kv_heads * (shape.key_dim + shape.value_dim + 2) * kKvBlockTokens *
                               static_cast<std::int64_t>(sizeof(float));
    std::int64_t half = (n_table_blocks(step.context) + 1) * layer;
    if (half > kMostHalfBytes) half = kMostHalfBytes;
    if (half < kLeastSlots * layer) half = kLeastSlots * layer;
    return 2 * Scratch::rounded(static_cast<std::size_t>(half));
}

void StagedKeys::set_memory(void* data, std::size_t bytes) {
    half_bytes_ = bytes / 2 / 256 * 256;
    for (int i = 0; i < 2; ++i) {
        halves_[i].data = static_cast<std::byte*>(data) + static_cast<std::size_t>(i) * half_bytes_;
        halves_[i].sources.clear();
    }
}

void StagedKeys::copy(Worker& worker, Half& half, const std::vector<const std::byte*>& sources, std::int64_t bytes) {
    std::size_t n = half.sources.size();
    for (std::size_t i = 0; i < n; ++i) {
        if (i >= sources.size() || sources[i] != half.sources[i]) n = 0;
    }
    half.sources = sources;
    if (n == sources.size()) return;
    cudaError_t status = cudaEventRecord(computed_.get(), worker.stream);
    if (status == cudaSuccess) status = cudaStreamWaitEvent(copies_.get(), computed_.get(), 0);
    for (; n < sources.size() && status == cudaSuccess; ++n) {
        status = cudaMemcpyAsync(half.data + static_cast<std::int64_t>(n) * bytes, sources[n],
                                 static_cast<std::size_t>(bytes), cudaMemcpyDefault, copies_.get());
    }
    if (status == cudaSuccess) status = cudaEventRecord(half.copied.get(), copies_.get());
    worker.failure.check(status, "Copying keys to the GPU");
}

void StagedKeys::await(Worker& worker, Half& half) {
    worker.failure.check(cudaStreamWaitEvent(worker.stream, half.copied.get(), 0), "Waiting for keys");
}

void StagedKeys::fetch(Worker& worker, std::int64_t window, const CudaSegment& segment, const LayerPlace& layer) {
    if (n_slots(layer) < 1 + shared_blocks(window)) return;
    const std::int64_t n_past_blocks = segment.past / kKvBlockTokens;
    std::int64_t begin = first_seen(window, segment);
    forget(worker);  // unused copies of an earlier call: the blocks may have changed since
    for (Half& half : halves_) {
        const std::int64_t end = range_end(segment, begin, n_slots(layer));
        list_sources(segment, layer, begin, end < n_past_blocks ? end : n_past_blocks, sources_);
        if (!sources_.empty()) copy(worker, half, sources_, layer.bytes);
        if (end >= n_past_blocks || !worker.failure.none()) return;
        begin = end - shared_blocks(window);
    }
}

void StagedKeys::forget(Worker& worker) {
    for (Half& half : halves_) {
        if (!half.sources.empty()) await(worker, half);
        half.sources.clear();
    }
}

void for_staged_keys(const Attention& attention, const CudaSegment& segment, const LayerPlace& layer,
                     const std::function<void(const CudaSegment& segment, const KeyRange& range)>& attend) {
    Worker& worker = attention.worker;
    StagedKeys& keys = *worker.staged_keys;
    const std::int64_t window = attention.shape.window;
    const std::int64_t n_blocks = n_table_blocks(segment.past + segment.n_tokens);
    const std::int64_t first_block = first_seen(window, segment);
    std::int64_t n_host = 0;
    for (std::int64_t b = first_block; b < n_blocks; ++b) n_host += segment.in_host[b];
    CudaSegment staged = segment;
    staged.in_host = nullptr;
    if (n_host == 0) {
        attend(staged, {});
        return;
    }
    const std::int64_t n_shared = shared_blocks(window);
    const std::int64_t n_slots = keys.n_slots(layer);
    worker.scratch.restart();
    auto** const table = worker.scratch.take<std::byte*>(n_blocks);
    auto* const state = worker.scratch.take<float2>(segment.n_tokens * attention.shape.n_heads);
    if (table == nullptr || state == nullptr || n_slots < 1 + n_shared) {
        worker.lacks_scratch();
        return;
    }
    worker.start(copy_table, blocks_for(n_blocks, kThreads), kThreads, 0, segment.blocks, n_blocks, table);
    staged.blocks = table;
    const auto copy = [&](std::int64_t begin, std::int64_t end, StagedKeys::Half& half) {
        list_sources(segment, layer, begin, end, keys.sources_);
        keys.copy(worker, half, keys.sources_, layer.bytes);
    };
    std::int64_t begin = first_block;
    std::int64_t end = range_end(segment, begin, n_slots);
    copy(begin, end, keys.halves_[0]);
    for (int r = 0; worker.failure.none(); ++r) {
        StagedKeys::Half& half = keys.halves_[r % 2];
        const bool is_last = end == n_blocks;
        const std::int64_t next_begin = end - n_shared;
        const std::int64_t next_end = range_end(segment, next_begin, n_slots);
        // Copies the next range before this range's attention is started: it waits only
        // for the attention of the range before, which reads the same memory.
        if (!is_last) copy(next_begin, next_end, keys.halves_[(r + 1) % 2]);
        if (!worker.failure.none()) break;
        StagedBlocks list;
        const auto flush = [&] {
            if (list.n > 0) worker.start(place_blocks, dim3(1), kThreads, 0, list, layer, half.data, table);
            list.first_slot += list.n;
            list.n = 0;
        };
        for (std::int64_t b = begin; b < end; ++b) {
            if (segment.in_host[b] == 0) continue;
            list.blocks[list.n++] = static_cast<std::int32_t>(b);
            if (list.n == kBlocksPerLaunch) flush();
        }
        flush();
        keys.await(worker, half);
        KeyRange range;
        range.state = state;
        range.resumes = begin != first_block;
        range.is_last = is_last;
        if (range.resumes) range.first = begin * kKvBlockTokens;
        if (!is_last) range.end = next_begin * kKvBlockTokens;
        attend(staged, range);
        if (is_last) break;
        begin = next_begin;
        end = next_end;
    }
    keys.forget(worker);
}

}  // namespace offstage::kernels::cuda
