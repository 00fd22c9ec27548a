#include "engine/quant/quantize_dense.h"

#include <algorithm>
#include <string>

#include "engine/error.h"
#include "engine/quant/quantizer.h"

namespace offstage::engine {
namespace {

using kernels::WeightType;

// Towards 16 bits only from more: what a checkpoint holds in f16 stays so.
bool changes(WeightType stored, std::int64_t n_cols, WeightType format) {
    if (stored == format || kernels::is_packed(stored)) return false;
    if (kernels::is_packed(format)) return n_cols % kernels::kPackedBlock == 0;
    return format == WeightType::kBf16 && stored == WeightType::kF32;
}

}  // namespace

std::uint64_t quantized_dense_bytes(const ModelConfig& config, std::uint64_t dense_bytes, WeightType stored,
                                    WeightType format) {
    const std::int64_t q_rows = config.n_heads * config.head_dim;
    const auto resized = [&](std::int64_t n_rows, std::int64_t n_cols) {
        if (!changes(stored, n_cols, format)) return;
        const auto rows = static_cast<std::uint64_t>(config.n_layers * n_rows);
        dense_bytes -= std::min(dense_bytes, rows * kernels::row_bytes(stored, n_cols));
        dense_bytes += rows * kernels::row_bytes(format, n_cols);
    };
    resized(q_rows + 2 * config.n_kv_heads * config.head_dim, config.hidden_dim);
    resized(config.hidden_dim, q_rows);
    return dense_bytes;
}

void quantize_dense(DenseWeights& weights, WeightType format, Arena& host, kernels::ThreadPool& pool,
                    const std::stop_token& stop) {
    if (format != WeightType::kBf16 && format != WeightType::kInt8 && format != WeightType::kHqq4) {
        throw Error(ErrorKind::kUnsupported, std::string("Dense weights cannot be ") + kernels::name_of(format) +
                                                 "; expected BF16, INT8 or HQQ4.");
    }
    Quantizer quantizer(pool);
    for (LayerWeights& layer : weights.layers) {
        for (Matrix* matrix : {&layer.qkv, &layer.output}) {
            if (matrix->n_rows == 0 || !changes(matrix->type, matrix->n_cols, format)) continue;
            Matrix packed(host, format, matrix->n_rows, matrix->n_cols, "attention in fewer bits");
            quantizer.quantize(matrix->view(), format, packed.memory.data(), stop);
            *matrix = std::move(packed);
        }
    }
}

}  // namespace offstage::engine
