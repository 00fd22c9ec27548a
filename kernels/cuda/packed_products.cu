// Products with packed weights. Few rows: straight from the packed bits, each read once.
// Many rows: parts of the weight are unpacked into scratch memory as the products' input
// type and multiplied from there (products.cu); so are those of a file's blocks
// (block_products.cu).
#include "kernels/cuda/operations.cuh"
#include "kernels/cuda/packed.cuh"
#include "kernels/cuda/tensor_core.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kFewThreads = 128;
constexpr int kFewWarps = kFewThreads / kWarp;
constexpr int kUnpackThreads = 256;
// grid: (outputs of a head, heads, pieces of kInputs inputs). stride: bytes.
template <WeightType kType, int kRows, int kInputs>
__global__ void __launch_bounds__(kFewThreads, kInputs >= 8 ? 3 : 4)
    multiply_packed(const unsigned char* weight, PackedPlaces places, std::int64_t n_rows, std::int64_t stride,
                    InputRows x, int n_inputs, OutputRows y) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * kFewWarps + threadIdx.x / kWarp) * kRows;
    if (first >= n_rows) return;
    const std::int64_t head = blockIdx.y;
    const int first_input = static_cast<int>(blockIdx.z) * kInputs;
    const unsigned char* rows[kRows];
    const float* inputs[kInputs];
    // Beyond the end the last one is taken again and its sums are dropped: the warp stays
    // together.
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
        rows[r] = weight + (head * n_rows + (first + r < n_rows ? first + r : n_rows - 1)) * stride;
    }
#pragma unroll
    for (int t = 0; t < kInputs; ++t) {
        const int input = first_input + t < n_inputs ? first_input + t : n_inputs - 1;
        inputs[t] = x.data + input * x.stride + head * x.head_stride;
    }
    float sums[kRows][kInputs] = {};
    add_packed_products<kType, kRows, kInputs>(rows, places, inputs, lane, sums);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int t = 0; t < kInputs; ++t) {
            const float sum = warp_sum(sums[r][t]);
            if (lane == r * kInputs + t && first + r < n_rows && first_input + t < n_inputs) {
                y.data[(first_input + t) * y.stride + head * y.head_stride + first + r] = sum;
            }
        }
    }
}

template <int kRows, int kInputs>
void start_few(Worker& worker, const WeightView& weight, std::int64_t n_heads, const InputRows& x, std::int64_t n,
               const OutputRows& y) {
    static_assert(kRows * kInputs <= kWarp, "each lane stores one sum");
    const std::int64_t n_rows = weight.n_rows / n_heads;
    const dim3 grid(blocks_for(n_rows, kFewWarps * kRows), static_cast<unsigned>(n_heads), blocks_for(n, kInputs));
    with_packed_type(weight.type, [&](auto type) {
        worker.start(multiply_packed<decltype(type)::value, kRows, kInputs>, grid, kFewThreads, 0,
                     static_cast<const unsigned char*>(weight.data), places_of(weight.type, weight.n_cols), n_rows,
                     static_cast<std::int64_t>(weight.stride_bytes()), x, static_cast<int>(n), y);
    });
}

// to (n_rows, n_blocks * 64) = blocks first_block ... of the rows; a thread per piece.
template <WeightType kType, typename T>
__global__ void __launch_bounds__(kUnpackThreads)
    unpack_blocks(const unsigned char* rows, PackedPlaces places, std::int64_t stride, unsigned n_pieces,
                  unsigned first_block, unsigned n_blocks, T* to) {
    const unsigned index = blockIdx.x * kUnpackThreads + threadIdx.x;
    if (index >= n_pieces) return;
    const unsigned block = index / kLanesPerBlock % n_blocks;
    const std::int64_t row = index / kLanesPerBlock / n_blocks;
    const int quarter = static_cast<int>(index % kLanesPerBlock);
    Piece<kType> piece;
    piece.load(rows + row * stride, places, static_cast<int>(first_block + block), quarter);
    piece.prepare();
    T* place = to + (row * n_blocks + block) * kPackedBlock;
#pragma unroll
    for (int k = 0; k < kPiece / kQuad; ++k) {
        float weights[kQuad];
        piece.quad(k, weights);
        T* const four = place + Piece<kType>::column(quarter, k);
        if constexpr (std::is_same_v<T, Bf16>) {
            uint2 words;
            words.x = pack_bf16(weights[0], weights[1]);
            words.y = pack_bf16(weights[2], weights[3]);
            *reinterpret_cast<uint2*>(four) = words;
        } else {
            store_four(four, weights);
        }
    }
}

// Columns first ... of bf16 rows, `stride` apart, as f16; a block per row.
__global__ void __launch_bounds__(kUnpackThreads)
    convert_rows(const Bf16* rows, std::int64_t stride, std::int64_t first, std::int64_t n_columns, F16* to) {
    const std::int64_t row = blockIdx.x;
    for (std::int64_t i = threadIdx.x; i < n_columns; i += kUnpackThreads) {
        to[row * n_columns + i] = narrow<F16>(widen(rows[row * stride + first + i]));
    }
}

void unpack(Worker& worker, const WeightView& weight, std::int64_t first_row, std::int64_t n_rows,
            std::int64_t first_column, std::int64_t n_columns, WeightType type, void* to) {
    if (is_blocks(weight.type)) {  // never in parts of rows: see multiply_unpacked()
        WeightView rows = weight;
        rows.data = weight.row(first_row);
        unpack_block_rows(worker, rows, nullptr, n_rows, type, to);
        return;
    }
    if (is_plain(weight.type)) {  // bf16 where cuBLAS supports only f16
        worker.start(convert_rows, blocks_for(n_rows, 1), kUnpackThreads, 0,
                     reinterpret_cast<const Bf16*>(weight.row(first_row)), row_stride(weight), first_column, n_columns,
                     static_cast<F16*>(to));
        return;
    }
    const std::int64_t n_pieces = n_rows * (n_columns / kPiece);
    with_packed_type(weight.type, [&](auto packed) {
        with_type(type, [&](auto* pointer) {
            using T = ValueOf<decltype(pointer)>;
            worker.start(unpack_blocks<decltype(packed)::value, T>, blocks_for(n_pieces, kUnpackThreads),
                         kUnpackThreads, 0, reinterpret_cast<const unsigned char*>(weight.row(first_row)),
                         places_of(weight.type, weight.n_cols), static_cast<std::int64_t>(weight.stride_bytes()),
                         static_cast<unsigned>(n_pieces), static_cast<unsigned>(first_column / kPackedBlock),
                         static_cast<unsigned>(n_columns / kPackedBlock), static_cast<T*>(to));
        });
    });
}

}  // namespace

std::size_t unpacked_bytes_for(std::uint64_t memory_bytes) {
#ifdef OFFSTAGE_UNPACK_BYTES  // the tests' host layer: little, so that small weights come in parts there too
    static_cast<void>(memory_bytes);
    return OFFSTAGE_UNPACK_BYTES;
#else
    constexpr std::size_t kLeast = std::size_t{16} << 20;
    constexpr std::size_t kMost = std::size_t{64} << 20;
    const auto share = static_cast<std::size_t>(memory_bytes / 512);
    return share < kLeast ? kLeast : share > kMost ? kMost : share;
#endif
}

std::size_t unpack_bytes(std::int64_t n_rows, std::int64_t n_cols, bool transposed, std::size_t unpacked_bytes) {
    const auto bytes = [](std::int64_t n) { return static_cast<std::size_t>(n) * sizeof(float); };
    const std::size_t least = bytes(transposed ? n_rows * kPackedBlock : n_cols);
    const std::size_t most = least > unpacked_bytes ? least : unpacked_bytes;
    return Scratch::rounded(most < bytes(n_rows * n_cols) ? most : bytes(n_rows * n_cols));
}

bool can_read_packed(Worker& worker, const void* weight, const float* x) {
    if (reinterpret_cast<std::uintptr_t>(weight) % 8 == 0 && is_aligned(x)) return true;
    worker.failure.set("A CUDA operation got packed weights or inputs that are not aligned.");
    return false;
}

void multiply_packed_heads(Worker& worker, const WeightView& weight, std::int64_t n_heads, const InputRows& x,
                           std::int64_t n, const OutputRows& y) {
    if (!can_read_packed(worker, weight.data, x.data) || !can_read_packed(worker, weight.data, x.data + x.stride) ||
        !can_read_packed(worker, weight.data, x.data + x.head_stride)) {
        return;
    }
    if (n == 1) {
        start_few<2, 1>(worker, weight, n_heads, x, n, y);
    } else if (n == 2) {
        start_few<2, 2>(worker, weight, n_heads, x, n, y);
    } else if (n <= 4) {
        start_few<2, 4>(worker, weight, n_heads, x, n, y);
    } else {
        start_few<4, 8>(worker, weight, n_heads, x, n, y);
    }
}

void multiply_unpacked(Worker& worker, const WeightView& weight, bool transposed, const void* x, std::int64_t n,
                       float* y, void* room) {
    const WeightType type = input_type(worker, weight.type);
    const auto most = static_cast<std::int64_t>(
        unpack_bytes(weight.n_rows, weight.n_cols, transposed, worker.unpacked_bytes) / bytes_per_weight(type));
    // Always whole outputs, so that no sum is split: rows of the weight or, transposed,
    // blocks of its columns.
    if (transposed) {
        std::int64_t at_once = most / weight.n_rows;
        if (at_once < weight.n_cols) at_once = at_once / kPackedBlock * kPackedBlock;
        for (std::int64_t column = 0; column < weight.n_cols; column += at_once) {
            const std::int64_t columns = weight.n_cols - column < at_once ? weight.n_cols - column : at_once;
            unpack(worker, weight, 0, weight.n_rows, column, columns, type, room);
            multiply_many(worker, {room, type, columns, weight.n_rows, columns, true}, x, n, y + column, weight.n_cols);
        }
        return;
    }
    const std::int64_t at_once = most / weight.n_cols;
    for (std::int64_t row = 0; row < weight.n_rows; row += at_once) {
        const std::int64_t rows = weight.n_rows - row < at_once ? weight.n_rows - row : at_once;
        unpack(worker, weight, row, rows, 0, weight.n_cols, type, room);
        multiply_many(worker, {room, type, rows, weight.n_cols, weight.n_cols, false}, x, n, y + row, weight.n_rows);
    }
}

}  // namespace offstage::kernels::cuda
