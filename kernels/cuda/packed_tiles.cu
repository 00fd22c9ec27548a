// Many rows with packed weights, on tensor cores. A block forms a tile of outputs
// (output_tiles.cuh), kDepth columns at a time: it unpacks those of the weights to bf16
// into shared memory, puts the inputs' beside them, and each warp multiplies 32 outputs
// with 32 inputs. Meanwhile the next columns' bits are loaded into registers.
//
// A weight is unpacked again for every kTileRows inputs. With enough rows for the weight
// unpacked to memory, cuBLAS is faster: see kernels/cuda_product_table.h.
#include "kernels/cuda/output_tiles.cuh"
#include "kernels/cuda/packed.cuh"
#include "kernels/cuda/packed_tiles.cuh"
#include "kernels/cuda/rows_in_lists.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kDepth = kPackedBlock;
// Words of a row, two numbers each: four lanes' words of eight rows are in 32 banks.
constexpr int kStride = kDepth / 2 + 4;

struct Tile {
    alignas(16) unsigned weights[kTileOuts][kStride];
    alignas(16) unsigned inputs[kTileRows][kStride];
};

struct TileProduct {
    FewCalls list;
    TiledMatrix matrix;
    PackedPlaces places;
    std::int64_t n_out;
    std::int64_t n_in;
    const Bf16* inputs;
    float* y;
    bool to_scratch;
};

// A thread's weights of a tile: rows are outputs. Four threads share each row's block.
template <WeightType kType, bool kTransposed>
struct TileWeights {
    static constexpr int kParts = kTileOuts * kLanesPerBlock / kOutputTileThreads;
    Piece<kType> pieces[kParts];

    __device__ static int out(int part) {
        return (static_cast<int>(threadIdx.x) + part * kOutputTileThreads) / kLanesPerBlock;
    }
    __device__ static int quarter() { return static_cast<int>(threadIdx.x) % kLanesPerBlock; }

    // Columns from first_in on of rows first_out ... in `rows`; zeros beyond the matrix.
    __device__ void load(const unsigned char* rows, const TileProduct& job, std::int64_t first_out,
                         std::int64_t first_in) {
#pragma unroll
        for (int p = 0; p < kParts; ++p) {
            const std::int64_t row = first_out + out(p);
            if (row < job.n_out) {
                pieces[p].load(rows + row * job.matrix.stride, job.places, static_cast<int>(first_in / kDepth),
                               quarter());
            } else {
                pieces[p].clear();
            }
        }
    }
    __device__ void unpack(Tile& tile) {
#pragma unroll
        for (int p = 0; p < kParts; ++p) {
            pieces[p].prepare();
#pragma unroll
            for (int k = 0; k < kPiece / kQuad; ++k) {
                float weights[kQuad];
                pieces[p].quad(k, weights);
                uint2 words;
                words.x = pack_bf16(weights[0], weights[1]);
                words.y = pack_bf16(weights[2], weights[3]);
                *reinterpret_cast<uint2*>(&tile.weights[out(p)][Piece<kType>::column(quarter(), k) / 2]) = words;
            }
        }
    }
};

// Rows are inputs, and consecutive weights of a row are outputs: a thread has the same
// piece of two rows, whose numbers are neighbours in the tile.
template <WeightType kType>
struct TileWeights<kType, true> {
    static constexpr int kPairs = kDepth / 2;
    static_assert(kTileOuts / kPackedBlock * kPairs * kLanesPerBlock == kOutputTileThreads,
                  "one piece of two rows for each thread");
    Piece<kType> pieces[2];

    __device__ static int quarter() { return static_cast<int>(threadIdx.x) % kLanesPerBlock; }
    __device__ static int pair() { return static_cast<int>(threadIdx.x) / kLanesPerBlock % kPairs; }
    __device__ static int block() { return static_cast<int>(threadIdx.x) / (kLanesPerBlock * kPairs); }

    __device__ void load(const unsigned char* rows, const TileProduct& job, std::int64_t first_out,
                         std::int64_t first_in) {
        const int its_block = static_cast<int>(first_out / kPackedBlock) + block();
#pragma unroll
        for (int p = 0; p < 2; ++p) {
            const std::int64_t row = first_in + 2 * pair() + p;
            if (row < job.n_in && its_block < job.places.n_blocks) {
                pieces[p].load(rows + row * job.matrix.stride, job.places, its_block, quarter());
            } else {
                pieces[p].clear();
            }
        }
    }
    __device__ void unpack(Tile& tile) {
#pragma unroll
        for (Piece<kType>& piece : pieces) piece.prepare();
#pragma unroll
        for (int k = 0; k < kPiece / kQuad; ++k) {
            float weights[2][kQuad];
#pragma unroll
            for (int p = 0; p < 2; ++p) pieces[p].quad(k, weights[p]);
            const int first = block() * static_cast<int>(kPackedBlock) + Piece<kType>::column(quarter(), k);
#pragma unroll
            for (int j = 0; j < kQuad; ++j) tile.weights[first + j][pair()] = pack_bf16(weights[0][j], weights[1][j]);
        }
    }
};

// The inputs' columns, eight at a time.
struct TileInputs {
    static constexpr int kEights = kDepth / kEight;
    static constexpr int kParts = kTileRows * kEights / kOutputTileThreads;
    uint4 words[kParts];

    __device__ static int row(int part) {
        return (static_cast<int>(threadIdx.x) + part * kOutputTileThreads) / kEights;
    }
    __device__ static int eight() { return static_cast<int>(threadIdx.x) % kEights; }

    __device__ void load(const Bf16* rows, std::int64_t n_in, int n_rows, std::int64_t first_in) {
        const std::int64_t column = first_in + eight() * kEight;
#pragma unroll
        for (int p = 0; p < kParts; ++p) {
            words[p] = make_uint4(0, 0, 0, 0);
            if (row(p) >= n_rows || column >= n_in) continue;
            const Bf16* const from = rows + row(p) * n_in + column;
            if (n_in % kEight == 0) {
                words[p] = *reinterpret_cast<const uint4*>(from);
                continue;
            }
            unsigned all[4] = {};
#pragma unroll
            for (int i = 0; i < kEight; ++i) {
                if (column + i < n_in) all[i / 2] |= static_cast<unsigned>(from[i].bits) << (16 * (i % 2));
            }
            words[p] = make_uint4(all[0], all[1], all[2], all[3]);
        }
    }
    __device__ void store(Tile& tile) const {
#pragma unroll
        for (int p = 0; p < kParts; ++p) *reinterpret_cast<uint4*>(&tile.inputs[row(p)][4 * eight()]) = words[p];
    }
};

// sums += the tile's products of outputs first_out ... with inputs first_row ...
__device__ inline void add_tile(const Tile& tile, int first_out, int first_row, WarpSums& sums) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int row = lane / 4;
    const int place = lane % 4;
#pragma unroll
    for (int step = 0; step < kDepth / 16; ++step) {
        unsigned a[kWarpOuts][4];
#pragma unroll
        for (int m = 0; m < kWarpOuts; ++m) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                a[m][i] = tile.weights[first_out + 16 * m + 8 * (i % 2) + row][8 * step + 4 * (i / 2) + place];
            }
        }
#pragma unroll
        for (int n = 0; n < kWarpRows; ++n) {
            unsigned b[2];
#pragma unroll
            for (int i = 0; i < 2; ++i) b[i] = tile.inputs[first_row + 8 * n + row][8 * step + 4 * i + place];
#pragma unroll
            for (int m = 0; m < kWarpOuts; ++m) multiply_bf16(sums[m][n], a[m], b);
        }
    }
}

// grid: (outputs, rows, calls).
template <WeightType kType, bool kTransposed>
__global__ void __launch_bounds__(kOutputTileThreads, 2) multiply_packed_tiles(TileProduct job) {
    Tile& tile = *shared_memory<Tile>();
    const FewCall& call = job.list.calls[blockIdx.z];
    const OutputTile place(job.n_out, call);
    if (place.n_rows <= 0) return;  // the whole block
    const unsigned char* const rows = static_cast<const unsigned char*>(call.weights) + job.matrix.offset;
    const Bf16* const inputs = job.inputs + (call.scratch_row + place.first_input) * job.n_in;

    TileWeights<kType, kTransposed> tile_weights;
    TileInputs tile_inputs;
    tile_weights.load(rows, job, place.first_output, 0);
    tile_inputs.load(inputs, job.n_in, place.n_rows, 0);
    WarpSums sums = {};
#pragma unroll 1
    for (std::int64_t first = 0; first < job.n_in; first += kDepth) {
        tile_weights.unpack(tile);
        tile_inputs.store(tile);
        __syncthreads();
        if (first + kDepth < job.n_in) {
            tile_weights.load(rows, job, place.first_output, first + kDepth);
            tile_inputs.load(inputs, job.n_in, place.n_rows, first + kDepth);
        }
        if (place.has_piece()) add_tile(tile, place.warp_out, place.warp_row, sums);
        __syncthreads();
    }
    if (place.has_piece()) place.store(sums, job.matrix, call, job.to_scratch, job.y);
}

// Row scratch_row + t of `to` (rows, n_columns) = row row_token[first_row + t] of the
// inputs, of each call. grid: (rows, calls).
__global__ void __launch_bounds__(kOutputTileThreads)
    gather_calls(FewCalls list, const float* inputs, const std::int32_t* row_token, std::int64_t n_columns, Bf16* to) {
    const FewCall& call = list.calls[blockIdx.y];
    const auto t = static_cast<std::int32_t>(blockIdx.x);
    if (t >= call.n_rows) return;
    const std::int64_t row = row_token == nullptr ? call.first_row + t : row_token[call.first_row + t];
    for (std::int64_t i = threadIdx.x; i < n_columns; i += kOutputTileThreads) {
        to[(call.scratch_row + t) * n_columns + i] = narrow<Bf16>(inputs[row * n_columns + i]);
    }
}

void start_gather(Worker& worker, const FewCalls& list, const float* inputs, const std::int32_t* row_token,
                  std::int64_t n_columns, Bf16* to) {
    const dim3 grid(blocks_for(list.most_rows(), 1), static_cast<unsigned>(list.n));
    worker.start(gather_calls, grid, kOutputTileThreads, 0, list, inputs, row_token, n_columns, to);
}

// Rows scratch_row ... of the inputs (rows, matrix.n_in()) -> rows of y.
void start_tiles(Worker& worker, const TiledMatrix& matrix, const FewCalls& list, const Bf16* inputs, bool to_scratch,
                 float* y) {
    const TileProduct job{
        list, matrix, places_of(matrix.type, matrix.n_columns), matrix.n_out(), matrix.n_in(), inputs, y, to_scratch};
    with_packed_type(matrix.type, [&](auto type) {
        constexpr WeightType kType = decltype(type)::value;
        worker.start(matrix.transposed ? multiply_packed_tiles<kType, true> : multiply_packed_tiles<kType, false>,
                     output_grid(list, job.n_out), kOutputTileThreads, sizeof(Tile), job);
    });
}

}  // namespace

void multiply_in_tiles(Worker& worker, const WeightView& weight, const float* x, std::int64_t n, float* y) {
    if (!can_read_packed(worker, weight.data, x)) return;
    worker.scratch.restart();
    std::int64_t most = static_cast<std::int64_t>(worker.scratch.left() / sizeof(Bf16)) / weight.n_cols;
    if (most > kMostRowsOfCall) most = kMostRowsOfCall;
    if (most > n) most = n;
    auto* const converted = most < 1 ? nullptr : worker.scratch.take<Bf16>(most * weight.n_cols);
    if (converted == nullptr) {
        worker.lacks_scratch();
        return;
    }
    const TiledMatrix matrix = tiled_matrix(weight);
    for (std::int64_t first = 0; first < n; first += most) {
        FewCalls list;
        list.n = 1;
        list.calls[0].weights = weight.data;
        list.calls[0].first_row = static_cast<std::int32_t>(first);
        list.calls[0].n_rows = static_cast<std::int32_t>(n - first < most ? n - first : most);
        start_gather(worker, list, x, nullptr, weight.n_cols, converted);
        start_tiles(worker, matrix, list, converted, false, y);
    }
}

void many_rows_in_tiles(Worker& worker, const ExpertLayout& layout, const CudaExpertCall* calls, std::size_t n_calls,
                        const float* inputs, const std::int32_t* row_token, float* out) {
    const auto takes = [&](const CudaExpertCall& call) {
        return many_product(worker, layout, call.n_rows) == CudaProduct::kExpertPackedTiles;
    };
    for (std::size_t c = 0; c < n_calls; ++c) {
        if (takes(calls[c]) && !can_read_packed(worker, calls[c].weights, inputs)) return;
    }
    const ExpertMatrices matrices(layout);
    const std::size_t row_bytes = static_cast<std::size_t>(layout.hidden_dim + layout.ffn_dim) * sizeof(Bf16) +
                                  static_cast<std::size_t>(layout.ffn_dim) * 2 * sizeof(float);
    run_rows_in_lists(worker, calls, n_calls, row_bytes, takes, [&](const FewCalls& list, std::int64_t n_rows) {
        if (list.n == 0) return;
        worker.scratch.restart();
        auto* const x = worker.scratch.take<Bf16>(n_rows * layout.hidden_dim);
        auto* const gate = worker.scratch.take<float>(n_rows * layout.ffn_dim);
        auto* const up = worker.scratch.take<float>(n_rows * layout.ffn_dim);
        auto* const activations = worker.scratch.take<Bf16>(n_rows * layout.ffn_dim);
        start_gather(worker, list, inputs, row_token, layout.hidden_dim, x);
        start_tiles(worker, matrices.gate, list, x, true, gate);
        start_tiles(worker, matrices.up, list, x, true, up);
        activate(worker, layout.spec, gate, up, n_rows * layout.ffn_dim, WeightType::kBf16, activations);
        start_tiles(worker, matrices.down, list, activations, false, out);
    });
}

}  // namespace offstage::kernels::cuda
