#pragma once

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <vector>

#include "engine/device/row_quantizer.h"
#include "engine/quant/weight_format.h"
#include "kernels/expert_layout.h"
#include "kernels/thread_pool.h"
#include "kernels/types.h"

namespace offstage::engine {

// Changes whenever the bytes that quantize() makes change: stored copies of another
// version are not used.
inline constexpr std::uint32_t kQuantizerVersion = 1;

struct QuantError {
    double squared = 0;       // sum of (w - q(w))^2
    double weights = 0;       // sum of w^2
    double relative() const;  // sqrt(squared / weights); 0 where there are none
    QuantError& operator+=(const QuantError& other);
};

// Rows of weights into a packed format (kernels/packed.h), each row by itself, several
// threads; deterministic for any number of them. Also converts to kBf16, and copies if
// source and format are the same. Any number of threads may have a Quantizer each; pools
// are not shared.
class Quantizer {
  public:
    // `helper`: a device that packs instead of the pool's threads, which then check its
    // work: the range of the weights before, a row of each piece byte by byte and the
    // error of all after. If it cannot or fails, or a row differs from theirs, they do
    // all the work. nullptr: none. It must outlive this object.
    explicit Quantizer(kernels::ThreadPool& pool, QuantMethod method = QuantMethod::kHqq,
                       RowQuantizer* helper = nullptr);

    // rows: of a plain type, n_cols a multiple of kernels::kPackedBlock where `format` is
    // packed. out: n_rows rows of kernels::row_bytes(format, n_cols), out_stride bytes
    // apart (0: one after the other). The error is that of the packed rows themselves, as
    // kernels::unpack_row reads them. A stop request ends in Error (kCancelled). Not a
    // number or infinite: Error (kInvalidModel).
    QuantError quantize(const kernels::WeightView& rows, kernels::WeightType format, std::byte* out,
                        const std::stop_token& stop = {}, std::size_t out_stride = 0);
    // An expert of plain types, neuron-major, into the formats of `layout`, which is
    // neuron-major as well. block: layout.bytes().
    QuantError quantize_expert(const kernels::ExpertView& expert, const kernels::ExpertLayout& layout, std::byte* block,
                               const std::stop_token& stop = {});

    // The rows of the last call that the helper packed.
    std::int64_t n_helped() const { return n_helped_; }

  private:
    bool quantize_with_help(const kernels::WeightView& rows, kernels::WeightType format, std::byte* out,
                            std::size_t out_stride, std::vector<QuantError>& errors, const std::stop_token& stop);

    kernels::ThreadPool& pool_;
    QuantMethod method_;
    RowQuantizer* helper_;
    std::int64_t n_helped_ = 0;
};

// The expert's biases, where it has some, to their place in a block of this layout.
void copy_biases(const kernels::ExpertView& expert, const kernels::ExpertLayout& layout, std::byte* block);

}  // namespace offstage::engine
