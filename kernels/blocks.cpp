#include "kernels/blocks.h"

#include <algorithm>

#include "kernels/block_parts.h"

namespace offstage::kernels {

constexpr BlockCodebooks kBlockCodebooks = block_codebooks();

namespace {

template <WeightType kType>
void unpack_parts(const std::byte* row, std::int64_t begin, std::int64_t n, float* out) {
    constexpr FormatTraits kFormat = traits_of(kType);
    const auto* const blocks = reinterpret_cast<const std::uint8_t*>(row);
    for (std::int64_t i = begin; i < begin + n;) {
        const auto part = static_cast<int>(i % kFormat.group / kPartWeights);
        BlockPart weights{};
        read_part<kType>(blocks + i / kFormat.group * kFormat.block_bytes, part, kBlockCodebooks, weights);
        const std::int64_t end = std::min(begin + n, (i / kPartWeights + 1) * kPartWeights);
        for (; i < end; ++i) {
            const float weight = weights.scale * static_cast<float>(weights.codes[i % kPartWeights]);
            out[i - begin] = has_bias(kType) ? weight + weights.bias : weight;
        }
    }
}

}  // namespace

void unpack_blocks(WeightType type, const std::byte* row, std::int64_t begin, std::int64_t n, float* out) {
    with_block_type(type, [&](auto constant) { unpack_parts<decltype(constant)::value>(row, begin, n, out); });
}

}  // namespace offstage::kernels
