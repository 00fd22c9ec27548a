#pragma once
// Dot products of quantized rows with inputs of 8 bits, a set of functions for each
// format. Internal to kernels/cpu.

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/operations.h"

namespace offstage::kernels {

struct QuantizedDots {
    // As CpuKernels::matvec_bytes().
    using Multiply = void (*)(const WeightView& weight, const std::byte* const* inputs, int n_tokens,
                              std::int64_t row_begin, std::int64_t row_end, float* y, std::int64_t y_stride,
                              std::byte* scratch);
    Multiply by_rows = nullptr;    // rows as they lie: quantized_row_dots_simd.h
    Multiply by_strips = nullptr;  // interleaved rows: quantized_strip_dots_simd.h; nullptr: the format has none
    // Unpacks rows [row, row + n_rows), of which a vector has a lane for each, side by
    // side into a panel (quantized_panel_dots_simd.h) in scratch memory. layout: of all
    // rows of a packed weight.
    void (*unpack)(const WeightView& weight, const PackedRow& layout, std::int64_t row, std::int64_t n_rows,
                   std::byte* scratch) = nullptr;
};

namespace OFFSTAGE_INSTRUCTION_SET {
// The functions of a format; nullptr: another of these files has them.
using DotsOfFormat = const QuantizedDots*(WeightType type);
DotsOfFormat dots_of_int8_hqq;        // quantized_dots_int8_hqq_simd.cpp
DotsOfFormat dots_of_q4_0_q5_0_q8_0;  // quantized_dots_q4_0_q5_0_q8_0_simd.cpp, and so on
DotsOfFormat dots_of_q4_k_q5_k;
DotsOfFormat dots_of_q2_k_q3_k_q6_k;
DotsOfFormat dots_of_iq4_mxfp4;
DotsOfFormat dots_of_iq1_iq2_iq3;
}  // namespace OFFSTAGE_INSTRUCTION_SET

}  // namespace offstage::kernels
