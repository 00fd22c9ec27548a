#pragma once
// Shared by the parts of CpuOperations, and private to them: products and experts, and
// their scratch buffers.

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/as_size.h"
#include "engine/device/cpu_operations.h"
#include "kernels/bf16_experts.h"
#include "kernels/byte_experts.h"
#include "kernels/cpu_product_table.h"
#include "kernels/cpu_worker.h"
#include "kernels/ops/operation.h"
#include "kernels/sparse_experts.h"

namespace offstage::engine {

struct CpuOperations::State : kernels::CpuWorker {
    static constexpr std::int64_t kPieceRows = 48;  // of a weight: a piece of a job of several; all grains divide it
    static constexpr std::int64_t kStripRows = 64;  // the same of interleaved rows: an even number of strips

    State(kernels::ThreadPool& compute_pool, kernels::ProductForm product_form)
        : CpuWorker(compute_pool, product_form),
          gemm(compute_pool),
          product_scratch(as_size(compute_pool.n_threads())) {}

    // A product's inputs: rows of values, at most kFewTokens, or the rows rounded
    // (CpuKernels::round_inputs) for products of rounded inputs, any number.
    struct Inputs {
        const float* values = nullptr;
        std::int64_t stride = 0;
        std::int64_t n = 0;
        const std::byte* const* rounded = nullptr;
        kernels::CpuProduct product = kernels::CpuProduct::kMatvec;
    };
    // Rows that one of the kernels for few rows takes, or that is multiplied matrix by
    // matrix in one job with others.
    struct ExpertRows {
        const ExpertCall* call = nullptr;
        kernels::CpuProduct product = kernels::CpuProduct::kExpert;
        const float* inputs = nullptr;
        std::int64_t chunks = 0;       // of neurons
        std::int64_t first_value = 0;  // where its rows begin in those of all: sums of chunks, (chunks, n_rows), or
                                       // activations, single values
        Inputs gate_inputs, up_inputs, down_inputs;  // for matrices multiplied one by one
    };
    // Rows to round, and where to.
    struct Rounding {
        kernels::WeightType type;
        std::int64_t n_cols;
        const float* values;
        std::byte* to;
    };
    struct Piece {
        const ExpertRows* expert;
        std::int64_t begin, end;  // rows of its matrices
    };
    struct Chunk {
        const ExpertRows* expert;
        std::int64_t index;
    };

    // Some neurons and some rows of an expert whose rows are rounded to bytes, or that is
    // in bf16.
    struct RoundedPiece {
        const ExpertCall* call;
        const std::byte* const* inputs;  // the expert's rows, in bytes; nullptr: an expert in bf16
        std::int64_t index, pieces;      // of neurons
        std::int64_t first_row;          // of the expert's rows
        std::int64_t first_partial;      // where its sums begin in those of all experts, in rows; piece 0's are results
    };

    const kernels::ExpertFfnBytes expert_ffn_bytes = kernels::expert_ffn_bytes(kernels.instruction_set);
    const kernels::ExpertFfnBf16 expert_ffn_bf16 = kernels::expert_ffn_bf16(kernels.instruction_set);
    const kernels::ExpertFfnWidened expert_ffn_widened = kernels::expert_ffn_widened(kernels.instruction_set);
    const kernels::SparseExpertFfn sparse_expert_ffn = kernels::sparse_expert_ffn(kernels.instruction_set);
    const kernels::SparseExpertFfnBytes sparse_expert_ffn_bytes =
        kernels::sparse_expert_ffn_bytes(kernels.instruction_set);
    const kernels::ChosenNeuronsOf chosen_neurons = kernels::chosen_neurons(kernels.instruction_set);
    const kernels::ChosenNeuronsOfBytes chosen_neurons_bytes = kernels::chosen_neurons_bytes(kernels.instruction_set);
    kernels::NeuronCounts neurons;
    std::vector<kernels::NeuronCounts> thread_neurons;  // a job's, per thread
    std::vector<std::int64_t> n_chosen;                 // of a piece of an expert's neurons
    kernels::Gemm gemm;
    std::vector<kernels::CpuProduct> products;  // of the calls
    std::vector<ExpertRows> few;
    std::vector<Chunk> chunks;
    std::vector<Piece> pieces;
    std::vector<float> gathered;     // inputs of experts whose tokens do not follow each other
    std::vector<float> partials;     // see ExpertRows
    std::vector<std::byte> rounded;  // see Inputs
    std::vector<const std::byte*> rounded_rows;
    std::vector<Rounding> roundings;
    std::vector<std::int32_t> places;                     // of tokens among those that experts use
    std::vector<std::vector<std::byte>> product_scratch;  // per thread: CpuKernels::matvec_bytes
    std::vector<float> batch_in, batch_gate, batch_up;    // one expert's, matrix by matrix
    std::vector<RoundedPiece> rounded_pieces;
    std::vector<kernels::Bf16> narrow_inputs;  // the tokens from the first to the last of the pieces

    // The rows that kernels take together, of n rows.
    std::int64_t rows_at_once(std::int64_t n) const {
        return order == SumOrder::kAlone ? std::min<std::int64_t>(n, 1) : n;
    }
    // Whether so many rows use the kernels for few rows.
    bool are_few(std::int64_t n) const { return order != SumOrder::kMany && rows_at_once(n) <= kFewTokens; }
    void multiply(const kernels::WeightView& weight, const float* x, std::int64_t n, float* y);
    // Whether inputs of this many rows are rounded for such weights.
    bool rounds_inputs(kernels::WeightType type, std::int64_t n) const {
        return form.byte_inputs && kernels::is_coded(type) && (form.byte_prompts || are_few(n));
    }
    // The number of rows that the table of kernels is asked for (cpu_product_table.h).
    std::int64_t counted(std::int64_t n) const { return are_few(n) ? rows_at_once(n) : std::max(n, kFewTokens + 1); }
    // The kernels for a matrix, or an expert.
    kernels::CpuProduct product_of(kernels::WeightType type, std::int64_t n) const;
    kernels::CpuProduct product_of(const kernels::ExpertLayout& layout, std::int64_t n, bool all_neurons) const;
    kernels::CpuProduct product_of(const ExpertCall& call) const {
        return product_of(call.weights.layout, call.n_rows, call.neurons.empty());
    }
    void round_all();
    // n rows of n_cols values for weights of the type, rounded if the product takes
    // rounded inputs.
    Inputs inputs_for(kernels::WeightType type, std::int64_t n_cols, const float* x, std::int64_t x_stride,
                      std::int64_t n);
    // Scratch memory for products of such weights on any thread.
    void reserve_scratch(std::int64_t n_cols) {
        for (auto& scratch : product_scratch) room(scratch, kernels::byte_product_scratch(n_cols));
    }
    // Rows [begin, end) of the weight.
    void multiply_rows(const kernels::WeightView& weight, const Inputs& x, std::int64_t begin, std::int64_t end,
                       float* y, std::int64_t y_stride, int thread) {
        assert(x.rounded != nullptr || !weight.interleaved);
        switch (x.product) {
            case kernels::CpuProduct::kMatvec:
                multiply_one_by_one(weight, x, begin, end, y, y_stride);
                break;
            case kernels::CpuProduct::kMatvecMulti:
                kernels.matvec_multi(weight, x.values, x.stride, static_cast<int>(x.n), begin, end, y, y_stride);
                break;
            default:  // chooses among the products of rounded inputs, by the same table
                kernels.matvec_bytes(weight, x.rounded, static_cast<int>(x.n), begin, end, y, y_stride,
                                     product_scratch[as_size(thread)].data());
        }
    }
    // Several inputs take turns at rows that stay in a cache, with the bits of one input.
    void multiply_one_by_one(const kernels::WeightView& weight, const Inputs& x, std::int64_t begin, std::int64_t end,
                             float* y, std::int64_t y_stride) const {
        const std::int64_t piece = x.n == 1 ? end - begin : kRowGrain;
        for (; begin < end; begin += piece) {
            for (std::int64_t t = 0; t < x.n; ++t) {
                kernels.matvec(weight, x.values + t * x.stride, begin, std::min(begin + piece, end), y + t * y_stride);
            }
        }
    }
    static std::int64_t piece_rows(const kernels::WeightView& weight) {
        return weight.interleaved ? kStripRows : kPieceRows;
    }
    // Copies the inputs of `few` whose kernels take float32, one after the other.
    void gather_inputs(const float* inputs, const std::int32_t* row_token);
    ExpertRows& add_few(const ExpertCall& call, kernels::CpuProduct product) {
        ExpertRows& expert = few.emplace_back();
        expert.call = &call;
        expert.product = product;
        return expert;
    }
    // Each computes the calls whose entry in `products` is its own.
    void few_rows(kernels::Span<ExpertCall> calls, const float* inputs, const std::int32_t* row_token, float* out);
    void run_neurons(const ExpertRows& expert, std::int64_t begin, std::int64_t end, float* sums, int thread,
                     kernels::NeuronCounts& counts);
    void run_some_neurons(const ExpertRows& expert, std::int64_t begin, std::int64_t end, float* sums, int thread);
    void add_partials(float* out, std::int64_t n_partials, std::int64_t hidden);
    void round_for_first_job(const float* inputs, const std::int32_t* row_token);
    void round_for_second_job(const float* activations);
    void by_outputs(kernels::Span<ExpertCall> calls, const float* inputs, const std::int32_t* row_token, float* out);
    void run_by_outputs(const float* inputs, const std::int32_t* row_token, float* out);
    void by_bf16_rows(kernels::CpuProduct product, kernels::Span<ExpertCall> calls, const float* inputs,
                      const std::int32_t* row_token, float* out);
    void by_bytes(kernels::Span<ExpertCall> calls, const float* inputs, const std::int32_t* row_token, float* out);
    std::int64_t divide(const ExpertCall& call, const std::byte* const* rows, std::int64_t n_partials);
    void add_pieces(std::int64_t n_partials, std::int64_t hidden, float* out);
    // Counts the active neurons, those that are not 0, among n activations of experts
    // that are multiplied matrix by matrix.
    void count_neurons(const kernels::ExpertSpec& spec, const float* activations, std::int64_t n,
                       kernels::NeuronCounts& counts) {
        if (spec.theta == 0) return;
        counts.neurons += static_cast<std::uint64_t>(n);
        counts.active += static_cast<std::uint64_t>(n - std::count(activations, activations + n, 0.0f));
    }
    // Called around a job whose threads count separately.
    void begin_counting() { thread_neurons.assign(as_size(pool.n_threads()), {}); }
    void end_counting() {
        for (const kernels::NeuronCounts& of_thread : thread_neurons) neurons += of_thread;
    }
    void by_matrices(const ExpertCall& call, const float* inputs, const std::int32_t* row_token, float* out);
};

void compute(CpuOperations::State& state, const ops::Multiply& op);        // cpu_products.cpp
void compute(CpuOperations::State& state, const ops::MultiplyHeads& op);   // cpu_products.cpp
void compute(CpuOperations::State& state, const ops::Experts& op);         // cpu_experts.cpp
void compute(CpuOperations::State& state, const ops::ChosenExperts& op);   // cpu_experts.cpp
void compute(CpuOperations::State& state, const ops::GroupedExperts& op);  // cpu_experts.cpp

}  // namespace offstage::engine
