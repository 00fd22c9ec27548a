// Rows of plain weights into packed rows, by the algorithm of kernels/quantize.h:
// half-quadratic quantization. A block per row and a thread per group, with the group's
// weights in registers: the rounds need no exchange between threads. The same operations
// in the same order as on the CPU, compiled without contraction of a * b + c, so that the
// bytes are the same as well.
#include <cfloat>

#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/packed.h"
#include "kernels/quantize_constants.h"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = 64;
constexpr int kWarps = kThreads / kWarp;
constexpr std::size_t kMostShared = std::size_t{48} << 10;

using namespace hqq;

// To the nearest whole number, even on a tie, of |x| < 2^22.
__device__ inline float whole(float x) {
    return (x + kNoFraction) - kNoFraction;
}

__device__ inline float clamped_code(float x, float largest_code) {
    return whole(fminf(fmaxf(x, 0.0f), largest_code));
}

__device__ inline float inverse_of(float scale) {
    return scale > kSmallestWeight ? 1.0f / scale : 0.0f;
}

// x^-0.3 for normal x > 0: log2 by the series of the area hyperbolic tangent, 2^f by its
// series to f^6.
__device__ inline float shrink_power(float x) {
    const unsigned bits = __float_as_uint(x);
    const int exponent = static_cast<int>(bits - 0x3f3504f3u) >> 23;  // the bits of sqrt(1/2): exponents change there
    const float m = __uint_as_float(bits - (static_cast<unsigned>(exponent) << 23));
    const float s = (m - 1.0f) / (m + 1.0f);
    const float s2 = s * s;
    const float log2 =
        2.88539008f * s * (1.0f + s2 * (1.0f / 3.0f + s2 * (1.0f / 5.0f + s2 * (1.0f / 7.0f + s2 * (1.0f / 9.0f)))));
    const float y = kShrinkExponent * (static_cast<float>(exponent) + log2);
    const float n = whole(y);
    const float f = (y - n) * 0.693147181f;
    const float power =
        1.0f +
        f * (1.0f + f * (0.5f + f * (1.0f / 6.0f + f * (1.0f / 24.0f + f * (1.0f / 120.0f + f * (1.0f / 720.0f))))));
    return power * __uint_as_float(static_cast<unsigned>(static_cast<int>(n) + 127) << 23);
}

// One group. Errors and zeros are in units of the scale: there the error is t + z - Q,
// and the next zero is the mean of Q - t + E / scale.
template <int kGroup>
struct Group {
    float t[kGroup];  // weight / scale

    template <typename T>
    __device__ void load(const T* weights) {
#pragma unroll
        for (int i = 0; i < kGroup; ++i) t[i] = widen(weights[i]);
    }

    // Scale and zero of round to nearest, and the weights divided.
    __device__ void divide_by_range(float largest_code, float& scale, float& zero) {
        float low = t[0];
        float high = t[0];
#pragma unroll
        for (int i = 1; i < kGroup; ++i) {
            low = fminf(low, t[i]);
            high = fmaxf(high, t[i]);
        }
        const float farthest = fmaxf(fabsf(low), fabsf(high));
        const float range = fmaxf(high - low, farthest * (1.0f / kFarthestZero));
        const bool is_zero = farthest < kSmallestWeight;
        const float inverse = is_zero ? 0.0f : largest_code / range;
        scale = is_zero ? 0.0f : range / largest_code;
        zero = is_zero ? 0.0f : -low * inverse;
#pragma unroll
        for (int i = 0; i < kGroup; ++i) t[i] = t[i] * inverse;
    }

    // The zero of the smallest error that the rounds come to.
    __device__ void fit_zero(float largest_code, float scale, float& zero) const {
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < kGroup; ++i) sum = sum + t[i];
        float tried = zero;
        float least = FLT_MAX;
        int stalled = 0;
        float beta = kFirstBeta;
        for (int round = 0; round < kRounds; ++round) {
            float error = 0.0f;
            float worst = 0.0f;
            float codes = 0.0f;
#pragma unroll
            for (int i = 0; i < kGroup; ++i) {
                const float value = t[i] + tried;
                const float code = clamped_code(value, largest_code);
                const float size = fabsf(value - code);
                error = error + size;
                worst = fmaxf(size, worst);
                codes = codes + code;
            }
            if (error < least) {
                least = error;
                zero = tried;
                stalled = 0;
            } else if (++stalled == kPatience) {
                return;
            }
            // No error of ordinary weights outlives the shrinkage.
            const float shrunk_below = kShrunkBelow * (1.0f + (beta - kFirstBeta) * kShrunkBelowGrowth);
            if (!(worst * scale * shrunk_below <= 1.0f)) add_errors(largest_code, scale, tried, beta, codes);
            tried = (codes - sum) * (1.0f / static_cast<float>(kGroup));
            beta = beta * kBetaGrowth;
        }
    }

    // sum += E / scale, the errors that remain after the shrinkage.
    __device__ void add_errors(float largest_code, float scale, float zero, float beta, float& sum) const {
        const float weight = 1.0f / beta;
#pragma unroll 1
        for (int i = 0; i < kGroup; ++i) {
            const float value = at(i) + zero;
            const float code = clamped_code(value, largest_code);
            const float x = fabsf(value - code) * scale;
            const float shrunk = fmaxf(0.0f, x - weight * shrink_power(fmaxf(x, kSmallestWeight)));
            const float part = scale > 0.0f ? shrunk / scale : 0.0f;
            sum = sum + (value < code ? -part : part);
        }
    }

    // An index that is known only at run time, though registers have no addresses.
    __device__ float at(int index) const {
        float value = t[0];
#pragma unroll
        for (int i = 1; i < kGroup; ++i) value = i == index ? t[i] : value;
        return value;
    }

    // The sum of squared errors with a scale and a zero; the weights not divided.
    __device__ float squared_error(float largest_code, float scale, float inverse, float zero) const {
        float sum = 0.0f;
#pragma unroll
        for (int i = 0; i < kGroup; ++i) {
            const float code = clamped_code(t[i] * inverse + zero, largest_code);
            const float error = t[i] - scale * (code - zero);
            sum = sum + error * error;
        }
        return sum;
    }
};

// S and Z of a group, each rounded on its own. Scale and zero become what reading will
// find.
__device__ inline void round_meta(const PackedSuper& super, float& scale, float& zero, unsigned& s, unsigned& z) {
    constexpr float kTop = 255.0f;
    const auto code = [](float value, float offset, float step) {
        return step > 0.0f ? clamped_code((value - offset) / step, kTop) : 0.0f;
    };
    const float scale_code = code(scale, super.scale_offset, super.scale_step);
    const float zero_code = code(zero, super.zero_offset, super.zero_step);
    scale = super.scale_offset + super.scale_step * scale_code;
    zero = super.zero_offset + super.zero_step * zero_code;
    s = static_cast<unsigned>(scale_code);
    z = static_cast<unsigned>(zero_code);
}

// In four bits each, chosen together: the codes next to the fitted scale, with for each
// the zeros next to the one that leaves the group in place, are tried, and the pair of
// the smallest error wins.
template <int kGroup>
__device__ void choose_meta(const Group<kGroup>& group, const PackedSuper& super, float largest_code, float& scale,
                            float& zero, unsigned& s, unsigned& z) {
    constexpr float kTop = 15.0f;
    const float scale_unit = super.scale_step > 0.0f ? 1.0f / super.scale_step : 0.0f;
    const float zero_unit = super.zero_step > 0.0f ? 1.0f / super.zero_step : 0.0f;
    float least = FLT_MAX;
    float best_scale = 0.0f;
    float best_zero = 0.0f;
    s = z = 0;
    const float middle = clamped_code((scale - super.scale_offset) * scale_unit, kTop);
    for (int ds = -1; ds <= 1; ++ds) {
        const float scale_code = fminf(fmaxf(middle + static_cast<float>(ds), 0.0f), kTop);
        const float my_scale = super.scale_offset + super.scale_step * scale_code;
        const float inverse = inverse_of(my_scale);
        const float same_place = inverse > 0.0f ? zero * (scale * inverse) : zero;
        const float zero_middle = clamped_code((same_place - super.zero_offset) * zero_unit, kTop);
        for (int dz = -1; dz <= 1; ++dz) {
            const float zero_code = fminf(fmaxf(zero_middle + static_cast<float>(dz), 0.0f), kTop);
            const float my_zero = super.zero_offset + super.zero_step * zero_code;
            const float error = group.squared_error(largest_code, my_scale, inverse, my_zero);
            if (!(error < least)) continue;
            least = error;
            best_scale = my_scale;
            best_zero = my_zero;
            s = static_cast<unsigned>(scale_code);
            z = static_cast<unsigned>(zero_code);
        }
    }
    scale = best_scale;
    zero = best_zero;
}

struct Layout {
    std::int32_t n_blocks, block_bytes, n_groups, super_group, n_supers, codes, scales, zeros, bytes;
};

Layout layout_of(WeightType type, std::int64_t n_cols) {
    const PackedRow row = packed_row(type, n_cols);
    const auto small = [](std::int64_t value) { return static_cast<std::int32_t>(value); };
    return {small(row.n_blocks),    small(row.block_bytes), small(row.n_groups),
            small(row.super_group), small(row.n_supers),    small(row.codes),
            small(row.scales),      small(row.zeros),       small(row.bytes)};
}

// Shared memory: scales (n_groups), zeros (n_groups), supers (n_supers).
std::size_t shared_bytes(const Layout& layout) {
    return static_cast<std::size_t>(layout.n_groups) * 2 * sizeof(float) +
           static_cast<std::size_t>(layout.n_supers) * sizeof(PackedSuper);
}

template <WeightType kType>
struct Hqq {
    static constexpr bool kHalves = traits_of(kType).has_half_scales();
    static constexpr int kBits = traits_of(kType).bits;
    static constexpr int kGroup = traits_of(kType).group;
};

// A warp per super group: offset and step so that the codes reach from the smallest
// to the largest value.
__device__ inline void find_supers(const float* scales, const float* zeros, const Layout& layout, float largest_code,
                                   PackedSuper* supers, unsigned char* out) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    for (int index = static_cast<int>(threadIdx.x) / kWarp; index < layout.n_supers; index += kWarps) {
        const int begin = index * layout.super_group;
        const int end = begin + layout.super_group < layout.n_groups ? begin + layout.super_group : layout.n_groups;
        float low[2] = {scales[begin], zeros[begin]};
        float high[2] = {low[0], low[1]};
        for (int g = begin + lane; g < end; g += kWarp) {
            low[0] = fminf(low[0], scales[g]);
            high[0] = fmaxf(high[0], scales[g]);
            low[1] = fminf(low[1], zeros[g]);
            high[1] = fmaxf(high[1], zeros[g]);
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            low[i] = -warp_max(-low[i]);
            high[i] = warp_max(high[i]);
        }
        if (lane == 0) {
            PackedSuper super;
            super.scale_offset = low[0];
            super.scale_step = (high[0] - low[0]) / largest_code;
            super.zero_offset = low[1];
            super.zero_step = (high[1] - low[1]) / largest_code;
            supers[index] = super;
            auto* place = reinterpret_cast<float2*>(out) + 2 * index;
            place[0].x = super.scale_offset;
            place[0].y = super.scale_step;
            place[1].x = super.zero_offset;
            place[1].y = super.zero_step;
        }
    }
}

template <WeightType kType, typename T>
__global__ void __launch_bounds__(kThreads)
    quantize_hqq(const T* rows, std::int64_t stride, Layout layout, unsigned char* out_rows) {
    constexpr bool kHalves = Hqq<kType>::kHalves;
    constexpr int kBits = Hqq<kType>::kBits;
    constexpr int kGroup = Hqq<kType>::kGroup;
    constexpr float kLargestCode = static_cast<float>((1 << kBits) - 1);
    float* scales = shared_memory<float>();
    float* zeros = scales + layout.n_groups;
    auto* supers = reinterpret_cast<PackedSuper*>(zeros + layout.n_groups);
    const T* row = rows + static_cast<std::int64_t>(blockIdx.x) * stride;
    unsigned char* out = out_rows + static_cast<std::int64_t>(blockIdx.x) * layout.bytes;
    const int thread = static_cast<int>(threadIdx.x);

    for (int g = thread; g < layout.n_groups; g += kThreads) {
        Group<kGroup> group;
        group.load(row + g * kGroup);
        float scale = 0.0f;
        float zero = 0.0f;
        group.divide_by_range(kLargestCode, scale, zero);
        group.fit_zero(kLargestCode, scale, zero);
        scales[g] = scale;
        zeros[g] = zero;
    }
    __syncthreads();

    find_supers(scales, zeros, layout, Hqq<kType>::kHalves ? 15.0f : 255.0f, supers, out);
    __syncthreads();

    for (int g = thread; g < layout.n_groups; g += kThreads) {
        const PackedSuper super = supers[g / layout.super_group];
        float scale = scales[g];
        float zero = zeros[g];
        unsigned s = 0;
        unsigned z = 0;
        if (kHalves) {
            Group<kGroup> group;
            group.load(row + g * kGroup);
            choose_meta(group, super, kLargestCode, scale, zero, s, z);
            out[layout.scales + g] = static_cast<unsigned char>(s | z << 4);
        } else {
            round_meta(super, scale, zero, s, z);
            out[layout.scales + g] = static_cast<unsigned char>(s);
            out[layout.zeros + g] = static_cast<unsigned char>(z);
        }
        scales[g] = scale;
        zeros[g] = zero;
    }
    __syncthreads();

    // Two lanes of a block per thread: with three bits they share a byte.
    for (int i = thread; i < layout.n_blocks * 8; i += kThreads) {
        const int block = i / 8;
        const int first = i % 8 * 2;
        unsigned pair[2] = {0, 0};
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int g = kHalves ? block * 4 + k : block;
            const float inverse = inverse_of(scales[g]);
            const float zero = zeros[g];
#pragma unroll
            for (int l = 0; l < 2; ++l) {
                const float weight = widen(row[block * kPackedBlock + 16 * k + first + l]);
                const float code = clamped_code(weight * inverse + zero, kLargestCode);
                pair[l] |= static_cast<unsigned>(code) << (kBits * k);
            }
        }
        const unsigned bits = pair[0] | pair[1] << (4 * kBits);
        unsigned char* place = out + layout.codes + block * layout.block_bytes + first / 2 * kBits;
#pragma unroll
        for (int byte = 0; byte < kBits; ++byte) place[byte] = static_cast<unsigned char>(bits >> (8 * byte));
    }
    for (int i = layout.zeros + layout.n_groups + thread; i < layout.bytes; i += kThreads) out[i] = 0;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    quantize_int8(const T* rows, std::int64_t stride, Layout layout, unsigned char* out_rows) {
    constexpr int kGroup = 64;
    const T* row = rows + static_cast<std::int64_t>(blockIdx.x) * stride;
    unsigned char* out = out_rows + static_cast<std::int64_t>(blockIdx.x) * layout.bytes;
    const int thread = static_cast<int>(threadIdx.x);
    for (int g = thread; g < layout.n_groups; g += kThreads) {
        Group<kGroup> group;
        group.load(row + g * kGroup);
        float farthest = 0.0f;
#pragma unroll
        for (int i = 0; i < kGroup; ++i) farthest = fmaxf(fabsf(group.t[i]), farthest);
        // The smallest bf16 that is not below: 127 * scale reaches the largest weight,
        // and no code is cut.
        const unsigned stored = farthest < kSmallestWeight ? 0u : (__float_as_uint(farthest / 127.0f) + 0xffffu) >> 16;
        const float scale = __uint_as_float(stored << 16);
        const float inverse = scale > 0.0f ? 1.0f / scale : 0.0f;
        auto* words = reinterpret_cast<unsigned*>(out + g * kGroup);
#pragma unroll
        for (int w = 0; w < kGroup / 4; ++w) {
            unsigned word = 0;
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const int code = static_cast<int>(whole(group.t[4 * w + i] * inverse));
                word |= (static_cast<unsigned>(code) & 255u) << (8 * i);
            }
            words[w] = word;
        }
        reinterpret_cast<std::uint16_t*>(out + layout.scales)[g] = static_cast<std::uint16_t>(stored);
    }
    for (int i = layout.scales + 2 * layout.n_groups + thread; i < layout.bytes; i += kThreads) out[i] = 0;
}

template <WeightType kType, typename T>
void start(Worker& worker, const WeightView& rows, const Layout& layout, void* out) {
    const dim3 grid(blocks_for(rows.n_rows, 1));
    const auto* data = static_cast<const T*>(rows.data);
    auto* bytes = static_cast<unsigned char*>(out);
    if constexpr (traits_of(kType).coding == WeightCoding::kSigned) {
        worker.start(quantize_int8<T>, grid, kThreads, 0, data, row_stride(rows), layout, bytes);
    } else {
        worker.start(quantize_hqq<kType, T>, grid, kThreads, shared_bytes(layout), data, row_stride(rows), layout,
                     bytes);
    }
}

}  // namespace

bool can_quantize(const WeightView& rows, WeightType format, const void* out) {
    if (is_packed(rows.type) || !is_packed(format) || rows.n_cols <= 0 || rows.n_cols % kPackedBlock != 0) return false;
    if (rows.n_rows <= 0 || reinterpret_cast<std::uintptr_t>(out) % 8 != 0) return false;
    return traits_of(format).coding == WeightCoding::kSigned ||
           shared_bytes(layout_of(format, rows.n_cols)) <= kMostShared;
}

void quantize(Worker& worker, const WeightView& rows, WeightType format, void* out) {
    const Layout layout = layout_of(format, rows.n_cols);
    with_packed_type(format, [&](auto packed) {
        with_type(rows.type, [&](auto* pointer) {
            start<decltype(packed)::value, ValueOf<decltype(pointer)>>(worker, rows, layout, out);
        });
    });
}

}  // namespace offstage::kernels::cuda
