#pragma once
// Which kernel multiplies what on a GPU (kernels/product_table.h). C++17.

#include "kernels/product_table.h"

namespace offstage::kernels {

enum class CudaProduct : std::uint8_t {
    kByteRows,
    kByteTiles,
    kPackedTiles,
    kSplitRows,
    kTensorCoreRows,
    kPlainRows,
    kPackedRows,
    kBlockRows,
    kCublas,
    kUnpacked,
    kFloatTiles,
    kByteUp,
    kSplitUp,
    kPackedUp,
    kBlockUp,
    kTensorCoreUp,
    kPlainUp,
    kByteDown,
    kBlockDown,
    kHeadsDown,
    kTensorCoreDown,
    kPackedDown,
    kPlainDown,
    kExpertByteTiles,
    kExpertPackedTiles,
    kExpertByMatrices,
};

// In the order of CudaProduct.
inline constexpr KernelName kCudaKernels[] = {
    {"dot products of four bytes (DP4A)", "kernels/cuda/byte_products.cu"},
    {"tiles of bytes on tensor cores", "kernels/cuda/byte_tiles.cu"},
    {"tiles of packed weights on tensor cores", "kernels/cuda/packed_tiles.cu"},
    {"split inputs on tensor cores", "kernels/cuda/split_products.cu"},
    {"rows in bf16 on tensor cores", "kernels/cuda/few_products.cu"},
    {"rows as they lie", "kernels/cuda/products.cu"},
    {"packed rows", "kernels/cuda/packed_products.cu"},
    {"rows of blocks", "kernels/cuda/block_products.cu"},
    {"cuBLAS", "kernels/cuda/products.cu"},
    {"unpacked piece by piece, then as plain weights", "kernels/cuda/packed_products.cu"},
    {"tiles in float32", "kernels/cuda/products.cu"},
    {"dot products of four bytes (DP4A)", "kernels/cuda/byte_products.cu"},
    {"split inputs on tensor cores", "kernels/cuda/split_products.cu"},
    {"packed rows", "kernels/cuda/packed_experts.cu"},
    {"rows of blocks", "kernels/cuda/block_experts.cu"},
    {"rows in bf16 on tensor cores", "kernels/cuda/few_products.cu"},
    {"rows as they lie", "kernels/cuda/plain_experts.cu"},
    {"dot products of four bytes (DP4A)", "kernels/cuda/byte_products.cu"},
    {"rows of blocks", "kernels/cuda/block_experts.cu"},
    {"expert by expert, as a matrix", "kernels/cuda/experts.cu"},
    {"columns on tensor cores", "kernels/cuda/down_products.cu"},
    {"packed columns", "kernels/cuda/packed_experts.cu"},
    {"columns as they lie", "kernels/cuda/plain_experts.cu"},
    {"all experts in tiles of bytes on tensor cores", "kernels/cuda/byte_experts.cu"},
    {"all experts in tiles of packed weights on tensor cores", "kernels/cuda/packed_tiles.cu"},
    {"matrix by matrix", "kernels/cuda/experts.cu"},
};

inline constexpr std::int32_t kFewCudaRows = 8;

inline constexpr ProductRow<CudaProduct> kCudaProducts[] = {
    {ProductOf::kMatrix, weights::kBlocks, ProductInputs::kBytes, 1, kFewCudaRows, 0, CudaProduct::kByteRows},
    {ProductOf::kMatrix, weights::kBlocks, ProductInputs::kBytes, kFewCudaRows + 1, kAnyRows, 0,
     CudaProduct::kByteTiles},
    // cuBLAS multiplies weights that were unpacked to memory first, which takes nearly
    // all of its time when rows are few. Measured on an H200 with experts of Mixtral's
    // sizes: INT8 is faster in tiles up to 64 rows, HQQ2, HQQ3 and HQQ4 are not. Small
    // matrices are faster in tiles up to 256 rows because of cuBLAS's launches.
    {ProductOf::kMatrix, weights::kPacked, ProductInputs::kFloat, kFewCudaRows + 1, kAnyRows,
     product_needs::kTensorCores | product_needs::kNoCublas, CudaProduct::kPackedTiles},
    {ProductOf::kMatrix, weights::kPacked, ProductInputs::kFloat, kFewCudaRows + 1, 256,
     product_needs::kTensorCores | product_needs::kSmall, CudaProduct::kPackedTiles},
    {ProductOf::kMatrix, weights::kPacked, ProductInputs::kFloat, 1, kFewCudaRows, product_needs::kWhole,
     CudaProduct::kSplitRows},
    {ProductOf::kMatrix, weights::kBf16, ProductInputs::kFloat, 3, kFewCudaRows,
     product_needs::kTensorCores | product_needs::kAligned, CudaProduct::kTensorCoreRows},
    {ProductOf::kMatrix, weights::kPlain, ProductInputs::kFloat, 1, kFewCudaRows, 0, CudaProduct::kPlainRows},
    {ProductOf::kMatrix, weights::kPacked, ProductInputs::kFloat, 1, kFewCudaRows, 0, CudaProduct::kPackedRows},
    {ProductOf::kMatrix, weights::kBlocks, ProductInputs::kFloat, 1, kFewCudaRows, 0, CudaProduct::kBlockRows},
    {ProductOf::kMatrix, weights::kPlain, ProductInputs::kFloat, kFewCudaRows + 1, kAnyRows,
     product_needs::kCublasServes, CudaProduct::kCublas},
    {ProductOf::kMatrix, weights::kPlain, ProductInputs::kFloat, kFewCudaRows + 1, kAnyRows, product_needs::kNoCublas,
     CudaProduct::kFloatTiles},
    {ProductOf::kMatrix, weights::kAll, ProductInputs::kFloat, kFewCudaRows + 1, kAnyRows, 0, CudaProduct::kUnpacked},

    {ProductOf::kHeads, weights::kPlain, ProductInputs::kFloat, 1, kAnyRows, 0, CudaProduct::kPlainRows},
    {ProductOf::kHeads, weights::kPacked, ProductInputs::kFloat, 1, kAnyRows, 0, CudaProduct::kPackedRows},
    {ProductOf::kHeads, weights::kBlocks, ProductInputs::kFloat, 1, kAnyRows, 0, CudaProduct::kBlockRows},

    {ProductOf::kUp, weights::kBlocks, ProductInputs::kBytes, 1, kFewCudaRows, 0, CudaProduct::kByteUp},
    {ProductOf::kUp, weights::kPacked, ProductInputs::kFloat, 1, kFewCudaRows, product_needs::kWhole,
     CudaProduct::kSplitUp},
    {ProductOf::kUp, weights::kPacked, ProductInputs::kFloat, 1, kFewCudaRows, 0, CudaProduct::kPackedUp},
    {ProductOf::kUp, weights::kBlocks, ProductInputs::kFloat, 1, kFewCudaRows, 0, CudaProduct::kBlockUp},
    {ProductOf::kUp, weights::kBf16, ProductInputs::kFloat, 3, kFewCudaRows,
     product_needs::kTensorCores | product_needs::kAligned, CudaProduct::kTensorCoreUp},
    {ProductOf::kUp, weights::kPlain, ProductInputs::kFloat, 1, kFewCudaRows, 0, CudaProduct::kPlainUp},

    {ProductOf::kDown, weights::kBlocks, ProductInputs::kBytes, 1, kFewCudaRows, product_needs::kByOutputs,
     CudaProduct::kByteDown},
    {ProductOf::kDown, weights::kBlocks, ProductInputs::kFloat, 1, kFewCudaRows, product_needs::kByOutputs,
     CudaProduct::kBlockDown},
    {ProductOf::kDown, weights::kAll, ProductInputs::kFloat, 1, kFewCudaRows, product_needs::kByOutputs,
     CudaProduct::kHeadsDown},
    {ProductOf::kDown, weights::kPacked, ProductInputs::kFloat, 1, kFewCudaRows,
     product_needs::kTensorCores | product_needs::kWhole, CudaProduct::kTensorCoreDown},
    {ProductOf::kDown, weights::kBf16, ProductInputs::kFloat, 3, kFewCudaRows,
     product_needs::kTensorCores | product_needs::kWhole | product_needs::kAligned, CudaProduct::kTensorCoreDown},
    {ProductOf::kDown, weights::kPacked, ProductInputs::kFloat, 1, kFewCudaRows, 0, CudaProduct::kPackedDown},
    {ProductOf::kDown, weights::kPlain, ProductInputs::kFloat, 1, kFewCudaRows, 0, CudaProduct::kPlainDown},

    // Experts of many rows: all three matrices by what the table has for each.
    {ProductOf::kExperts, weights::kBlocks, ProductInputs::kBytes, kFewCudaRows + 1, kAnyRows, 0,
     CudaProduct::kExpertByteTiles},
    {ProductOf::kExperts, weights::kPacked, ProductInputs::kFloat, kFewCudaRows + 1, kAnyRows,
     product_needs::kTensorCores | product_needs::kNoCublas, CudaProduct::kExpertPackedTiles},
    {ProductOf::kExperts, weights::kPacked, ProductInputs::kFloat, kFewCudaRows + 1, 256,
     product_needs::kTensorCores | product_needs::kSmall, CudaProduct::kExpertPackedTiles},
    // All experts of a step in one operation, whatever rows one of them gets: for cuBLAS
    // the host has to wait for the router's choice. 512 is a step's usual number of
    // tokens; against cuBLAS it was not measured.
    {ProductOf::kExperts, weights::kPacked, ProductInputs::kFloat, kFewCudaRows + 1, 512,
     product_needs::kTensorCores | product_needs::kSmall | product_needs::kGrouped, CudaProduct::kExpertPackedTiles},
    {ProductOf::kExperts, weights::kInt8, ProductInputs::kFloat, kFewCudaRows + 1, 64, product_needs::kTensorCores,
     CudaProduct::kExpertPackedTiles},
    {ProductOf::kExperts, weights::kAll, ProductInputs::kFloat, kFewCudaRows + 1, kAnyRows, 0,
     CudaProduct::kExpertByMatrices},
};

constexpr CudaProduct find_cuda_product(const ProductCase& product) {
    return find_product(kCudaProducts, product);
}

}  // namespace offstage::kernels
