// Operations by value or by row.

#include <algorithm>
#include <cassert>
#include <cmath>

#include "engine/device/cpu_operations_state.h"
#include "kernels/interleaved.h"

namespace offstage::engine {

CpuOperations::CpuOperations(kernels::ThreadPool& pool, kernels::ProductForm form)
    : state_(std::make_unique<State>(pool, form)) {}
CpuOperations::~CpuOperations() = default;

kernels::ThreadPool& CpuOperations::pool() {
    return state_->pool;
}

kernels::ProductForm CpuOperations::form() const {
    return state_->form;
}

void CpuOperations::set_sum_order(SumOrder order) {
    state_->order = order;
}

SumOrder CpuOperations::sum_order() const {
    return state_->order;
}

const kernels::NeuronCounts& CpuOperations::neurons() const {
    return state_->neurons;
}

void CpuOperations::embed(const kernels::WeightView& table, const TokenId* tokens, std::int64_t n, float* x) {
    const std::int64_t hidden = table.n_cols;
    if (table.interleaved) {
        const std::size_t row_bytes = table.stride_bytes();
        std::byte* const rows =
            State::room(state_->strip, static_cast<std::int64_t>(row_bytes) * kernels::kInterleavedRows);
        for (std::int64_t t = 0; t < n; ++t) {
            const std::int64_t lane = tokens[t] % kernels::kInterleavedRows;
            kernels::interleave_rows(table.type, hidden, table.row(tokens[t] - lane), rows, true);
            state_->kernels.widen(rows + static_cast<std::size_t>(lane) * row_bytes, table.type, hidden,
                                  x + t * hidden);
        }
        return;
    }
    state_->pool.parallel_for(n, State::kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t t = begin; t < end; ++t) {
            state_->kernels.widen(table.row(tokens[t]), table.type, hidden, x + t * hidden);
        }
    });
}

void CpuOperations::norm(const NormWeights& norm, const float* x, std::int64_t n, float* out) {
    const std::int64_t dim = norm.dim;
    state_->pool.parallel_for(n, State::kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t t = begin; t < end; ++t) {
            if (norm.kind == kernels::NormKind::kRms) {
                state_->kernels.rms_norm(x + t * dim, norm.weight, dim, norm.eps, out + t * dim);
            } else {
                state_->kernels.layer_norm(x + t * dim, norm.weight, norm.bias, dim, norm.eps, out + t * dim);
            }
        }
    });
}

void CpuOperations::norm_pieces(const NormWeights& norm, std::int64_t n, std::int64_t stride, std::int64_t n_pieces,
                                float* x) {
    assert(norm.kind == kernels::NormKind::kRms);
    state_->pool.parallel_for(n, State::kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t t = begin; t < end; ++t) {
            for (std::int64_t piece = 0; piece < n_pieces; ++piece) {
                float* place = x + t * stride + piece * norm.dim;
                state_->kernels.rms_norm(place, norm.weight, norm.dim, norm.eps, place);
            }
        }
    });
}

void CpuOperations::add_bias(const float* bias, std::int64_t n, std::int64_t dim, float* x) {
    state_->pool.parallel_for(n, State::kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t t = begin; t < end; ++t) state_->kernels.axpy(1.0f, bias, dim, x + t * dim);
    });
}

void CpuOperations::add(const float* y, std::int64_t n, float* x, float factor) {
    state_->for_values(n, [&](std::int64_t begin, std::int64_t end) {
        state_->kernels.axpy(factor, y + begin, end - begin, x + begin);
    });
}

void CpuOperations::add_gated(const float* gate, const float* input, const float* y, std::int64_t n, std::int64_t dim,
                              float* x) {
    const kernels::WeightView row{gate, kernels::WeightType::kF32, 1, dim};
    state_->pool.parallel_for(n, State::kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t t = begin; t < end; ++t) {
            float logit = 0.0f;
            state_->kernels.matvec(row, input + t * dim, 0, 1, &logit);
            state_->kernels.axpy(1.0f / (1.0f + std::exp(-logit)), y + t * dim, dim, x + t * dim);
        }
    });
}

void CpuOperations::scale(float factor, std::int64_t n, float* x) {
    state_->for_values(n, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) x[i] *= factor;
    });
}

void CpuOperations::multiply_sigmoid(const float* gate, std::int64_t n, float* x) {
    state_->for_values(n, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) x[i] /= 1.0f + std::exp(-gate[i]);
    });
}

void CpuOperations::clamp(float limit, std::int64_t n, float* x) {
    state_->for_values(n, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) x[i] = std::min(std::max(x[i], -limit), limit);
    });
}

void CpuOperations::soft_cap(float limit, std::int64_t n, float* x) {
    state_->for_values(
        n, [&](std::int64_t begin, std::int64_t end) { state_->kernels.soft_cap(limit, end - begin, x + begin); });
}

void CpuOperations::clear(std::int64_t n, float* x) {
    std::fill_n(x, n, 0.0f);
}

}  // namespace offstage::engine
