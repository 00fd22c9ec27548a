#pragma once
// Products of many tokens with a weight: bf16 rows that are outputs through
// kernels/bf16_products.h where the instruction set has them (pairs: and no tiles, AMX),
// all else through oneDNN. Only this file and gemm.cpp use oneDNN (2.6 in Debian 12, 3.x later).

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/thread_pool.h"
#include "kernels/types.h"

namespace offstage::kernels {

// How the products of a batched multiplication are formed.
enum class GemmMode : std::uint8_t {
    kF32,   // inputs and weights in float32 (16-bit weights widened exactly, packed ones unpacked, panel by panel)
    kBf16,  // inputs and weights rounded to bfloat16, sums in float32
};

std::string_view name_of(GemmMode mode);

// The arithmetic of all products on the CPU.
struct ProductForm {
    GemmMode many = GemmMode::kF32;  // many tokens
    bool byte_inputs = false;        // few tokens with codes (byte_experts.h): CpuKernels::matvec_bytes
    bool byte_prompts = false;       // and of many: then a prompt's products are those of its tokens one by one

    ProductForm() = default;
    ProductForm(GemmMode mode, bool bytes = false) : ProductForm(mode, bytes, bytes) {}
    ProductForm(GemmMode mode, bool few_bytes, bool many_bytes)
        : many(mode), byte_inputs(few_bytes), byte_prompts(many_bytes) {}
    // Whether experts in files' blocks always use products of bytes, for which
    // interleaved rows are better (kernels/interleaved.h).
    bool wants_interleaved() const { return byte_inputs && byte_prompts; }
    bool operator==(const ProductForm&) const = default;
};

std::string name_of(ProductForm form);  // "bf16", "f32 and int8", "bf16, int8 for few tokens"

// The direction in which the weight is stored.
enum class GemmLayout : std::uint8_t {
    kRowsAreOutputs,  // WeightView (n_out, n_in): y[t][o] = sum_i x[t][i] * w[o][i]   (W1, W3, attention, lm_head)
    kRowsAreInputs,   // WeightView (n_in, n_out): y[t][o] = sum_i x[t][i] * w[i][o]   (W2 stored transposed)
};

// Batched product on the compute pool: each thread owns a range of outputs and runs
// oneDNN single-threaded on it, so that oneDNN's OpenMP team never competes with the
// pool. Primitives are cached by shape. Calls come from one thread at a time (the one
// that owns the pool).
class Gemm {
  public:
    explicit Gemm(ThreadPool& pool);
    ~Gemm();
    Gemm(const Gemm&) = delete;
    Gemm& operator=(const Gemm&) = delete;

    // y (n_tokens, n_out) = x (n_tokens, n_in) * weight; strides in elements. y is
    // overwritten. A token's result does not depend on the other tokens, nor on how many
    // there are, bit by bit.
    void multiply(GemmMode mode, GemmLayout layout, const float* x, std::int64_t x_stride, std::int64_t n_tokens,
                  const WeightView& weight, float* y, std::int64_t y_stride);

    // oneDNN's version, e.g. "2.6.3", for logs and reports.
    static std::string_view library_version();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

// Products of typical shapes, for comparing the forms: 64 tokens with 512 outputs of 2048
// bf16 weights, or of weights in Q4_K for inputs of 8 bits; one token with 512 outputs of
// 2048 weights in Q4_K.
enum class TrialProduct : std::uint8_t {
    kManyF32,
    kManyBf16,
    kManyBlocksF32,   // with a file's blocks, unpacked piece by piece
    kManyBlocksBf16,  // the same
    kManyByteInputs,  // with a file's blocks, their rows interleaved
    kFewFloatInputs,
    kFewByteInputs
};

// Threads as Gemm; products with inputs of 8 bits, and of one token, run on the calling
// thread.
class ProductTrial {
  public:
    explicit ProductTrial(ThreadPool& pool);
    ~ProductTrial();
    ProductTrial(const ProductTrial&) = delete;
    ProductTrial& operator=(const ProductTrial&) = delete;

    // Microseconds that it took. The first of a kind takes longer: its primitives are
    // made.
    double run_us(TrialProduct product);

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace offstage::kernels
