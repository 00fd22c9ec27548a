#pragma once
// Scales of packed rows (kernels/packed.h) over Vector, many groups at once.

#include <cstring>
#include <utility>

#include "kernels/cpu/simd.h"
#include "kernels/packed.h"

namespace offstage::kernels {
namespace {

// A packed row in memory; layout: of all rows of its weight.
template <WeightType kType>
struct PackedRef {
    const std::byte* bytes = nullptr;
    const PackedRow* layout = nullptr;
};

template <WeightType kType>
struct PackedFormat {
    static constexpr FormatTraits kTraits = traits_of(kType);
    static constexpr PackedRow kOneBlock = packed_row(kType, kPackedBlock);
    static constexpr int kBits = kTraits.bits;
    static constexpr int kBlockBytes = static_cast<int>(kOneBlock.block_bytes);
    static constexpr int kGroupsPerBlock = static_cast<int>(kOneBlock.n_groups);
    static constexpr bool kSigned = kTraits.coding == WeightCoding::kSigned;
    static constexpr bool kHalfScales = kTraits.has_half_scales();
    static constexpr int kScaleBytes = kSigned ? 2 : 1;
};

// Blocks whose scales are decoded together. Such a batch begins at a multiple of this
// many blocks, so it never crosses a super group.
inline constexpr int kBatchBlocks = 16;

// weight = scale * code + bias, for the groups of a batch of blocks. Codes that are
// multiplied without a shift are 16^k times too large; scale[k] corrects that.
template <WeightType kType>
struct GroupScales {
    using Format = PackedFormat<kType>;
    static constexpr int kGroupsPerBlock = Format::kGroupsPerBlock;
    static constexpr int kGroups = kBatchBlocks * kGroupsPerBlock;
    static constexpr int kPlaces = Format::kBits == 4 && kLanes == 8 ? 4 : 1;
    static_assert(Format::kSigned || Format::kTraits.super_group % kGroups == 0, "a batch lies in one super group");
    alignas(64) float scale[kPlaces][kGroups];
    alignas(64) float bias[kGroups];

    // Reads blocks [first_block, first_block + n_blocks) of the row, n_blocks <=
    // kBatchBlocks, of one batch.
    __attribute__((always_inline)) void read(PackedRef<kType> row, std::int64_t first_block, int n_blocks) {
        constexpr int kScaleBytes = Format::kScaleBytes;
        const std::int64_t first = first_block * kGroupsPerBlock;
        const int n = n_blocks * kGroupsPerBlock;
        const std::byte* scales = row.bytes + row.layout->scales + first * kScaleBytes;
        const std::byte* zeros = row.bytes + row.layout->zeros + first;
        std::byte last_scales[kGroups * kScaleBytes];
        std::byte last_zeros[kGroups];
        if (first + (n + kLanes - 1) / kLanes * kLanes > row.layout->n_groups) {  // vectors would read beyond them
            std::memset(last_scales, 0, sizeof last_scales);
            std::memcpy(last_scales, scales, static_cast<std::size_t>(n * kScaleBytes));
            scales = last_scales;
            if constexpr (!Format::kSigned && !Format::kHalfScales) {
                std::memset(last_zeros, 0, sizeof last_zeros);
                std::memcpy(last_zeros, zeros, static_cast<std::size_t>(n));
                zeros = last_zeros;
            }
        }
        if constexpr (Format::kSigned) {
            for (int g = 0; g < n; g += kLanes) {
                store(scale[0] + g, load(reinterpret_cast<const Bf16*>(scales + g * kScaleBytes)));
            }
            return;
        }
        PackedSuper super;
        std::memcpy(&super, row.bytes + first / row.layout->super_group * 16, sizeof super);
        for (int g = 0; g < n; g += kLanes) {
            Vector s;
            Vector z;
            if constexpr (Format::kHalfScales) {
                load_nibbles(scales + g, s, z);
            } else {
                s = load_bytes(scales + g);
                z = load_bytes(zeros + g);
            }
            s = fma(s, broadcast(super.scale_step), broadcast(super.scale_offset));
            z = fma(z, broadcast(super.zero_step), broadcast(super.zero_offset));
            store(bias + g, subtract(zero(), multiply(s, z)));
            for (int k = 0; k < kPlaces; ++k, s = multiply(s, broadcast(1.0f / 16.0f))) store(scale[k] + g, s);
        }
    }
};

// Calls body(std::integral_constant<int, i>) for i = 0 .. kTimes - 1, without a loop.
template <int kTimes, typename Body>
__attribute__((always_inline)) inline void unrolled(const Body& body) {
    [&]<int... kIndices>(std::integer_sequence<int, kIndices...>) __attribute__((always_inline)) {
        (body(std::integral_constant<int, kIndices>{}), ...);
    }
    (std::make_integer_sequence<int, kTimes>{});
}

}  // namespace
}  // namespace offstage::kernels
