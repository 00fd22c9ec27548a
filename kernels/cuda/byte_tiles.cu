// Many rows of rounded inputs (byte_products.cuh) with files' blocks, on tensor cores. A
// block forms a tile of outputs (output_tiles.cuh). It decodes the weights' codes into
// shared memory, kParts parts of each row at a time, and puts the inputs' beside them;
// each warp multiplies 32 outputs with 32 inputs, a step of 32 columns at a time (16
// where scales are of 16 weights), whose sums become float32 with the scales of both.
//
// One kernel serves all formats: it branches on the format once for kParts parts.
#include "kernels/cuda/blocks.cuh"
#include "kernels/cuda/byte_products.cuh"
#include "kernels/cuda/output_tiles.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kParts = 8;
// Words of a row's codes: four lanes' words of eight rows are in 32 banks.
constexpr int kCodeStride = kParts * 4 + 4;

struct alignas(8) WeightPart {
    float scale;
    float bias;
};

// Shared memory of a tile. Factors of one part of all rows lie together, so that lanes
// that read neighbouring rows use different banks.
struct Tile {
    alignas(16) unsigned codes[kTileOuts][kCodeStride];
    alignas(16) unsigned inputs[kTileRows][kCodeStride];
    alignas(16) WeightPart weight_parts[kParts][kTileOuts];
    alignas(16) InputPart input_parts[kParts][kTileRows];
};

// Whether the two parts of a pair have separate scales.
constexpr bool has_scales_of_16(WeightType type) {
    return type == WeightType::kQ2K || type == WeightType::kQ3K || type == WeightType::kQ6K ||
           type == WeightType::kIq2Xs || type == WeightType::kIq2S || type == WeightType::kIq1M;
}

struct TileJob {
    FewCalls list;
    TiledMatrix matrix;
    const unsigned char* rounded;
    float* y;
    bool to_scratch;
    bool scales_of_16;
};

// Decodes parts first ... of rows first_out ... of the matrix; zeros beyond their ends.
template <WeightType kType>
__device__ __noinline__ void decode_weights(const unsigned char* rows, std::int64_t stride, int n_outs, int n_parts,
                                            int first, Tile& tile) {
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < kTileOuts * kParts; i += kOutputTileThreads) {
        const int out = i / kParts;
        const int part = i % kParts;
        RowPart<kType> decoded;
        decoded.clear();
        if (out < n_outs && first + part < n_parts) {
            decoded.load(rows + out * stride, first + part);
#pragma unroll
            for (unsigned& word : decoded.words) word = signed_codes<kType>(word);
        }
        *reinterpret_cast<uint4*>(&tile.codes[out][4 * part]) =
            make_uint4(decoded.words[0], decoded.words[1], decoded.words[2], decoded.words[3]);
        tile.weight_parts[part][out] = {decoded.scale, decoded.bias};
    }
}

// Device code cannot call is_blocks().
template <WeightType kType>
constexpr bool kIsBlocks = is_blocks(kType);

template <std::size_t... kFormat>
__device__ inline void decode_weights_of(WeightType type, const unsigned char* rows, std::int64_t stride, int n_outs,
                                         int n_parts, int first, Tile& tile, std::index_sequence<kFormat...>) {
    const auto try_format = [&](auto format) {
        constexpr WeightType kType = static_cast<WeightType>(decltype(format)::value);
        if constexpr (kIsBlocks<kType>) {
            if (type == kType) decode_weights<kType>(rows, stride, n_outs, n_parts, first, tile);
        }
    };
    (try_format(std::integral_constant<std::size_t, kFormat>()), ...);
}

// n_rows inputs from `rows` on, the same parts.
__device__ inline void load_inputs(const unsigned char* rows, std::int64_t n_columns, int n_rows, int n_parts,
                                   int first, Tile& tile) {
    const std::int64_t row_bytes = rounded_bytes(n_columns);
    for (int i = static_cast<int>(threadIdx.x); i < kTileRows * kParts; i += kOutputTileThreads) {
        const int row = i / kParts;
        const int part = i % kParts;
        uint4 codes = make_uint4(0, 0, 0, 0);
        InputPart factors = {0.0f, 0};
        if (row < n_rows && first + part < n_parts) {
            const unsigned char* const input = rows + row * row_bytes;
            codes = reinterpret_cast<const uint4*>(input)[first + part];
            factors = reinterpret_cast<const InputPart*>(input + n_columns)[first + part];
        }
        *reinterpret_cast<uint4*>(&tile.inputs[row][4 * part]) = codes;
        tile.input_parts[part][row] = factors;
    }
}

// sums += the products of kSteps parts from `part` on, which have one scale: outputs
// first_out ... with inputs first_row ... of the tile.
template <int kSteps>
__device__ inline void add_parts(const Tile& tile, int part, int first_out, int first_row, bool biased,
                                 WarpSums& sums) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int row = lane / 4;
    const int place = lane % 4;
    unsigned a[kWarpOuts][2 * kSteps];
    WeightPart weights[kWarpOuts][2];
#pragma unroll
    for (int m = 0; m < kWarpOuts; ++m) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int out = first_out + 16 * m + 8 * h + row;
#pragma unroll
            for (int s = 0; s < kSteps; ++s) a[m][2 * s + h] = tile.codes[out][4 * (part + s) + place];
            weights[m][h] = tile.weight_parts[part][out];
        }
    }
#pragma unroll
    for (int n = 0; n < kWarpRows; ++n) {
        unsigned b[kSteps];
#pragma unroll
        for (int s = 0; s < kSteps; ++s) b[s] = tile.inputs[first_row + 8 * n + row][4 * (part + s) + place];
        float scales[2];
        float shifts[2] = {};  // biases
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int input = first_row + 8 * n + 2 * place + i;
            const InputPart factors = tile.input_parts[part][input];
            scales[i] = factors.scale;
            if (!biased) continue;
            const int second = kSteps == 2 ? tile.input_parts[part + kSteps - 1][input].sum : 0;
            shifts[i] = factors.scale * static_cast<float>(factors.sum + second);
        }
#pragma unroll
        for (int m = 0; m < kWarpOuts; ++m) {
            int products[4] = {};
            multiply_bytes<kSteps>(products, a[m], b);
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                float& sum = sums[m][n][c];
                sum = fmaf(weights[m][c / 2].scale * scales[c % 2], static_cast<float>(products[c]), sum);
                if (biased) sum = fmaf(weights[m][c / 2].bias, shifts[c % 2], sum);
            }
        }
    }
}

// grid: (outputs, rows, calls).
__global__ void __launch_bounds__(kOutputTileThreads, 2) multiply_tiles(TileJob job) {
    Tile& tile = *shared_memory<Tile>();
    const FewCall& call = job.list.calls[blockIdx.z];
    const TiledMatrix& matrix = job.matrix;
    const OutputTile place(matrix.n_rows, call);
    if (place.n_rows <= 0) return;  // the whole block
    const int n_parts = static_cast<int>(matrix.n_columns / kPartWeights);
    const unsigned char* const rows =
        static_cast<const unsigned char*>(call.weights) + matrix.offset + place.first_output * matrix.stride;
    const unsigned char* const inputs =
        job.rounded + (call.scratch_row + place.first_input) * rounded_bytes(matrix.n_columns);
    const bool biased = has_bias(matrix.type);
    const bool has_piece = place.has_piece();

    WarpSums sums = {};
    for (int first = 0; first < n_parts; first += kParts) {
        if (first > 0) __syncthreads();
        decode_weights_of(matrix.type, rows, matrix.stride, place.n_outs, n_parts, first, tile,
                          std::make_index_sequence<kWeightTypes>());
        load_inputs(inputs, matrix.n_columns, place.n_rows, n_parts, first, tile);
        __syncthreads();
        if (!has_piece) continue;
#pragma unroll 1
        for (int part = 0; part < kParts && first + part < n_parts; part += 2) {
            if (job.scales_of_16) {
                add_parts<1>(tile, part, place.warp_out, place.warp_row, biased, sums);
                add_parts<1>(tile, part + 1, place.warp_out, place.warp_row, biased, sums);
            } else {
                add_parts<2>(tile, part, place.warp_out, place.warp_row, biased, sums);
            }
        }
    }
    if (has_piece) place.store(sums, matrix, call, job.to_scratch, job.y);
}

}  // namespace

void byte_tiles(Worker& worker, const TiledMatrix& matrix, const FewCalls& list, const unsigned char* rounded,
                bool to_scratch, float* y) {
    const TileJob job{list, matrix, rounded, y, to_scratch, has_scales_of_16(matrix.type)};
    worker.start(multiply_tiles, output_grid(list, matrix.n_rows), kOutputTileThreads, sizeof(Tile), job);
}

}  // namespace offstage::kernels::cuda
