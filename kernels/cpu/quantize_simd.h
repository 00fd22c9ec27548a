#pragma once
// Quantizes rows over Vector. Include it after simd.h or the scalar replacement in
// quantize_scalar.cpp. Files that include this are compiled without contraction of a * b
// + c: the bytes must not depend on the machine.

#include <algorithm>
#include <cstring>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/quantize_groups_simd.h"
#include "kernels/packed.h"

namespace offstage::kernels {
namespace {

// Scales (n_groups) and zeros of the whole row.
template <int kGroup>
void fit_groups(const float* row, std::int64_t n_groups, bool fits, float largest_code, float* scale, float* zeros) {
    GroupBatch<kGroup> batch;
    for (std::int64_t g = 0; g < n_groups; g += kLanes) {
        alignas(64) float s[kLanes];
        alignas(64) float z[kLanes];
        const int n = static_cast<int>(std::min<std::int64_t>(kLanes, n_groups - g));
        batch.load_groups(row, g, n);
        batch.from_range(largest_code, s, z);
        if (fits) batch.fit_zeros(largest_code, s, z);
        std::copy_n(s, n, scale + g);
        std::copy_n(z, n, zeros + g);
    }
}

// Sets offset and step so that codes 0 .. largest_code reach from the smallest to the
// largest value.
inline void super_range(const float* values, std::int64_t n, float largest_code, float& offset, float& step) {
    const auto [low, high] = std::minmax_element(values, values + n);
    offset = *low;
    step = (*high - *low) / largest_code;
}

inline float super_code(float value, float offset, float step, float largest_code) {
    if (!(step > 0.0f)) return 0.0f;
    return whole(std::min(std::max((value - offset) / step, 0.0f), largest_code));
}

// Writes a super group's scales and zeros, one byte each, and sets scale and zeros to the
// values that are read back.
inline void pack_meta_bytes(const PackedSuper& super, std::int64_t n, float* scale, float* zeros, std::byte* scale_out,
                            std::byte* zero_out) {
    constexpr float kTop = 255.0f;
    for (std::int64_t g = 0; g < n; ++g) {
        const float s = super_code(scale[g], super.scale_offset, super.scale_step, kTop);
        const float z = super_code(zeros[g], super.zero_offset, super.zero_step, kTop);
        scale_out[g] = static_cast<std::byte>(static_cast<int>(s));
        zero_out[g] = static_cast<std::byte>(static_cast<int>(z));
        scale[g] = super.scale_offset + super.scale_step * s;
        zeros[g] = super.zero_offset + super.zero_step * z;
    }
}

// The same for scales and zeros of half a byte, using the weights. chooses: see
// choose_meta(); without it each value is rounded separately.
inline void pack_meta_halves(const PackedSuper& super, const float* row, std::int64_t n, bool chooses,
                             float largest_code, float* scale, float* zeros, std::byte* out) {
    constexpr float kTop = 15.0f;
    GroupBatch<16> batch;
    for (std::int64_t g = 0; g < n; g += kLanes) {
        const int lanes = static_cast<int>(std::min<std::int64_t>(kLanes, n - g));
        alignas(64) float s[kLanes] = {};
        alignas(64) float z[kLanes] = {};
        MetaChoice choice{};
        std::copy_n(scale + g, lanes, s);
        std::copy_n(zeros + g, lanes, z);
        batch.load_groups(row, g, lanes);
        choose_meta(batch, super, kTop, largest_code, chooses ? 1 : 0, s, z, choice);
        std::copy_n(s, lanes, scale + g);
        std::copy_n(z, lanes, zeros + g);
        for (int l = 0; l < lanes; ++l) {
            out[g + l] = static_cast<std::byte>(choice.scale_code[l] | choice.zero_code[l] << 4);
        }
    }
}

// Supers, scales and zeros of a row. scale and zeros become what reading will find.
inline void pack_meta(WeightType format, const PackedRow& layout, const float* row, bool fits, float largest_code,
                      float* scale, float* zeros, std::byte* out) {
    const bool halves = traits_of(format).has_half_scales();
    const float top = halves ? 15.0f : 255.0f;
    for (std::int64_t g = 0, index = 0; g < layout.n_groups; g += layout.super_group, ++index) {
        const std::int64_t n = std::min(layout.super_group, layout.n_groups - g);
        PackedSuper super;
        super_range(scale + g, n, top, super.scale_offset, super.scale_step);
        super_range(zeros + g, n, top, super.zero_offset, super.zero_step);
        std::memcpy(out + index * 16, &super, sizeof super);
        if (halves) {
            pack_meta_halves(super, row + g * layout.group, n, fits, largest_code, scale + g, zeros + g,
                             out + layout.scales + g);
        } else {
            pack_meta_bytes(super, n, scale + g, zeros + g, out + layout.scales + g, out + layout.zeros + g);
        }
    }
}

// Codes of a block (whole numbers from 0) into its bytes: two lanes at a time, which are
// whole bytes.
inline void store_block(WeightType format, const float* codes, std::byte* out) {
    const int bits = traits_of(format).bits;
    const auto lane = [&](int l) {
        return static_cast<unsigned>(static_cast<int>(codes[l]) | static_cast<int>(codes[16 + l]) << bits |
                                     static_cast<int>(codes[32 + l]) << 2 * bits |
                                     static_cast<int>(codes[48 + l]) << 3 * bits);
    };
    for (int l = 0; l < 16; l += 2) {
        const unsigned pair = lane(l) | lane(l + 1) << 4 * bits;
        for (int b = 0; b < bits; ++b) *out++ = static_cast<std::byte>(pair >> 8 * b & 0xffu);
    }
}

double pack_hqq_row(WeightType format, bool fits, const float* row, std::int64_t n_cols, float* scratch,
                    std::byte* out) {
    const PackedRow layout = packed_row(format, n_cols);
    const float largest_code = static_cast<float>((1 << traits_of(format).bits) - 1);
    float* scale = scratch;
    float* zeros = scratch + layout.n_groups;
    if (layout.group == 64) {
        fit_groups<64>(row, layout.n_groups, fits, largest_code, scale, zeros);
    } else {
        fit_groups<16>(row, layout.n_groups, fits, largest_code, scale, zeros);
    }
    pack_meta(format, layout, row, fits, largest_code, scale, zeros, out);
    const Vector top = broadcast(largest_code);
    double squared = 0.0;
    for (std::int64_t b = 0; b < layout.n_blocks; ++b) {
        alignas(64) float codes[kPackedBlock];
        Vector sum = zero();
        for (int w = 0; w < kPackedBlock; w += kLanes) {
            const std::int64_t g = (b * kPackedBlock + w) / layout.group;
            const Vector weight = load(row + b * kPackedBlock + w);
            const Vector s = broadcast(scale[g]);
            const Vector z = broadcast(zeros[g]);
            const Vector inverse = broadcast(scale[g] > kSmallestWeight ? 1.0f / scale[g] : 0.0f);
            const Vector code = clamped_code(add(multiply(weight, inverse), z), top);
            const Vector error = subtract(weight, multiply(s, subtract(code, z)));
            sum = add(sum, multiply(error, error));
            store(codes + w, code);
        }
        store_block(format, codes, out + layout.codes + b * layout.block_bytes);
        squared += static_cast<double>(sum_of_lanes(sum));
    }
    std::fill(out + layout.zeros + layout.n_groups, out + layout.bytes, std::byte{0});
    return squared;
}

// The smallest bf16 not below a positive value.
inline Bf16 bf16_not_below(float value) {
    return {static_cast<std::uint16_t>((bits_of(value) + 0xffffu) >> 16)};
}

double pack_int8_row(const float* row, std::int64_t n_cols, std::byte* out) {
    const PackedRow layout = packed_row(WeightType::kInt8, n_cols);
    double squared = 0.0;
    for (std::int64_t g = 0; g < layout.n_groups; ++g) {
        const float* weights = row + g * layout.group;
        Vector largest = zero();
        for (int w = 0; w < kPackedBlock; w += kLanes) largest = maximum(magnitude(load(weights + w)), largest);
        const float farthest = largest_lane(largest);
        // Rounded up, so that 127 * scale reaches the largest weight and no code is cut.
        const Bf16 stored = farthest < kSmallestWeight ? Bf16{0} : bf16_not_below(farthest / 127.0f);
        const float scale = to_float(stored);
        const Vector inverse = broadcast(scale > 0.0f ? 1.0f / scale : 0.0f);
        alignas(64) float codes[kPackedBlock];
        Vector sum = zero();
        for (int w = 0; w < kPackedBlock; w += kLanes) {
            const Vector weight = load(weights + w);
            const Vector code = round_to_whole(multiply(weight, inverse));
            const Vector error = subtract(weight, multiply(broadcast(scale), code));
            sum = add(sum, multiply(error, error));
            store(codes + w, code);
        }
        for (int w = 0; w < kPackedBlock; ++w) {
            out[g * kPackedBlock + w] = static_cast<std::byte>(static_cast<std::int8_t>(codes[w]));
        }
        std::memcpy(out + layout.scales + 2 * g, &stored, sizeof stored);
        squared += static_cast<double>(sum_of_lanes(sum));
    }
    std::fill(out + layout.scales + 2 * layout.n_groups, out + layout.bytes, std::byte{0});
    return squared;
}

double pack_row_any(WeightType format, bool fits, const float* row, std::int64_t n_cols, float* scratch,
                    std::byte* out) {
    if (traits_of(format).coding == WeightCoding::kSigned) return pack_int8_row(row, n_cols, out);
    return pack_hqq_row(format, fits, row, n_cols, scratch, out);
}

// On the bits, where NaN and infinity are the largest of all.
float largest_any(const float* row, std::int64_t n) {
    std::uint32_t largest = 0;
    for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, bits_of(row[i]) & 0x7fffffffu);
    return float_of_bits(largest);
}

// Sixteen sums for any vector width: the same result everywhere.
double sum_of_squares_any(const float* row, std::int64_t n) {
    double sums[16] = {};
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        for (int l = 0; l < 16; ++l) sums[l] += static_cast<double>(row[i + l]) * static_cast<double>(row[i + l]);
    }
    for (; i < n; ++i) sums[i % 16] += static_cast<double>(row[i]) * static_cast<double>(row[i]);
    double sum = 0.0;
    for (const double part : sums) sum += part;
    return sum;
}

}  // namespace
}  // namespace offstage::kernels
