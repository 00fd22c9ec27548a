#include "kernels/cpu/pack.h"
#include "kernels/cpu/scalar_math.h"

namespace offstage::kernels::scalar {

void transpose_f32(const PanelSource& source, std::int64_t width, float* panel) {
    for (std::int64_t o = 0; o < source.n_rows; ++o) {
        with_weights(source.row(o), source.type, [&](const auto* row) {
            for (std::int64_t i = 0; i < source.n_cols; ++i) panel[i * width + o] = to_float(row[i]);
        });
    }
}

void transpose_bf16_pairs(const PanelSource& source, std::int64_t width, Bf16* panel) {
    for (std::int64_t o = 0; o < source.n_rows; ++o) {
        with_weights(source.row(o), source.type, [&](const auto* row) {
            for (std::int64_t i = 0; i < source.n_cols; ++i) {
                panel[(i / 2 * width + o) * 2 + i % 2] = to_bf16(to_float(row[i]));
            }
        });
        if (source.n_cols % 2 != 0) panel[(source.n_cols / 2 * width + o) * 2 + 1] = {};
    }
}

void copy_f32(const PanelSource& source, std::int64_t width, float* panel) {
    for (std::int64_t i = 0; i < source.n_rows; ++i) {
        with_weights(source.row(i), source.type, [&](const auto* row) {
            for (std::int64_t o = 0; o < source.n_cols; ++o) panel[i * width + o] = to_float(row[o]);
        });
    }
}

void interleave_bf16_pairs(const PanelSource& source, std::int64_t width, Bf16* panel) {
    for (std::int64_t i = 0; i < source.n_rows; ++i) {
        Bf16* pairs = panel + i / 2 * width * 2;
        with_weights(source.row(i), source.type, [&](const auto* row) {
            for (std::int64_t o = 0; o < source.n_cols; ++o) pairs[2 * o + i % 2] = to_bf16(to_float(row[o]));
        });
        if (i % 2 == 0 && i + 1 == source.n_rows) {
            for (std::int64_t o = 0; o < source.n_cols; ++o) pairs[2 * o + 1] = {};
        }
    }
}

}  // namespace offstage::kernels::scalar

namespace offstage::kernels {

const PackKernels& pack_kernels(InstructionSet set) {
    static constexpr PackKernels kScalar = {scalar::transpose_f32, scalar::transpose_bf16_pairs, scalar::copy_f32,
                                            scalar::interleave_bf16_pairs};
#if defined(__x86_64__)
    static constexpr PackKernels kAvx2 = {avx2::transpose_f32, avx2::transpose_bf16_pairs, avx2::copy_f32,
                                          avx2::interleave_bf16_pairs};
    static constexpr PackKernels kAvx512 = {avx512::transpose_f32, avx512::transpose_bf16_pairs, avx512::copy_f32,
                                            avx512::interleave_bf16_pairs};
    if (set == InstructionSet::kAvx2) return kAvx2;
    if (set != InstructionSet::kScalar) return kAvx512;
#else
    static_cast<void>(set);
#endif
    return kScalar;
}

}  // namespace offstage::kernels
