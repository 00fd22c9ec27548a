#include "kernels/scaled_weights.h"

#include <cassert>
#include <cmath>
#include <cstring>

#include "kernels/block_parts.h"

namespace offstage::kernels {
namespace {

void put_word16(std::uint8_t* p, unsigned word) {
    p[0] = static_cast<std::uint8_t>(word);
    p[1] = static_cast<std::uint8_t>(word >> 8u);
}

// Four digits of the scale are the highest ones of four words.
void multiply_iq1m(std::uint8_t* block, float factor) {
    unsigned half = 0;
    for (int i = 0; i < 4; ++i) half |= (word16_at(block + 48 + 2 * i) >> 12u) << (4 * i);
    half = half_bits(half_value(half) * factor);
    for (int i = 0; i < 4; ++i) {
        std::uint8_t* const word = block + 48 + 2 * i;
        put_word16(word, (word16_at(word) & 0xfffu) | (half >> (4 * i) & 15u) << 12u);
    }
}

}  // namespace

unsigned half_bits(float value) {
    const std::uint32_t bits = bits_of(value);
    const unsigned sign = bits >> 16u & 0x8000u;
    const std::uint32_t rest = bits & 0x7fffffffu;
    const float magnitude = float_of_bits(rest);
    if (std::isnan(magnitude)) return sign | 0x7e00u;
    if (magnitude >= 65520.0f) return sign | 0x7c00u;
    if (magnitude < 0x1p-14f) return sign | static_cast<unsigned>(std::lrint(magnitude * 0x1p24f));
    return sign | (((rest + 0xfffu + (rest >> 13u & 1u)) >> 13u) - (112u << 10u));
}

void multiply_weights(WeightType type, std::byte* row, std::int64_t n, float factor) {
    assert(type != WeightType::kMxfp4 && (is_blocks(type) || is_plain(type)));
    auto* const bytes = reinterpret_cast<std::uint8_t*>(row);
    const FormatTraits& traits = traits_of(type);
    for (std::int64_t i = 0; i < n && traits.is_blocks(); i += traits.group) {
        std::uint8_t* const block = bytes + i / traits.group * traits.block_bytes;
        if (type == WeightType::kIq1M) {
            multiply_iq1m(block, factor);
            continue;
        }
        for (const int place : {traits.scale_at, traits.minimum_at}) {
            if (place >= 0) put_word16(block + place, half_bits(half_at(block + place) * factor));
        }
    }
    for (std::int64_t i = 0; i < n && traits.is_plain(); ++i) {
        std::uint8_t* const at = bytes + static_cast<std::size_t>(i) * bytes_per_weight(type);
        if (type == WeightType::kF32) {
            const float product = float_of_bits(word32_at(at)) * factor;
            std::memcpy(at, &product, sizeof product);
        } else if (type == WeightType::kF16) {
            put_word16(at, half_bits(half_at(at) * factor));
        } else {
            put_word16(at, to_bf16(float_of_bits(word16_at(at) << 16u) * factor).bits);
        }
    }
}

}  // namespace offstage::kernels
