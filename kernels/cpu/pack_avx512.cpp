#include "kernels/cpu/packed_avx512.h"
// The names above are what the templates below are written in.
#include "kernels/cpu/pack_simd.h"

namespace offstage::kernels::avx512 {

void transpose_f32(const PanelSource& source, std::int64_t width, float* panel) {
    transpose_f32_any(source, width, panel);
}

void transpose_bf16_pairs(const PanelSource& source, std::int64_t width, Bf16* panel) {
    transpose_bf16_pairs_any(source, width, panel);
}

void copy_f32(const PanelSource& source, std::int64_t width, float* panel) {
    copy_f32_any(source, width, panel);
}

void interleave_bf16_pairs(const PanelSource& source, std::int64_t width, Bf16* panel) {
    interleave_bf16_pairs_any(source, width, panel);
}

}  // namespace offstage::kernels::avx512
