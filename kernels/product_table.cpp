#include "kernels/product_table.h"

#include <iterator>

#include "kernels/cpu_features.h"
#include "kernels/cpu_kernels.h"
#include "kernels/cpu_product_table.h"
#include "kernels/cuda_product_table.h"

namespace offstage::kernels {
namespace {

struct BitName {
    std::uint32_t bit;
    const char* name;
};

constexpr BitName kWeightNames[] = {
    {weights::kFloats, "F32, F16"}, {weights::kBf16, "BF16"},           {weights::kInt8, "INT8"},
    {weights::kHqq4, "HQQ4"},       {weights::kHqq3And2, "HQQ3, HQQ2"}, {weights::kBlocks, "GGUF's blocks"},
};

constexpr BitName kNeedNames[] = {
    {product_needs::kLanes16, "AVX-512"},
    {product_needs::kLanes8, "AVX2"},
    {product_needs::kBf16Pairs, "AVX512_BF16 and products in bf16"},
    {product_needs::kNoAmx, "no AMX"},
    {product_needs::kTensorCores, "compute capability 8.0"},
    {product_needs::kNoCublas, "no cuBLAS"},
    {product_needs::kCublasServes, "cuBLAS, bf16 from compute capability 8.0 on"},
    {product_needs::kInterleaved, "16 rows side by side"},
    {product_needs::kByOutputs, "rows of w2 are outputs"},
    {product_needs::kTheta, "neurons left out (theta)"},
    {product_needs::kNoTheta, "no theta"},
    {product_needs::kAllNeurons, "all neurons there"},
    {product_needs::kAligned, "aligned to 16 bytes"},
    {product_needs::kWhole, "columns a multiple of a block's"},
    {product_needs::kSmall, "small matrices"},
    {product_needs::kGrouped, "grouped by the GPU"},
    {product_needs::kBf16Widened, "AVX2 and products in float32"},
    {product_needs::kNoVnni, "no AVX-VNNI"},
};

const char* name_of(ProductOf of) {
    switch (of) {
        case ProductOf::kMatrix:
            return "a matrix";
        case ProductOf::kHeads:
            return "heads of a matrix";
        case ProductOf::kExperts:
            return "experts";
        case ProductOf::kUp:
            return "w1 and w3 of experts";
        case ProductOf::kDown:
            return "w2 of experts";
    }
    return "?";
}

const char* name_of(ProductInputs inputs) {
    return inputs == ProductInputs::kFloat ? "float" : inputs == ProductInputs::kBytes ? "8 bits" : "float or 8 bits";
}

template <typename Kernel, std::size_t kRows, std::size_t kKernels>
std::vector<ProductRowText> texts_of(const ProductRow<Kernel> (&table)[kRows], const KernelName (&kernels)[kKernels]) {
    std::vector<ProductRowText> texts;
    for (const ProductRow<Kernel>& row : table) {
        ProductRowText text;
        text.of = name_of(row.of);
        for (const BitName& name : kWeightNames) {
            if ((row.weights & name.bit) != 0)
                text.weights += (text.weights.empty() ? "" : ", ") + std::string(name.name);
        }
        text.inputs = name_of(row.inputs);
        text.fewest = row.fewest;
        text.most = row.most;
        for (const BitName& name : kNeedNames) {
            if ((row.needs & name.bit) != 0) text.needs.emplace_back(name.name);
        }
        text.kernel = kernels[static_cast<std::size_t>(row.kernel)];
        text.weight_bits = row.weights;
        text.need_bits = row.needs;
        texts.push_back(std::move(text));
    }
    return texts;
}

}  // namespace

std::string ProductRowText::rows() const {
    if (fewest == most) return std::to_string(fewest);
    if (most == kAnyRows) return fewest == 1 ? "any number" : std::to_string(fewest) + " or more";
    return std::to_string(fewest) + " to " + std::to_string(most);
}

std::uint32_t product_facts(InstructionSet set) {
    const std::uint32_t no_amx = cpu_features().amx_bf16 ? 0 : product_needs::kNoAmx;
    switch (set) {
        case InstructionSet::kScalar:
            break;
        case InstructionSet::kAvx2:
            return no_amx | product_needs::kLanes8 | product_needs::kBf16Widened |
                   (cpu_features().avx_vnni ? 0 : product_needs::kNoVnni);
        case InstructionSet::kAvx512:
            return no_amx | product_needs::kLanes16;
        case InstructionSet::kAvx512Bf16:
            return no_amx | product_needs::kLanes16 | product_needs::kBf16Pairs;
    }
    return no_amx;
}

std::vector<ProductRowText> cpu_product_rows() {
    return texts_of(kCpuProducts, kCpuKernels);
}

std::vector<ProductRowText> cuda_product_rows() {
    return texts_of(kCudaProducts, kCudaKernels);
}

}  // namespace offstage::kernels
