// Products of one token's row in one kernel: each block norms the row and rounds or
// splits it for itself, in shared memory, and forms some of the outputs, to which it adds
// the bias, and which it adds to the residual stream. The bits are those of ops::Norm,
// ops::Multiply, ops::AddBias and ops::Add.

#include "kernels/cuda/block_dots.cuh"
#include "kernels/cuda/byte_dots.cuh"
#include "kernels/cuda/decode_kernels.cuh"
#include "kernels/cuda/input_rounding.cuh"
#include "kernels/cuda/row_norm.cuh"
#include "kernels/cuda/split_dots.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kRows = 2;  // of a warp, all of one matrix
constexpr int kMostParts = 3;

struct TokenJob {
    const float* x;
    const float* norm_weight;
    std::int64_t n_columns;
    float eps;
    bool norms;
    bool adds;
    bool staged;  // the kernel has stage_bytes()
    float factor;
    const float* bias;
    float* y;
    std::int64_t n_rows;  // of all parts
    struct Part {
        const unsigned char* data;
        std::int64_t stride;  // bytes
        std::int64_t end;     // its last row's, and one
        WeightType type;
    } parts[kMostParts];

    // Returns their type.
    __device__ WeightType rows_of(std::int64_t first, const unsigned char* (&rows)[kRows]) const {
        int part = 0;
        std::int64_t begin = 0;
        while (first >= parts[part].end) begin = parts[part++].end;
#pragma unroll
        for (int r = 0; r < kRows; ++r) rows[r] = parts[part].data + (first - begin + r) * parts[part].stride;
        return parts[part].type;
    }
    __device__ void store(std::int64_t row, float sum) const {
        if (bias != nullptr) sum += bias[row];
        y[row] = adds ? fmaf(factor, sum, y[row]) : sum;
    }
    // Before wait_for_previous(): `n` rows from `first` on, by a warp.
    __device__ void prefetch(std::int64_t first, int n, int lane) const {
        for (int r = 0; r < n && first + r < n_rows; ++r) {
            int part = 0;
            std::int64_t begin = 0;
            while (first + r >= parts[part].end) begin = parts[part++].end;
            prefetch_row(parts[part].data + (first + r - begin) * parts[part].stride, parts[part].stride, lane);
        }
    }
    // The two lanes that have a sum each.
    __device__ void store_rows(std::int64_t first, int lane, const float (&sums)[kRows][1]) const {
        const float both[kRows] = {warp_sum(sums[0][0]), warp_sum(sums[1][0])};
        if (lane < kRows) store(first + lane, lane == 0 ? both[0] : both[1]);
    }
};

// The row, normed.
struct TokenInputs {
    const float* x;
    const float* weight;
    float factor;
    bool norms;
    __device__ float operator[](std::int64_t i) const { return norms ? normed(x[i], factor, weight, i) : x[i]; }
};

// For the whole block. sums: (kRowWarps) of shared memory, free again at the next
// barrier.
__device__ inline TokenInputs inputs_of(const TokenJob& job, float* sums) {
    return {job.x, job.norm_weight, job.norms ? rms_factor(job.x, job.n_columns, job.eps, sums) : 1.0f, job.norms};
}

__device__ inline std::int64_t first_row_of_warp() {
    return (std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp) * kRows;
}

__device__ inline void begin_token(const TokenJob& job, std::int64_t first, int n, int lane) {
    let_next_begin();
    job.prefetch(first, n, lane);
    wait_for_previous();
}

// Blocks that a multiprocessor has registers for; 0: the compiler chooses, for IQ1_M one
// too many.
template <RowType... kTypes>
constexpr int kRoundedBlocks = ((kTypes == kRowType<WeightType::kIq1M>)&&...) ? 4 : 0;

// kTypes: those of the parts.
template <RowType... kTypes>
__global__ void __launch_bounds__(kThreads, kRoundedBlocks<kTypes...>) multiply_rounded(TokenJob job) {
    float* const sums_of_warps = shared_memory<float>();  // (kRowWarps), then the row and stages
    auto* const row = reinterpret_cast<unsigned char*>(sums_of_warps + kRowWarps);
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    begin_token(job, first_row_of_warp(), kRows, lane);
    const TokenInputs inputs = inputs_of(job, sums_of_warps);
    for (std::int64_t column = threadIdx.x; column < job.n_columns; column += kThreads) {
        store_rounded(inputs[column], column, job.n_columns, row);
    }
    __syncthreads();
    const std::int64_t first = first_row_of_warp();
    if (first >= job.n_rows) return;
    const unsigned char* rows[kRows];
    const WeightType type = job.rows_of(first, rows);
    float sums[kRows][1] = {};
    const auto add_of = [&](auto constant) {
        constexpr WeightType kType = decltype(constant)::value;
        if (sizeof...(kTypes) > 1 && type != kType) return;
        constexpr bool kStages = sizeof...(kTypes) == 1;  // code of both kinds for all types takes too many registers
        unsigned char* const stages =
            kStages ? stages_of_warp<kType, kRows>(job.staged, row + rounded_bytes(job.n_columns)) : nullptr;
        add_byte_rows<kType, kRows, false>(rows, row, job.n_columns, lane, stages, sums);
    };
    (add_of(std::integral_constant<WeightType, static_cast<WeightType>(kTypes)>()), ...);
    job.store_rows(first, lane, sums);
}

// For stage_inputs().
struct StagedToken {
    TokenInputs inputs;
    template <int kInputs>
    __device__ TokenInputs input(int) const {
        return inputs;
    }
};

// kTypes: those of the parts. Of several the compiler would choose a block too many.
template <RowType... kTypes>
__global__ void __launch_bounds__(kThreads, sizeof...(kTypes) > 1 ? 3 : 0) multiply_blocks(TokenJob job) {
    // All inputs are staged with their sums if one type needs them.
    constexpr WeightType kStaged =
        (has_bias(static_cast<WeightType>(kTypes)) || ...) ? WeightType::kQ4K : WeightType::kQ8_0;
    static_assert(has_bias(kStaged) == (has_bias(static_cast<WeightType>(kTypes)) || ...), "see stage_inputs()");
    float* const sums_of_warps = shared_memory<float>();  // (kRowWarps), then a piece of the row
    float* const staged = sums_of_warps + kRowWarps;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    begin_token(job, first_row_of_warp(), kRows, lane);
    const StagedToken token{inputs_of(job, sums_of_warps)};
    const std::int64_t first = first_row_of_warp();
    const bool has_rows = first < job.n_rows;
    const unsigned char* rows[kRows];
    const WeightType type = job.rows_of(has_rows ? first : 0, rows);
    float sums[kRows][1] = {};
    const int n_columns = static_cast<int>(job.n_columns);
    const int at_once = n_columns < kStagedColumns<1> ? n_columns : kStagedColumns<1>;
    for (int column = 0; column < n_columns; column += at_once) {
        const int columns = n_columns - column < at_once ? n_columns - column : at_once;
        if (column > 0) __syncthreads();
        stage_inputs<kStaged, 1>(token, 1, column, columns, staged_stride(at_once), staged);
        __syncthreads();
        if (!has_rows) continue;
        const auto add_of = [&](auto constant) {
            constexpr WeightType kType = decltype(constant)::value;
            if (sizeof...(kTypes) > 1 && type != kType) return;
            add_block_products<kType, kRows, 1>(rows, column / kPartWeights, columns / kPartWeights,
                                                n_columns / kPartWeights, staged, staged_stride(at_once), lane, sums);
        };
        (add_of(std::integral_constant<WeightType, static_cast<WeightType>(kTypes)>()), ...);
    }
    if (has_rows) job.store_rows(first, lane, sums);
}

template <typename T>
__global__ void __launch_bounds__(kThreads) multiply_plain(TokenJob job) {
    float* const sums_of_warps = shared_memory<float>();  // (kRowWarps), then the row
    float* const row = sums_of_warps + kRowWarps;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    begin_token(job, first_row_of_warp(), kRows, lane);
    const TokenInputs inputs = inputs_of(job, sums_of_warps);
    for (std::int64_t column = threadIdx.x; column < job.n_columns; column += kThreads) row[column] = inputs[column];
    __syncthreads();
    const std::int64_t first = first_row_of_warp();
    if (first >= job.n_rows) return;
    const unsigned char* bytes[kRows];
    job.rows_of(first, bytes);
    const T* const rows[kRows] = {reinterpret_cast<const T*>(bytes[0]), reinterpret_cast<const T*>(bytes[1])};
    const float* const all_inputs[1] = {row};
    float sums[kRows][1] = {};
    add_products<T, kRows, 1, true>(rows, all_inputs, job.n_columns, lane, sums);
    job.store_rows(first, lane, sums);
}

// A block forms 16 rows, of one matrix.
template <WeightType kType>
__global__ void __launch_bounds__(kSplitThreads, 3) multiply_split_row(TokenJob job, PackedPlaces places) {
    float* const sums_of_warps = shared_memory<float>();  // (kRowWarps), the sums, then the row
    float* const exchange = sums_of_warps + kRowWarps;
    auto* const row = reinterpret_cast<unsigned char*>(exchange + kSplitSums<1, 1>);
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    constexpr int kRowsOfWarp = kSplitRows / kSplitWarps;
    begin_token(job, std::int64_t{blockIdx.x} * kSplitRows + threadIdx.x / kWarp * kRowsOfWarp, kRowsOfWarp, lane);
    const TokenInputs inputs = inputs_of(job, sums_of_warps);
    for (std::int64_t block = threadIdx.x / kWarp; block < places.n_blocks; block += kSplitWarps) {
        split_block<kType>(inputs, block, job.n_columns, lane, row);
    }
    __syncthreads();
    const std::int64_t first = std::int64_t{blockIdx.x} * kSplitRows;
    const unsigned char* rows[1][2];
    // Beyond the end the last one is taken again and dropped.
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const std::int64_t wanted = first + lane / 4 + 8 * h;
        rows[0][h] = job.parts[0].data + (wanted < job.n_rows ? wanted : job.n_rows - 1) * job.parts[0].stride;
    }
    store_split_sums<kType, 1, 1, false>(rows, places, row, 1, job.n_columns, exchange, nullptr);
    __syncthreads();
    const int r = static_cast<int>(threadIdx.x);
    if (r < kSplitRows && first + r < job.n_rows) job.store(first + r, split_sum<1, 1>(exchange, 0, r, 0));
}

enum class TokenForm : std::uint8_t { kNone, kRounded, kBlocks, kSplit, kPlain };

// Which kernel multiplies a token's row: the first row that fits, as the table of
// products has them for one row (cuda_product_table.h).
struct TokenFormRow {
    std::uint8_t weights;
    bool rounds;
    bool splits;
    std::int64_t row_bytes;  // of shared memory for each input; 0: as many at once as fit
    TokenForm form;
};
constexpr TokenFormRow kTokenForms[] = {
    {weights::kBlocks, true, false, 2, TokenForm::kRounded},
    {weights::kBlocks, false, false, 0, TokenForm::kBlocks},
    {weights::kPacked, false, true, 4, TokenForm::kSplit},
    {weights::kPlain, false, false, 4, TokenForm::kPlain},
};
constexpr std::int64_t kMostRowBytes = 40 * 1024;

TokenForm form_of(const Worker& worker, const WeightView& weight) {
    for (const TokenFormRow& row : kTokenForms) {
        if ((row.weights & weights_of(weight.type)) != 0 && row.rounds == worker.byte_inputs.rounds_few(weight.type) &&
            row.splits == splits_inputs(weight.type, weight.n_cols) && row.row_bytes * weight.n_cols <= kMostRowBytes) {
            return row.form;
        }
    }
    return TokenForm::kNone;
}

// Types that matrices of one layer have together in files; one kernel has all of these.
constexpr WeightType kMixedTypes[] = {WeightType::kQ4K,  WeightType::kQ5K,           WeightType::kQ6K,
                                      WeightType::kQ8_0, laid_out(WeightType::kQ6K), laid_out(WeightType::kQ8_0)};
template <std::size_t... kTypes>
constexpr auto* mixed_kernel(bool rounds, std::index_sequence<kTypes...> /*types*/) {
    return rounds ? multiply_rounded<kRowType<kMixedTypes[kTypes]>...>
                  : multiply_blocks<kRowType<kMixedTypes[kTypes]>...>;
}
bool is_mixed_type(WeightType type) {
    for (const WeightType mixed : kMixedTypes) {
        if (type == mixed) return true;
    }
    return false;
}

// Whether the parts, all of this form, can be multiplied by one kernel.
bool in_one_kernel(const Worker& worker, const TokenProduct& product, TokenForm form) {
    const WeightType first = row_type(worker, product.parts[0]);
    for (int p = 0; p < product.n_parts; ++p) {
        const WeightView& part = product.parts[p];
        const WeightType type = row_type(worker, part);
        const bool same = type == first;
        if (form == TokenForm::kSplit &&
            (product.n_parts > 1 || reinterpret_cast<std::uintptr_t>(part.data) % 8 != 0)) {
            return false;
        }
        if (form != TokenForm::kSplit && part.n_rows % kRows != 0) return false;
        if (form == TokenForm::kPlain &&
            (!same || part.n_cols % kEight != 0 || !is_aligned(part.data) || part.stride_bytes() % 16 != 0)) {
            return false;
        }
        if (is_blocks(part.type) && !same && !(is_mixed_type(type) && is_mixed_type(first))) return false;
    }
    return product.norm.dim == 0 || product.norm.kind == NormKind::kRms;
}

TokenJob job_of(const Worker& worker, const TokenProduct& product) {
    TokenJob job{product.x,
                 product.norm.weight,
                 product.parts[0].n_cols,
                 product.norm.eps,
                 product.norm.dim > 0,
                 product.adds,
                 false,
                 product.factor,
                 product.bias,
                 product.y,
                 0,
                 {}};
    for (int p = 0; p < product.n_parts; ++p) {
        const WeightView& part = product.parts[p];
        job.n_rows += part.n_rows;
        job.parts[p] = {static_cast<const unsigned char*>(part.data), static_cast<std::int64_t>(part.stride_bytes()),
                        job.n_rows, row_type(worker, part)};
    }
    return job;
}

}  // namespace

bool takes_early_edges(int compute_major, int driver_version) {
#if CUDART_VERSION >= 12030
    if (compute_major < 9 || driver_version < 12030) return false;
    cudaFuncAttributes attributes{};
    if (cudaFuncGetAttributes(&attributes, multiply_plain<float>) == cudaSuccess) return attributes.ptxVersion >= 90;
    (void)cudaGetLastError();
#else
    (void)compute_major, (void)driver_version;
#endif
    return false;
}

bool multiply_token(Worker& worker, const TokenProduct& product) {
    const WeightView& first = product.parts[0];
    const TokenForm form = form_of(worker, first);
    bool same_type = true;
    for (int p = 1; p < product.n_parts; ++p) {
        if (form_of(worker, product.parts[p]) != form) return false;
        same_type = same_type && row_type(worker, product.parts[p]) == row_type(worker, first);
    }
    if (form == TokenForm::kNone || !in_one_kernel(worker, product, form)) return false;
    TokenJob job = job_of(worker, product);
    constexpr std::size_t kSums = kRowWarps * sizeof(float);
    const unsigned n_blocks = blocks_for(job.n_rows, kWarps * kRows);
    const bool rounds = form == TokenForm::kRounded;
    const std::int64_t at_once = job.n_columns < kStagedColumns<1> ? job.n_columns : kStagedColumns<1>;
    const auto row_bytes = static_cast<std::size_t>(
        rounds ? rounded_bytes(job.n_columns) : staged_stride(static_cast<int>(at_once)) * std::int64_t{sizeof(float)});
    // `stages`: bytes of shared memory for them.
    const auto blocks = [&](auto* kernel, std::size_t stages) {
        job.staged = stages > 0;
        worker.start_dependent(kernel, n_blocks, kThreads, kSums + row_bytes + stages, job);
    };
    if (form == TokenForm::kSplit) {
        with_packed_type(first.type, [&](auto packed) {
            worker.start_dependent(
                multiply_split_row<decltype(packed)::value>, blocks_for(job.n_rows, kSplitRows), kSplitThreads,
                kSums + kSplitSums<1, 1> * sizeof(float) + static_cast<std::size_t>(split_bytes(job.n_columns)), job,
                places_of(first.type, first.n_cols));
        });
    } else if (form == TokenForm::kPlain) {
        with_type(first.type, [&](auto* type) {
            worker.start_dependent(multiply_plain<ValueOf<decltype(type)>>, n_blocks, kThreads,
                                   kSums + static_cast<std::size_t>(job.n_columns) * sizeof(float), job);
        });
    } else if (same_type) {
        with_row_type(row_type(worker, first), [&](auto type) {
            constexpr WeightType kType = decltype(type)::value;
            blocks(rounds ? multiply_rounded<kRowType<kType>> : multiply_blocks<kRowType<kType>>,
                   rounds ? stage_bytes<kType, kRows>(worker, kWarps, kSums + row_bytes) : 0);
        });
    } else {
        blocks(mixed_kernel(rounds, std::make_index_sequence<std::size(kMixedTypes)>()), 0);
    }
    return true;
}

}  // namespace offstage::kernels::cuda
