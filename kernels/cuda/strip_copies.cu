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
constexpr std::size_t kVectorBytes = 16;

// Rows of blocks. A block is a piece of `first_bytes` in words of first_word, then words
// of second_word.
struct StripRows {
    std::int64_t row_bytes = 0;
    bool laid_out = false;
    RowPlaces places;  // of rows that are
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

StripRows strip_rows(const WeightView& view, bool laid) {
    const auto pieces = interleaved_pieces(view.type);
    StripRows rows;
    rows.row_bytes = static_cast<std::int64_t>(view.stride_bytes());
    rows.laid_out = laid;
    rows.places = row_places(view);
    rows.block_bytes = traits_of(view.type).block_bytes;
    rows.blocks_per_byte = 1.0f / static_cast<float>(rows.block_bytes);
    rows.first_bytes = pieces[0].bytes;
    rows.first_word = pieces[0].piece;
    rows.second_word = pieces[1].bytes > 0 ? pieces[1].piece : rows.first_word;
    rows.chunk_bytes = kChunkBytes / rows.block_bytes * rows.block_bytes;
    return rows;
}

// Reads strips and writes their rows one after the other, each laid out or not; kBack:
// the other way round. A block has a part of a strip, in Units that divide all words,
// blocks and sections.
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
                const std::int64_t begin = strip + row * rows.row_bytes;
                const int in_row = static_cast<int>(first) + byte;
                move(begin + (rows.laid_out ? rows.places.place((kBack ? from : to) + begin, in_row) : in_row),
                     rows.place(row, byte));
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

// Calls body with a null pointer to the largest unit that divides all of these.
template <typename Body>
cudaError_t with_unit(int divides, const Body& body) {
    if (divides % 4 == 0) return body(static_cast<std::uint32_t*>(nullptr));
    if (divides % 2 == 0) return body(static_cast<std::uint16_t*>(nullptr));
    return body(static_cast<std::uint8_t*>(nullptr));
}

cudaError_t start_for(const WeightView& view, bool laid, const std::byte* from, std::byte* to, std::int64_t n_strips,
                      bool back, cudaStream_t stream) {
    const StripRows rows = strip_rows(view, laid);
    return with_unit(rows.block_bytes | rows.first_bytes | rows.first_word | rows.second_word, [&](auto* unit) {
        return start<std::remove_pointer_t<decltype(unit)>>(rows, from, to, n_strips, back, stream);
    });
}

// A block has a row, which goes through shared memory.
template <typename Unit, bool kBack>
__global__ void __launch_bounds__(kThreads)
    lay_out_in_place(RowPlaces places, unsigned char* data, std::int64_t stride, int row_bytes) {
    auto* const row = data + std::int64_t{blockIdx.x} * stride;
    auto* const copy = shared_memory<unsigned char>();  // (row_bytes)
    const auto unit = [](unsigned char* bytes) -> Unit& { return *reinterpret_cast<Unit*>(bytes); };
    const int step = kThreads * static_cast<int>(sizeof(Unit));
    for (int byte = static_cast<int>(threadIdx.x * sizeof(Unit)); byte < row_bytes; byte += step) {
        unit(copy + byte) = unit(row + byte);
    }
    __syncthreads();
    for (int byte = static_cast<int>(threadIdx.x * sizeof(Unit)); byte < row_bytes; byte += step) {
        const int place = places.place(row, byte);
        if constexpr (kBack) {
            unit(row + byte) = unit(copy + place);
        } else {
            unit(row + place) = unit(copy + byte);
        }
    }
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

cudaError_t lay_out_rows(const WeightView& rows, bool back, cudaStream_t stream) {
    if (rows.n_rows == 0 || !can_lay_out(rows)) return cudaSuccess;
    const auto bytes = row_bytes(rows.type, rows.n_cols);
    auto* const data = static_cast<unsigned char*>(const_cast<void*>(rows.data));
    // Rows of two-byte numbers begin at even addresses.
    return with_unit(rows.type == WeightType::kMxfp4 ? 1 : 2, [&](auto* unit) {
        using Unit = std::remove_pointer_t<decltype(unit)>;
        return launch_kernel(back ? lay_out_in_place<Unit, true> : lay_out_in_place<Unit, false>,
                             static_cast<unsigned>(rows.n_rows), kThreads, bytes, stream, row_places(rows), data,
                             static_cast<std::int64_t>(rows.stride_bytes()), static_cast<int>(bytes));
    });
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

bool reorders(const ExpertLayout& on_host, bool lays_out) {
    const ExpertView expert = any_expert(on_host);
    return on_host.has_strips() ||
           (lays_out && on_host.down_rows_are_outputs &&
            (can_lay_out(expert.gate()) || can_lay_out(expert.up()) || can_lay_out(expert.down())));
}

cudaError_t StripCopies::copy(void* to, const void* from, const ExpertLayout& on_host, bool back, bool lays_out,
                              cudaStream_t copies) {
    auto* const target = static_cast<std::byte*>(to);
    const auto* const source = static_cast<const std::byte*>(from);
    const ExpertView on_device{back ? from : to, on_host};
    cudaError_t status = cudaSuccess;
    std::size_t done = 0;
    const auto copy_until = [&](std::size_t end) {  // bytes as they are
        if (status == cudaSuccess) status = copy_pieces(target + done, source + done, end - done, copies);
        done = end;
    };
    const auto copy_rows = [&](const RowsOnDevice& rows, std::size_t begin, bool strips) {
        if (!strips && !(lays_out && rows.any_laid_out())) return;
        copy_until(begin);
        done += rows.bytes();
        if (status != cudaSuccess) return;
        status = strips ? copy_strips(target + begin, source + begin, rows.first, lays_out, back, copies)
                        : copy_laid_out(target + begin, source + begin, rows, back, copies);
    };
    if (on_host.down_rows_are_outputs) {
        const bool strips = on_host.interleaves_gate_and_up();
        if (strips || !on_host.spec.has_gate()) {
            copy_rows({on_device.gate_and_up(), {}}, 0, strips);
        } else {
            copy_rows({on_device.gate(), on_device.up()}, 0, false);
        }
        copy_rows({on_device.down(), {}}, on_host.down_offset(), on_host.interleaves_down());
    }
    copy_until(on_host.bytes());
    for (const Half& half : halves_) {
        const cudaError_t waits = cudaStreamWaitEvent(copies, half.in_order.get(), 0);
        if (status == cudaSuccess) status = waits;
    }
    return status;
}

cudaError_t StripCopies::copy_strips(std::byte* to, const std::byte* from, const WeightView& rows, bool lays_out,
                                     bool back, cudaStream_t copies) {
    const std::size_t strip = static_cast<std::size_t>(kInterleavedRows) * rows.stride_bytes();
    const std::size_t most = half_bytes_ / strip * strip;
    if (most == 0) return cudaErrorMemoryAllocation;
    const std::size_t all = static_cast<std::size_t>(rows.n_rows) * rows.stride_bytes();
    cudaError_t status = cudaSuccess;
    const auto check = [&status](cudaError_t result) { return (status = result) == cudaSuccess; };
    for (std::size_t done = 0; done < all; done += most) {
        const std::size_t bytes = std::min(all - done, most);
        const auto n_strips = static_cast<std::int64_t>(bytes / strip);
        Half& half = next_half();
        const auto put_in_order = [&](const std::byte* source, std::byte* target, cudaStream_t stream) {
            return check(start_for(rows, lays_out && can_lay_out(rows), source, target, n_strips, back, stream));
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

// Back: pieces are put in order beside the rows, which a kernel may still read.
cudaError_t StripCopies::copy_laid_out(std::byte* to, const std::byte* from, const RowsOnDevice& rows, bool back,
                                       cudaStream_t copies) {
    cudaError_t status = cudaSuccess;
    const auto check = [&status](cudaError_t result) { return (status = result) == cudaSuccess; };
    const auto lay_out = [&](RowsOnDevice piece) {
        return check(lay_out_rows(piece.first, back, copies)) && check(lay_out_rows(piece.second, back, copies));
    };
    if (!back) {
        if (check(copy_pieces(to, from, rows.bytes(), copies))) lay_out(rows);
        return status;
    }
    const std::size_t unit = rows.first.stride_bytes();
    const std::size_t most = half_bytes_ < kVectorBytes ? 0 : (half_bytes_ - kVectorBytes) / unit * unit;
    if (most == 0) return cudaErrorMemoryAllocation;
    for (std::size_t done = 0; done < rows.bytes(); done += most) {
        const std::size_t bytes = std::min(rows.bytes() - done, most);
        Half& half = next_half();
        std::byte* const place = half.data + reinterpret_cast<std::uintptr_t>(from + done) % kVectorBytes;
        if (!check(cudaStreamWaitEvent(copies, half.in_order.get(), 0)) ||
            !check(cudaMemcpyAsync(place, from + done, bytes, cudaMemcpyDefault, copies)) ||
            !lay_out(rows.piece(place, static_cast<std::int64_t>(bytes / unit))) ||
            !check(cudaMemcpyAsync(to + done, place, bytes, cudaMemcpyDefault, copies))) {
            return status;
        }
    }
    return status;
}

}  // namespace offstage::kernels::cuda
