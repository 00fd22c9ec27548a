// Every operation on every instruction set of this machine. The machine's limits,
// measured in the same run, are printed with the figures: compare decode kernels with the
// read bandwidth, attention and Gemm with the peak.
//
//   bench_kernels --benchmark_filter=expert_ffn        memory-bound: 1 GiB of weights, so
//   that no cache holds them
//   bench_kernels --benchmark_filter=expert_ffn/HQQ    the cost of decoding packed
//   weights

#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "kernels/bf16_attention.h"
#include "kernels/bf16_experts.h"
#include "kernels/byte_experts.h"
#include "kernels/gemm.h"
#include "kernels/interleaved.h"
#include "kernels/machine_limits.h"
#include "kernels/thread_pool.h"

using namespace offstage::kernels;

namespace {

constexpr std::int64_t kWeightBytes = std::int64_t{1} << 30;
constexpr std::int64_t kHiddenDim = 2048;
constexpr std::int64_t kFfnDim = 7168;
constexpr WeightType kBenchTypes[] = {WeightType::kBf16, WeightType::kInt8, WeightType::kHqq4, WeightType::kHqq3,
                                      WeightType::kHqq2};
constexpr WeightType kBlockTypes[] = {WeightType::kQ8_0,  WeightType::kQ4_0,  WeightType::kQ5_0,   WeightType::kQ6K,
                                      WeightType::kQ5K,   WeightType::kQ4K,   WeightType::kQ3K,    WeightType::kQ2K,
                                      WeightType::kIq4Nl, WeightType::kIq4Xs, WeightType::kIq3S,   WeightType::kIq3Xxs,
                                      WeightType::kIq2S,  WeightType::kIq2Xs, WeightType::kIq2Xxs, WeightType::kMxfp4};

// One allocation for all benchmarks: filling a gibibyte takes longer than reading it. Its
// bytes are small numbers in every type, packed or not.
const Bf16* weights() {
    static const std::vector<Bf16> values(kWeightBytes / 2, Bf16{0x3c00});
    return values.data();
}

// Read bandwidth of the pool, measured between the repetitions of the benchmark that it
// is compared with.
class BandwidthBeside {
  public:
    explicit BandwidthBeside(ThreadPool& pool) : probe_(pool) {}
    void measure() { gbps_.push_back(probe_.measure_gbps()); }
    double median() {
        std::sort(gbps_.begin(), gbps_.end());
        return gbps_[gbps_.size() / 2];
    }

  private:
    ReadBandwidthProbe probe_;
    std::vector<double> gbps_;
};

// Runs `pass`, which reads n_weights in n_bytes, and counts GB/s beside those of a plain
// read.
template <typename Pass>
void count_bandwidth(benchmark::State& state, ThreadPool& pool, std::int64_t n_weights, std::size_t n_bytes,
                     const Pass& pass) {
    BandwidthBeside beside(pool);
    double seconds = 0.0;
    for (auto _ : state) {
        beside.measure();
        const auto start = std::chrono::steady_clock::now();
        pass();
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        state.SetIterationTime(taken.count());
        seconds += taken.count();
        beside.measure();
    }
    const double passes_per_ns = static_cast<double>(state.iterations()) / seconds * 1e-9;
    const double gbps = static_cast<double>(n_bytes) * passes_per_ns;
    state.counters["GB/s"] = gbps;
    state.counters["plain read GB/s"] = beside.median();
    state.counters["of plain read"] = gbps / beside.median();
    state.counters["Gweights/s"] = static_cast<double>(n_weights) * passes_per_ns;
}

void count_gflops(benchmark::State& state, double operations, double peak_gflops) {
    state.counters["GFLOP/s"] = benchmark::Counter(operations * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
    state.counters["peak GFLOP/s"] = peak_gflops;
}

void matvec(benchmark::State& state, const CpuKernels& kernels, bool byte_inputs, WeightType type, int n_threads,
            int n_tokens, bool interleaved) {
    ThreadPool pool(n_threads);
    const auto bytes_of_row = static_cast<std::int64_t>(row_bytes(type, kHiddenDim));
    // With many tokens the products are the cost, and their outputs take memory.
    const std::int64_t n_rows = (n_tokens > 8 ? kWeightBytes / 64 : kWeightBytes) / bytes_of_row / 16 * 16;
    const WeightView view{weights(), type, n_rows, kHiddenDim, 0, interleaved};
    const std::vector<float> x(static_cast<std::size_t>(n_tokens * kHiddenDim), 0.01f);
    std::vector<float> y(static_cast<std::size_t>(n_tokens * n_rows));
    std::vector<std::byte> rounded(static_cast<std::size_t>(n_tokens * rounded_input_bytes(kHiddenDim)));
    std::vector<const std::byte*> inputs;
    for (int t = 0; t < n_tokens; ++t) inputs.push_back(rounded.data() + t * rounded_input_bytes(kHiddenDim));
    std::vector<std::vector<std::byte>> scratch(static_cast<std::size_t>(n_threads));
    for (auto& of_thread : scratch) of_thread.resize(static_cast<std::size_t>(byte_product_scratch(kHiddenDim)));
    count_bandwidth(state, pool, n_rows * kHiddenDim, static_cast<std::size_t>(n_rows * bytes_of_row), [&] {
        if (byte_inputs) {
            kernels.round_inputs(type, x.data(), kHiddenDim, n_tokens, kHiddenDim, rounded.data());
        }
        pool.parallel_for(n_rows, byte_inputs ? 16 : 8, [&](std::int64_t begin, std::int64_t end, int thread) {
            if (byte_inputs) {
                kernels.matvec_bytes(view, inputs.data(), n_tokens, begin, end, y.data(), n_rows,
                                     scratch[static_cast<std::size_t>(thread)].data());
            } else {
                kernels.matvec_multi(view, x.data(), kHiddenDim, n_tokens, begin, end, y.data(), n_rows);
            }
        });
    });
    state.counters["Gop/s"] = 2.0 * n_tokens * state.counters["Gweights/s"].value;
}

void expert_ffn(benchmark::State& state, InstructionSet set, bool byte_inputs, WeightType type, int n_threads,
                int n_tokens) {
    ThreadPool pool(n_threads);
    const CpuKernels& kernels = cpu_kernels(set);
    const auto neuron_bytes = static_cast<std::int64_t>(expert_layout(type, kHiddenDim, 1).bytes());
    const std::int64_t n_neurons = kWeightBytes / neuron_bytes;
    const ExpertView view{weights(), expert_layout(type, kHiddenDim, n_neurons)};
    const std::vector<float> x(static_cast<std::size_t>(n_tokens * kHiddenDim), 0.01f);
    const std::vector<float> scale(static_cast<std::size_t>(n_tokens), 1.0f);
    std::vector<std::vector<float>> out(static_cast<std::size_t>(n_threads), x);
    std::vector<std::byte> rounded(static_cast<std::size_t>(n_tokens * rounded_input_bytes(kHiddenDim)));
    std::vector<const std::byte*> inputs;
    for (int t = 0; t < n_tokens; ++t) inputs.push_back(rounded.data() + t * rounded_input_bytes(kHiddenDim));
    const auto n_bytes = static_cast<std::size_t>(n_neurons * neuron_bytes);
    std::vector<std::vector<std::byte>> scratch(static_cast<std::size_t>(n_threads));
    for (auto& of_thread : scratch) {
        of_thread.resize(static_cast<std::size_t>(byte_expert_scratch(kHiddenDim, n_tokens)));
    }
    count_bandwidth(state, pool, n_neurons * 3 * kHiddenDim, n_bytes, [&] {
        if (byte_inputs) {
            kernels.round_inputs(view.layout.gate, x.data(), kHiddenDim, n_tokens, kHiddenDim, rounded.data());
        }
        pool.parallel_for(n_neurons, 16, [&](std::int64_t begin, std::int64_t end, int thread) {
            float* const to = out[static_cast<std::size_t>(thread)].data();
            if (byte_inputs) {
                expert_ffn_bytes(set)(view, inputs.data(), scale.data(), n_tokens, begin, end, to,
                                      scratch[static_cast<std::size_t>(thread)].data());
            } else {
                kernels.expert_ffn(view, x.data(), scale.data(), n_tokens, begin, end, to);
            }
        });
    });
    state.counters["Gop/s"] = 2.0 * n_tokens * state.counters["Gweights/s"].value;
}

// Experts of the size of Qwen3-30B-A3B's, one after the other, each thread its own.
void expert_ffn_pairs(benchmark::State& state, InstructionSet set, int n_threads, int n_tokens) {
    ThreadPool pool(n_threads);
    constexpr std::int64_t kFfn = 768;
    const ExpertLayout layout = expert_layout(WeightType::kBf16, kHiddenDim, kFfn);
    const auto n_experts = kWeightBytes / static_cast<std::int64_t>(layout.bytes());
    const std::vector<Bf16> x(static_cast<std::size_t>(n_tokens * kHiddenDim));
    std::vector<const Bf16*> inputs;
    for (int t = 0; t < n_tokens; ++t) inputs.push_back(x.data() + t * kHiddenDim);
    struct Room {
        std::vector<float> out;
        std::vector<std::byte> scratch;
    };
    std::vector<Room> rooms(static_cast<std::size_t>(n_threads));
    for (Room& room : rooms) {
        room.out.resize(static_cast<std::size_t>(n_tokens * kHiddenDim));
        room.scratch.resize(bf16_expert_scratch(kHiddenDim, n_tokens) + 64);
    }
    const auto n_bytes = static_cast<std::size_t>(n_experts) * layout.bytes();
    count_bandwidth(state, pool, n_experts * 3 * kHiddenDim * kFfn, n_bytes, [&] {
        pool.parallel_dynamic(n_experts, [&](std::int64_t e, int thread) {
            Room& room = rooms[static_cast<std::size_t>(thread)];
            NeuronCounts counts;
            std::byte* const begin = room.scratch.data();
            const ExpertView view{
                reinterpret_cast<const std::byte*>(weights()) + static_cast<std::size_t>(e) * layout.bytes(), layout};
            expert_ffn_bf16(set)(view, inputs.data(), n_tokens, 0, kFfn, room.out.data(),
                                 begin + (64 - reinterpret_cast<std::uintptr_t>(begin) % 64) % 64, counts);
        });
    });
    state.counters["Gop/s"] = 2.0 * n_tokens * state.counters["Gweights/s"].value;
}

// kPairs: bf16_attention().
enum class Scores : std::uint8_t { kFloat, kPairs };

void attention(benchmark::State& state, InstructionSet set, KvType type, Scores scores, std::int64_t n_queries,
               std::int64_t n_keys) {
    constexpr std::int64_t kHeadDim = 128;
    const std::vector<float> q(static_cast<std::size_t>(n_queries * kHeadDim), 0.1f);
    const KvShape shape{1, 1, kHeadDim, kHeadDim, false, type};
    const std::int64_t n_blocks = (n_keys + kKvBlockTokens - 1) / kKvBlockTokens;
    std::vector<std::byte> cache(static_cast<std::size_t>(n_blocks * shape.block_bytes()));
    const std::vector<float> row(kHeadDim, 0.1f);
    for (std::size_t at = 0; at < cache.size(); at += static_cast<std::size_t>(shape.key_stride()))
        store_kv_row(row.data(), kHeadDim, type, cache.data() + at);
    std::vector<const std::byte*> blocks;
    for (std::int64_t b = 0; b < n_blocks; ++b) blocks.push_back(cache.data() + b * shape.block_bytes());
    const KvHead kv = kv_head_of(shape, blocks.data(), 0, 0);
    std::vector<float> out(q.size());
    std::vector<float> scratch(static_cast<std::size_t>(attention_scratch_floats(n_keys, kHeadDim)));
    constexpr std::size_t kLine = 64;
    std::vector<std::byte> pairs_scratch(
        static_cast<std::size_t>(bf16_attention_scratch(n_queries, kHeadDim, kHeadDim)) + kLine);
    std::byte* const line =
        pairs_scratch.data() + (kLine - reinterpret_cast<std::uintptr_t>(pairs_scratch.data()) % kLine) % kLine;
    ThreadPool one(1);
    const double peak = scores == Scores::kPairs ? measure_peak_gflops_bf16(one) : measure_peak_gflops_f32(one);
    for (auto _ : state) {
        if (scores == Scores::kPairs) {
            bf16_attention(set)(q.data(), kHeadDim, kv, 0, n_queries, n_keys, 0.088f, nullptr, out.data(), kHeadDim,
                                QueryRows::kTokens, line);
        } else {
            cpu_kernels(set).attention(q.data(), kHeadDim, kv, 0, n_queries, n_keys, 0.088f, nullptr, out.data(),
                                       kHeadDim, QueryRows::kTokens, QueryOrder::kByNumber, scratch.data());
        }
        benchmark::DoNotOptimize(out.data());
    }
    const double pairs = static_cast<double>(n_queries) * static_cast<double>(2 * n_keys - n_queries + 1) / 2.0;
    count_gflops(state, 4.0 * kHeadDim * pairs, peak);
    state.counters["KV GB/s"] = benchmark::Counter(1e-9 * static_cast<double>(n_keys * shape.token_bytes()),
                                                   benchmark::Counter::kIsIterationInvariantRate);
}

// One expert's products in the engine's form: strided weights, a different expert each
// time.
void gemm(benchmark::State& state, GemmMode mode, GemmLayout layout, WeightType type, int n_threads,
          std::int64_t n_tokens) {
    ThreadPool pool(n_threads);
    Gemm products(pool);
    const bool rows_are_outputs = layout == GemmLayout::kRowsAreOutputs;
    const std::int64_t n_in = rows_are_outputs ? kHiddenDim : kFfnDim;
    const std::int64_t n_out = rows_are_outputs ? kFfnDim : kHiddenDim;
    const auto bytes_of_expert = static_cast<std::int64_t>(expert_layout(type, kHiddenDim, kFfnDim).bytes());
    const std::int64_t n_experts = kWeightBytes / bytes_of_expert;
    const auto first_row = static_cast<std::int64_t>(row_bytes(type, kHiddenDim)) * (rows_are_outputs ? 0 : 2);
    const std::vector<float> x(static_cast<std::size_t>(n_tokens * n_in), 0.1f);
    std::vector<float> y(static_cast<std::size_t>(n_tokens * n_out));
    const double peak = mode == GemmMode::kF32 ? measure_peak_gflops_f32(pool) : measure_peak_gflops_bf16(pool);
    std::int64_t expert = 0;
    for (auto _ : state) {
        const auto* data = reinterpret_cast<const std::byte*>(weights()) + expert * bytes_of_expert + first_row;
        const WeightView view{data, type, kFfnDim, kHiddenDim, 3 * row_bytes(type, kHiddenDim)};
        products.multiply(mode, layout, x.data(), n_in, n_tokens, view, y.data(), n_out);
        expert = (expert + 1) % n_experts;
    }
    count_gflops(state, 2.0 * static_cast<double>(n_tokens) * static_cast<double>(n_in) * static_cast<double>(n_out),
                 peak);
}

std::string joined(const std::vector<std::string>& parts) {
    std::string all;
    for (const std::string& part : parts) {
        if (!all.empty()) all.push_back('/');
        all.append(part);
    }
    return all;
}

std::string counted(std::int64_t n, const char* what) {
    return std::to_string(n).append(" ").append(what);
}

template <typename Body>
void elementwise(benchmark::State& state, double bytes, const Body& body) {
    for (auto _ : state) {
        body();
        benchmark::ClobberMemory();
    }
    state.counters["GB/s"] = benchmark::Counter(bytes * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void register_small_operations(InstructionSet set) {
    constexpr std::int64_t n = kHiddenDim;
    const CpuKernels& kernels = cpu_kernels(set);
    const std::string set_name(name_of(set));
    const auto a = std::make_shared<std::vector<float>>(n, 0.5f);
    const auto b = std::make_shared<std::vector<float>>(n, 0.25f);
    const auto halves = std::make_shared<std::vector<Bf16>>(n, Bf16{0x3c00});
    const auto add = [&](const char* name, double bytes, auto body) {
        benchmark::RegisterBenchmark(joined({name, set_name}).c_str(),
                                     [=](benchmark::State& state) { elementwise(state, bytes, body); });
    };
    add("rms_norm", 12.0 * n, [=] { kernels.rms_norm(a->data(), b->data(), n, 1e-5f, a->data()); });
    add("rope", 8.0 * 128, [=] { kernels.rope(a->data(), b->data(), b->data(), 128); });
    add("activate", 12.0 * n, [=] { kernels.activate({}, b->data(), b->data(), n, a->data()); });
    add("axpy", 12.0 * n, [=] { kernels.axpy(1e-9f, b->data(), n, a->data()); });
    add("widen bf16", 6.0 * n, [=] { kernels.widen(halves->data(), WeightType::kBf16, n, a->data()); });
    add("narrow_bf16", 6.0 * n, [=] { kernels.narrow_bf16(b->data(), n, halves->data()); });
    add("argmax", 4.0 * n, [=] { benchmark::DoNotOptimize(kernels.argmax(b->data(), n)); });
}

void register_all() {
    const int all_threads = ThreadPool().n_threads();
    std::vector<int> thread_counts = {1};
    if (all_threads > 1) thread_counts.push_back(all_threads);
    for (const InstructionSet set : available_instruction_sets()) {
        const std::string name(name_of(set));
        for (const int threads : thread_counts) {
            for (const int tokens : {1, 2, 4, 8, 16, 32, 64, 128, 512}) {
                if (set == InstructionSet::kScalar && tokens > 1) continue;
                const CpuKernels& kernels = cpu_kernels(set);
                const auto where_of = [&](WeightType type) {
                    return joined({name_of(type), name, counted(threads, "threads"), counted(tokens, "tokens")});
                };
                const auto add_matvec = [&](bool byte_inputs, WeightType type, bool interleaved = false) {
                    const std::string full_name = joined({interleaved   ? "matvec_interleaved"
                                                          : byte_inputs ? "matvec_bytes"
                                                                        : "matvec",
                                                          where_of(type)});
                    benchmark::RegisterBenchmark(full_name.c_str(), matvec, kernels, byte_inputs, type, threads, tokens,
                                                 interleaved)
                        ->UseManualTime()
                        ->Iterations(3)
                        ->Unit(benchmark::kMillisecond);
                };
                if (expert_ffn_bf16(set) != nullptr && tokens <= 64) {
                    benchmark::RegisterBenchmark(joined({"expert_ffn_pairs", where_of(WeightType::kBf16)}).c_str(),
                                                 expert_ffn_pairs, set, threads, tokens)
                        ->UseManualTime()
                        ->Iterations(3)
                        ->Unit(benchmark::kMillisecond);
                }
                for (const WeightType type : kBlockTypes) {
                    if (tokens <= 8) add_matvec(false, type);
                    add_matvec(true, type);
                    if (can_interleave(type)) add_matvec(true, type, true);
                }
                for (const WeightType type : kBenchTypes) {
                    if (is_coded(type)) add_matvec(true, type);
                    const std::string where = where_of(type);
                    if (tokens <= 8) add_matvec(false, type);
                    for (const bool byte_inputs : {false, true}) {
                        if (byte_inputs ? !is_coded(type) || tokens > kMostByteTileTokens : tokens > 8) continue;
                        benchmark::RegisterBenchmark(
                            joined({byte_inputs ? "expert_ffn_bytes" : "expert_ffn", where}).c_str(), expert_ffn, set,
                            byte_inputs, type, threads, tokens)
                            ->UseManualTime()
                            ->Iterations(3)
                            ->Unit(benchmark::kMillisecond);
                    }
                }
            }
        }
        for (const auto& [n_queries, n_keys] : {std::pair{1, 512}, {1, 8192}, {16, 512}, {256, 256}, {256, 2048}}) {
            for (const auto& [type, cache] :
                 {std::pair{KvType::kF32, "f32"}, {KvType::kBf16, "bf16"}, {KvType::kInt8, "int8"}}) {
                benchmark::RegisterBenchmark(
                    joined({"attention", name, cache, counted(n_queries, "queries"), counted(n_keys, "keys")}).c_str(),
                    attention, set, type, Scores::kFloat, n_queries, n_keys);
                if (type != KvType::kBf16 || n_queries < 8 || bf16_attention(set) == nullptr) continue;
                benchmark::RegisterBenchmark(
                    joined({"attention", name, "bf16 pairs", counted(n_queries, "queries"), counted(n_keys, "keys")})
                        .c_str(),
                    attention, set, type, Scores::kPairs, n_queries, n_keys);
            }
        }
        register_small_operations(set);
    }
    for (const int threads : thread_counts) {
        for (const GemmMode mode : {GemmMode::kF32, GemmMode::kBf16}) {
            for (const GemmLayout layout : {GemmLayout::kRowsAreOutputs, GemmLayout::kRowsAreInputs}) {
                for (const WeightType type : kBenchTypes) {
                    for (const std::int64_t tokens : {8, 32, 128, 512}) {
                        const std::string name =
                            joined({"gemm", std::string(name_of(mode)), name_of(type),
                                    layout == GemmLayout::kRowsAreOutputs ? "2048 to 7168" : "7168 to 2048",
                                    counted(threads, "threads"), counted(tokens, "tokens")});
                        benchmark::RegisterBenchmark(name.c_str(), gemm, mode, layout, type, threads, tokens)
                            ->UseRealTime()
                            ->Unit(benchmark::kMillisecond);
                    }
                }
            }
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    register_all();
    {
        ThreadPool pool;
        ReadBandwidthProbe probe(pool);
        std::printf(
            "%d threads, best set %s, oneDNN %s: plain read %.1f GB/s, peak f32 %.0f and bf16 %.0f GFLOP/s, int8 %.0f "
            "Gop/s\n",
            pool.n_threads(), name_of(cpu_kernels().instruction_set).data(), Gemm::library_version().data(),
            probe.measure_gbps(), measure_peak_gflops_f32(pool), measure_peak_gflops_bf16(pool),
            measure_peak_gops_int8(pool));
    }
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
