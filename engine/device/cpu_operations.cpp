#include "engine/device/cpu_operations.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <vector>

#include "engine/as_size.h"
#include "kernels/byte_experts.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kQueryBlock = 64;  // queries of one attention piece in prefill
constexpr std::int64_t kRowGrain = 16;    // rows of a step or a weight: the smallest piece worth another thread
// The kernels take 1, 2, 3 or 4 rows of a weight at once, the rest of a range one by one;
// a grain that all of these divide gives every row the same company, and so the same
// bits, on any number of threads.
constexpr std::int64_t kGrainOfSeveral = 12;
constexpr std::int64_t kPieceRows = 48;          // of a weight: a piece of a job of several, both grains divide it
constexpr std::int64_t kRoundedRows = 4;         // of inputs, rounded in one piece
constexpr std::int64_t kJobFloats = 1 << 20;     // of gates, and of ups: experts that go together stay in a cache
constexpr std::int64_t kValueGrain = 4096;       // the same for single values
constexpr std::int64_t kSerialFloats = 1 << 16;  // sums shorter than this are not worth waking the pool
constexpr std::int64_t kNeuronGrain = kernels::kRoundedNeurons;  // what the one-pass kernels take together
constexpr std::int64_t kSmallestChunk = 32;                      // neurons
constexpr std::array<float, CpuOperations::kFewTokens> kOnes = {1, 1, 1, 1, 1, 1, 1, 1};

template <typename Value>
Value* room(std::vector<Value>& buffer, std::int64_t n) {
    if (buffer.size() < as_size(n)) buffer.resize(as_size(n));
    return buffer.data();
}

// The same for inputs of 8 bits, which begin at a cache line.
std::byte* room_for_rounded(std::vector<std::byte>& buffer, std::int64_t n) {
    constexpr std::uintptr_t kLine = 64;
    std::byte* const bytes = room(buffer, n + static_cast<std::int64_t>(kLine));
    return bytes + (kLine - reinterpret_cast<std::uintptr_t>(bytes) % kLine) % kLine;
}

// Many chunks let any number of threads share the work evenly; each costs a sum per row, written and read once (all
// together under 1 % of the weights' bytes for a real model).
std::int64_t n_chunks(std::int64_t ffn_dim, std::int64_t n_rows) {
    const std::int64_t most = std::max<std::int64_t>(16, 64 / n_rows);
    return std::clamp<std::int64_t>(ffn_dim / kSmallestChunk, 1, most);
}

std::int64_t chunk_begin(std::int64_t ffn_dim, std::int64_t chunks, std::int64_t chunk) {
    const std::int64_t grains = (ffn_dim + kNeuronGrain - 1) / kNeuronGrain;
    return std::min(ffn_dim, grains * chunk / chunks * kNeuronGrain);
}

// The rows' tokens follow each other: then the inputs lie as the kernels want them.
bool are_consecutive(const std::int32_t* tokens, std::int64_t n) {
    for (std::int64_t i = 1; i < n; ++i) {
        if (tokens[i] != tokens[0] + i) return false;
    }
    return true;
}

// w1 and w3 of one type of a file's blocks as one matrix, whose rows are read in order:
// w1's first, w3's first, w1's second, ...
kernels::WeightView gate_and_up(const kernels::ExpertView& expert) {
    kernels::WeightView view = expert.gate();
    view.n_rows *= 2;
    view.stride = kernels::row_bytes(view.type, view.n_cols);
    return view;
}

// n pairs (gate, up) apart: the second ones into the first half of their place.
void take_apart(std::int64_t n, float* pairs, float* gate) {
    for (std::int64_t i = 0; i < n; ++i) {
        gate[i] = pairs[2 * i];
        pairs[i] = pairs[2 * i + 1];
    }
}

// Keys (n_kv_heads, key_dim) and, where the cache has them, values (n_kv_heads, value_dim) of token t of a segment.
void store_token(const kernels::KvShape& kv, std::int64_t layer, const AttentionSegment& segment, std::int64_t t,
                 const float* keys, const float* values) {
    const std::int64_t token = segment.past + t;
    const std::int64_t in_block = token % kernels::kKvBlockTokens;
    std::byte* block = segment.blocks[as_size(token / kernels::kKvBlockTokens)];
    for (std::int64_t head = 0; head < kv.n_kv_heads; ++head) {
        kernels::store_kv_row(keys + head * kv.key_dim, kv.key_dim, kv.type,
                              block + kv.keys_offset(layer, head) + in_block * kv.key_stride());
        if (kv.values_in_keys) continue;
        kernels::store_kv_row(values + head * kv.value_dim, kv.value_dim, kv.type,
                              block + kv.values_offset(layer, head) + in_block * kv.value_stride());
    }
}

}  // namespace

struct CpuOperations::State {
    State(kernels::ThreadPool& compute_pool, kernels::ProductForm product_form)
        : pool(compute_pool),
          form(product_form),
          kernels(kernels::cpu_kernels()),
          gemm(compute_pool),
          attention_scratch(as_size(compute_pool.n_threads())),
          product_scratch(as_size(compute_pool.n_threads())) {}

    // Of a product: rows of values, at most kFewTokens, or the rows rounded
    // (CpuKernels::round_inputs) where that is what is multiplied, any number.
    struct Inputs {
        const float* values = nullptr;
        std::int64_t stride = 0;
        std::int64_t n = 0;
        const std::byte* const* rounded = nullptr;
    };
    // Rows that one of the kernels for few rows takes, or that is multiplied matrix by
    // matrix in one job with others.
    struct ExpertRows {
        const ExpertCall* call = nullptr;
        const float* inputs = nullptr;
        std::int64_t chunks = 0;       // of neurons
        std::int64_t first_value = 0;  // where its rows begin among all experts': sums of chunks, (chunks, n_rows), or
                                       // activations, single values
        Inputs gate_inputs, up_inputs, down_inputs;  // where matrices are multiplied one by one
    };
    // Rows to round, and where to.
    struct Rounding {
        kernels::WeightType type;
        std::int64_t n_cols;
        const float* values;
        std::byte* to;
    };
    struct Piece {
        const ExpertRows* expert;
        std::int64_t begin, end;  // rows of its matrices
    };
    struct Chunk {
        const ExpertRows* expert;
        std::int64_t index;
        std::int64_t neurons_before;  // in the chunks before this one, of all experts
    };

    kernels::ThreadPool& pool;
    kernels::ProductForm form;
    SumOrder order = SumOrder::kByNumber;
    const kernels::CpuKernels& kernels;
    const kernels::ExpertFfnBytes expert_ffn_bytes = kernels::expert_ffn_bytes(kernels.instruction_set);
    kernels::Gemm gemm;
    std::vector<std::vector<float>> attention_scratch;  // per thread
    std::vector<float> router_logits;                   // (n, 3, n_experts): see route()
    std::vector<ExpertRows> few;
    std::vector<Chunk> chunks;
    std::vector<Piece> pieces;
    std::vector<float> gathered;     // inputs of experts whose tokens are apart
    std::vector<float> partials;     // see ExpertRows
    std::vector<std::byte> rounded;  // see Inputs
    std::vector<const std::byte*> rounded_rows;
    std::vector<Rounding> roundings;
    std::vector<std::int32_t> places;                     // of tokens among those that experts want
    std::vector<std::vector<std::byte>> product_scratch;  // per thread: CpuKernels::matvec_bytes
    std::vector<float> batch_in, batch_gate, batch_up;    // of one expert, matrix by matrix

    // change(begin, end): a range of n values, here or on the pool.
    template <typename Change>
    void for_values(std::int64_t n, const Change& change) {
        if (n <= kSerialFloats) {
            change(std::int64_t{0}, n);
        } else {
            pool.parallel_for(n, kValueGrain, [&](std::int64_t begin, std::int64_t end, int) { change(begin, end); });
        }
    }
    // Whether so many rows go through the kernels for few of them.
    bool are_few(std::int64_t n) const { return order == SumOrder::kByNumber && n <= kFewTokens; }
    void multiply(const kernels::WeightView& weight, const float* x, std::int64_t n, float* y);
    // Whether so many rows for such weights are rounded.
    bool rounds_inputs(kernels::WeightType type, std::int64_t n) const {
        return form.byte_inputs && kernels::is_coded(type) && (form.byte_prompts || are_few(n));
    }
    // Whether an expert of few rows goes through expert_ffn_bytes().
    bool rounds_neurons(const kernels::ExpertLayout& layout) const {
        return form.byte_inputs && kernels::takes_byte_inputs(layout);
    }
    void round_all();
    // n rows of n_cols values for weights of the type, rounded if that is what is multiplied.
    Inputs inputs_for(kernels::WeightType type, std::int64_t n_cols, const float* x, std::int64_t x_stride,
                      std::int64_t n);
    // For products of such weights on any thread.
    void reserve_scratch(std::int64_t n_cols) {
        for (auto& scratch : product_scratch) room(scratch, kernels::byte_product_scratch(n_cols));
    }
    // Rows [begin, end) of the weight.
    void multiply_rows(const kernels::WeightView& weight, const Inputs& x, std::int64_t begin, std::int64_t end,
                       float* y, std::int64_t y_stride, int thread) {
        if (x.rounded != nullptr) {
            kernels.matvec_bytes(weight, x.rounded, static_cast<int>(x.n), begin, end, y, y_stride,
                                 product_scratch[as_size(thread)].data());
        } else if (x.n == 1) {
            kernels.matvec(weight, x.values, begin, end, y);
        } else if (x.n > 1) {
            kernels.matvec_multi(weight, x.values, x.stride, static_cast<int>(x.n), begin, end, y, y_stride);
        }
    }
    // Whether the expert's matrices are multiplied one by one in a job with those of
    // others: all experts of few rows whose w2 lies by outputs, and of many if all their
    // inputs are rounded.
    bool goes_by_outputs(const ExpertCall& call) const {
        const kernels::ExpertLayout& layout = call.weights.layout;
        const auto rounds = [&](kernels::WeightType type) { return rounds_inputs(type, call.n_rows); };
        return layout.down_rows_are_outputs &&
               (are_few(call.n_rows) || (rounds(layout.gate) && rounds(layout.up) && rounds(layout.down)));
    }
    // The inputs of `few` whose kernels take float32, one after the other.
    void gather_inputs(const float* inputs, const std::int32_t* row_token);
    void few_rows(std::span<const ExpertCall> calls, const float* inputs, const std::int32_t* row_token, float* out);
    void add_partials(float* out, std::int64_t n_partials, std::int64_t hidden);
    void round_for_first_job(const float* inputs, const std::int32_t* row_token);
    void round_for_second_job(const float* activations);
    void by_outputs(std::span<const ExpertCall> calls, const float* inputs, const std::int32_t* row_token, float* out);
    void run_by_outputs(const float* inputs, const std::int32_t* row_token, float* out);
    void by_matrices(const ExpertCall& call, const float* inputs, const std::int32_t* row_token, float* out);
};

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

void CpuOperations::embed(const kernels::WeightView& table, const TokenId* tokens, std::int64_t n, float* x) {
    const std::int64_t hidden = table.n_cols;
    state_->pool.parallel_for(n, kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t t = begin; t < end; ++t) {
            state_->kernels.widen(table.row(tokens[t]), table.type, hidden, x + t * hidden);
        }
    });
}

void CpuOperations::norm(const NormWeights& norm, const float* x, std::int64_t n, float* out) {
    const std::int64_t dim = norm.dim;
    state_->pool.parallel_for(n, kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
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
    state_->pool.parallel_for(n, kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t t = begin; t < end; ++t) {
            for (std::int64_t piece = 0; piece < n_pieces; ++piece) {
                float* place = x + t * stride + piece * norm.dim;
                state_->kernels.rms_norm(place, norm.weight, norm.dim, norm.eps, place);
            }
        }
    });
}

void CpuOperations::add_bias(const float* bias, std::int64_t n, std::int64_t dim, float* x) {
    state_->pool.parallel_for(n, kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t t = begin; t < end; ++t) state_->kernels.axpy(1.0f, bias, dim, x + t * dim);
    });
}

void CpuOperations::multiply(const kernels::WeightView& weight, const float* x, std::int64_t n, float* y) {
    state_->multiply(weight, x, n, y);
}

void CpuOperations::State::round_all() {
    const auto n = static_cast<std::int64_t>(roundings.size());
    const auto round = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const Rounding& row = roundings[as_size(i)];
            kernels.round_inputs(row.type, row.values, row.n_cols, 1, row.n_cols, row.to);
        }
    };
    if (n <= kFewTokens) {
        round(0, n);
    } else {
        pool.parallel_for(n, kRoundedRows, [&](std::int64_t begin, std::int64_t end, int) { round(begin, end); });
    }
}

CpuOperations::State::Inputs CpuOperations::State::inputs_for(kernels::WeightType type, std::int64_t n_cols,
                                                              const float* x, std::int64_t x_stride, std::int64_t n) {
    if (n == 0 || !rounds_inputs(type, n)) return {x, x_stride, n, nullptr};
    const std::int64_t bytes = kernels::rounded_input_bytes(n_cols);
    std::byte* const to = room_for_rounded(rounded, n * bytes);
    room(rounded_rows, n);
    roundings.clear();
    for (std::int64_t t = 0; t < n; ++t) {
        roundings.push_back({type, n_cols, x + t * x_stride, to + t * bytes});
        rounded_rows[as_size(t)] = to + t * bytes;
    }
    round_all();
    reserve_scratch(n_cols);
    return {x, x_stride, n, rounded_rows.data()};
}

void CpuOperations::State::multiply(const kernels::WeightView& weight, const float* x, std::int64_t n, float* y) {
    if (!are_few(n) && !rounds_inputs(weight.type, n)) {
        gemm.multiply(form.many, kernels::GemmLayout::kRowsAreOutputs, x, weight.n_cols, n, weight, y, weight.n_rows);
        return;
    }
    const Inputs inputs = inputs_for(weight.type, weight.n_cols, x, weight.n_cols, n);
    if (!are_few(n)) {
        pool.parallel_dynamic((weight.n_rows + kPieceRows - 1) / kPieceRows, [&](std::int64_t piece, int thread) {
            const std::int64_t begin = piece * kPieceRows;
            multiply_rows(weight, inputs, begin, std::min(begin + kPieceRows, weight.n_rows), y, weight.n_rows, thread);
        });
        return;
    }
    pool.parallel_for(weight.n_rows, n == 1 ? kRowGrain : kGrainOfSeveral,
                      [&](std::int64_t begin, std::int64_t end, int thread) {
                          multiply_rows(weight, inputs, begin, end, y, weight.n_rows, thread);
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
    state_->pool.parallel_for(n, kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
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

void CpuOperations::multiply_heads(const kernels::WeightView& weight, std::int64_t n_heads, const float* x,
                                   std::int64_t x_stride, std::int64_t x_head_stride, std::int64_t n, float* y,
                                   std::int64_t y_stride, std::int64_t y_head_stride) {
    const std::int64_t n_rows = weight.n_rows / n_heads;
    const auto of_head = [&](std::int64_t head) {
        kernels::WeightView part = weight;
        part.data = weight.row(head * n_rows);
        part.n_rows = n_rows;
        return part;
    };
    if (!state_->are_few(n) && !state_->rounds_inputs(weight.type, n)) {
        for (std::int64_t head = 0; head < n_heads; ++head) {
            state_->gemm.multiply(state_->form.many, kernels::GemmLayout::kRowsAreOutputs, x + head * x_head_stride,
                                  x_stride, n, of_head(head), y + head * y_head_stride, y_stride);
        }
        return;
    }
    if (!state_->rounds_inputs(weight.type, n)) {
        state_->pool.parallel_dynamic(n_heads, [&](std::int64_t head, int thread) {
            const State::Inputs inputs{x + head * x_head_stride, x_stride, n, nullptr};
            state_->multiply_rows(of_head(head), inputs, 0, n_rows, y + head * y_head_stride, y_stride, thread);
        });
        return;
    }
    // The rows of a head follow those of another.
    const std::int64_t bytes = kernels::rounded_input_bytes(weight.n_cols);
    std::byte* to = room_for_rounded(state_->rounded, n_heads * n * bytes);
    room(state_->rounded_rows, n_heads * n);
    state_->roundings.clear();
    for (std::int64_t i = 0; i < n_heads * n; ++i, to += bytes) {
        const float* values = x + i / n * x_head_stride + i % n * x_stride;
        state_->roundings.push_back({weight.type, weight.n_cols, values, to});
        state_->rounded_rows[as_size(i)] = to;
    }
    state_->round_all();
    state_->reserve_scratch(weight.n_cols);
    state_->pool.parallel_dynamic(n_heads, [&](std::int64_t head, int thread) {
        const State::Inputs inputs{nullptr, 0, n, state_->rounded_rows.data() + head * n};
        state_->multiply_rows(of_head(head), inputs, 0, n_rows, y + head * y_head_stride, y_stride, thread);
    });
}

void CpuOperations::rotate_and_store(std::int64_t layer, const kernels::AttentionShape& shape,
                                     std::span<const AttentionSegment> segments, const float* cos, const float* sin,
                                     float* qkv, const kernels::KvShape& kv) {
    const std::int64_t stride = shape.qkv_width();
    const std::int64_t half = shape.rotary_dim / 2;
    for (const AttentionSegment& segment : segments) {
        state_->pool.parallel_for(segment.n_tokens, kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t t = begin; t < end; ++t) {
                const std::int64_t place = segment.first_row + t;
                float* row = qkv + place * stride;
                for (std::int64_t head = 0; head < shape.n_heads + shape.n_kv_heads; ++head) {
                    state_->kernels.rope(row + head * shape.key_dim + shape.rotary_first, cos + place * half,
                                         sin + place * half, shape.rotary_dim);
                }
                const float* k = row + shape.query_width();
                store_token(kv, layer, segment, t, k, k + shape.n_kv_heads * shape.key_dim);
            }
        });
    }
}

void CpuOperations::rotate_and_store_latent(std::int64_t layer, const kernels::AttentionShape& shape,
                                            std::span<const AttentionSegment> segments, const float* cos,
                                            const float* sin, const float* q, std::int64_t nope_dim, float* latent,
                                            float* queries, const kernels::KvShape& kv) {
    const std::int64_t half = shape.rotary_dim / 2;
    const std::int64_t q_dim = nope_dim + shape.rotary_dim;
    for (const AttentionSegment& segment : segments) {
        state_->pool.parallel_for(segment.n_tokens, kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t t = begin; t < end; ++t) {
                const std::int64_t place = segment.first_row + t;
                const auto rotate = [&](float* values) {
                    state_->kernels.rope(values, cos + place * half, sin + place * half, shape.rotary_dim);
                };
                for (std::int64_t head = 0; head < shape.n_heads; ++head) {
                    const float* from = q + (place * shape.n_heads + head) * q_dim + nope_dim;
                    float* to = queries + place * shape.query_width() + head * shape.key_dim + shape.rotary_first;
                    std::memcpy(to, from, as_size(shape.rotary_dim) * sizeof(float));
                    rotate(to);
                }
                float* key = latent + place * shape.key_dim;
                rotate(key + shape.rotary_first);
                store_token(kv, layer, segment, t, key, nullptr);
            }
        });
    }
}

void CpuOperations::attend(std::int64_t layer, const kernels::AttentionShape& shape,
                           std::span<const AttentionSegment> segments, const float* queries, std::int64_t query_stride,
                           const kernels::KvShape& kv, float* out) {
    const std::int64_t out_stride = shape.output_width();
    const std::int64_t heads_per_kv = shape.n_heads / shape.n_kv_heads;
    const std::int64_t window = shape.window;

    // A sliding window that is already full gives each query its own first key, so those
    // queries go one by one, after the blocks of the others. A token that goes alone
    // takes heads of one cached head together, which read it once: as many as leave each
    // thread a piece.
    const auto n_in_blocks = [&](const AttentionSegment& s) {
        if (s.n_tokens == 1) return std::int64_t{0};
        return window > 0 ? std::clamp<std::int64_t>(window - s.past, 0, s.n_tokens) : s.n_tokens;
    };
    std::int64_t n_alone = 0;
    std::int64_t longest = heads_per_kv;
    for (const AttentionSegment& segment : segments) {
        n_alone += segment.n_tokens - n_in_blocks(segment);
        longest = std::max(longest, segment.past + segment.n_tokens);
    }
    const std::int64_t wished = n_alone * shape.n_heads / state_->pool.n_threads();
    const std::int64_t heads_at_once = std::clamp<std::int64_t>(wished, 1, heads_per_kv);
    const std::int64_t groups = shape.n_kv_heads * ((heads_per_kv + heads_at_once - 1) / heads_at_once);
    const auto pieces_in_blocks = [&](const AttentionSegment& s) {
        return shape.n_heads * ((n_in_blocks(s) + kQueryBlock - 1) / kQueryBlock);
    };
    const auto n_pieces_of = [&](const AttentionSegment& s) {
        return pieces_in_blocks(s) + groups * (s.n_tokens - n_in_blocks(s));
    };

    std::int64_t n_pieces = 0;
    for (const AttentionSegment& segment : segments) n_pieces += n_pieces_of(segment);
    // Rounded up, so that a growing conversation seldom allocates.
    const auto rounded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(longest)));
    for (auto& buffer : state_->attention_scratch) {
        room(buffer, kernels::attention_scratch_floats(rounded, std::max(shape.key_dim, shape.value_dim)));
    }

    const auto attend_rows = [&](const AttentionSegment& segment, std::int64_t first_row, std::int64_t head,
                                 std::int64_t first_key, std::int64_t n_keys, std::int64_t n_queries,
                                 kernels::QueryRows rows, kernels::QueryOrder order, int thread) {
        const bool heads = rows == kernels::QueryRows::kHeads;
        const kernels::KvHead cached = kernels::kv_head_of(kv, segment.blocks.data(), layer, head / heads_per_kv);
        const std::int64_t row = segment.first_row + first_row;
        state_->kernels.attention(queries + row * query_stride + head * shape.key_dim,
                                  heads ? shape.key_dim : query_stride, cached, first_key, n_queries, n_keys,
                                  shape.scale, shape.sinks != nullptr ? shape.sinks + head : nullptr,
                                  out + row * out_stride + head * shape.value_dim, heads ? shape.value_dim : out_stride,
                                  rows, order, state_->attention_scratch[as_size(thread)].data());
    };
    state_->pool.parallel_dynamic(n_pieces, [&](std::int64_t piece, int thread) {
        const AttentionSegment* segment = segments.data();
        while (piece >= n_pieces_of(*segment)) piece -= n_pieces_of(*segment++);
        const std::int64_t together = n_in_blocks(*segment);
        const std::int64_t alone_pieces = groups * (segment->n_tokens - together);
        if (piece < alone_pieces) {  // the longest pieces first
            const std::int64_t token = segment->n_tokens - 1 - piece / groups;
            const std::int64_t n_keys = segment->past + token + 1;
            const std::int64_t per_kv = groups / shape.n_kv_heads;
            const std::int64_t group = piece % groups;
            const std::int64_t first = group % per_kv * heads_at_once;
            // The order of many goes for keys that a whole prompt sees alike: not for
            // those of a window that has moved.
            const bool as_many = state_->order == SumOrder::kMany && (window == 0 || n_keys <= window);
            attend_rows(*segment, token, group / per_kv * heads_per_kv + first,
                        window > 0 ? std::max<std::int64_t>(0, n_keys - window) : 0, n_keys,
                        std::min(heads_at_once, heads_per_kv - first), kernels::QueryRows::kHeads,
                        as_many ? kernels::QueryOrder::kMany : kernels::QueryOrder::kByNumber, thread);
            return;
        }
        piece -= alone_pieces;
        const std::int64_t blocks = pieces_in_blocks(*segment) / shape.n_heads;
        const std::int64_t begin = (blocks - 1 - piece % blocks) * kQueryBlock;
        const std::int64_t end = std::min(together, begin + kQueryBlock);
        attend_rows(*segment, begin, piece / blocks, 0, segment->past + end, end - begin, kernels::QueryRows::kTokens,
                    state_->order == SumOrder::kMany ? kernels::QueryOrder::kMany : kernels::QueryOrder::kByNumber,
                    thread);
    });
}

void CpuOperations::copy_kv_block(const kernels::KvShape& kv, KvBlock from, kernels::KvType type, KvBlock to,
                                  std::int64_t n_tokens) {
    kernels::KvShape target = kv;
    target.type = type;
    // n rows of n_values, from one place to the other.
    const auto copy = [&](const std::byte* source, std::int64_t source_stride, std::byte* place, std::int64_t stride,
                          std::int64_t n_values) {
        if (type == kv.type) {
            std::memcpy(place, source, as_size(n_tokens * stride));
            return;
        }
        std::vector<float> row(as_size(n_values));
        for (std::int64_t t = 0; t < n_tokens; ++t) {
            kernels::load_kv_row(source + t * source_stride, n_values, kv.type, row.data());
            kernels::store_kv_row(row.data(), n_values, type, place + t * stride);
        }
    };
    state_->pool.parallel_for(kv.n_layers * kv.n_kv_heads, 8, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t layer = i / kv.n_kv_heads, head = i % kv.n_kv_heads;
            copy(from.data + kv.keys_offset(layer, head), kv.key_stride(), to.data + target.keys_offset(layer, head),
                 target.key_stride(), kv.key_dim);
            if (kv.values_in_keys) continue;
            copy(from.data + kv.values_offset(layer, head), kv.value_stride(),
                 to.data + target.values_offset(layer, head), target.value_stride(), kv.value_dim);
        }
    });
}

void CpuOperations::route(const kernels::RouterSpec& spec, const kernels::RouterArrays& arrays, const float* x,
                          std::int64_t n, std::int64_t hidden_dim, std::int32_t* experts, float* weights) {
    const std::int64_t n_experts = spec.n_experts;
    const std::int64_t n_active = spec.n_active;
    // For each token its logits, and what kernels::route() wants for itself.
    float* logits = room(state_->router_logits, n * 3 * n_experts);
    const kernels::WeightView view{arrays.gate, kernels::WeightType::kF32, n_experts, hidden_dim};
    const auto multiply = [&](std::int64_t expert, std::int64_t expert_end, std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
            state_->kernels.matvec(view, x + t * hidden_dim, expert, expert_end, logits + t * 3 * n_experts);
        }
    };
    const auto choose = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
            float* row = logits + t * 3 * n_experts;
            kernels::route(spec, {row, as_size(n_experts)}, arrays.selection_bias,
                           {experts + t * n_active, as_size(n_active)}, {weights + t * n_active, as_size(n_active)},
                           {row + n_experts, as_size(2 * n_experts)}, arrays.expert_scale);
        }
    };
    if (n <= kFewTokens) {  // too few for a thread each: the gate is divided
        const std::int64_t grain = n_experts * hidden_dim <= kSerialFloats ? n_experts : kRowGrain;
        state_->pool.parallel_for(n_experts, grain,
                                  [&](std::int64_t begin, std::int64_t end, int) { multiply(begin, end, 0, n); });
        choose(0, n);
        return;
    }
    state_->pool.parallel_for(n, kFewTokens, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t block = begin; block < end; block += kFewTokens) {
            const std::int64_t block_end = std::min(block + kFewTokens, end);
            // A stretch of the gate meets a few tokens while it is in a cache.
            for (std::int64_t expert = 0; expert < n_experts; expert += kRowGrain) {
                multiply(expert, std::min(expert + kRowGrain, n_experts), block, block_end);
            }
            choose(block, block_end);
        }
    });
}

void CpuOperations::experts(std::span<const ExpertCall> calls, const float* inputs, const std::int32_t* row_token,
                            float* out) {
    state_->few_rows(calls, inputs, row_token, out);
    state_->by_outputs(calls, inputs, row_token, out);
    for (const ExpertCall& call : calls) {
        if (call.n_rows == 0 || state_->are_few(call.n_rows) || state_->goes_by_outputs(call)) continue;
        state_->by_matrices(call, inputs, row_token, out);
    }
}

void CpuOperations::State::gather_inputs(const float* inputs, const std::int32_t* row_token) {
    const auto is_float = [&](const ExpertRows& expert) {
        const kernels::ExpertLayout& layout = expert.call->weights.layout;
        const std::int64_t n = expert.call->n_rows;
        if (!layout.down_rows_are_outputs) return !rounds_neurons(layout);
        return !rounds_inputs(layout.gate, n) || !rounds_inputs(layout.up, n);
    };
    std::int64_t n_gathered = 0;
    for (const ExpertRows& expert : few) {
        const ExpertCall& call = *expert.call;
        if (is_float(expert) && !are_consecutive(row_token + call.first_row, call.n_rows)) n_gathered += call.n_rows;
    }
    const std::int64_t hidden = few.front().call->weights.layout.hidden_dim;  // the model's, the same for all
    float* place = room(gathered, n_gathered * hidden);
    for (ExpertRows& expert : few) {
        if (!is_float(expert)) continue;
        const ExpertCall& call = *expert.call;
        const std::int32_t* tokens = row_token + call.first_row;
        if (are_consecutive(tokens, call.n_rows)) {
            expert.inputs = inputs + tokens[0] * hidden;
            continue;
        }
        expert.inputs = place;
        for (std::int64_t r = 0; r < call.n_rows; ++r, place += hidden) {
            std::memcpy(place, inputs + tokens[r] * hidden, as_size(hidden) * sizeof(float));
        }
    }
}

// Each token is rounded once for all experts with matrices of one type.
void CpuOperations::State::round_for_first_job(const float* inputs, const std::int32_t* row_token) {
    const std::int64_t hidden = few.front().call->weights.layout.hidden_dim;
    const std::int64_t bytes = kernels::rounded_input_bytes(hidden);
    std::int64_t n_rows = 0;
    std::int32_t n_tokens = 0;
    for (const ExpertRows& expert : few) {
        const std::int32_t* tokens = row_token + expert.call->first_row;
        n_rows += expert.call->n_rows;
        for (std::int64_t r = 0; r < expert.call->n_rows; ++r) n_tokens = std::max(n_tokens, tokens[r] + 1);
    }
    roundings.clear();
    std::byte* const to = room_for_rounded(rounded, form.byte_inputs ? 2 * n_rows * bytes : 0);
    room(rounded_rows, form.byte_inputs ? 2 * n_rows : 0);
    std::int64_t n_used = 0;  // of rounded_rows
    kernels::WeightType last_type = {};
    places.clear();
    const auto rounded_for = [&](const ExpertRows& expert, kernels::WeightType type) -> Inputs {
        const std::int64_t n = expert.call->n_rows;
        if (!rounds_inputs(type, n)) return {expert.inputs, hidden, n, nullptr};
        if (places.empty() || last_type != type) {
            places.assign(as_size(n_tokens), -1);
            last_type = type;
        }
        const std::byte** const rows = rounded_rows.data() + n_used;
        n_used += n;
        for (std::int64_t r = 0; r < n; ++r) {
            const std::int32_t token = row_token[expert.call->first_row + r];
            std::int32_t& place = places[as_size(token)];
            if (place < 0) {
                place = static_cast<std::int32_t>(roundings.size());
                roundings.push_back({type, hidden, inputs + token * hidden, to + place * bytes});
            }
            rows[r] = to + place * bytes;
        }
        return {expert.inputs, hidden, n, rows};
    };
    for (ExpertRows& expert : few) expert.gate_inputs = rounded_for(expert, expert.call->weights.layout.gate);
    for (ExpertRows& expert : few) expert.up_inputs = rounded_for(expert, expert.call->weights.layout.up);
    round_all();
    if (!roundings.empty()) reserve_scratch(hidden);
}

void CpuOperations::State::round_for_second_job(const float* activations) {
    std::int64_t n_rows = 0;
    std::int64_t n_bytes = 0;
    std::int64_t longest = 0;
    for (const ExpertRows& expert : few) {
        const kernels::ExpertLayout& layout = expert.call->weights.layout;
        if (!rounds_inputs(layout.down, expert.call->n_rows)) continue;
        n_rows += expert.call->n_rows;
        n_bytes += expert.call->n_rows * kernels::rounded_input_bytes(layout.ffn_dim);
        longest = std::max(longest, layout.ffn_dim);
    }
    std::byte* to = room_for_rounded(rounded, n_bytes);
    const std::byte** rows = room(rounded_rows, n_rows);
    roundings.clear();
    for (ExpertRows& expert : few) {
        const kernels::ExpertLayout& layout = expert.call->weights.layout;
        const std::int64_t ffn = layout.ffn_dim;
        const float* values = activations + expert.first_value;
        expert.down_inputs = {values, ffn, expert.call->n_rows, nullptr};
        if (!rounds_inputs(layout.down, expert.call->n_rows)) continue;
        expert.down_inputs.rounded = rows;
        for (std::int64_t r = 0; r < expert.call->n_rows; ++r, values += ffn) {
            roundings.push_back({layout.down, ffn, values, to});
            *rows++ = to;
            to += kernels::rounded_input_bytes(ffn);
        }
    }
    round_all();
    if (!roundings.empty()) reserve_scratch(longest);
}

void CpuOperations::State::by_outputs(std::span<const ExpertCall> calls, const float* inputs,
                                      const std::int32_t* row_token, float* out) {
    few.clear();
    std::int64_t n_values = 0;
    for (const ExpertCall& call : calls) {
        if (call.n_rows == 0 || !goes_by_outputs(call)) continue;
        if (n_values > kJobFloats) {
            run_by_outputs(inputs, row_token, out);
            few.clear();
            n_values = 0;
        }
        ExpertRows& expert = few.emplace_back();
        expert.call = &call;
        expert.first_value = n_values;
        n_values += call.n_rows * call.weights.layout.ffn_dim;
    }
    if (!few.empty()) run_by_outputs(inputs, row_token, out);
}

// All experts at once, in two jobs: what becomes of their inputs, neuron by neuron, and
// then the outputs. So threads wait for each other twice, not for every matrix.
void CpuOperations::State::run_by_outputs(const float* inputs, const std::int32_t* row_token, float* out) {
    pieces.clear();
    const auto split = [&](const ExpertRows& expert, std::int64_t n_rows) {
        for (std::int64_t row = 0; row < n_rows; row += kPieceRows) {
            pieces.push_back({&expert, row, std::min(row + kPieceRows, n_rows)});
        }
    };
    for (const ExpertRows& expert : few) split(expert, expert.call->weights.layout.ffn_dim);
    const ExpertRows& last = few.back();
    const std::int64_t n_values = last.first_value + last.call->n_rows * last.call->weights.layout.ffn_dim;
    float* const gates = room(batch_gate, n_values);
    float* const ups = room(batch_up, 2 * n_values);
    gather_inputs(inputs, row_token);
    round_for_first_job(inputs, row_token);
    pool.parallel_dynamic(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t i, int thread) {
        const auto& [expert, begin, end] = pieces[as_size(i)];
        const kernels::ExpertView& weights = expert->call->weights;
        const std::int64_t ffn = weights.layout.ffn_dim;
        const std::int64_t n = expert->call->n_rows;
        const bool together = expert->gate_inputs.rounded != nullptr && weights.layout.gate == weights.layout.up;
        float* gate = gates + expert->first_value;
        float* up = ups + (together ? 2 : 1) * expert->first_value;
        if (together) {
            multiply_rows(gate_and_up(weights), expert->gate_inputs, 2 * begin, 2 * end, up, 2 * ffn, thread);
        } else {
            multiply_rows(weights.gate(), expert->gate_inputs, begin, end, gate, ffn, thread);
            multiply_rows(weights.up(), expert->up_inputs, begin, end, up, ffn, thread);
        }
        const kernels::ExpertBiases biases = weights.biases();
        gate += begin;
        up += (together ? 2 : 1) * begin;
        for (std::int64_t t = 0; t < n; ++t, gate += ffn, up += (together ? 2 : 1) * ffn) {
            if (together) take_apart(end - begin, up, gate);
            if (biases.gate != nullptr) kernels.axpy(1.0f, biases.gate + begin, end - begin, gate);
            if (biases.up != nullptr) kernels.axpy(1.0f, biases.up + begin, end - begin, up);
            kernels.activate(weights.layout.spec, gate, up, end - begin, gate);
        }
    });
    round_for_second_job(gates);
    pieces.clear();
    for (const ExpertRows& expert : few) split(expert, expert.call->weights.layout.hidden_dim);
    pool.parallel_dynamic(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t i, int thread) {
        const auto& [expert, begin, end] = pieces[as_size(i)];
        const kernels::ExpertView& weights = expert->call->weights;
        const std::int64_t hidden = weights.layout.hidden_dim;
        float* to = out + expert->call->first_row * hidden;
        multiply_rows(weights.down(), expert->down_inputs, begin, end, to, hidden, thread);
        const float* const bias = weights.biases().down;
        for (std::int64_t t = 0; bias != nullptr && t < expert->call->n_rows; ++t, to += hidden) {
            kernels.axpy(1.0f, bias + begin, end - begin, to + begin);
        }
    });
}

void CpuOperations::State::few_rows(std::span<const ExpertCall> calls, const float* inputs,
                                    const std::int32_t* row_token, float* out) {
    few.clear();
    for (const ExpertCall& call : calls) {
        if (call.n_rows == 0 || !are_few(call.n_rows) || call.weights.layout.down_rows_are_outputs) continue;
        few.emplace_back().call = &call;
    }
    if (few.empty()) return;
    gather_inputs(inputs, row_token);
    if (form.byte_inputs) round_for_first_job(inputs, row_token);
    chunks.clear();
    const std::int64_t hidden = few.front().call->weights.layout.hidden_dim;
    std::int64_t n_partials = 0;
    std::int64_t n_neurons = 0;
    for (ExpertRows& expert : few) {
        const std::int64_t ffn = expert.call->weights.layout.ffn_dim;
        expert.chunks = n_chunks(ffn, expert.call->n_rows);
        expert.first_value = n_partials;
        n_partials += expert.chunks * expert.call->n_rows;
        for (std::int64_t c = 0; c < expert.chunks; ++c) {
            chunks.push_back({&expert, c, n_neurons + chunk_begin(ffn, expert.chunks, c)});
        }
        n_neurons += ffn;
    }
    room(partials, n_partials * hidden);

    // Each thread takes a stretch of chunks that follow each other, so that memory is read in order.
    pool.run([&](int thread) {
        const auto at = [&](int t) {
            const std::int64_t neuron = n_neurons * t / pool.n_threads();
            return std::lower_bound(chunks.begin(), chunks.end(), neuron, [](const Chunk& chunk, std::int64_t n) {
                const std::int64_t ffn = chunk.expert->call->weights.layout.ffn_dim;
                return chunk.neurons_before + ffn / chunk.expert->chunks / 2 < n;
            });
        };
        for (auto chunk = at(thread), end = at(thread + 1); chunk != end; ++chunk) {
            const ExpertRows& expert = *chunk->expert;
            const ExpertCall& call = *expert.call;
            float* sums = partials.data() + (expert.first_value + chunk->index * call.n_rows) * hidden;
            std::memset(sums, 0, as_size(call.n_rows * hidden) * sizeof(float));
            const std::int64_t ffn = call.weights.layout.ffn_dim;
            const std::int64_t first = chunk_begin(ffn, expert.chunks, chunk->index);
            const std::int64_t last = chunk_begin(ffn, expert.chunks, chunk->index + 1);
            const auto n_rows = static_cast<int>(call.n_rows);
            if (rounds_neurons(call.weights.layout)) {
                expert_ffn_bytes(call.weights, expert.gate_inputs.rounded, kOnes.data(), n_rows, first, last, sums);
            } else {
                kernels.expert_ffn(call.weights, expert.inputs, kOnes.data(), n_rows, first, last, sums);
            }
        }
    });
    add_partials(out, n_partials, hidden);
}

void CpuOperations::State::add_partials(float* out, std::int64_t n_partials, std::int64_t hidden) {
    const auto add_columns = [&](std::int64_t begin, std::int64_t end, int) {
        for (const ExpertRows& expert : few) {
            for (std::int64_t r = 0; r < expert.call->n_rows; ++r) {
                float* row = out + (expert.call->first_row + r) * hidden + begin;
                const float* sums = partials.data() + (expert.first_value + r) * hidden + begin;
                std::memcpy(row, sums, as_size(end - begin) * sizeof(float));
                for (std::int64_t c = 1; c < expert.chunks; ++c) {
                    kernels.axpy(1.0f, sums + c * expert.call->n_rows * hidden, end - begin, row);
                }
            }
        }
    };
    if (n_partials * hidden <= kSerialFloats) {
        add_columns(0, hidden, 0);
    } else {
        pool.parallel_for(hidden, 64, add_columns);
    }
}

void CpuOperations::State::by_matrices(const ExpertCall& call, const float* inputs, const std::int32_t* row_token,
                                       float* out) {
    const kernels::ExpertView& expert = call.weights;
    const std::int64_t hidden = expert.layout.hidden_dim;
    const std::int64_t ffn = expert.layout.ffn_dim;
    const std::int64_t n = call.n_rows;
    const std::int32_t* tokens = row_token + call.first_row;
    const float* x = inputs + tokens[0] * hidden;
    if (!are_consecutive(tokens, n)) {
        float* rows = room(batch_in, n * hidden);
        pool.parallel_for(n, 4, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t r = begin; r < end; ++r) {
                std::memcpy(rows + r * hidden, inputs + tokens[r] * hidden, as_size(hidden) * sizeof(float));
            }
        });
        x = rows;
    }
    float* gate = room(batch_gate, n * ffn);
    float* up = room(batch_up, n * ffn);

    multiply(expert.gate(), x, n, gate);
    multiply(expert.up(), x, n, up);
    const kernels::ExpertBiases biases = expert.biases();
    const auto add_bias = [&](const float* bias, std::int64_t dim, float* rows) {
        if (bias == nullptr) return;
        pool.parallel_for(n, kRowGrain, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t r = begin; r < end; ++r) kernels.axpy(1.0f, bias, dim, rows + r * dim);
        });
    };
    add_bias(biases.gate, ffn, gate);
    add_bias(biases.up, ffn, up);
    pool.parallel_for(n * ffn, kValueGrain, [&](std::int64_t begin, std::int64_t end, int) {
        kernels.activate(expert.layout.spec, gate + begin, up + begin, end - begin, gate + begin);
    });
    float* const outputs = out + call.first_row * hidden;
    if (expert.layout.down_rows_are_outputs) {
        multiply(expert.down(), gate, n, outputs);
    } else {
        gemm.multiply(form.many, kernels::GemmLayout::kRowsAreInputs, gate, ffn, n, expert.down(), outputs, hidden);
    }
    add_bias(biases.down, hidden, outputs);
}

void CpuOperations::combine(const float* rows, const std::int32_t* row_of, const float* weights, std::int64_t n,
                            std::int64_t n_active, std::int64_t hidden_dim, float* x) {
    state_->pool.parallel_for(n, 4, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t t = begin; t < end; ++t) {
            for (std::int64_t a = t * n_active; a < (t + 1) * n_active; ++a) {
                state_->kernels.axpy(weights[a], rows + row_of[a] * hidden_dim, hidden_dim, x + t * hidden_dim);
            }
        }
    });
}

}  // namespace offstage::engine
