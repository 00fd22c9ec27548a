#include "engine/quant/quantizer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "engine/error.h"
#include "engine/quant/quant_messages.h"
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

void copy_biases(const kernels::ExpertView& expert, const kernels::ExpertLayout& layout, std::byte* block) {
    if (layout.spec.biases) std::memcpy(block + layout.bias_offset(), expert.biases().gate, layout.bias_bytes());
}

Quantizer::Quantizer(kernels::ThreadPool& pool, QuantMethod method, RowQuantizer* helper)
    : pool_(pool), method_(method), helper_(method == QuantMethod::kHqq ? helper : nullptr) {}

// Two pieces are under way: while the device has one, the pool checks the weights of the
// next and the result of the one before. False: the device cannot, or its result is
// wrong; n_helped_ rows are still right.
bool Quantizer::quantize_with_help(const kernels::WeightView& rows, WeightType format, std::byte* out,
                                   std::size_t out_stride, std::vector<QuantError>& errors,
                                   const std::stop_token& stop) {
    const std::int64_t n_cols = rows.n_cols;
    const std::int64_t most = helper_->rows_per_piece(n_cols, rows.type, format);
    if (most <= 0) return false;
    const kernels::CpuKernels& k = kernels::cpu_kernels();
    const kernels::QuantizeKernels& q = kernels::quantize_kernels(k.instruction_set);
    const std::size_t row_bytes = kernels::row_bytes(format, n_cols);
    const auto width = static_cast<std::size_t>(n_cols);
    const auto scratch_floats = static_cast<std::size_t>(kernels::quantize_scratch_floats(format, n_cols));
    std::vector<std::vector<float>> buffers(static_cast<std::size_t>(pool_.n_threads()));
    for (auto& buffer : buffers) buffer.resize(2 * width + scratch_floats);
    std::vector<std::byte> own_row(row_bytes);

    const auto in_range = [&](std::int64_t first, std::int64_t n) {
        std::atomic<bool> valid{true};
        pool_.parallel_dynamic(n, [&](std::int64_t i, int thread) {
            float* row = buffers[static_cast<std::size_t>(thread)].data();
            k.widen(rows.row(first + i), rows.type, n_cols, row);
            if (!(q.largest(row, n_cols) <= kernels::kLargestPackedWeight)) valid = false;
            errors[static_cast<std::size_t>(first + i)].weights = q.sum_of_squares(row, n_cols);
        });
        return valid.load();
    };
    const auto take = [&](std::int64_t first, std::int64_t n, const std::byte* packed) {
        if (packed == nullptr) return false;
        float* row = buffers.front().data();
        k.widen(rows.row(first), rows.type, n_cols, row);
        q.pack_row(format, true, row, n_cols, row + 2 * width, own_row.data());
        if (std::memcmp(own_row.data(), packed, row_bytes) != 0) return false;
        pool_.parallel_dynamic(n, [&](std::int64_t i, int thread) {
            std::byte* const target = out + static_cast<std::size_t>(first + i) * out_stride;
            std::memcpy(target, packed + static_cast<std::size_t>(i) * row_bytes, row_bytes);
            float* plain = buffers[static_cast<std::size_t>(thread)].data();
            float* read = plain + width;
            k.widen(rows.row(first + i), rows.type, n_cols, plain);
            k.widen(target, format, n_cols, read);
            for (std::size_t c = 0; c < width; ++c) plain[c] -= read[c];
            errors[static_cast<std::size_t>(first + i)].squared = q.sum_of_squares(plain, n_cols);
        });
        n_helped_ = first + n;
        return true;
    };

    struct Piece {
        std::int64_t first = 0, n = 0;
        int slot = 0;
    };
    std::optional<Piece> before;
    bool ok = true;
    for (std::int64_t first = 0; ok && (first < rows.n_rows || before.has_value()); first += most) {
        std::optional<Piece> now;
        if (first < rows.n_rows) {
            now = Piece{first, std::min(most, rows.n_rows - first),
                        static_cast<int>(first / most % RowQuantizer::kSlots)};
            const bool go_on = !stop.stop_requested();
            if (!go_on || !in_range(now->first, now->n)) {
                if (before.has_value()) helper_->finish(before->slot);
                if (!go_on) throw Error(ErrorKind::kCancelled, messages::quantizing_cancelled);
                return false;  // the pool finds the error again, and reports it
            }
            const kernels::WeightView piece{rows.row(now->first), rows.type, now->n, n_cols, rows.stride};
            ok = helper_->start(now->slot, piece, format);
            if (!ok) now.reset();
        }
        if (before.has_value()) ok = take(before->first, before->n, helper_->finish(before->slot)) && ok;
        if (!ok && now.has_value()) helper_->finish(now->slot);
        before = now;
    }
    return ok;
}

QuantError Quantizer::quantize_expert(const kernels::ExpertView& expert, const kernels::ExpertLayout& layout,
                                      std::byte* block, const std::stop_token& stop) {
    const kernels::ExpertLayout& from = expert.layout;
    copy_biases(expert, layout, block);
    if (from.is_uniform() && layout.is_uniform()) {
        return quantize({expert.data, from.gate, from.n_rows(), from.hidden_dim}, layout.gate, block, stop);
    }
    struct Part {
        kernels::WeightView rows;
        WeightType format;
        std::size_t offset;
    };
    QuantError error;
    std::int64_t n_helped = 0;
    const std::array<Part, 3> parts = {Part{expert.gate(), layout.gate, 0},
                                       Part{expert.up(), layout.up, layout.up_offset()},
                                       Part{expert.down(), layout.down, layout.down_offset()}};
    for (const Part& part : std::span(parts).subspan(static_cast<std::size_t>(layout.spec.first_matrix()))) {
        error += quantize(part.rows, part.format, block + part.offset, stop, layout.neuron_bytes());
        n_helped += n_helped_;
    }
    n_helped_ = n_helped;
    return error;
}

QuantError Quantizer::quantize(const kernels::WeightView& rows, WeightType format, std::byte* out,
                               const std::stop_token& stop, std::size_t out_stride) {
    const std::int64_t n_cols = rows.n_cols;
    const bool packs = kernels::is_packed(format);
    const bool copies = rows.type == format;
    if (kernels::is_packed(rows.type) || (!packs && !copies && format != WeightType::kBf16) ||
        (packs && n_cols % kernels::kPackedBlock != 0)) {
        throw Error(ErrorKind::kUnsupported,
                    messages::rows_cannot_be_packed(n_cols, kernels::name_of(rows.type), kernels::name_of(format)));
    }
    if (rows.n_rows <= 0 || n_cols <= 0) return {};
    std::vector<QuantError> errors(static_cast<std::size_t>(rows.n_rows));
    const auto sum = [&] {
        QuantError total;  // in the rows' order: the same for any number of threads
        for (const QuantError& error : errors) total += error;
        return total;
    };
    n_helped_ = 0;
    if (out_stride == 0) out_stride = kernels::row_bytes(format, n_cols);
    if (helper_ != nullptr && packs && quantize_with_help(rows, format, out, out_stride, errors, stop)) return sum();

    const kernels::CpuKernels& k = kernels::cpu_kernels();
    const kernels::QuantizeKernels& q = kernels::quantize_kernels(k.instruction_set);
    const std::size_t row_bytes = kernels::row_bytes(format, n_cols);
    const auto scratch_floats = static_cast<std::size_t>(packs ? kernels::quantize_scratch_floats(format, n_cols) : 0);
    // Allocated here, because pieces must not throw.
    std::vector<std::vector<float>> buffers(static_cast<std::size_t>(pool_.n_threads()));
    for (auto& buffer : buffers) buffer.resize(static_cast<std::size_t>(n_cols) + scratch_floats);
    std::atomic<bool> cancelled{false};
    std::atomic<bool> invalid{false};

    const std::int64_t begin = n_helped_;
    const std::int64_t chunk = std::max<std::int64_t>(1, kChunkWeights / n_cols);
    pool_.parallel_dynamic((rows.n_rows - begin + chunk - 1) / chunk, [&](std::int64_t piece, int thread) {
        if (cancelled || invalid) return;
        if (stop.stop_requested()) {
            cancelled = true;
            return;
        }
        float* row = buffers[static_cast<std::size_t>(thread)].data();
        for (std::int64_t r = begin + piece * chunk; r < std::min(rows.n_rows, begin + (piece + 1) * chunk); ++r) {
            std::byte* target = out + static_cast<std::size_t>(r) * out_stride;
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
    if (cancelled) throw Error(ErrorKind::kCancelled, messages::quantizing_cancelled);
    if (invalid) {
        throw Error(ErrorKind::kInvalidModel, messages::weight_not_finite);
    }
    return sum();
}

}  // namespace offstage::engine
