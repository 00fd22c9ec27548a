#pragma once
// Reproducible values for the kernel tests, and the rows that name the instruction sets
// of this machine.

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include <QTest>

#include "kernels/cpu_kernels.h"

namespace offstage::kernels::test {

// Low .. high, as std::uniform_real_distribution<float> of libstdc++ draws them, but in
// one call: in unoptimized tests, most of their time was spent in the calls below it.
inline float uniform(std::mt19937& generator, float low, float high) {
    const float part = static_cast<float>(generator()) * 0x1p-32f;
    return (part < 1.0f ? part : 0x1.fffffep-1f) * (high - low) + low;
}

inline void fill_random(std::span<float> values, std::uint32_t seed, float scale = 1.0f) {
    std::mt19937 generator(seed);
    for (float& value : values) value = uniform(generator, -scale, scale);
}

// float32 to binary16 by truncation: good enough for test weights, whose exact value does
// not matter.
inline F16 to_f16_truncated(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto exponent = static_cast<std::int32_t>((bits >> 23) & 0xffu) - 112;
    if (exponent <= 0) return {static_cast<std::uint16_t>((bits >> 16) & 0x8000u)};
    return {static_cast<std::uint16_t>(((bits >> 16) & 0x8000u) | (static_cast<std::uint32_t>(exponent) << 10) |
                                       ((bits >> 13) & 0x3ffu))};
}

// n random weights of any type, in their memory layout.
class RandomWeights {
  public:
    RandomWeights(WeightType type, std::int64_t n, std::uint32_t seed, float scale = 1.0f) : type_(type) {
        std::vector<float> values(static_cast<std::size_t>(n));
        fill_random(values, seed, scale);
        bytes_.resize((values.size() + 1) * bytes_per_weight(type));
        for (std::size_t i = 0; i < values.size(); ++i) write(i, values[i]);
    }

    // One weight after the allocation's start, so that a kernel that assumes more
    // alignment than a weight has fails.
    const void* data() const { return bytes_.data() + bytes_per_weight(type_); }
    WeightType type() const { return type_; }

    float operator[](std::int64_t i) const {
        const std::byte* place = bytes_.data() + (static_cast<std::size_t>(i) + 1) * bytes_per_weight(type_);
        if (type_ == WeightType::kF32) {
            float value = 0.0f;
            std::memcpy(&value, place, sizeof value);
            return value;
        }
        std::uint16_t bits = 0;
        std::memcpy(&bits, place, sizeof bits);
        return type_ == WeightType::kF16 ? to_float(F16{bits}) : to_float(Bf16{bits});
    }

  private:
    void write(std::size_t i, float value) {
        std::byte* place = bytes_.data() + (i + 1) * bytes_per_weight(type_);
        if (type_ == WeightType::kF32) {
            std::memcpy(place, &value, sizeof value);
            return;
        }
        const std::uint16_t bits = type_ == WeightType::kF16 ? to_f16_truncated(value).bits : to_bf16(value).bits;
        std::memcpy(place, &bits, sizeof bits);
    }

    WeightType type_;
    std::vector<std::byte> bytes_;
};

inline void add_instruction_set_rows() {
    QTest::addColumn<int>("set");
    for (const InstructionSet set : available_instruction_sets()) {
        QTest::addRow("%s", name_of(set).data()) << static_cast<int>(set);
    }
}

}  // namespace offstage::kernels::test
