#include "engine/quant/quantizer.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <vector>

#include "engine/error.h"
#include "kernels/cpu_kernels.h"
#include "kernels/quantize.h"

namespace offstage::engine {
namespace {

using kernels::WeightType;

constexpr std::int64_t kChunkWeights = std::int64_t{1} << 16;  // between two looks at the stop token

}  // namespace

double QuantError::relative() const {
    return weights > 0 ? std::sqrt(squared / weights) : 0.0;
}

QuantError& QuantError::operator+=(const QuantError& other) {
    squared += other.squared;
    weights += other.weights;
    return *this;
}

Quantizer::Quantizer(kernels::ThreadPool& pool, QuantMethod method) : pool_(pool), method_(method) {}

QuantError Quantizer::quantize(const kernels::WeightView& rows, WeightType format, std::byte* out,
                               const std::stop_token& stop) {
    const std::int64_t n_cols = rows.n_cols;
    const bool packs = kernels::is_packed(format);
    const bool copies = rows.type == format;
    if (kernels::is_packed(rows.type) || (!packs && !copies && format != WeightType::kBf16) ||
        (packs && n_cols % kernels::kPackedBlock != 0)) {
        throw Error(ErrorKind::kUnsupported,
                    std::string("Rows of ") + std::to_string(n_cols) + " " + kernels::name_of(rows.type) +
                        " weights cannot become " + kernels::name_of(format) +
                        "; packed rows are made of plain weights, " + "a multiple of 64 in each.");
    }
    if (rows.n_rows <= 0 || n_cols <= 0) return {};

    const kernels::CpuKernels& k = kernels::cpu_kernels();
    const kernels::QuantizeKernels& q = kernels::quantize_kernels(k.instruction_set);
    const std::size_t row_bytes = kernels::row_bytes(format, n_cols);
    const auto scratch_floats = static_cast<std::size_t>(packs ? kernels::quantize_scratch_floats(format, n_cols) : 0);
    // Allocated here, because pieces must not throw.
    std::vector<std::vector<float>> buffers(static_cast<std::size_t>(pool_.n_threads()));
    for (auto& buffer : buffers) buffer.resize(static_cast<std::size_t>(n_cols) + scratch_floats);
    std::vector<QuantError> errors(static_cast<std::size_t>(rows.n_rows));
    std::atomic<bool> cancelled{false};
    std::atomic<bool> invalid{false};

    const std::int64_t chunk = std::max<std::int64_t>(1, kChunkWeights / n_cols);
    pool_.parallel_dynamic((rows.n_rows + chunk - 1) / chunk, [&](std::int64_t piece, int thread) {
        if (cancelled || invalid) return;
        if (stop.stop_requested()) {
            cancelled = true;
            return;
        }
        float* row = buffers[static_cast<std::size_t>(thread)].data();
        for (std::int64_t r = piece * chunk; r < std::min(rows.n_rows, (piece + 1) * chunk); ++r) {
            std::byte* target = out + static_cast<std::size_t>(r) * row_bytes;
            if (copies) {
                std::memcpy(target, rows.row(r), row_bytes);
                continue;
            }
            k.widen(rows.row(r), rows.type, n_cols, row);
            if (!(q.largest(row, n_cols) <= kernels::kLargestPackedWeight)) {
                invalid = true;
                return;
            }
            QuantError& error = errors[static_cast<std::size_t>(r)];
            if (packs) {
                error.squared = q.pack_row(format, method_ == QuantMethod::kHqq, row, n_cols, row + n_cols, target);
            } else {
                auto* narrow = reinterpret_cast<kernels::Bf16*>(target);
                k.narrow_bf16(row, n_cols, narrow);
                for (std::int64_t i = 0; i < n_cols; ++i) {
                    const double d = static_cast<double>(row[i]) - static_cast<double>(to_float(narrow[i]));
                    error.squared += d * d;
                }
            }
            error.weights = q.sum_of_squares(row, n_cols);
        }
    });
    if (cancelled) throw Error(ErrorKind::kCancelled, "Quantizing was cancelled.");
    if (invalid) {
        throw Error(ErrorKind::kInvalidModel,
                    "A weight is infinite, not a number or beyond 1e15; such a tensor cannot be quantized.");
    }
    QuantError total;  // in the rows' order: the same for any number of threads
    for (const QuantError& error : errors) total += error;
    return total;
}

}  // namespace offstage::engine
