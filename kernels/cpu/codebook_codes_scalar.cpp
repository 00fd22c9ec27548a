#include <cstring>

#include "kernels/block_parts.h"
#include "kernels/cpu/codebook_codes.h"
#include "kernels/cpu/compiled_sets.h"
#include "kernels/cpu_features.h"
#include "kernels/formats.h"

namespace offstage::kernels {
namespace {

template <WeightType kType>
void unpack(const std::uint8_t* blocks, std::int64_t n_blocks, std::int8_t* codes) {
    constexpr FormatTraits kFormat = traits_of(kType);
    for (std::int64_t block = 0; block < n_blocks; ++block, blocks += kFormat.block_bytes) {
        for (int part = 0; part < kFormat.group / kPartWeights; ++part, codes += kPartWeights) {
            std::uint64_t words[2];
            read_points<kType>(blocks, part, kBlockCodebooks, words);
            std::memcpy(codes, words, sizeof words);
        }
    }
}

}  // namespace

void scalar::codebook_codes(WeightType type, const std::uint8_t* blocks, std::int64_t n_blocks, std::int8_t* codes) {
    with_block_type(type, [&](auto constant) {
        constexpr WeightType kType = decltype(constant)::value;
        if constexpr (has_codebook(kType)) unpack<kType>(blocks, n_blocks, codes);
    });
}

CodebookCodes fastest_codebook_codes() {
    if constexpr (contains_set(OFFSTAGE_COMPILED_SETS, "avx512_vbmi")) {
        if (cpu_features().avx512_vbmi) return avx512_vbmi::codebook_codes;
    }
    return scalar::codebook_codes;
}

}  // namespace offstage::kernels
