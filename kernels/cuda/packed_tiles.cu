// Many rows with packed weights, on tensor cores. A block forms a tile of outputs
// (output_tiles.cuh), kDepth columns at a time.
//
// Where the outputs are rows of the weights, a lane's piece of a row is what it holds of
// an operand, in another order of the columns: it unpacks it to bf16 in registers, and
// reads the inputs in the same order. Each warp multiplies 16 outputs, of one matrix or
// of w1 and w3, with all inputs of the tile, which are copied to shared memory meanwhile.
//
// Where they are columns, the block unpacks the weights into shared memory, puts the
// inputs beside them, and each warp multiplies 32 outputs with 32 inputs. Meanwhile the
// next columns' bits are loaded into registers.
//
// A weight is unpacked again for every kTileRows inputs. With enough rows for the weight
// unpacked to memory, cuBLAS is faster: see kernels/cuda_product_table.h.
#include "kernels/cuda/async_copies.cuh"
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

// A thread's weights of a tile. Rows are inputs, and consecutive weights of a row are
// outputs: a thread has the same piece of two rows, whose numbers are neighbours in the
// tile.
template <WeightType kType>
struct TileWeights {
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
template <WeightType kType>
__global__ void __launch_bounds__(kOutputTileThreads, 2) multiply_packed_tiles(TileProduct job) {
    Tile& tile = *shared_memory<Tile>();
    const FewCall& call = job.list.call(blockIdx.z);
    const OutputTile place(job.n_out, call);
    if (place.n_rows <= 0) return;  // the whole block
    const unsigned char* const rows = static_cast<const unsigned char*>(call.weights) + job.matrix.offset;
    const Bf16* const inputs = job.inputs + (call.scratch_row + place.first_input) * job.n_in;

    TileWeights<kType> tile_weights;
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

// The inputs' columns of a block of weights. The lanes of half a warp read eight bytes
// each, in all banks.
struct InputStage {
    alignas(16) unsigned words[kTileRows][kDepth / 2 + 8];
};
constexpr int kInputStages = 3;

// A matrix, or w1 and w3. Outputs are rows.
struct RowTiles {
    TiledMatrix matrix;
    std::int64_t up_offset = 0;  // w3, from w1
    PackedPlaces places;
    const Bf16* inputs = nullptr;
    // The rows of the inputs are row_token[first_row ...] of a call; nullptr: scratch_row
    // ...
    const std::int32_t* row_token = nullptr;
    float* y = nullptr;  // of a matrix
    bool to_scratch = false;
    Gating gating;
    Bf16* activations = nullptr;  // of w1 and w3: rows scratch_row ... of the calls
    FewCalls list;
};

// A thread's copies of a tile's inputs: eight columns of each 32nd row.
struct TileCopies {
    static constexpr int kChunks = kDepth / kEight;
    static constexpr int kRows = kTileRows * kChunks / kOutputTileThreads;
    std::int32_t rows[kRows];  // of the inputs; numbers take fewer registers than addresses; below 0: zeros

    __device__ static int row(int i) {
        return i * (kOutputTileThreads / kChunks) + static_cast<int>(threadIdx.x) / kChunks;
    }
    __device__ TileCopies(const RowTiles& job, const FewCall& call, const OutputTile& place) {
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
            const int its = place.first_input + row(i);
            rows[i] = row(i) >= place.n_rows     ? -1
                      : job.row_token == nullptr ? call.scratch_row + its
                                                 : job.row_token[call.first_row + its];
        }
    }
    // Columns kDepth * s ...
    __device__ void begin(AsyncCopies& copies, const Bf16* inputs, std::int64_t n_in, int s, InputStage& stage) const {
        const int chunk = static_cast<int>(threadIdx.x) % kChunks;
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
            const std::int64_t number = rows[i] < 0 ? 0 : rows[i];
            const Bf16* const from = inputs + number * n_in + s * kDepth + chunk * kEight;
            copies.copy(&stage.words[row(i)][4 * chunk], from, rows[i] < 0 ? 0 : static_cast<int>(sizeof(uint4)));
        }
    }
};

// grid: (outputs, rows, calls).
template <WeightType kType, int kMatrices>
__global__ void __launch_bounds__(kOutputTileThreads, kMatrices == 1 ? 2 : 1) multiply_row_tiles(RowTiles job) {
    constexpr int kPieces = kTileRows / 8;             // of eight inputs
    auto* const stages = shared_memory<InputStage>();  // (kInputStages)
    const FewCall& call = job.list.call(blockIdx.z);
    const std::int64_t n_out = job.matrix.n_rows;
    const std::int64_t n_in = job.matrix.n_columns;
    const OutputTile place(n_out, call);
    if (place.n_rows <= 0) return;  // the whole block
    const int n_pieces = place.n_rows < kTileRows ? (place.n_rows + 7) / 8 : kPieces;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const std::int64_t first_out = place.first_output + 16 * OutputTile::warp() + lane / 4;
    const unsigned char* rows[kMatrices][2];
    // Beyond the end the last one is taken again and dropped.
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const std::int64_t out = first_out + 8 * h < n_out ? first_out + 8 * h : n_out - 1;
        rows[0][h] = static_cast<const unsigned char*>(call.weights) + job.matrix.offset + out * job.matrix.stride;
        if constexpr (kMatrices == 2) rows[1][h] = rows[0][h] + job.up_offset;
    }
    const int n_blocks = job.places.n_blocks;
    const TileCopies inputs(job, call, place);
    AsyncCopies copies;
    const auto begin = [&](int s) {
        if (s < n_blocks) inputs.begin(copies, job.inputs, n_in, s, stages[s % kInputStages]);
        copies.commit();
    };
    Piece<kType> next[kMatrices][2];
    const auto load = [&](int s) {
#pragma unroll
        for (int m = 0; m < kMatrices; ++m) {
#pragma unroll
            for (int h = 0; h < 2; ++h) next[m][h].load(rows[m][h], job.places, s, lane % 4);
        }
    };
    load(0);
    for (int s = 0; s + 1 < kInputStages; ++s) begin(s);
    float sums[kMatrices][kPieces][4] = {};
#pragma unroll 1
    for (int s = 0; s < n_blocks; ++s) {
        copies.template wait<kInputStages - 2>();
        __syncthreads();  // the stage is there, and all have read the one before
        begin(s + kInputStages - 1);
        const InputStage& stage = stages[s % kInputStages];
        Piece<kType> pieces[kMatrices][2];
#pragma unroll
        for (int m = 0; m < kMatrices; ++m) {
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                pieces[m][h] = next[m][h];
                pieces[m][h].prepare();
            }
        }
        if (s + 1 < n_blocks) load(s + 1);
#pragma unroll
        for (int k = 0; k < kPiece / kQuad; ++k) {
            unsigned a[kMatrices][4];
#pragma unroll
            for (int m = 0; m < kMatrices; ++m) {
#pragma unroll
                for (int h = 0; h < 2; ++h) {
                    float weights[kQuad];
                    pieces[m][h].quad(k, weights);
                    a[m][h] = pack_bf16(weights[0], weights[1]);
                    a[m][2 + h] = pack_bf16(weights[2], weights[3]);
                }
            }
            const int word = Piece<kType>::column(lane % 4, k) / 2;
#pragma unroll
            for (int n = 0; n < kPieces; ++n) {
                if (n >= n_pieces) break;
                const uint2 both = *reinterpret_cast<const uint2*>(&stage.words[8 * n + lane / 4][word]);
                const unsigned b[2] = {both.x, both.y};
#pragma unroll
                for (int m = 0; m < kMatrices; ++m) multiply_bf16(sums[m][n], a[m], b);
            }
        }
    }
    const auto* const biases =
        reinterpret_cast<const float*>(static_cast<const unsigned char*>(call.weights) + job.matrix.bias_offset);
#pragma unroll
    for (int n = 0; n < kPieces; ++n) {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            const std::int64_t out = first_out + 8 * (c / 2);
            const int t = 8 * n + lane % 4 * 2 + c % 2;
            if (out >= n_out || t >= place.n_rows) continue;
            const std::int64_t row = place.first_input + t;
            if constexpr (kMatrices == 2) {
                const float value = job.gating.of(call.weights, out, sums[0][n][c], sums[1][n][c]);
                job.activations[(call.scratch_row + row) * n_out + out] = narrow<Bf16>(value);
            } else {
                const float sum = job.matrix.bias_offset >= 0 ? sums[0][n][c] + biases[out] : sums[0][n][c];
                job.y[((job.to_scratch ? call.scratch_row : call.first_row) + row) * n_out + out] = sum;
            }
        }
    }
}

// Row scratch_row + t of `to` (rows, n_columns) = row row_token[first_row + t] of the
// inputs, of each call. grid: (rows, calls).
__global__ void __launch_bounds__(kOutputTileThreads)
    gather_calls(FewCalls list, const float* inputs, const std::int32_t* row_token, std::int64_t n_columns, Bf16* to) {
    const FewCall& call = list.call(blockIdx.y);
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

template <int kMatrices>
void start_row_tiles(Worker& worker, const RowTiles& job) {
    with_packed_type(job.matrix.type, [&](auto type) {
        worker.start(multiply_row_tiles<decltype(type)::value, kMatrices>, output_grid(job.list, job.matrix.n_rows),
                     kOutputTileThreads, kInputStages * sizeof(InputStage), job);
    });
}

// Rows scratch_row ... of the inputs (rows, matrix.n_in()) -> rows of y.
void start_tiles(Worker& worker, const TiledMatrix& matrix, const FewCalls& list, const Bf16* inputs, bool to_scratch,
                 float* y) {
    const PackedPlaces places = places_of(matrix.type, matrix.n_columns);
    if (!matrix.transposed) {
        RowTiles job;
        job.matrix = matrix;
        job.places = places;
        job.inputs = inputs;
        job.y = y;
        job.to_scratch = to_scratch;
        job.list = list;
        start_row_tiles<1>(worker, job);
        return;
    }
    const TileProduct job{list, matrix, places, matrix.n_out(), matrix.n_in(), inputs, y, to_scratch};
    with_packed_type(matrix.type, [&](auto type) {
        worker.start(multiply_packed_tiles<decltype(type)::value>, output_grid(list, job.n_out), kOutputTileThreads,
                     sizeof(Tile), job);
    });
}

// The activations of w1 and w3, of one type.
void start_up_tiles(Worker& worker, const ExpertLayout& layout, const ExpertMatrices& matrices, const FewCalls& list,
                    const Bf16* inputs, const std::int32_t* row_token, Bf16* activations) {
    RowTiles job;
    job.matrix = matrices.gate;
    job.up_offset = matrices.up.offset - matrices.gate.offset;
    job.places = places_of(layout.gate, layout.hidden_dim);
    job.inputs = inputs;
    job.row_token = row_token;
    job.gating = Gating(layout);
    job.activations = activations;
    job.list = list;
    start_row_tiles<2>(worker, job);
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
    const bool together = layout.gate == layout.up;
    const std::size_t row_bytes = static_cast<std::size_t>(layout.hidden_dim + layout.ffn_dim) * sizeof(Bf16) +
                                  static_cast<std::size_t>(together ? 0 : layout.ffn_dim) * 2 * sizeof(float);
    run_rows_in_lists(worker, calls, n_calls, row_bytes, takes, [&](const FewCalls& list, std::int64_t n_rows) {
        if (list.n == 0) return;
        worker.scratch.restart();
        auto* const x = worker.scratch.take<Bf16>(n_rows * layout.hidden_dim);
        auto* const activations = worker.scratch.take<Bf16>(n_rows * layout.ffn_dim);
        start_gather(worker, list, inputs, row_token, layout.hidden_dim, x);
        if (together) {
            start_up_tiles(worker, layout, matrices, list, x, nullptr, activations);
        } else {
            auto* const gate = worker.scratch.take<float>(n_rows * layout.ffn_dim);
            auto* const up = worker.scratch.take<float>(n_rows * layout.ffn_dim);
            start_tiles(worker, matrices.gate, list, x, true, gate);
            start_tiles(worker, matrices.up, list, x, true, up);
            activate(worker, layout.spec, gate, up, n_rows * layout.ffn_dim, WeightType::kBf16, activations);
        }
        start_tiles(worker, matrices.down, list, activations, false, out);
    });
}

void groups_in_tiles(Worker& worker, const ExpertLayout& layout, const FewCalls& tiles, const float* inputs,
                     std::int64_t n_tokens, const std::int32_t* row_token, Bf16* converted, Bf16* activations,
                     float* out) {
    start_gather(worker, all_rows(n_tokens), inputs, nullptr, layout.hidden_dim, converted);
    const ExpertMatrices matrices(layout);
    start_up_tiles(worker, layout, matrices, tiles, converted, row_token, activations);
    start_tiles(worker, matrices.down, tiles, activations, false, out);
}

}  // namespace offstage::kernels::cuda
