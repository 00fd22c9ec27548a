#pragma once
// Which kernel multiplies what: the form that the CPU's table (cpu_product_table.h) and
// CUDA's (cuda_product_table.h) share. A row says for which weights, inputs, numbers of
// rows and circumstances a kernel is used; the first row that fits decides. The code that
// multiplies looks its kernel up there and knows no other choice, so that what
// `offstage-cli info` prints is what runs. C++17, because device code includes this.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/formats.h"

namespace offstage::kernels {

enum class ProductOf : std::uint8_t {
    kMatrix,   // one matrix
    kHeads,    // a matrix's rows, those of a head with its own inputs; GPUs only
    kExperts,  // an expert, all of it
    kUp,       // w1 and w3 of experts, a step of a kernel for few rows; GPUs only
    kDown,     // their w2
};

// Weights by their coding: a row has one or more, a product one.
namespace weights {
inline constexpr std::uint8_t kFloats = 1;  // F32, F16
inline constexpr std::uint8_t kBf16 = 2;
inline constexpr std::uint8_t kInt8 = 4;
inline constexpr std::uint8_t kHqq4 = 8;
inline constexpr std::uint8_t kHqq3And2 = 16;
inline constexpr std::uint8_t kBlocks = 32;  // of files
inline constexpr std::uint8_t kPlain = kFloats | kBf16;
inline constexpr std::uint8_t kPacked = kInt8 | kHqq4 | kHqq3And2;
inline constexpr std::uint8_t kCoded = kPacked | kBlocks;
inline constexpr std::uint8_t kAll = kPlain | kCoded;
}  // namespace weights

constexpr std::uint8_t weights_of(WeightType type) {
    if (is_blocks(type)) return weights::kBlocks;
    if (is_plain(type)) return type == WeightType::kBf16 ? weights::kBf16 : weights::kFloats;
    if (type == WeightType::kInt8) return weights::kInt8;
    return traits_of(type).bits == 4 ? weights::kHqq4 : weights::kHqq3And2;
}

enum class ProductInputs : std::uint8_t { kFloat, kBytes, kEither };  // kBytes: rounded to 8 bits

// What must hold besides. Those of the machine come first.
namespace product_needs {
inline constexpr std::uint32_t kLanes16 = 1;       // AVX-512
inline constexpr std::uint32_t kLanes8 = 2;        // AVX2
inline constexpr std::uint32_t kBf16Pairs = 4;     // AVX512_BF16, and products of many rows in bf16
inline constexpr std::uint32_t kNoAmx = 8;         // whose tiles oneDNN uses
inline constexpr std::uint32_t kTensorCores = 16;  // of compute capability 8.0, which multiply bf16
inline constexpr std::uint32_t kNoCublas = 32;
inline constexpr std::uint32_t kCublasServes = 64;    // cuBLAS multiplies weights of this type as they are
inline constexpr std::uint32_t kBf16Widened = 65536;  // AVX2, and products of many rows in float32
inline constexpr std::uint32_t kNoVnni = 131072;      // AVX2 alone, which adds products up in 16 bits
inline constexpr std::uint32_t kOfMachine = 127 | kBf16Widened | kNoVnni;
inline constexpr std::uint32_t kInterleaved = 128;  // rows lie side by side (interleaved.h)
inline constexpr std::uint32_t kByOutputs = 256;    // the rows of w2 are outputs
inline constexpr std::uint32_t kTheta = 512;        // ExpertSpec::theta leaves neurons out
inline constexpr std::uint32_t kNoTheta = 1024;
inline constexpr std::uint32_t kAllNeurons = 2048;  // none is missing
inline constexpr std::uint32_t kAligned = 4096;     // to 16 bytes
inline constexpr std::uint32_t kWhole = 8192;       // columns are a multiple of what a block of threads takes
inline constexpr std::uint32_t kSmall = 16384;      // at most kSmallMatrix weights (cuda/packed_tiles.cuh)
inline constexpr std::uint32_t kGrouped = 32768;    // ops::GroupedExperts: rows are those of the step
}  // namespace product_needs

inline constexpr std::int32_t kAnyRows = INT32_MAX;

template <typename Kernel>
struct ProductRow {
    ProductOf of;
    std::uint8_t weights;
    ProductInputs inputs;
    std::int32_t fewest, most;  // rows of inputs
    std::uint32_t needs;
    Kernel kernel;
};

// A product to look up.
struct ProductCase {
    ProductOf of = ProductOf::kMatrix;
    std::uint8_t weights = 0;
    ProductInputs inputs = ProductInputs::kFloat;
    std::int64_t rows = 0;
    std::uint32_t facts = 0;  // the product_needs that hold

    template <typename Kernel>
    constexpr bool fits(const ProductRow<Kernel>& row) const {
        return row.of == of && (row.weights & weights) != 0 &&
               (row.inputs == inputs || row.inputs == ProductInputs::kEither) && row.fewest <= rows &&
               rows <= row.most && (row.needs & ~facts) == 0;
    }
};

// Precondition: a row fits. tests/kernels/tst_product_table.cpp checks that one does in
// every case.
template <typename Kernel, std::size_t kRows>
constexpr Kernel find_product(const ProductRow<Kernel> (&table)[kRows], const ProductCase& product) {
    for (const ProductRow<Kernel>& row : table) {
        if (product.fits(row)) return row.kernel;
    }
    return table[kRows - 1].kernel;
}

struct KernelName {
    const char* name;
    const char* file;  // from the top of the source tree
};

// A row in words.
struct ProductRowText {
    std::string of;       // "a matrix"
    std::string weights;  // "INT8, HQQ4"
    std::string inputs;   // "float", "8 bits", "float or 8 bits"
    std::int64_t fewest = 0;
    std::int64_t most = 0;  // kAnyRows: no limit
    std::vector<std::string> needs;
    KernelName kernel{};
    std::uint8_t weight_bits = 0;
    std::uint32_t need_bits = 0;
    std::string rows() const;  // "1", "2 to 8", "9 or more"
};
std::vector<ProductRowText> cpu_product_rows();
std::vector<ProductRowText> cuda_product_rows();

}  // namespace offstage::kernels
