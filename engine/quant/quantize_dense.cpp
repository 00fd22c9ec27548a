#include "engine/quant/quantize_dense.h"

#include <algorithm>
#include <string>
#include <vector>

#include "engine/error.h"
#include "engine/quant/quant_messages.h"
#include "engine/quant/quantizer.h"

namespace offstage::engine {

using kernels::WeightType;

std::uint64_t quantized_dense_bytes(const ModelSpec& spec, std::uint64_t dense_bytes, WeightType stored,
                                    WeightType format) {
    for (const DenseTensor& tensor : dense_tensors(spec)) {
        if (!is_quantized_to(tensor, tensor.stored_type(stored), format)) continue;
        dense_bytes -= std::min(dense_bytes, tensor.stored_bytes(stored));
        dense_bytes += tensor.bytes(format);
    }
    return dense_bytes;
}

std::uint64_t packing_bytes(const ModelSpec& spec, WeightType stored, WeightType format) {
    std::uint64_t largest = 0;
    for (const DenseTensor& tensor : dense_tensors(spec)) {
        if (is_quantized_to(tensor, tensor.stored_type(stored), format))
            largest = std::max(largest, tensor.bytes(format));
    }
    return (largest + 255) / 256 * 256;
}

Message dense_note(const ModelSpec& spec, WeightType stored, WeightType format) {
    if (stored == format || kernels::is_packed(stored) || !kernels::is_packed(format)) return {};
    std::int64_t n_blocks = 0;
    // One sentence for each width of rows, in the order of their appearance.
    struct Left {
        std::int64_t n_cols = 0;
        bool projections = false, outputs = false, others = false;
    };
    std::vector<Left> all;
    for (const DenseTensor& tensor : dense_tensors(spec)) {
        const WeightType type = tensor.stored_type(stored);
        if (kernels::is_blocks(type) && tensor.may_be_quantized) ++n_blocks;
        if (!tensor.may_be_quantized || !kernels::is_plain(type) || is_quantized_to(tensor, type, format)) continue;
        auto found =
            std::find_if(all.begin(), all.end(), [&](const Left& left) { return left.n_cols == tensor.n_cols; });
        if (found == all.end()) found = all.insert(all.end(), Left{tensor.n_cols});
        (tensor.role == TensorRole::kQkv               ? found->projections
         : tensor.role == TensorRole::kAttentionOutput ? found->outputs
                                                       : found->others) = true;
    }
    Message note;
    if (n_blocks > 0) {
        note = messages::dense_matrices_stay(n_blocks);
    }
    for (const Left& left : all) {
        const Message matrices = left.others                        ? messages::and_dense_matrices
                                 : left.projections && left.outputs ? messages::matrices
                                 : left.projections                 ? messages::qkv_matrices
                                                                    : messages::output_matrices;
        note = joined(std::move(note), messages::attention_matrices_stay(matrices, kernels::name_of(stored),
                                                                         kernels::name_of(format), left.n_cols));
    }
    return note;
}

void quantize_dense(DenseWeights& weights, WeightType format, Arena& host, kernels::ThreadPool& pool,
                    const std::stop_token& stop) {
    if (!kernels::traits_of(format).for_dense) {
        const std::string expected = list_formats([](const FormatRow& row) { return row.for_dense; },
                                                  [](const FormatRow& row) { return std::string(row.name); });
        throw Error(ErrorKind::kUnsupported, messages::dense_format_unknown(kernels::name_of(format), expected));
    }
    Quantizer quantizer(pool);
    for (DenseWeight& tensor : weights.tensors) {
        Matrix& matrix = tensor.matrix;
        if (tensor.what.kind == DenseTensor::Kind::kVector || !is_quantized_to(tensor.what, matrix.type, format))
            continue;
        Matrix packed(host, format, matrix.n_rows, matrix.n_cols, messages::dense_weights_in_fewer_bits);
        quantizer.quantize(matrix.view(), format, packed.memory.data(), stop);
        matrix = std::move(packed);
    }
}

}  // namespace offstage::engine
