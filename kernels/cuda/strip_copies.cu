#include <algorithm>

#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/cuda/strip_copies.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kLanes = 32;
constexpr int kRows = static_cast<int>(kInterleavedRows);
constexpr int kChunkBytes = 1024;  // of each row, at once in shared memory

// Rows of blocks. A block is a piece of `first_bytes` in words of first_word, then words
// of second_word.
struct StripRows {
    std::int64_t row_bytes = 0;
    int block_bytes = 0;
    float blocks_per_byte = 0;
    int first_bytes = 0;
    int first_word = 1, second_word = 1;
    int chunk_bytes = 0;  // whole blocks of a row

    // Where a byte of a row lies among the same blocks of all rows, in a strip.
    __device__ int place(int row, int byte) const {
        const int block = static_cast<int>((static_cast<float>(byte) + 0.5f) * blocks_per_byte) * block_bytes;
        const bool first = byte - block < first_bytes;
        const int begin = first ? block : block + first_bytes;
        const int word = first ? first_word : second_word;
        const int in_word = (byte - begin) & (word - 1);
        return kRows * (byte - in_word) + row * word + in_word;
    }
};

StripRows strip_rows(WeightType type, std::int64_t n_cols) {
    const auto pieces = interleaved_pieces(type);
    StripRows rows;
    rows.row_bytes = static_cast<std::int64_t>(row_bytes(type, n_cols));
    rows.block_bytes = traits_of(type).block_bytes;
    rows.blocks_per_byte = 1.0f / static_cast<float>(rows.block_bytes);
    rows.first_bytes = pieces[0].bytes;
    rows.first_word = pieces[0].piece;
    rows.second_word = pieces[1].bytes > 0 ? pieces[1].piece : rows.first_word;
    rows.chunk_bytes = kChunkBytes / rows.block_bytes * rows.block_bytes;
    return rows;
}

// Reads strips and writes their rows one after the other; kBack: the other way round. A
// block has a part of a strip, in Units that divide all words and blocks.
template <typename Unit, bool kBack>
__global__ void __launch_bounds__(kThreads) put_in_order(StripRows rows, const unsigned char* from, unsigned char* to) {
    constexpr int kUnit = static_cast<int>(sizeof(Unit));
    auto* const chunk = shared_memory<unsigned char>();
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * rows.chunk_bytes;
    const std::int64_t left = rows.row_bytes - first;
    const int width = left < rows.chunk_bytes ? static_cast<int>(left) : rows.chunk_bytes;
    const std::int64_t strip = static_cast<std::int64_t>(blockIdx.x) * kRows * rows.row_bytes;
    const std::int64_t beside = strip + kRows * first;  // where the chunk lies in the strip
    const auto each_unit = [&](const auto& move) {
        for (int row = static_cast<int>(threadIdx.x) / kLanes; row < kRows; row += kThreads / kLanes) {
            for (int byte = static_cast<int>(threadIdx.x) % kLanes * kUnit; byte < width; byte += kLanes * kUnit) {
                move(strip + row * rows.row_bytes + first + byte, rows.place(row, byte));
            }
        }
    };
    const auto copy_chunk = [&](const unsigned char* source, unsigned char* target) {
        for (int i = static_cast<int>(threadIdx.x); i < width; i += kThreads) {  // width times kRows bytes
            reinterpret_cast<uint4*>(target)[i] = reinterpret_cast<const uint4*>(source)[i];
        }
    };
    if constexpr (kBack) {
        each_unit([&](std::int64_t in_rows, int place) {
            *reinterpret_cast<Unit*>(chunk + place) = *reinterpret_cast<const Unit*>(from + in_rows);
        });
        __syncthreads();
        copy_chunk(chunk, to + beside);
    } else {
        copy_chunk(from + beside, chunk);
        __syncthreads();
        each_unit([&](std::int64_t in_rows, int place) {
            *reinterpret_cast<Unit*>(to + in_rows) = *reinterpret_cast<const Unit*>(chunk + place);
        });
    }
}

template <typename Unit>
cudaError_t start(const StripRows& rows, const std::byte* from, std::byte* to, std::int64_t n_strips, bool back,
                  cudaStream_t stream) {
    const dim3 grid(static_cast<unsigned>(n_strips),
                    static_cast<unsigned>((rows.row_bytes + rows.chunk_bytes - 1) / rows.chunk_bytes));
    const std::size_t shared = static_cast<std::size_t>(kRows) *
                               static_cast<std::size_t>(std::min<std::int64_t>(rows.chunk_bytes, rows.row_bytes));
    return launch_kernel(back ? put_in_order<Unit, true> : put_in_order<Unit, false>, grid, kThreads, shared, stream,
                         rows, reinterpret_cast<const unsigned char*>(from), reinterpret_cast<unsigned char*>(to));
}

cudaError_t start_for(WeightType type, std::int64_t n_cols, const std::byte* from, std::byte* to, std::int64_t n_strips,
                      bool back, cudaStream_t stream) {
    const StripRows rows = strip_rows(type, n_cols);
    const int divides = rows.block_bytes | rows.first_bytes | rows.first_word | rows.second_word;
    if (divides % 4 == 0) return start<std::uint32_t>(rows, from, to, n_strips, back, stream);
    if (divides % 2 == 0) return start<std::uint16_t>(rows, from, to, n_strips, back, stream);
    return start<std::uint8_t>(rows, from, to, n_strips, back, stream);
}

}  // namespace

cudaError_t copy_pieces(void* to, const void* from, std::size_t bytes, cudaStream_t copies) {
    cudaError_t status = cudaSuccess;
    for (std::size_t done = 0; status == cudaSuccess && done < bytes; done += kCopyBytes) {
        status = cudaMemcpyAsync(static_cast<std::byte*>(to) + done, static_cast<const std::byte*>(from) + done,
                                 std::min(bytes - done, kCopyBytes), cudaMemcpyDefault, copies);
    }
    return status;
}

cudaError_t StripCopies::open() {
    cudaError_t status = create_stream(kernels_, true);
    for (Half& half : halves_) {
        for (Event* const event : {&half.copied, &half.in_order}) {
            if (status == cudaSuccess) status = cudaEventCreateWithFlags(event->out(), cudaEventDisableTiming);
        }
    }
    return status;
}

// A half: one piece, or more where a strip is longer; less where an expert is smaller. Of
// all types that are interleaved, Q8_0 has the longest rows.
std::uint64_t StripCopies::bytes_for(const CudaStep& step) {
    if (!step.blocks || step.hidden_dim <= 0 || step.ffn_dim <= 0) return 0;
    const std::uint64_t longest =
        row_bytes(WeightType::kQ8_0, (std::max(step.hidden_dim, step.ffn_dim) + 31) / 32 * 32);
    const std::uint64_t most = static_cast<std::uint64_t>(std::max(2 * step.ffn_dim, step.hidden_dim)) * longest;
    const std::uint64_t wanted = std::max<std::uint64_t>(kCopyBytes, kInterleavedRows * longest);
    return 2 * Scratch::rounded(static_cast<std::size_t>(std::min(wanted, most)));
}

void StripCopies::set_memory(void* data, std::size_t bytes) {
    half_bytes_ = bytes / 2;
    for (std::size_t i = 0; i < 2; ++i) halves_[i].data = static_cast<std::byte*>(data) + i * half_bytes_;
}

cudaError_t StripCopies::copy(void* to, const void* from, const ExpertLayout& on_host, bool back, cudaStream_t copies) {
    auto* const target = static_cast<std::byte*>(to);
    const auto* const source = static_cast<const std::byte*>(from);
    cudaError_t status = cudaSuccess;
    for_parts(on_host, [&](const ExpertPart& part) {
        if (status != cudaSuccess) return;
        status = part.is_interleaved() ? copy_strips(target + part.begin, source + part.begin, part, back, copies)
                                       : copy_pieces(target + part.begin, source + part.begin, part.bytes, copies);
    });
    for (const Half& half : halves_) {
        const cudaError_t waits = cudaStreamWaitEvent(copies, half.in_order.get(), 0);
        if (status == cudaSuccess) status = waits;
    }
    return status;
}

cudaError_t StripCopies::copy_strips(std::byte* to, const std::byte* from, const ExpertPart& part, bool back,
                                     cudaStream_t copies) {
    const std::size_t strip = part.strip_bytes();
    const std::size_t most = half_bytes_ / strip * strip;
    if (most == 0) return cudaErrorMemoryAllocation;
    cudaError_t status = cudaSuccess;
    const auto check = [&status](cudaError_t result) { return (status = result) == cudaSuccess; };
    for (std::size_t done = 0; done < part.bytes; done += most) {
        const std::size_t bytes = std::min(part.bytes - done, most);
        const auto n_strips = static_cast<std::int64_t>(bytes / strip);
        Half& half = halves_[next_];
        next_ = 1 - next_;
        const auto put_in_order = [&](const std::byte* source, std::byte* target, cudaStream_t stream) {
            return check(start_for(part.type, part.n_cols, source, target, n_strips, back, stream));
        };
        const auto copy = [&](const std::byte* source, std::byte* target) {
            return check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, copies));
        };
        if (!check(cudaStreamWaitEvent(copies, half.in_order.get(), 0))) return status;
        if (back) {
            if (!put_in_order(from + done, half.data, copies) || !copy(half.data, to + done)) return status;
            continue;
        }
        if (!copy(from + done, half.data) || !check(cudaEventRecord(half.copied.get(), copies)) ||
            !check(cudaStreamWaitEvent(kernels_.get(), half.copied.get(), 0)) ||
            !put_in_order(half.data, to + done, kernels_.get()) ||
            !check(cudaEventRecord(half.in_order.get(), kernels_.get()))) {
            return status;
        }
    }
    return status;
}

}  // namespace offstage::kernels::cuda
