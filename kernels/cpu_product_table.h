#pragma once
// Which kernel multiplies what on the CPU (kernels/product_table.h).

#include "kernels/product_table.h"

namespace offstage::kernels {

enum class CpuProduct : std::uint8_t {
    kMatvec,
    kMatvecMulti,
    kBf16Pairs,
    kBf16Widened,
    kOneDnn,
    kQuantizedRows,
    kQuantizedStrips,
    kQuantizedPanels,
    kQuantizedScalar,
    kExpertsByOutputs,
    kExpertBf16Pairs,
    kExpertBf16Widened,
    kQuantizedExpertTiles,
    kQuantizedSparseExpert,
    kQuantizedExpert,
    kSparseExpert,
    kExpert,
    kExpertByMatrices,
};

// In the order of CpuProduct.
inline constexpr KernelName kCpuKernels[] = {
    {"matvec", "kernels/cpu/matvec_simd.cpp"},
    {"matvec_multi", "kernels/cpu/matvec_simd.cpp"},
    {"dot products of pairs of bf16", "kernels/cpu/bf16_products_avx512_bf16.cpp"},
    {"dot products of bf16 with float32", "kernels/cpu/bf16_products_avx2.cpp"},
    {"oneDNN, weights unpacked piece by piece", "kernels/gemm.cpp"},
    {"dot products of rows as they lie", "kernels/cpu/quantized_row_dots_simd.h"},
    {"dot products of 16 rows side by side", "kernels/cpu/quantized_strip_dots_simd.h"},
    {"panels of unpacked rows", "kernels/cpu/quantized_panel_dots_simd.h"},
    {"dot products row by row", "kernels/cpu/quantized_dots_scalar.cpp"},
    {"all experts matrix by matrix, in two jobs", "engine/device/cpu_experts_by_outputs.cpp"},
    {"expert_ffn_bf16, pairs of bf16", "kernels/cpu/expert_ffn_avx512_bf16.cpp"},
    {"expert_ffn_widened, bf16 with float32", "kernels/cpu/expert_ffn_avx2.cpp"},
    {"expert_ffn_bytes, tiles of 64 neurons", "kernels/cpu/quantized_experts_simd.cpp"},
    {"sparse_expert_ffn_bytes", "kernels/cpu/quantized_sparse_experts_simd.cpp"},
    {"expert_ffn_bytes, 16 neurons at a time", "kernels/cpu/quantized_experts_simd.cpp"},
    {"sparse_expert_ffn", "kernels/cpu/sparse_experts_simd.cpp"},
    {"expert_ffn", "kernels/cpu/expert_ffn_simd.cpp"},
    {"matrix by matrix", "engine/device/cpu_experts.cpp"},
};

// Up to so many rows the CPU's kernels for few are used, where sums may depend on the
// number of rows (SumOrder::kByNumber); otherwise every number counts as more.
inline constexpr std::int32_t kFewCpuRows = 8;
// expert_ffn_bytes() takes up to so many rows 16 neurons at a time.
inline constexpr std::int32_t kFewByteExpertTokens = 4;

inline constexpr ProductRow<CpuProduct> kCpuProducts[] = {
    // Panels pay for unpacking from so many rows on. With 16 lanes strips are always
    // faster; with eight the registers hold too few codes.
    {ProductOf::kMatrix, weights::kBlocks, ProductInputs::kBytes, 1, kAnyRows,
     product_needs::kLanes16 | product_needs::kInterleaved, CpuProduct::kQuantizedStrips},
    {ProductOf::kMatrix, weights::kCoded, ProductInputs::kBytes, 8, kAnyRows,
     product_needs::kLanes8 | product_needs::kNoVnni, CpuProduct::kQuantizedPanels},
    {ProductOf::kMatrix, weights::kBlocks, ProductInputs::kBytes, 1, 12,
     product_needs::kLanes8 | product_needs::kInterleaved, CpuProduct::kQuantizedStrips},
    {ProductOf::kMatrix, weights::kInt8 | weights::kHqq4, ProductInputs::kBytes, 1, 4, product_needs::kLanes16,
     CpuProduct::kQuantizedRows},
    {ProductOf::kMatrix, weights::kHqq3And2 | weights::kBlocks, ProductInputs::kBytes, 1, 8, product_needs::kLanes16,
     CpuProduct::kQuantizedRows},
    {ProductOf::kMatrix, weights::kCoded, ProductInputs::kBytes, 5, kAnyRows, product_needs::kLanes16,
     CpuProduct::kQuantizedPanels},
    {ProductOf::kMatrix, weights::kBlocks, ProductInputs::kBytes, 13, kAnyRows,
     product_needs::kLanes8 | product_needs::kInterleaved, CpuProduct::kQuantizedPanels},
    {ProductOf::kMatrix, weights::kCoded, ProductInputs::kBytes, 1, 16, product_needs::kLanes8,
     CpuProduct::kQuantizedRows},
    {ProductOf::kMatrix, weights::kCoded, ProductInputs::kBytes, 17, kAnyRows, product_needs::kLanes8,
     CpuProduct::kQuantizedPanels},
    {ProductOf::kMatrix, weights::kCoded, ProductInputs::kBytes, 1, kAnyRows, 0, CpuProduct::kQuantizedScalar},
    {ProductOf::kMatrix, weights::kAll, ProductInputs::kFloat, 1, 1, 0, CpuProduct::kMatvec},
    {ProductOf::kMatrix, weights::kAll, ProductInputs::kFloat, 2, kFewCpuRows, 0, CpuProduct::kMatvecMulti},
    {ProductOf::kMatrix, weights::kBf16, ProductInputs::kFloat, kFewCpuRows + 1, kAnyRows,
     product_needs::kBf16Pairs | product_needs::kNoAmx, CpuProduct::kBf16Pairs},
    {ProductOf::kMatrix, weights::kBf16, ProductInputs::kFloat, kFewCpuRows + 1, kAnyRows, product_needs::kBf16Widened,
     CpuProduct::kBf16Widened},
    {ProductOf::kMatrix, weights::kAll, ProductInputs::kFloat, kFewCpuRows + 1, kAnyRows, 0, CpuProduct::kOneDnn},

    {ProductOf::kExperts, weights::kAll, ProductInputs::kEither, 1, kFewCpuRows, product_needs::kByOutputs,
     CpuProduct::kExpertsByOutputs},
    {ProductOf::kExperts, weights::kAll, ProductInputs::kBytes, kFewCpuRows + 1, kAnyRows, product_needs::kByOutputs,
     CpuProduct::kExpertsByOutputs},
    // A single row keeps its inputs in float32, and the kernels for few rows do not read
    // neurons that these leave out.
    {ProductOf::kExperts, weights::kBf16, ProductInputs::kFloat, 2, kFewCpuRows,
     product_needs::kBf16Pairs | product_needs::kAllNeurons | product_needs::kNoTheta, CpuProduct::kExpertBf16Pairs},
    {ProductOf::kExperts, weights::kBf16, ProductInputs::kFloat, kFewCpuRows + 1, kAnyRows,
     product_needs::kBf16Pairs | product_needs::kAllNeurons, CpuProduct::kExpertBf16Pairs},
    {ProductOf::kExperts, weights::kBf16, ProductInputs::kFloat, 3, kAnyRows,
     product_needs::kBf16Widened | product_needs::kAllNeurons | product_needs::kNoTheta,
     CpuProduct::kExpertBf16Widened},
    {ProductOf::kExperts, weights::kPacked, ProductInputs::kBytes, kFewByteExpertTokens + 1, kAnyRows,
     product_needs::kAllNeurons | product_needs::kNoTheta, CpuProduct::kQuantizedExpertTiles},
    {ProductOf::kExperts, weights::kPacked, ProductInputs::kBytes, 1, kFewCpuRows, product_needs::kTheta,
     CpuProduct::kQuantizedSparseExpert},
    {ProductOf::kExperts, weights::kPacked, ProductInputs::kBytes, 1, kFewCpuRows, 0, CpuProduct::kQuantizedExpert},
    {ProductOf::kExperts, weights::kAll, ProductInputs::kFloat, 1, kFewCpuRows, product_needs::kTheta,
     CpuProduct::kSparseExpert},
    {ProductOf::kExperts, weights::kAll, ProductInputs::kFloat, 1, kFewCpuRows, 0, CpuProduct::kExpert},
    {ProductOf::kExperts, weights::kAll, ProductInputs::kEither, 1, kAnyRows, 0, CpuProduct::kExpertByMatrices},
};

constexpr CpuProduct find_cpu_product(const ProductCase& product) {
    return find_product(kCpuProducts, product);
}

enum class InstructionSet : std::uint8_t;
// What holds on this machine with the set's kernels (product_needs::kOfMachine).
std::uint32_t product_facts(InstructionSet set);

}  // namespace offstage::kernels
