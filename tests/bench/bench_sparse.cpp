// Experts of which a theta leaves neurons out, beside the same experts whole, both
// measured alternately in one run: the gain, and the gain that the bytes alone would
// allow. Weights are 1 GiB, so that no cache holds them; shaped as in the engine (experts
// of 7168 neurons in chunks of 112). Active neurons are drawn at random, singly or in
// adjacent groups, as an order by co-activation would at best have them.
//
//   bench_sparse --benchmark_filter=BF16

#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <sys/mman.h>
#include <vector>

#include "kernels/byte_experts.h"
#include "kernels/machine_limits.h"
#include "kernels/sparse_experts.h"
#include "kernels/thread_pool.h"

using namespace offstage::kernels;

namespace {

constexpr std::int64_t kWeightBytes = std::int64_t{1} << 30;
constexpr std::int64_t kHiddenDim = 2048;
constexpr std::int64_t kChunk = 112;  // neurons
constexpr int kRounds = 9;            // of both, alternating; medians are shown

// In large pages, as the engine has them.
std::span<Bf16> weights() {
    constexpr std::size_t kHugePage = std::size_t{2} << 20;
    static void* const memory = [] {
        void* const place = std::aligned_alloc(kHugePage, kWeightBytes);
        madvise(place, kWeightBytes, MADV_HUGEPAGE);
        return place;
    }();
    return {static_cast<Bf16*>(memory), kWeightBytes / sizeof(Bf16)};
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

void sparse_expert(benchmark::State& state, bool byte_inputs, WeightType type, int n_threads, int active_percent,
                   int group) {
    ThreadPool pool(n_threads);
    const CpuKernels& kernels = cpu_kernels();
    const InstructionSet set = kernels.instruction_set;
    const auto neuron_bytes = static_cast<std::int64_t>(expert_layout(type, kHiddenDim, 1).bytes());
    const std::int64_t n_chunks = kWeightBytes / neuron_bytes / kChunk;
    const std::int64_t n_neurons = n_chunks * kChunk;
    auto* const bytes = reinterpret_cast<std::byte*>(weights().data());
    // Bytes that make small numbers of every type; w1 of neurons to be left out is zero.
    std::fill(weights().begin(), weights().end(), Bf16{0x3c00});
    std::mt19937 random(1);
    bool active = false;
    for (std::int64_t j = 0; j < n_neurons; ++j) {
        if (j % group == 0) active = static_cast<int>(random() % 100) < active_percent;
        if (active) continue;
        std::memset(bytes + j * neuron_bytes, 0, row_bytes(type, kHiddenDim));
    }
    ExpertView dense{bytes, expert_layout(type, kHiddenDim, n_neurons)};
    ExpertView sparse = dense;
    sparse.layout.spec.theta = 1e-30f;
    const std::vector<float> x(kHiddenDim, 0.01f);
    const float scale = 1;
    std::vector<std::vector<float>> out(static_cast<std::size_t>(n_threads), x);
    std::vector<NeuronCounts> counts(static_cast<std::size_t>(n_threads));
    std::vector<std::byte> rounded(static_cast<std::size_t>(rounded_input_bytes(kHiddenDim)));
    if (byte_inputs) kernels.round_inputs(type, x.data(), kHiddenDim, 1, kHiddenDim, rounded.data());
    const std::byte* const inputs[1] = {rounded.data()};
    const auto pass = [&](const ExpertView& view) {
        const auto start = std::chrono::steady_clock::now();
        pool.run([&](int thread) {
            float* const to = out[static_cast<std::size_t>(thread)].data();
            NeuronCounts& counted = counts[static_cast<std::size_t>(thread)];
            const std::int64_t first = n_chunks * thread / n_threads, last = n_chunks * (thread + 1) / n_threads;
            for (std::int64_t chunk = first; chunk < last; ++chunk) {
                const std::int64_t begin = chunk * kChunk, end = begin + kChunk;
                if (view.layout.spec.theta > 0) {
                    byte_inputs ? sparse_expert_ffn_bytes(set)(view, inputs, &scale, 1, begin, end, to, counted)
                                : sparse_expert_ffn(set)(view, x.data(), &scale, 1, begin, end, to, counted);
                } else {
                    byte_inputs ? expert_ffn_bytes(set)(view, inputs, &scale, 1, begin, end, to, nullptr)
                                : kernels.expert_ffn(view, x.data(), &scale, 1, begin, end, to);
                }
            }
        });
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    ReadBandwidthProbe probe(pool);
    for (auto _ : state) {
        std::vector<double> of_dense, of_sparse, ratios, gbps;
        for (int round = 0; round < kRounds; ++round) {
            gbps.push_back(probe.measure_gbps());
            of_dense.push_back(pass(dense));
            for (NeuronCounts& counted : counts) counted = {};
            of_sparse.push_back(pass(sparse));
            ratios.push_back(of_dense.back() / of_sparse.back());
        }
        NeuronCounts all;
        for (const NeuronCounts& counted : counts) all += counted;
        const auto total = static_cast<double>(n_neurons * neuron_bytes);
        const double read = total - static_cast<double>(all.skipped_bytes);
        const double gain = median(ratios), bound = total / read;
        state.SetIterationTime(median(of_sparse));
        state.counters["active %"] = 100 * static_cast<double>(all.active) / static_cast<double>(all.neurons);
        state.counters["GB/s"] = read / median(of_sparse) * 1e-9;
        state.counters["dense GB/s"] = total / median(of_dense) * 1e-9;
        state.counters["plain read GB/s"] = median(gbps);
        state.counters["gain"] = gain;
        state.counters["bytes allow"] = bound;
        if (bound > 1 && gain > 1 && gain <= bound) state.counters["% of that gain"] = 100 * (gain - 1) / (bound - 1);
    }
}

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    const int all_threads = ThreadPool().n_threads();
    for (const int threads : {1, all_threads}) {
        for (const auto& [type, byte_inputs] : {std::pair{WeightType::kBf16, false},
                                                {WeightType::kHqq4, false},
                                                {WeightType::kHqq4, true},
                                                {WeightType::kInt8, true}}) {
            for (const auto& [active, group] :
                 {std::pair{100, 1}, {70, 1}, {50, 1}, {50, 4}, {50, 8}, {50, 16}, {30, 1}, {0, 1}}) {
                std::string name = std::string(byte_inputs ? "sparse_expert_bytes/" : "sparse_expert/") +
                                   name_of(type) + "/" + std::to_string(threads) + " threads/" +
                                   std::to_string(active) + " % active";
                if (group > 1) name += " in groups of " + std::to_string(group);
                benchmark::RegisterBenchmark(name.c_str(), sparse_expert, byte_inputs, type, threads, active, group)
                    ->UseManualTime()
                    ->Iterations(1)
                    ->Unit(benchmark::kMillisecond);
            }
        }
        if (all_threads == 1) break;
    }
    std::printf("%s\n", name_of(cpu_kernels().instruction_set).data());
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
