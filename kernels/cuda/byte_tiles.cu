// Many rows of rounded inputs (byte_products.cuh) with files' blocks, on tensor cores. A
// block forms a tile of outputs (output_tiles.cuh), or of w1 and w3 the activations of
// half as many neurons, rounded. It decodes the weights' codes into shared memory, kParts
// parts of each row at a time, and puts the inputs' beside them, while warps that are
// ahead of others multiply what was put there before: each 32 outputs with up to 32
// inputs, a step of 32 columns at a time (16 where scales are of 16 weights), whose sums
// become float32 with the scales of both. Fewer rows are divided among all warps, which
// changes no sum's bits.
//
// One kernel serves all formats: it branches on the format once for kParts parts.
#include "kernels/cuda/blocks.cuh"
#include "kernels/cuda/byte_products.cuh"
#include "kernels/cuda/input_rounding.cuh"
#include "kernels/cuda/output_tiles.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kParts = 4;
constexpr int kStages = 2;
// Words of a row's codes: four lanes' words of eight rows are in 32 banks.
constexpr int kCodeStride = kParts * 4 + 4;
static_assert(kTileRows * kParts == kOutputTileThreads, "a thread puts a part of an input");

struct alignas(8) WeightPart {
    float scale;
    float bias;
};

// Shared memory. Factors of one part of all rows lie together, so that lanes that read
// neighbouring rows use different banks.
struct Stage {
    alignas(16) unsigned codes[kTileOuts][kCodeStride];
    alignas(16) unsigned inputs[kTileRows][kCodeStride];
    alignas(16) WeightPart weight_parts[kParts][kTileOuts];
    alignas(16) InputPart input_parts[kParts][kTileRows];
};

// Of w1 and w3 a block reads kNeurons rows each, 16 in turn, so that a lane has both sums
// of a neuron. Behind the sums its activations lie in the stages' place.
constexpr int kNeurons = kTileOuts / 2;
constexpr int kValueStride = kNeurons + 4;  // lanes that store four rows of eight neurons use 32 banks
static_assert(sizeof(float) * kTileRows * kValueStride <= kStages * sizeof(Stage), "they fit");

// Of a multiprocessor. Those of compute capability 7.5 have shared memory for one.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr int kTileBlocks = 1;
#else
constexpr int kTileBlocks = 2;
#endif

// Whether the two parts of a pair have separate scales.
constexpr bool has_scales_of_16(WeightType type) {
    return type == WeightType::kQ2K || type == WeightType::kQ3K || type == WeightType::kQ6K ||
           type == WeightType::kIq2Xs || type == WeightType::kIq2S || type == WeightType::kIq1M;
}

// A matrix, or w1 and w3.
struct TileMatrix {
    WeightType type;
    bool scales_of_16;
    bool biased;
    std::int64_t offset;

    TileMatrix(const Worker& worker, const TiledMatrix& matrix)
        : type(row_type(worker, {reinterpret_cast<const void*>(static_cast<std::uintptr_t>(matrix.offset)), matrix.type,
                                 matrix.n_rows, matrix.n_columns, static_cast<std::size_t>(matrix.stride)})),
          scales_of_16(has_scales_of_16(matrix.type)),
          biased(has_bias(matrix.type)),
          offset(matrix.offset) {}
};
struct TileJob {
    TileMatrix matrices[2];
    std::int64_t stride;
    std::int64_t n_rows;
    std::int64_t n_columns;
    const unsigned char* rounded;
    const std::int32_t* row_token;
    TiledMatrix matrix;  // without the activations
    float* y;
    Gating gating;
    unsigned char* activations;
    FewCalls list;
};

// The weights' rows of a tile.
struct TileRows {
    const unsigned char* of[2];
    std::int64_t stride;
    int n;  // existing rows of each matrix
};

// Decodes parts first ... of a tile's rows, of both matrices or one of them (0, 1); zeros
// beyond their ends.
template <WeightType kType, bool kUp>
__device__ __noinline__ void decode_weights(const unsigned char* rows, const unsigned char* others, std::int64_t stride,
                                            int n, int n_parts, int first, int which, Stage& stage) {
#pragma unroll
    for (int i = static_cast<int>(threadIdx.x); i < kTileOuts * kParts; i += kOutputTileThreads) {
        const int out = i / kParts;
        const int part = i % kParts;
        const int matrix = kUp ? out / 16 % 2 : 0;
        const int row = kUp ? out / 32 * 16 + out % 16 : out;
        if (which >= 0 && matrix != which) continue;
        RowPart<kType> decoded;
        decoded.clear();
        if (row < n && first + part < n_parts) {
            decoded.load((matrix == 0 ? rows : others) + row * stride, first + part, n_parts);
#pragma unroll
            for (unsigned& word : decoded.words) word = signed_codes<kType>(word);
        }
        *reinterpret_cast<uint4*>(&stage.codes[out][4 * part]) =
            make_uint4(decoded.words[0], decoded.words[1], decoded.words[2], decoded.words[3]);
        stage.weight_parts[part][out] = {decoded.scale, decoded.bias};
    }
}

// Device code cannot call is_blocks().
template <WeightType kType>
constexpr bool kIsBlocks = is_blocks(kType);
template <WeightType kType>
constexpr bool kLaysOut = !row_sections(kType).none();

template <bool kUp, std::size_t... kFormat>
__device__ inline void decode_weights_of(WeightType type, const TileRows& rows, int n_parts, int first, int which,
                                         Stage& stage, std::index_sequence<kFormat...>) {
    const auto try_format = [&](auto format) {
        constexpr WeightType kType = static_cast<WeightType>(decltype(format)::value);
        if constexpr (kIsBlocks<kType>) {
            const auto decode = [&](auto constant) {
                constexpr WeightType kRows = decltype(constant)::value;
                if (type != kRows) return;
                decode_weights<kRows, kUp>(rows.of[0], rows.of[1], rows.stride, rows.n, n_parts, first, which, stage);
            };
            decode(std::integral_constant<WeightType, kType>());
            if constexpr (kLaysOut<kType>) decode(std::integral_constant<WeightType, laid_out(kType)>());
        }
    };
    (try_format(std::integral_constant<std::size_t, kFormat>()), ...);
}

template <bool kUp>
__device__ inline void put_weights(const TileJob& job, const TileRows& rows, int n_parts, int first, Stage& stage) {
    constexpr auto kFormats = std::make_index_sequence<kWeightTypes>();
    const bool one_type = !kUp || job.matrices[0].type == job.matrices[1].type;
    decode_weights_of<kUp>(job.matrices[0].type, rows, n_parts, first, one_type ? -1 : 0, stage, kFormats);
    if (!one_type) decode_weights_of<kUp>(job.matrices[1].type, rows, n_parts, first, 1, stage, kFormats);
}

// The same parts of an input, one by each thread. input_row: below 0 beyond the last.
__device__ inline void put_inputs(const TileJob& job, std::int32_t input_row, int n_parts, int first, Stage& stage) {
    const int row = static_cast<int>(threadIdx.x) / kParts;
    const int part = static_cast<int>(threadIdx.x) % kParts;
    uint4 codes = make_uint4(0, 0, 0, 0);
    InputPart factors = {0.0f, 0};
    if (input_row >= 0 && first + part < n_parts) {
        const unsigned char* const input = job.rounded + input_row * rounded_bytes(job.n_columns);
        codes = reinterpret_cast<const uint4*>(input)[first + part];
        factors = reinterpret_cast<const InputPart*>(input + job.n_columns)[first + part];
    }
    *reinterpret_cast<uint4*>(&stage.inputs[row][4 * part]) = codes;
    stage.input_parts[part][row] = factors;
}

// sums[m] += the products of kSteps parts from `part` on, which have one scale, for
// kFirst <= m < kEnd: outputs first_out + 16 * m ... with inputs first_row ... of the
// stage, 8 * kPieces of them.
template <int kSteps, int kFirst, int kEnd, int kPieces>
__device__ inline void add_parts(const Stage& stage, int part, int first_out, int first_row, const bool (&biased)[2],
                                 WarpSums& sums) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int row = lane / 4;
    const int place = lane % 4;
    const bool any_biased = (kFirst == 0 && biased[0]) || (kEnd == kWarpOuts && biased[1]);
    unsigned a[kWarpOuts][2 * kSteps];
    WeightPart weights[kWarpOuts][2];
#pragma unroll
    for (int m = kFirst; m < kEnd; ++m) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int out = first_out + 16 * m + 8 * h + row;
#pragma unroll
            for (int s = 0; s < kSteps; ++s) a[m][2 * s + h] = stage.codes[out][4 * (part + s) + place];
            weights[m][h] = stage.weight_parts[part][out];
        }
    }
#pragma unroll
    for (int n = 0; n < kPieces; ++n) {
        unsigned b[kSteps];
#pragma unroll
        for (int s = 0; s < kSteps; ++s) b[s] = stage.inputs[first_row + 8 * n + row][4 * (part + s) + place];
        float scales[2];
        float shifts[2] = {};  // biases
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const int input = first_row + 8 * n + 2 * place + i;
            const InputPart factors = stage.input_parts[part][input];
            scales[i] = factors.scale;
            if (!any_biased) continue;
            const int second = kSteps == 2 ? stage.input_parts[part + kSteps - 1][input].sum : 0;
            shifts[i] = factors.scale * static_cast<float>(factors.sum + second);
        }
#pragma unroll
        for (int m = kFirst; m < kEnd; ++m) {
            int products[4] = {};
            multiply_bytes<kSteps>(products, a[m], b);
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                float& sum = sums[m][n][c];
                sum = fmaf(weights[m][c / 2].scale * scales[c % 2], static_cast<float>(products[c]), sum);
                if (biased[m]) sum = fmaf(weights[m][c / 2].bias, shifts[c % 2], sum);
            }
        }
    }
}

template <int kFirst, int kEnd, int kPieces>
__device__ inline void add_pairs(const TileJob& job, const Stage& stage, int first_out, int first_row, WarpSums& sums) {
    const bool biased[2] = {job.matrices[0].biased, job.matrices[1].biased};
#pragma unroll 1
    for (int part = 0; part < kParts; part += 2) {
        if (job.matrices[kFirst].scales_of_16) {
            add_parts<1, kFirst, kEnd, kPieces>(stage, part, first_out, first_row, biased, sums);
            add_parts<1, kFirst, kEnd, kPieces>(stage, part + 1, first_out, first_row, biased, sums);
        } else {
            add_parts<2, kFirst, kEnd, kPieces>(stage, part, first_out, first_row, biased, sums);
        }
    }
}

// The stage's parts; those beyond a row's end add 0.
template <bool kUp, int kPieces>
__device__ inline void add_stage(const TileJob& job, const Stage& stage, int first_out, int first_row, WarpSums& sums) {
    if (kUp && job.matrices[0].scales_of_16 != job.matrices[1].scales_of_16) {
        add_pairs<0, 1, kPieces>(job, stage, first_out, first_row, sums);
        add_pairs<1, 2, kPieces>(job, stage, first_out, first_row, sums);
    } else {
        add_pairs<0, 2, kPieces>(job, stage, first_out, first_row, sums);
    }
}

// The sums of w1 and w3 -> activations, in shared memory and then rounded.
__device__ inline void store_activations(const TileJob& job, const FewCall& call, const OutputTile& place,
                                         const WarpSums& sums) {
    auto* const values = shared_memory<float>();  // (kTileRows, kValueStride)
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    if (place.has_piece()) {
#pragma unroll
        for (int n = 0; n < kWarpRows; ++n) {
            if (n >= place.n_pieces) break;
#pragma unroll
            for (int c = 0; c < 4; ++c) {
                const int neuron = place.warp_out + 8 * (c / 2) + lane / 4;
                const int t = place.warp_row + 8 * n + lane % 4 * 2 + c % 2;
                if (neuron >= place.n_outs) continue;
                values[t * kValueStride + neuron] =
                    job.gating.of(call.weights, place.first_output + neuron, sums[0][n][c], sums[1][n][c]);
            }
        }
    }
    __syncthreads();
    const int n_rows = place.n_rows < kTileRows ? place.n_rows : kTileRows;
    for (int i = OutputTile::warp(); i < n_rows * (kNeurons / kWarp); i += kOutputTileThreads / kWarp) {
        const int t = i / (kNeurons / kWarp);
        const int neuron = i % (kNeurons / kWarp) * kWarp + lane;
        if (neuron >= place.n_outs) continue;  // whole warps: blocks are of 32 weights
        store_rounded(values[t * kValueStride + neuron], place.first_output + neuron, job.n_rows,
                      job.activations + (call.scratch_row + place.first_input + t) * rounded_bytes(job.n_rows));
    }
}

// grid: (outputs, rows, calls).
template <bool kUp>
__global__ void __launch_bounds__(kOutputTileThreads, kTileBlocks) multiply_tiles(TileJob job) {
    auto* const stages = shared_memory<Stage>();  // (kStages)
    const FewCall& call = job.list.call(blockIdx.z);
    OutputTile place(job.n_rows, call, kUp ? kNeurons : kTileOuts);
    if (place.n_rows <= 0) return;  // the whole block
    place.divide_rows();
    const int n_parts = static_cast<int>(job.n_columns / kPartWeights);
    const auto* const weights = static_cast<const unsigned char*>(call.weights) + place.first_output * job.stride;
    const TileRows rows{{weights + job.matrices[0].offset, weights + job.matrices[1].offset}, job.stride, place.n_outs};
    std::int32_t input_row = -1;  // a number takes fewer registers than its address
    const int t = static_cast<int>(threadIdx.x) / kParts;
    if (t < place.n_rows) {
        const int row = place.first_input + t;
        input_row = job.row_token == nullptr ? call.scratch_row + row : job.row_token[call.first_row + row];
    }
    const int first_out = OutputTile::warp() % kOutWarps * (16 * kWarpOuts);

    WarpSums sums = {};
    const int n_stages = (n_parts + kParts - 1) / kParts;
    for (int s = 0; s <= n_stages; ++s) {
        if (s < n_stages) {
            put_inputs(job, input_row, n_parts, s * kParts, stages[s % kStages]);
            put_weights<kUp>(job, rows, n_parts, s * kParts, stages[s % kStages]);
        }
        if (s > 0 && place.has_piece()) {
            const Stage& stage = stages[(s - 1) % kStages];
            if (place.n_pieces == kWarpRows) {
                add_stage<kUp, kWarpRows>(job, stage, first_out, place.warp_row, sums);
            } else if (place.n_pieces == kWarpRows / 2) {
                add_stage<kUp, kWarpRows / 2>(job, stage, first_out, place.warp_row, sums);
            } else {
                add_stage<kUp, kWarpRows / 4>(job, stage, first_out, place.warp_row, sums);
            }
        }
        __syncthreads();
    }
    if constexpr (kUp) {
        store_activations(job, call, place, sums);
    } else if (place.has_piece()) {
        place.store(sums, job.matrix, call, false, job.y);
    }
}

}  // namespace

void byte_tiles(Worker& worker, const TiledMatrix& matrix, const FewCalls& list, const unsigned char* rounded,
                float* y) {
    const TileMatrix both(worker, matrix);
    const TileJob job{{both, both}, matrix.stride, matrix.n_rows, matrix.n_columns, rounded, nullptr, matrix, y,
                      Gating(),     nullptr,       list};
    worker.start(multiply_tiles<false>, output_grid(list, matrix.n_rows), kOutputTileThreads, kStages * sizeof(Stage),
                 job);
}

void byte_up_tiles(Worker& worker, const ExpertLayout& layout, const FewCalls& list, const unsigned char* rounded,
                   const std::int32_t* row_token, unsigned char* activations) {
    const ExpertMatrices matrices(layout);
    const TileMatrix gate(worker, matrices.gate), up(worker, matrices.up);
    const TileJob job{{gate, up},
                      static_cast<std::int64_t>(layout.neuron_bytes()),
                      layout.ffn_dim,
                      layout.hidden_dim,
                      rounded,
                      row_token,
                      TiledMatrix(),
                      nullptr,
                      Gating(layout),
                      activations,
                      list};
    worker.start(multiply_tiles<true>, output_grid(list, layout.ffn_dim, kNeurons), kOutputTileThreads,
                 kStages * sizeof(Stage), job);
}

}  // namespace offstage::kernels::cuda
