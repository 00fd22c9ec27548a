// One token through layers of real widths on a GPU, by the operations of
// kernels/cuda_context.h alone: no engine, no Qt, no model. Prints what a layer takes as
// a CUDA graph, with inputs in 8 bits and in float32: in few kernels, as the engine has
// it computed, and operation by operation, with and without points between them and with
// each left out in turn. One JSON object a line.
//
// Of files' blocks also what it takes with rows laid out for the GPU
// (kernels/cuda/row_layout.cuh) and as files have them, which must give the same bits.
//
// And what it takes where the host has a part in each layer, every other expert's rows:
// the whole token in one graph, in which the GPU waits for the host, and with two graphs
// a layer, between which the host waits for the GPU. The same bits again.
//
//   decode_layers [--layers 8] [--past 544] [--rounds 30] [--widths real|narrow]
//
// narrow: widths that a CUDA made of threads (tests/cuda_host) computes in little time,
// to test this program without a GPU.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/ops/operation.h"
#include "tests/device/gpu_memory.h"

using namespace offstage::kernels;

#ifdef OFFSTAGE_CUDA_ON_HOST
#include "tests/cuda_host/cuda_host.h"
#define open_cuda_context open_cuda_context_on_host
#endif

namespace {

struct Shape {
    const char* name;
    std::int64_t hidden_dim, n_heads, n_kv_heads, head_dim, ffn_dim;
    std::int32_t n_experts, n_active;
    W query_key, value, output, gate_up, down;  // value of another type than query_key: three products
    bool head_norms;
    W head;
    std::int64_t vocab_size;
};

const Shape kReal[] = {
    {"mixtral-8x7b Q4_0", 4096, 32, 8, 128, 14336, 8, 2, W::kQ4_0, W::kQ4_0, W::kQ4_0, W::kQ4_0, W::kQ4_0, false,
     W::kQ6K, 32000},
    {"mixtral-8x7b HQQ4", 4096, 32, 8, 128, 14336, 8, 2, W::kHqq4, W::kHqq4, W::kHqq4, W::kHqq4, W::kHqq4, false,
     W::kHqq4, 32000},
    {"qwen3-30b-a3b Q4_K", 2048, 32, 4, 128, 768, 128, 8, W::kQ4K, W::kQ4K, W::kQ4K, W::kQ4K, W::kQ4K, true, W::kQ6K,
     151936},
    {"qwen3-30b-a3b Q4_K, v and down Q6_K", 2048, 32, 4, 128, 768, 128, 8, W::kQ4K, W::kQ6K, W::kQ4K, W::kQ4K, W::kQ6K,
     true, W::kQ6K, 151936},
};
const Shape kNarrow[] = {
    {"narrow Q4_0", 256, 4, 2, 64, 256, 8, 2, W::kQ4_0, W::kQ4_0, W::kQ4_0, W::kQ4_0, W::kQ4_0, false, W::kQ6K, 512},
    {"narrow HQQ4", 256, 4, 2, 64, 256, 8, 2, W::kHqq4, W::kHqq4, W::kHqq4, W::kHqq4, W::kHqq4, false, W::kHqq4, 512},
    {"narrow Q4_K, v and down Q6_K", 256, 4, 2, 64, 256, 20, 4, W::kQ4K, W::kQ6K, W::kQ4K, W::kQ4K, W::kQ6K, true,
     W::kQ6K, 512},
};

// The layers of a shape, and a token behind `past` others.
class Token {
  public:
    Token(CudaContext& context, const Shape& shape, std::int64_t n_layers, std::int64_t past)
        : context_(context),
          memory_(context),
          shape_(shape),
          host_(context, kInputsAt + static_cast<std::size_t>(shape.hidden_dim) * sizeof(float)),
          host_rows_(context, kInputsAt + static_cast<std::size_t>(shape.n_active * shape.hidden_dim) * sizeof(float)) {
        attention_.n_heads = shape.n_heads;
        attention_.n_kv_heads = shape.n_kv_heads;
        attention_.key_dim = attention_.value_dim = attention_.rotary_dim = shape.head_dim;
        attention_.scale = 0.088f;
        kv_ = kv_shape_of(n_layers, attention_, KvType::kBf16);
        CudaStep step;
        step.hidden_dim = shape.hidden_dim;
        step.ffn_dim = shape.ffn_dim;
        step.n_experts = shape.n_experts;
        step.n_active = shape.n_active;
        step.context = past + kKvBlockTokens;
        step.vocab_size = shape.vocab_size;
        step.attention = attention_;
        scratch_bytes_ = context.scratch_bytes(step);
        context.set_scratch(memory_.take(scratch_bytes_), scratch_bytes_);

        layout_ = expert_layout(shape.gate_up, shape.hidden_dim, shape.ffn_dim);
        layout_.down = shape.down;
        layout_.down_rows_are_outputs = is_blocks(shape.down);
        std::vector<const std::byte*> blocks;
        for (std::int64_t l = 0; l < n_layers; ++l) add_layer(blocks);
        blocks_ = memory_.copy_of(blocks);
        for (std::size_t e = 0; e < blocks.size(); ++e) {
            if (is_of_host(static_cast<std::int64_t>(e) % shape.n_experts)) blocks[e] = nullptr;
        }
        device_blocks_ = memory_.copy_of(blocks);
        head_ = memory_.matrix(shape.head, shape.vocab_size, shape.hidden_dim);

        const auto block_bytes = static_cast<std::size_t>(kv_.block_bytes());
        const auto n_kv_blocks = static_cast<std::size_t>(past / kKvBlockTokens + 1);
        // bf16 keys and values of about 1e-2.
        auto* const cache = reinterpret_cast<std::byte*>(
            memory_.copy_of(std::vector<std::uint16_t>(n_kv_blocks * block_bytes / 2, std::uint16_t{0x3c24})));
        for (std::size_t b = 0; b < n_kv_blocks; ++b) table_.push_back(cache + b * block_bytes);
        segment_.n_tokens = 1;
        segment_.past = past;
        segment_.blocks = table_;
        segment_.device_blocks = memory_.copy_of(table_);
        segment_.device_past = memory_.copy_of(std::vector<std::int32_t>{static_cast<std::int32_t>(past)});

        const auto floats = [&](std::int64_t n) { return memory_.floats(n, 1.0f); };
        start_ = floats(shape.hidden_dim);
        x_ = floats(shape.hidden_dim), h_ = floats(shape.hidden_dim), norm_ = floats(shape.hidden_dim);
        projected_ = floats(shape.hidden_dim);
        qkv_ = floats(attention_.qkv_width()), attended_ = floats(attention_.output_width());
        angles_ = floats(shape.head_dim);
        outputs_ = floats(shape.n_active * shape.hidden_dim), weights_ = floats(shape.n_active);
        logits_ = floats(shape.vocab_size);
        std::vector<std::int32_t> order(static_cast<std::size_t>(shape.n_active));
        chosen_ = memory_.copy_of(order);
        row_token_ = memory_.copy_of(order);
        std::iota(order.begin(), order.end(), 0);
        row_of_ = memory_.copy_of(order);
    }
    ~Token() { context_.set_scratch(nullptr, 0); }
    Token(const Token&) = delete;
    Token& operator=(const Token&) = delete;

    std::int64_t n_layers() const { return static_cast<std::int64_t>(layers_.size()); }

    // The operations of a layer, in their order, by name.
    std::vector<std::string> op_names() const {
        std::vector<std::string> names = {"norm"};
        for (std::size_t part = 0; part < layers_[0].qkv.size(); ++part) names.push_back("qkv_" + std::to_string(part));
        if (shape_.head_norms) names.insert(names.end(), {"query_norms", "key_norms"});
        names.insert(names.end(),
                     {"rotate_and_store", "attend", "output", "add", "second_norm", "route", "experts", "combine"});
        return names;
    }
    // All layers, as the engine has them computed.
    void run() {
        for (std::int64_t l = 0; l < n_layers(); ++l) {
            context_.submit(attention_op(l));
            context_.submit(experts_op(l));
        }
    }
    // The same, operation by operation, but without the `left_out`-th of a layer (-1:
    // with all). points: those that a timed step has, four in each layer.
    void run_one_by_one(int left_out, bool points) {
        const auto n_ops = static_cast<int>(op_names().size());
        for (std::int64_t l = 0; l < n_layers(); ++l) {
            int op = 0;
            const auto submit = [&](const auto& part) {
                const int experts = n_ops - 2;
                const int n_points = !points ? 0 : op == experts ? 2 : op == experts + 1 ? 1 : 0;
                for (int p = 0; p < n_points; ++p) context_.record(CudaQueue::kCompute);
                if (op++ != left_out) context_.submit(part);
            };
            attention_op(l).for_each(submit);
            experts_op(l).for_each(submit);
            if (points) context_.record(CudaQueue::kCompute);
        }
    }
    // What the host learns of each layer that it has a part in, one wait a layer: choice
    // and input of the experts, behind attention and router. words: it looks for a number
    // in its memory; else for an event.
    double to_host_us(std::int64_t first_place, bool words, int rounds) {
        std::byte* const page = host_.mapped();
        if (page == nullptr) return 0;
        const std::size_t chosen_bytes = static_cast<std::size_t>(shape_.n_active) * sizeof(std::int32_t);
        const std::size_t input_bytes = static_cast<std::size_t>(shape_.hidden_dim) * sizeof(float);
        std::vector<double> us;
        for (int round = 0; round < rounds + kUntilReplayed; ++round) {
            memory_.wait();
            const auto begin = std::chrono::steady_clock::now();
            for (std::int64_t l = 0; l < n_layers(); ++l) {
                context_.begin_repeated(first_place + l);
                context_.submit(attention_op(l));
                const ops::DecodeExperts experts = experts_op(l);
                context_.submit(ops::Norm{experts.norm, x_, 1, h_});
                context_.submit(
                    ops::Route{experts.router, experts.arrays, h_, 1, shape_.hidden_dim, chosen_, weights_});
                context_.store(page, chosen_, chosen_bytes);
                context_.store(page + kInputsAt, h_, input_bytes);
                if (!words) context_.submit(ops::Clear{0, weights_});  // then the point is not right behind the stores
                const std::uint64_t there = context_.record(CudaQueue::kCompute);
                context_.end_repeated();
                context_.host_wait(CudaQueue::kCompute, there);
            }
            if (round < kUntilReplayed) continue;
            us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
        }
        std::sort(us.begin(), us.end());
        return us[us.size() / 2] / static_cast<double>(n_layers());
    }
    // What a token takes where the host has a part in each layer: median microseconds of
    // a layer by the host's clock, and what the token has become. awaited: one sequence,
    // in which the GPU waits for the host's rows; otherwise two a layer, between which
    // the host waits.
    struct WithHost {
        double us = 0;
        std::uint64_t n_graphs = 0;  // started for one token
        std::vector<float> x;
    };
    WithHost with_host(std::int64_t first_place, bool awaited, int rounds) {
        WithHost result;
        if (host_.mapped() == nullptr || host_rows_.mapped() == nullptr) return result;
        auto* const rows = reinterpret_cast<float*>(host_rows_.host() + kInputsAt);
        for (std::int64_t i = 0; i < shape_.n_active * shape_.hidden_dim; ++i) {
            rows[i] = 1e-2f * static_cast<float>(i % 17 - 8);
        }
        std::vector<double> us;
        for (int round = 0; round < rounds + kUntilReplayed; ++round) {
            context_.copy_within(x_, start_, static_cast<std::size_t>(shape_.hidden_dim) * sizeof(float));
            memory_.wait();
            const std::uint64_t replayed = context_.replays().n_replayed;
            const auto begin = std::chrono::steady_clock::now();
            awaited ? run_awaited(first_place) : run_waited_for(first_place);
            memory_.wait();
            result.n_graphs = context_.replays().n_replayed - replayed;
            if (round < kUntilReplayed) continue;
            us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
        }
        std::sort(us.begin(), us.end());
        result.us = us[us.size() / 2] / static_cast<double>(n_layers());
        result.x.resize(static_cast<std::size_t>(shape_.hidden_dim));
        context_.download(result.x.data(), x_, result.x.size() * sizeof(float));
        memory_.wait();
        return result;
    }
    // What the token has become behind all layers, and its logits.
    std::vector<float> result() {
        run();
        compute_logits();
        std::vector<float> values(static_cast<std::size_t>(shape_.hidden_dim + shape_.vocab_size));
        context_.download(values.data(), x_, static_cast<std::size_t>(shape_.hidden_dim) * sizeof(float));
        context_.download(values.data() + shape_.hidden_dim, logits_,
                          static_cast<std::size_t>(shape_.vocab_size) * sizeof(float));
        memory_.wait();
        return values;
    }
    void compute_logits() { context_.submit(ops::Multiply{head_, h_, 1, logits_}); }

    // The median of the rounds of `work`, repeated at `place`: microseconds.
    double time_us(std::int64_t place, int rounds, const std::function<void()>& work) {
        std::vector<double> us;
        for (int round = 0; round < rounds + kUntilReplayed; ++round) {
            const std::uint64_t begin = context_.record(CudaQueue::kCompute);
            context_.begin_repeated(place);
            work();
            context_.end_repeated();
            const std::uint64_t end = context_.record(CudaQueue::kCompute);
            context_.host_wait(CudaQueue::kCompute, end);
            if (round < kUntilReplayed) continue;
            us.push_back(context_.elapsed_us(CudaQueue::kCompute, begin, CudaQueue::kCompute, end));
        }
        std::sort(us.begin(), us.end());
        return us[us.size() / 2];
    }

  private:
    NormWeights norm_of(std::int64_t dim) const { return {NormKind::kRms, norm_, nullptr, dim, 1e-5f}; }
    ops::GroupedAttention attention_op(std::int64_t l) const {
        const Layer& layer = layers_[static_cast<std::size_t>(l)];
        ops::GroupedAttention op;
        op.n = 1;
        op.norm = norm_of(shape_.hidden_dim);
        op.x = x_;
        std::copy(layer.qkv.begin(), layer.qkv.end(), op.projections);
        if (shape_.head_norms) op.query_norm = op.key_norm = norm_of(shape_.head_dim);
        op.layer = l;
        op.shape = attention_;
        op.segments = Span<AttentionSegment>(&segment_, 1);
        op.cos = op.sin = angles_;
        op.kv = kv_;
        op.output = layer.output;
        op.normalised = h_, op.qkv = qkv_, op.attended = attended_, op.projected = projected_;
        return op;
    }
    ops::DecodeExperts experts_op(std::int64_t l) const {
        ops::DecodeExperts op;
        op.norm = norm_of(shape_.hidden_dim);
        op.x = x_;
        op.normalised = h_;
        op.router.n_experts = shape_.n_experts;
        op.router.n_active = shape_.n_active;
        op.arrays.gate = layers_[static_cast<std::size_t>(l)].gate;
        op.layout = layout_;
        op.blocks = blocks_ + l * shape_.n_experts;
        op.row_token = row_token_, op.row_of = row_of_;
        op.chosen = chosen_, op.weights = weights_, op.rows = outputs_;
        return op;
    }

    static bool is_of_host(std::int64_t expert) { return expert % 2 == 1; }
    // Up to the choice, on its way to the host with the experts' input.
    void submit_to_choice(std::int64_t l) {
        context_.submit(attention_op(l));
        const ops::DecodeExperts experts = experts_op(l);
        context_.submit(ops::Norm{experts.norm, x_, 1, h_});
        context_.submit(ops::Route{experts.router, experts.arrays, h_, 1, shape_.hidden_dim, chosen_, weights_});
        context_.store(host_.mapped(), chosen_, static_cast<std::size_t>(shape_.n_active) * sizeof(std::int32_t));
        context_.store(host_.mapped() + kInputsAt, h_, static_cast<std::size_t>(shape_.hidden_dim) * sizeof(float));
    }
    void submit_share(std::int64_t l) {
        context_.submit(ops::ChosenExperts{layout_, device_blocks_ + l * shape_.n_experts, chosen_, shape_.n_active, h_,
                                           row_token_, outputs_});
    }
    void submit_sum(bool awaits_host) {
        context_.submit(ops::Combine{outputs_, reinterpret_cast<const std::int32_t*>(host_rows_.mapped()), weights_, 1,
                                     shape_.n_active, shape_.hidden_dim, x_,
                                     reinterpret_cast<const float*>(host_rows_.mapped() + kInputsAt), awaits_host});
    }
    // The host's part: its rows are there, it says where each row is.
    void place_rows() {
        const auto* const chosen = reinterpret_cast<const std::int32_t*>(host_.host());
        auto* const row_of = reinterpret_cast<std::int32_t*>(host_rows_.host());
        for (std::int32_t a = 0; a < shape_.n_active; ++a) row_of[a] = is_of_host(chosen[a]) ? ~a : a;
    }
    void run_awaited(std::int64_t place) {
        std::vector<std::uint32_t> numbers;
        context_.begin_repeated(place);
        for (std::int64_t l = 0; l < n_layers(); ++l) {
            submit_to_choice(l);
            numbers.push_back(context_.hand_over());
            submit_share(l);
            submit_sum(true);
        }
        context_.end_repeated();
        for (const std::uint32_t number : numbers) {
            if (!context_.host_wait_handed(number)) return context_.give_up_answers();
            place_rows();
            context_.answer(number);
        }
    }
    void run_waited_for(std::int64_t first_place) {
        for (std::int64_t l = 0; l < n_layers(); ++l) {
            context_.begin_repeated(first_place + 2 * l);
            if (l > 0) submit_sum(false);
            submit_to_choice(l);
            const std::uint64_t there = context_.record(CudaQueue::kCompute);
            context_.end_repeated();
            context_.begin_repeated(first_place + 2 * l + 1);
            submit_share(l);
            context_.end_repeated();
            context_.host_wait(CudaQueue::kCompute, there);
            place_rows();
        }
        context_.begin_repeated(first_place + 2 * n_layers());
        submit_sum(false);
        context_.end_repeated();
    }

    struct Layer {
        std::vector<WeightView> qkv;
        WeightView output;
        const float* gate = nullptr;
    };

    void add_layer(std::vector<const std::byte*>& blocks) {
        Layer& layer = layers_.emplace_back();
        const std::int64_t query = attention_.query_width(), kv = shape_.n_kv_heads * shape_.head_dim;
        if (shape_.query_key == shape_.value) {
            layer.qkv = {memory_.matrix(shape_.query_key, query + 2 * kv, shape_.hidden_dim)};
        } else {
            layer.qkv = {memory_.matrix(shape_.query_key, query, shape_.hidden_dim),
                         memory_.matrix(shape_.query_key, kv, shape_.hidden_dim),
                         memory_.matrix(shape_.value, kv, shape_.hidden_dim)};
        }
        layer.output = memory_.matrix(shape_.output, shape_.hidden_dim, query);
        layer.gate = memory_.floats(shape_.n_experts * shape_.hidden_dim, 0.02f);
        // A layer has 16 experts of its own at most; others share their memory.
        constexpr std::int64_t kMostOwn = 16;
        std::vector<const std::byte*> own;
        for (std::int64_t e = 0; e < std::min<std::int64_t>(shape_.n_experts, kMostOwn); ++e) {
            own.push_back(expert());
        }
        for (std::size_t e = 0; e < static_cast<std::size_t>(shape_.n_experts); ++e) {
            blocks.push_back(own[e % own.size()]);
        }
    }
    const std::byte* expert() {
        if (!layout_.down_rows_are_outputs) return memory_.rows(layout_.gate, shape_.hidden_dim, layout_.bytes());
        std::byte* const block = memory_.rows(layout_.gate, shape_.hidden_dim, layout_.bytes());
        const std::size_t down_bytes = layout_.bytes() - layout_.down_offset();
        const std::byte* const down = memory_.rows(layout_.down, shape_.ffn_dim, down_bytes);
        context_.copy_within(block + layout_.down_offset(), down, down_bytes);
        context_.lay_out(ExpertView{block, layout_});
        memory_.wait();
        return block;
    }

    static constexpr int kUntilReplayed = 4;
    static constexpr std::size_t kInputsAt = 4096;  // in host_

    CudaContext& context_;
    Memory memory_;
    const Shape& shape_;
    PinnedBytes host_, host_rows_;
    AttentionShape attention_;
    KvShape kv_;
    std::uint64_t scratch_bytes_ = 0;
    ExpertLayout layout_;
    std::vector<Layer> layers_;
    WeightView head_;
    const std::byte *const *blocks_ = nullptr, *const *device_blocks_ = nullptr;  // the second: without the host's
    std::vector<std::byte*> table_;
    AttentionSegment segment_;
    float* start_ = nullptr;
    float *x_ = nullptr, *h_ = nullptr, *norm_ = nullptr, *projected_ = nullptr, *qkv_ = nullptr, *attended_ = nullptr;
    float *angles_ = nullptr, *outputs_ = nullptr, *weights_ = nullptr, *logits_ = nullptr;
    std::int32_t *chosen_ = nullptr, *row_token_ = nullptr, *row_of_ = nullptr;
};

struct Options {
    std::int64_t n_layers = 8, past = 544;
    int rounds = 30;
    bool narrow = false;
};

// {"us_a_layer": 68.10, "one_by_one": {"us_a_layer": 98.10, "with_points": 109.70,
// "less_without": {"norm": 3.2, ...}}, "to_host": {"by_words": 80.1, "by_events": 91.2},
// "logits_us": 61.0}
void print_times(Token& token, const Options& options, std::int64_t first_place) {
    std::int64_t place = first_place;
    const auto layer_us = [&](const std::function<void()>& work) {
        return token.time_us(place++, options.rounds, work) / static_cast<double>(token.n_layers());
    };
    const auto one_by_one_us = [&](int left_out, bool points) {
        return layer_us([&] { token.run_one_by_one(left_out, points); });
    };
    std::printf("{\"us_a_layer\": %.2f, ", layer_us([&] { token.run(); }));
    const double whole = one_by_one_us(-1, false);
    std::printf("\"one_by_one\": {\"us_a_layer\": %.2f, \"with_points\": %.2f, \"less_without\": {", whole,
                one_by_one_us(-1, true));
    const std::vector<std::string> names = token.op_names();
    for (std::size_t op = 0; op < names.size(); ++op) {
        std::printf("%s\"%s\": %.2f", op == 0 ? "" : ", ", names[op].c_str(),
                    whole - one_by_one_us(static_cast<int>(op), false));
    }
    const double by_words = token.to_host_us(place, true, options.rounds);
    place += token.n_layers();
    std::printf("}}, \"to_host\": {\"by_words\": %.2f, \"by_events\": %.2f}", by_words,
                token.to_host_us(place, false, options.rounds));
    place += token.n_layers();
    std::printf(", \"logits_us\": %.2f}", token.time_us(place++, options.rounds, [&] { token.compute_logits(); }));
}

// "host_part": {"one_graph_us": 61.10, "two_graphs_a_layer_us": 88.20, "graphs": [1, 17],
// "same_bits": true}: microseconds of a layer. Returns whether the bits are the same.
bool print_host_part(CudaContext& context, Token& token, const char* name, std::int64_t place, int rounds) {
    const Token::WithHost two = token.with_host(place, false, rounds);
    if (two.x.empty() || !context.awaits_host()) {
        std::printf(", \"host_part\": null");
        return true;
    }
    const Token::WithHost one = token.with_host(place + 2 * token.n_layers() + 1, true, rounds);
    const bool same = std::memcmp(one.x.data(), two.x.data(), one.x.size() * sizeof(float)) == 0;
    std::printf(
        ", \"host_part\": {\"one_graph_us\": %.2f, \"two_graphs_a_layer_us\": %.2f, \"graphs\": [%d, %d], "
        "\"same_bits\": %s}",
        one.us, two.us, static_cast<int>(one.n_graphs), static_cast<int>(two.n_graphs), same ? "true" : "false");
    if (!same) std::fprintf(stderr, "decode_layers: %s: other bits where the GPU waits for the host\n", name);
    return same;
}

// "row_layout": {"int8_inputs": {"laid_out_us": 68.10, "as_in_file_us": 80.20}, ...,
// "same_bits": true}: microseconds of a layer with an eighth of the logits. Returns
// whether the bits are the same.
bool print_row_layout(CudaContext& context, const Shape& shape, const Options& options) {
    double us[2][2] = {};  // as in files or laid out; float32 or 8 bits
    bool same = true;
    std::vector<float> results[2];
    std::int64_t place = 300;
    for (const bool lays_out : {true, false}) {
        context.set_lays_out(lays_out);
        Token token(context, shape, options.n_layers, options.past);
        for (const bool bytes : {true, false}) {
            context.set_byte_inputs(bytes ? ByteInputTypes::all() : ByteInputTypes());
            const std::vector<float> result = token.result();
            if (lays_out) results[bytes] = result;
            same = same && std::memcmp(result.data(), results[bytes].data(), result.size() * sizeof(float)) == 0;
            us[lays_out][bytes] = token.time_us(place++, options.rounds, [&] {
                token.run();
                token.compute_logits();
            }) / static_cast<double>(token.n_layers());
        }
    }
    context.set_lays_out(true);
    std::printf(", \"row_layout\": {");
    for (const bool bytes : {true, false}) {
        std::printf("\"%s_inputs\": {\"laid_out_us\": %.2f, \"as_in_file_us\": %.2f}, ", bytes ? "int8" : "float32",
                    us[true][bytes], us[false][bytes]);
    }
    std::printf("\"same_bits\": %s}", same ? "true" : "false");
    if (!same) std::fprintf(stderr, "decode_layers: %s: other bits with rows laid out\n", shape.name);
    return same;
}

// Returns whether the GPU did all of it.
bool print_shape(CudaContext& context, const Shape& shape, const Options& options) {
    std::printf("{\"layers\": \"%s\", \"gpu\": \"%s\", \"n_layers\": %d, \"past\": %d", shape.name,
                context.facts().name.c_str(), static_cast<int>(options.n_layers), static_cast<int>(options.past));
    constexpr std::int64_t kPlaces = 100;
    const bool rounds = is_blocks(shape.gate_up);
    bool same = true;
    {
        Token token(context, shape, options.n_layers, options.past);
        for (const bool bytes : {true, false}) {
            if (bytes && !rounds) continue;
            context.set_byte_inputs(bytes ? ByteInputTypes::all() : ByteInputTypes());
            std::printf(", \"%s_inputs\": ", bytes ? "int8" : "float32");
            print_times(token, options, bytes ? kPlaces : 0);
        }
        context.set_byte_inputs(rounds ? ByteInputTypes::all() : ByteInputTypes());
        same = print_host_part(context, token, shape.name, 2 * kPlaces, options.rounds);
    }
    if (rounds) same = print_row_layout(context, shape, options) && same;  // its weights take the place of these
    const CudaReplays replays = context.replays();
    const CudaFailure failure = context.failure();
    std::printf(", \"graphs\": %llu, \"replayed\": %llu, \"graph_bytes\": %llu, \"ok\": %s}\n",
                static_cast<unsigned long long>(replays.n_graphs), static_cast<unsigned long long>(replays.n_replayed),
                static_cast<unsigned long long>(replays.bytes), failure.none() ? "true" : "false");
    std::fflush(stdout);
    if (!failure.none()) std::fprintf(stderr, "decode_layers: %s: %s\n", shape.name, failure.text.c_str());
    return failure.none() && same;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        if (option == "--layers") options.n_layers = std::atoll(argv[i + 1]);
        if (option == "--past") options.past = std::atoll(argv[i + 1]);
        if (option == "--rounds") options.rounds = std::atoi(argv[i + 1]);
        if (option == "--widths") options.narrow = std::string(argv[i + 1]) == "narrow";
    }
    CudaOpening opening = open_cuda_context(0);
    if (opening.context == nullptr) {
        std::fprintf(stderr, "decode_layers: no GPU can be opened: %s\n", opening.reason.text.c_str());
        return 1;
    }
    bool ok = true;
    const auto print = [&](const auto& shapes) {
        for (const Shape& shape : shapes) ok = print_shape(*opening.context, shape, options) && ok;
    };
    if (options.narrow) {
        print(kNarrow);
    } else {
        print(kReal);
    }
    return ok ? 0 : 1;
}
