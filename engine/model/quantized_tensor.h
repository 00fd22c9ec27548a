#pragma once
// Weights as quantized safetensors checkpoints have them: codes of 4 or 8 bits in one
// tensor, scales in others. They are read as bfloat16, code times scale, rounded once.
// So are the blocks of GGUF files that no kernel multiplies: NVFP4, TQ1_0, TQ2_0.
//
// weight, rows of codes      scales                  known as
// F8_E4M3                    _scale_inv, _scale,     FP8 (transformers' "fp8",
//                            .scale: a block, a      compressed-tensors' float-quantized,
//                            row or all weights      ModelOpt), MXFP8 with exponents
// I8                         _scale: a row           INT8 (int-quantized)
// I8, two codes of E2M1      _scale_inv: exponents   FP4 (transformers' "fp8")
// _packed I32, from -2^(b-1) _scale: a group         INT4, INT8 (pack-quantized)
// _packed U8, codes of E2M1  _scale: exponents of 32 MXFP4 (mxfp4-pack-quantized)
// _packed U8, codes of E2M1  _scale F8_E4M3 of 16,   NVFP4 (nvfp4-pack-quantized)
//                            over _global_scale
// U8, codes of E2M1          the same, times         NVFP4 (ModelOpt)
//                            _scale_2
// (compressed-tensors 0.20, transformers 5.24: integrations/finegrained_fp8.py)
//
// GGUF    a block of        scales                      then
// NVFP4   64 in 36 bytes    E4M3 without sign, of 16,   E2M1: eight bytes of 16 codes, the
//                           halved, since its values    lower bits are the first eight
//                           are doubled
// TQ1_0   256 in 54         binary16, the last          5 ternary digits a byte (240 codes),
//                                                       4 a byte (16)
// TQ2_0   256 in 66         binary16, the last          2 bits each, from -1
// (ggml of October 2026: ggml-common.h, ggml-quants.c)

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/types.h"

namespace offstage::engine {

class Checkpoint;
struct TensorView;

class QuantizedTensor {
  public:
    enum class Codes : std::uint8_t {
        kE4m3,
        kE2m1,
        kSigned8,
        kBiased8,
        kBiased4,
        kNvfp4Blocks,
        kTq1Blocks,
        kTq2Blocks
    };
    enum class Scales : std::uint8_t { kF32, kF16, kBf16, kE4m3, kE8m0 };

    Codes codes = Codes::kE4m3;
    Scales scales = Scales::kF32;
    std::span<const std::byte> code_bytes, scale_bytes;  // in the mapped files; blocks have their scales
    std::int64_t n_rows = 0;                             // of one matrix; experts or shares are several
    std::int64_t n_cols = 0;
    std::int64_t scale_rows = 1, scale_cols = 1;        // scales of one matrix
    std::int64_t rows_of_scale = 1, cols_of_scale = 1;  // weights that share a scale
    float factor = 1;                                   // of all scales

    // out: weights [first, first + n) of the tensor, row-major. Any thread.
    void read(std::int64_t first, std::int64_t n, kernels::Bf16* out) const;
    // The bytes of whole rows, and of the scales that belong to them.
    std::span<const std::byte> codes_of(std::int64_t first_row, std::int64_t rows) const;
    std::span<const std::byte> scales_of(std::int64_t first_row, std::int64_t rows) const;

  private:
    void read_blocks(std::int64_t first, std::int64_t n, kernels::Bf16* out) const;
    std::size_t row_bytes() const;
    std::int64_t scale_row(std::int64_t row) const;
    float scale(std::int64_t index) const;
};

// Of a tensor type of ggml, by its number; nullopt: it is no such type.
std::optional<QuantizedTensor::Codes> codes_of_ggml_type(std::uint32_t number);

// Puts the quantized tensors of one checkpoint together: each becomes a BF16 tensor with
// the name and the shape of its weights (TensorView::quantized), and its scales are no
// tensors any more, nor are those of activations. Throws Error: kInvalidModel for shapes
// that do not fit each other, kUnsupported for zero points and for columns in another
// order.
void join_quantized(std::vector<TensorView>& tensors, const Checkpoint& checkpoint);

}  // namespace offstage::engine
