// The CUDA backend's operations on this machine's GPU, through the engine's interface.
// Times are the device's, between two events. Beside every figure it prints the limit
// measured in the same run: the device's bandwidth (see device_gbps()) or the bus (a
// plain copy of pinned memory).
//
//   bench_cuda --benchmark_filter=expert

#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/cuda_backend.h"
#include "engine/device/host_buffer.h"
#include "engine/error.h"
#include "engine/quant/quantizer.h"
#include "kernels/thread_pool.h"
#include "tests/kernels/attention_shapes.h"

using namespace offstage;
using namespace offstage::engine;

namespace {

// Mixtral's shapes.
constexpr std::int64_t kHidden = 4096;
constexpr std::int64_t kFfn = 14336;
constexpr std::int64_t kVocab = 32000;
const kernels::AttentionShape kAttention = kernels::test::grouped_attention(32, 8, 128);
constexpr std::size_t kExpertBytes = std::size_t{3} * kHidden * kFfn * 2;
// More than any GPU's caches hold, so that every expert is read from the memory.
constexpr std::size_t kExperts = 4;

// A device with weights on it.
class Stage {
  public:
    explicit Stage(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {
        Backend::StepShape shape;
        shape.n_tokens = 2048;
        shape.hidden_dim = kHidden;
        shape.ffn_dim = kFfn;
        shape.n_experts = 8;
        shape.n_active = 2;
        shape.attention = kAttention;
        shape.vocab_size = kVocab;
        shape.context = 32768;
        backend_->reserve(shape);
        weights_.resize(kExpertBytes, std::byte{0x3c});  // small bf16 numbers
        is_pinned_ = backend_->pin(weights_);
        for (std::size_t e = 0; e < kExperts; ++e) {
            experts_.push_back(backend_->memory().allocate(kExpertBytes, MemoryUse::kExperts, "an expert"));
            backend_->upload(experts_.back().data(), weights_.data(), kExpertBytes);
        }
        finish();
    }
    ~Stage() {
        finish();
        if (is_pinned_) backend_->unpin(weights_);
    }
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;

    Backend& backend() { return *backend_; }
    std::byte* expert(std::size_t e) const { return experts_[e % kExperts].data(); }
    const std::vector<std::byte>& host_weights() const { return weights_; }
    bool is_pinned() const { return is_pinned_; }

    void finish() {
        backend_->host_wait(backend_->record(DeviceEvent::Queue::kCompute));
        backend_->host_wait(backend_->record(DeviceEvent::Queue::kCopy));
    }
    DeviceBlock zeros(std::size_t bytes) {
        DeviceBlock block = backend_->memory().allocate(bytes, MemoryUse::kWorkspace, "a bench");
        const std::vector<std::byte> none(bytes);
        backend_->upload(block.data(), none.data(), bytes);
        finish();
        return block;
    }
    double time_us(const std::function<void()>& work) {
        const DeviceEvent begin = backend_->record(DeviceEvent::Queue::kCompute);
        work();
        const DeviceEvent end = backend_->record(DeviceEvent::Queue::kCompute);
        backend_->host_wait(end);
        return backend_->elapsed_us(begin, end);
    }
    // The larger of two medians: large sums, which write a third of their bytes, and a
    // product of one row of inputs, which reads.
    double device_gbps() {
        if (device_gbps_ > 0) return device_gbps_;
        constexpr std::int64_t kValues = std::int64_t{1} << 27;
        const DeviceBlock x = zeros(kValues * 4);
        const DeviceBlock y = zeros(kValues * 4);
        device_gbps_ = median(11, [&] {
            return 12e-3 * static_cast<double>(kValues) / time_us([&] {
                       backend_->submit(ops::Add{y.as<float>(), kValues, x.as<float>(), 1.0f});
                   });
        });
        constexpr std::int64_t kRows = std::int64_t{1} << 17;
        const DeviceBlock weights = backend_->memory().allocate(kRows * kHidden * 2, MemoryUse::kWorkspace, "a bench");
        device_gbps_ = std::max(
            device_gbps_, median(11, [&] {
                return 2e-3 * static_cast<double>(kRows * kHidden) / time_us([&] {
                           backend_->submit(ops::Multiply{{weights.data(), kernels::WeightType::kBf16, kRows, kHidden},
                                                          x.as<float>(),
                                                          1,
                                                          y.as<float>()});
                       });
            }));
        return device_gbps_;
    }
    // Median of one large pinned copy on the copy queue.
    double bus_gbps() {
        if (bus_gbps_ > 0) return bus_gbps_;
        bus_gbps_ = median(11, [&] { return copy_gbps(1); });
        return bus_gbps_;
    }
    // Copies an expert's bytes in this many pieces.
    double copy_gbps(std::size_t n_pieces) {
        const DeviceEvent begin = backend_->record(DeviceEvent::Queue::kCopy);
        DeviceEvent end = begin;
        for (std::size_t piece = 0; piece < n_pieces; ++piece) {
            const std::size_t from = kExpertBytes * piece / n_pieces;
            const std::size_t to = kExpertBytes * (piece + 1) / n_pieces;
            end = backend_->copy_weights(expert(0) + from, weights_.data() + from, to - from, {}).value_or(end);
        }
        backend_->host_wait(end);
        return 1e-3 * static_cast<double>(kExpertBytes) / backend_->elapsed_us(begin, end);
    }

  private:
    static double median(int n, const std::function<double()>& measure) {
        std::vector<double> all;
        for (int i = 0; i < n; ++i) all.push_back(measure());
        std::sort(all.begin(), all.end());
        return all[all.size() / 2];
    }

    std::unique_ptr<Backend> backend_;
    std::vector<std::byte> weights_;
    bool is_pinned_ = false;
    std::vector<DeviceBlock> experts_;
    double device_gbps_ = 0;
    double bus_gbps_ = 0;
};

// Runs `work(i)`, which reads this many bytes, once per iteration, and compares with the
// device's bandwidth.
void count(benchmark::State& state, Stage& stage, double bytes, double flops, const std::function<void(int)>& work) {
    constexpr int kCalls = 20;  // in an interval: one takes little longer than to start it
    const double limit = stage.device_gbps();
    double us = 0;
    int i = 0;
    work(i);  // once for the caches and the library's first start
    for (auto _ : state) {
        const double taken = stage.time_us([&] {
            for (int call = 0; call < kCalls; ++call) work(++i);
        }) / kCalls;
        state.SetIterationTime(taken * 1e-6);
        us += taken;
    }
    if (!stage.backend().ok()) state.SkipWithError(stage.backend().failure().english().c_str());
    const auto n = static_cast<double>(state.iterations());
    state.counters["GB/s"] = 1e-3 * bytes * n / us;
    state.counters["device GB/s"] = limit;
    state.counters["of device"] = 1e-3 * bytes * n / us / limit;
    if (flops > 0) state.counters["TFLOP/s"] = 1e-6 * flops * n / us;
}

using kernels::WeightType;

// byte_inputs: rounded to 8 bits, where the weights are files' blocks.
void matvec(benchmark::State& state, Stage& stage, WeightType type, std::int64_t n_rows, std::int64_t n_tokens,
            bool byte_inputs = false) {
    stage.backend().set_byte_inputs(byte_inputs ? kernels::ByteInputTypes::all() : kernels::ByteInputTypes());
    const DeviceBlock x = stage.zeros(static_cast<std::size_t>(n_tokens * kHidden) * 4);
    const DeviceBlock y = stage.zeros(static_cast<std::size_t>(n_tokens * n_rows) * 4);
    const auto bytes = static_cast<double>(n_rows) * static_cast<double>(kernels::row_bytes(type, kHidden));
    // Uses another weight each time, over all the memory of the experts: no cache
    // contains that.
    const std::size_t places = kExpertBytes / static_cast<std::size_t>(bytes);
    count(state, stage, bytes, 0, [&](int i) {
        const auto turn = static_cast<std::size_t>(i);
        const std::byte* const weight = stage.expert(turn) + turn / kExperts % places * static_cast<std::size_t>(bytes);
        stage.backend().submit(ops::Multiply{{weight, type, n_rows, kHidden}, x.as<float>(), n_tokens, y.as<float>()});
    });
}

void experts(benchmark::State& state, Stage& stage, WeightType type, std::size_t n_experts, std::int64_t n_rows,
             bool byte_inputs = false) {
    stage.backend().set_byte_inputs(byte_inputs ? kernels::ByteInputTypes::all() : kernels::ByteInputTypes());
    kernels::ExpertLayout layout = kernels::expert_layout(type, kHidden, kFfn);
    layout.down_rows_are_outputs = kernels::is_blocks(type);
    const auto all = static_cast<std::int64_t>(n_experts) * n_rows;
    const DeviceBlock x = stage.zeros(static_cast<std::size_t>(n_rows * kHidden) * 4);
    const DeviceBlock out = stage.zeros(static_cast<std::size_t>(all * kHidden) * 4);
    std::vector<std::int32_t> tokens(static_cast<std::size_t>(all));
    for (std::size_t r = 0; r < tokens.size(); ++r) tokens[r] = static_cast<std::int32_t>(r) % static_cast<int>(n_rows);
    const DeviceBlock row_token = stage.zeros(tokens.size() * 4);
    stage.backend().upload(row_token.data(), tokens.data(), tokens.size() * 4);
    stage.finish();
    const double flops = 6.0 * static_cast<double>(all * kHidden * kFfn);
    const auto bytes = static_cast<double>(n_experts * layout.bytes());
    count(state, stage, bytes, flops, [&](int i) {
        std::vector<ExpertCall> calls;
        for (std::size_t e = 0; e < n_experts; ++e) {
            const kernels::ExpertView view{stage.expert(static_cast<std::size_t>(i) + e), layout};
            calls.push_back({view, static_cast<std::int64_t>(e) * n_rows, n_rows});
        }
        stage.backend().submit(ops::Experts{calls, x.as<float>(), row_token.as<std::int32_t>(), out.as<float>()});
    });
}

// An expert's bf16 weights into `format`, from memory to memory: copied, packed by the
// GPU, copied back and checked by one thread, as in a re-plan. "cpu/gpu": how many times
// as long one thread takes by itself, in the same run. Every group runs the same number
// of rounds here; a real model's groups end earlier or later.
void quantize(benchmark::State& state, Stage& stage, WeightType format) {
    constexpr std::int64_t kRows = 3 * kFfn;
    std::vector<kernels::Bf16> weights(static_cast<std::size_t>(kRows * kHidden));
    std::uint32_t random = 1;
    for (kernels::Bf16& weight : weights) {
        random = random * 1664525u + 1013904223u;
        weight = kernels::to_bf16(0.02f * (static_cast<float>(random >> 8) / 8388608.0f - 1.0f));
    }
    const kernels::WeightView rows{weights.data(), WeightType::kBf16, kRows, kHidden};
    std::vector<std::byte> out(kernels::expert_layout(format, kHidden, kFfn).bytes());
    kernels::ThreadPool one(1);
    engine::Quantizer helped(one, engine::QuantMethod::kHqq, stage.backend().row_quantizer());
    double us = 0;
    for (auto _ : state) {
        const double begin = stage.backend().now_us();
        helped.quantize(rows, format, out.data());
        const double taken = stage.backend().now_us() - begin;
        state.SetIterationTime(taken * 1e-6);
        us += taken;
    }
    if (helped.n_helped() != kRows) state.SkipWithError("the GPU did not quantize");
    us /= static_cast<double>(state.iterations());
    // A tenth of the rows is enough for the thread alone.
    const kernels::WeightView some{weights.data(), WeightType::kBf16, kRows / 10, kHidden};
    const double begin = stage.backend().now_us();
    engine::Quantizer(one).quantize(some, format, out.data());
    const double alone_us = stage.backend().now_us() - begin;
    state.counters["Mweights/s"] = static_cast<double>(kRows * kHidden) / us;
    state.counters["cpu/gpu"] = alone_us / static_cast<double>(kRows / 10) * static_cast<double>(kRows) / us;
}

void attention(benchmark::State& state, Stage& stage, std::int64_t n_sequences, std::int64_t past,
               std::int64_t n_tokens) {
    constexpr std::int64_t kBlock = kernels::kKvBlockTokens;
    const std::int64_t per_sequence = (past + n_tokens + kBlock - 1) / kBlock;
    const std::int64_t kv_heads = kAttention.n_kv_heads;
    const std::int64_t d = kAttention.key_dim;
    const kernels::KvShape shape = kernels::kv_shape_of(1, kAttention);
    const std::int64_t n_blocks = n_sequences * per_sequence;
    const DeviceBlock cache = stage.zeros(static_cast<std::size_t>(n_blocks * shape.block_bytes()));
    std::vector<std::byte*> blocks;
    for (std::int64_t b = 0; b < n_blocks; ++b) blocks.push_back(cache.data() + b * shape.block_bytes());
    const DeviceBlock tables = stage.zeros(blocks.size() * sizeof(std::byte*));
    stage.backend().upload(tables.data(), blocks.data(), blocks.size() * sizeof(std::byte*));
    stage.finish();
    std::vector<AttentionSegment> segments;
    for (std::int64_t s = 0; s < n_sequences; ++s) {
        AttentionSegment segment;
        segment.first_row = s * n_tokens;
        segment.n_tokens = n_tokens;
        segment.past = past;
        segment.blocks = std::span(blocks).subspan(static_cast<std::size_t>(s * per_sequence),
                                                   static_cast<std::size_t>(per_sequence));
        segment.device_blocks = tables.as<std::byte*>() + s * per_sequence;
        segments.push_back(segment);
    }
    const std::int64_t rows = n_sequences * n_tokens;
    const DeviceBlock qkv = stage.zeros(static_cast<std::size_t>(rows * kAttention.qkv_width()) * 4);
    const DeviceBlock out = stage.zeros(static_cast<std::size_t>(rows * kAttention.n_heads * d) * 4);
    const double pairs = static_cast<double>(rows) * (static_cast<double>(past) + static_cast<double>(n_tokens) / 2);
    count(state, stage, static_cast<double>(n_sequences * (past + n_tokens) * 2 * kv_heads * d * 4),
          4.0 * static_cast<double>(kAttention.n_heads * d) * pairs, [&](int) {
              stage.backend().submit(ops::Attend{0, kAttention, segments, qkv.as<float>(), kAttention.qkv_width(),
                                                 shape, out.as<float>()});
          });
}

// Gates that take turns, more than a cache holds.
void route(benchmark::State& state, Stage& stage, std::int32_t n_experts, std::int32_t n_active,
           std::int64_t n_tokens) {
    kernels::RouterSpec spec;
    spec.n_experts = n_experts;
    spec.n_active = n_active;
    const std::int64_t gate_values = n_experts * kHidden;
    const auto n_gates = static_cast<int>(kExpertBytes / static_cast<std::size_t>(gate_values * 4));
    const DeviceBlock x = stage.zeros(static_cast<std::size_t>(n_tokens * kHidden) * 4);
    const DeviceBlock chosen = stage.zeros(static_cast<std::size_t>(n_tokens * n_active) * sizeof(std::int32_t));
    const DeviceBlock weights = stage.zeros(static_cast<std::size_t>(n_tokens * n_active) * 4);
    count(state, stage, static_cast<double>(gate_values + n_tokens * kHidden) * 4,
          2.0 * static_cast<double>(gate_values * n_tokens), [&](int i) {
              const float* const gate = reinterpret_cast<const float*>(stage.expert(0)) + i % n_gates * gate_values;
              stage.backend().submit(ops::Route{
                  spec, {gate}, x.as<float>(), n_tokens, kHidden, chosen.as<std::int32_t>(), weights.as<float>()});
          });
}

void norm(benchmark::State& state, Stage& stage, std::int64_t n_tokens) {
    const auto bytes = static_cast<std::size_t>(n_tokens * kHidden) * 4;
    const DeviceBlock x = stage.zeros(bytes);
    const DeviceBlock y = stage.zeros(bytes);
    NormWeights weights;
    weights.dim = kHidden;
    weights.eps = 1e-5f;
    count(state, stage, 2.0 * static_cast<double>(bytes), 0, [&](int) {
        stage.backend().submit(ops::Norm{weights, x.as<float>(), n_tokens, y.as<float>()});
    });
}

void rotate(benchmark::State& state, Stage& stage, std::int64_t n_tokens) {
    const kernels::KvShape shape = kernels::kv_shape_of(1, kAttention);
    const std::int64_t n_blocks = (n_tokens + kernels::kKvBlockTokens - 1) / kernels::kKvBlockTokens;
    const DeviceBlock cache = stage.zeros(static_cast<std::size_t>(n_blocks * shape.block_bytes()));
    std::vector<std::byte*> blocks;
    for (std::int64_t b = 0; b < n_blocks; ++b) blocks.push_back(cache.data() + b * shape.block_bytes());
    const DeviceBlock table = stage.zeros(blocks.size() * sizeof(std::byte*));
    stage.backend().upload(table.data(), blocks.data(), blocks.size() * sizeof(std::byte*));
    stage.finish();
    AttentionSegment segment;
    segment.n_tokens = n_tokens;
    segment.blocks = blocks;
    segment.device_blocks = table.as<std::byte*>();
    const DeviceBlock angles = stage.zeros(static_cast<std::size_t>(n_tokens * kAttention.key_dim) * 4);
    const DeviceBlock qkv = stage.zeros(static_cast<std::size_t>(n_tokens * kAttention.qkv_width()) * 4);
    // Queries are read and written; keys and values read, and written to the cache.
    const auto values = static_cast<double>(n_tokens * kAttention.qkv_width());
    count(state, stage, 8 * values, 0, [&](int) {
        stage.backend().submit(ops::RotateAndStore{
            0, kAttention, {&segment, 1}, angles.as<float>(), angles.as<float>(), qkv.as<float>(), shape});
    });
}

// One token through layers of Mixtral's shapes, all experts resident and the choice kept
// on the device, over 512 keys: as CUDA graphs, or started kernel by kernel. "host us":
// the time until all of it was started.
void decode(benchmark::State& state, Stage& stage, WeightType type, bool graphs) {
    constexpr std::int64_t kLayers = 8;
    constexpr std::int64_t kPast = 512;
    constexpr std::int32_t kActive = 2;
    Backend& backend = stage.backend();
    backend.set_graphs(graphs);
    const kernels::ExpertLayout layout = kernels::expert_layout(type, kHidden, kFfn);
    const kernels::KvShape kv = kernels::kv_shape_of(kLayers, kAttention);
    const auto n_blocks = static_cast<std::size_t>(kPast / kernels::kKvBlockTokens + 1);
    const DeviceBlock cache = stage.zeros(n_blocks * static_cast<std::size_t>(kv.block_bytes()));
    // The KV cache's blocks, the experts', and in words: the past, the rows' tokens, the
    // rows in order.
    std::vector<std::byte*> addresses;
    for (std::size_t b = 0; b < n_blocks; ++b) {
        addresses.push_back(cache.data() + b * static_cast<std::size_t>(kv.block_bytes()));
    }
    for (std::size_t e = 0; e < kExperts; ++e) addresses.push_back(stage.expert(e));
    const std::vector<std::int32_t> numbers = {static_cast<std::int32_t>(kPast), 0, 0, 0, 1};
    const DeviceBlock tables = stage.zeros(addresses.size() * sizeof(std::byte*));
    const DeviceBlock words = stage.zeros(numbers.size() * sizeof(std::int32_t));
    backend.upload(tables.data(), addresses.data(), addresses.size() * sizeof(std::byte*));
    backend.upload(words.data(), numbers.data(), numbers.size() * sizeof(std::int32_t));
    stage.finish();
    AttentionSegment segment;
    segment.n_tokens = 1;
    segment.past = kPast;
    segment.blocks = std::span(addresses).first(n_blocks);
    segment.device_blocks = tables.as<std::byte*>();
    segment.device_past = words.as<std::int32_t>();
    const auto floats = [&](std::int64_t n) { return stage.zeros(static_cast<std::size_t>(n) * sizeof(float)); };
    const DeviceBlock x = floats(kHidden), h = floats(kHidden), out = floats(kHidden);
    const DeviceBlock angles = floats(kAttention.key_dim), qkv = floats(kAttention.qkv_width());
    const DeviceBlock attended = floats(kAttention.output_width()), rows = floats(kActive * kHidden);
    const DeviceBlock weights = floats(kActive), chosen = floats(kActive);
    NormWeights norm_weights;
    norm_weights.dim = kHidden;
    norm_weights.eps = 1e-5f;
    kernels::RouterSpec spec;
    spec.n_experts = kExperts;
    spec.n_active = kActive;
    const auto step = [&] {
        for (std::int64_t l = 0; l < kLayers; ++l) {
            const std::byte* const dense = stage.expert(static_cast<std::size_t>(l));
            backend.submit(ops::Norm{norm_weights, x.as<float>(), 1, h.as<float>()});
            backend.submit(ops::Multiply{
                {dense, WeightType::kBf16, kAttention.qkv_width(), kHidden}, h.as<float>(), 1, qkv.as<float>()});
            backend.submit(ops::RotateAndStore{
                l, kAttention, {&segment, 1}, angles.as<float>(), angles.as<float>(), qkv.as<float>(), kv});
            backend.submit(ops::Attend{
                l, kAttention, {&segment, 1}, qkv.as<float>(), kAttention.qkv_width(), kv, attended.as<float>()});
            backend.submit(
                ops::Multiply{{dense, WeightType::kBf16, kHidden, kHidden}, attended.as<float>(), 1, out.as<float>()});
            backend.submit(ops::Add{out.as<float>(), kHidden, x.as<float>(), 1.0f});
            backend.submit(ops::Norm{norm_weights, x.as<float>(), 1, h.as<float>()});
            backend.submit(ops::Route{spec,
                                      {reinterpret_cast<const float*>(dense)},
                                      h.as<float>(),
                                      1,
                                      kHidden,
                                      chosen.as<std::int32_t>(),
                                      weights.as<float>()});
            backend.submit(ops::ChosenExperts{layout, tables.as<std::byte*>() + n_blocks, chosen.as<std::int32_t>(),
                                              kActive, h.as<float>(), words.as<std::int32_t>() + 1, rows.as<float>()});
            backend.submit(ops::Combine{rows.as<float>(), words.as<std::int32_t>() + 3, weights.as<float>(), 1, kActive,
                                        kHidden, x.as<float>()});
        }
    };
    double host_us = 0;
    const auto once = [&] {
        return stage.time_us([&] {
            const double begin = backend.now_us();
            backend.begin_repeated(0);
            step();
            backend.end_repeated();
            host_us += backend.now_us() - begin;
        });
    };
    for (int i = 0; i < 3; ++i) once();  // the graph is built
    const std::uint64_t replayed = backend.replays().n_replayed;
    host_us = 0;
    for (auto _ : state) state.SetIterationTime(once() * 1e-6);
    const auto n = static_cast<double>(state.iterations());
    if (!backend.ok()) state.SkipWithError(backend.failure().english().c_str());
    if (const Message note = backend.take_note(); !note.empty()) state.SkipWithError(note.english().c_str());
    state.counters["host us"] = host_us / n;
    state.counters["replayed"] = static_cast<double>(backend.replays().n_replayed - replayed) / n;
    backend.set_graphs(true);
}

void weight_copy(benchmark::State& state, Stage& stage, std::size_t n_pieces) {
    const double limit = stage.bus_gbps();
    std::vector<double> all;
    for (auto _ : state) {
        all.push_back(stage.copy_gbps(n_pieces));
        state.SetIterationTime(1e-9 * static_cast<double>(kExpertBytes) / all.back());
    }
    std::sort(all.begin(), all.end());
    state.counters["GB/s"] = all[all.size() / 2];
    state.counters["plain pinned copy GB/s"] = limit;
    state.counters["pinned"] = stage.is_pinned() ? 1 : 0;
}

// "expert/4 rows each"
std::string named(const char* what, std::int64_t n, const char* of_what) {
    return std::string(what).append("/").append(std::to_string(n)).append(" ").append(of_what);
}

template <typename Body>
void add(const std::string& name, Body body) {
    benchmark::RegisterBenchmark(name.c_str(), body)->UseManualTime()->Unit(benchmark::kMicrosecond);
}

void register_all(Stage& stage) {
    for (const std::int64_t tokens : {1, 2, 4, 8, 64, 512}) {
        add(named("matvec 4096x4096", tokens, "tokens"),
            [&stage, tokens](auto& state) { matvec(state, stage, WeightType::kBf16, kHidden, tokens); });
        add(named("matvec 32000x4096", tokens, "tokens"),
            [&stage, tokens](auto& state) { matvec(state, stage, WeightType::kBf16, kVocab, tokens); });
    }
    for (const std::int64_t rows : {1, 2, 3, 4, 8, 16, 64, 256, 1024}) {
        add(named("expert", rows, "rows each"),
            [&stage, rows](auto& state) { experts(state, stage, WeightType::kBf16, 1, rows); });
        add(named("2 experts", rows, "rows each"),
            [&stage, rows](auto& state) { experts(state, stage, WeightType::kBf16, 2, rows); });
    }
    for (const WeightType type : {WeightType::kInt8, WeightType::kHqq4, WeightType::kHqq3, WeightType::kHqq2,
                                  WeightType::kQ8_0, WeightType::kQ4_0, WeightType::kQ4K, WeightType::kQ6K,
                                  WeightType::kIq3S, WeightType::kIq2Xs, WeightType::kMxfp4}) {
        const std::string name = std::string(" ") + kernels::name_of(type);
        for (const bool bytes : {false, true}) {
            if (bytes && !kernels::is_blocks(type)) continue;
            const std::string how = name + (bytes ? " inputs in 8 bits" : "");
            for (const std::int64_t tokens : {1, 2, 4, 8, 64}) {
                add(named(("matvec 4096x4096" + how).c_str(), tokens, "tokens"),
                    [&stage, type, tokens, bytes](auto& state) { matvec(state, stage, type, kHidden, tokens, bytes); });
            }
            for (const std::int64_t rows : {1, 2, 4, 8, 16, 64, 65, 256, 512}) {
                add(named(("2 experts" + how).c_str(), rows, "rows each"),
                    [&stage, type, rows, bytes](auto& state) { experts(state, stage, type, 2, rows, bytes); });
            }
        }
        if (kernels::is_blocks(type)) continue;
        add("quantize an expert to" + name, [&stage, type](auto& state) { quantize(state, stage, type); });
    }
    for (const std::int64_t past : {64, 512, 4096, 32000}) {
        add(named("attention decode", past, "keys"),
            [&stage, past](auto& state) { attention(state, stage, 1, past, 1); });
        add(named("attention 16 beams", past, "keys"),
            [&stage, past](auto& state) { attention(state, stage, 16, past, 1); });
    }
    for (const std::int64_t tokens : {1, 8, 512}) {
        add(named("route, 2 of 8", tokens, "tokens"),
            [&stage, tokens](auto& state) { route(state, stage, 8, 2, tokens); });
        add(named("route, 8 of 128", tokens, "tokens"),
            [&stage, tokens](auto& state) { route(state, stage, 128, 8, tokens); });
        add(named("route, 8 of 256", tokens, "tokens"),
            [&stage, tokens](auto& state) { route(state, stage, 256, 8, tokens); });
        add(named("norm", tokens, "tokens"), [&stage, tokens](auto& state) { norm(state, stage, tokens); });
        add(named("rotate", tokens, "tokens"), [&stage, tokens](auto& state) { rotate(state, stage, tokens); });
    }
    for (const WeightType type : {WeightType::kBf16, WeightType::kHqq4}) {
        for (const bool graphs : {false, true}) {
            const std::string how = std::string(" ") + kernels::name_of(type) + (graphs ? ", graphs" : ", by kernel");
            add("decode of 8 layers" + how,
                [&stage, type, graphs](auto& state) { decode(state, stage, type, graphs); });
        }
    }
    add("attention prefill/2048 tokens", [&stage](auto& state) { attention(state, stage, 1, 0, 2048); });
    for (const std::size_t pieces : {1, 8, 64}) {
        add(named("weight copy", static_cast<std::int64_t>(pieces), "pieces"),
            [&stage, pieces](auto& state) { weight_copy(state, stage, pieces); });
    }
}

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    try {
        Stage stage(open_cuda_backend(0, 0));
        std::printf("%s, %s free\n", stage.backend().info().fingerprint.c_str(),
                    format_bytes(stage.backend().info().available_bytes).c_str());
        register_all(stage);
        benchmark::RunSpecifiedBenchmarks();
    } catch (const Error& error) {
        std::fprintf(stderr, "bench_cuda: %s\n", error.what());
        return 1;
    }
    return 0;
}
