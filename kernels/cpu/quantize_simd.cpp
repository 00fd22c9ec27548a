#include "kernels/cpu/simd.h"
// The rest uses the names of the header above.
#include "kernels/cpu/operations.h"
#include "kernels/cpu/quantize_simd.h"

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

float largest_weight(const float* row, std::int64_t n) {
    return largest_any(row, n);
}

double sum_of_squares(const float* row, std::int64_t n) {
    return sum_of_squares_any(row, n);
}

double pack_row(WeightType format, bool fit_zeros, const float* row, std::int64_t n_cols, float* scratch,
                std::byte* out) {
    return pack_row_any(format, fit_zeros, row, n_cols, scratch, out);
}

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
