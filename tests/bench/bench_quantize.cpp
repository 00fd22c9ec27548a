// The cost of fewer bits before a model runs in them: quantizing, and reading stored
// copies.
//
//   bench_quantize --benchmark_filter=quantize     HQQ and round to nearest: weights per
//   second on one core
//   bench_quantize --benchmark_filter=cache        a stored copy, from the system's cache
//   and from the disk
//   bench_quantize --benchmark_filter=fingerprint  beside one core's copying and reading

#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

#include "engine/model/fingerprint.h"
#include "engine/quant/quant_cache.h"
#include "engine/quant/quantizer.h"
#include "engine/quant/weight_format.h"
#include "kernels/machine_limits.h"
#include "kernels/thread_pool.h"

using namespace offstage;
using kernels::WeightType;

namespace {

constexpr WeightType kPacked[] = {WeightType::kInt8, WeightType::kHqq4, WeightType::kHqq3, WeightType::kHqq2};
constexpr std::int64_t kHiddenDim = 4096;
constexpr std::int64_t kQuantizedRows = 256;    // a million weights
constexpr std::int64_t kKeptRows = 3 * 14'336;  // one expert of Mixtral-8x7B
constexpr std::size_t kBytes = std::size_t{256} << 20;

const std::vector<kernels::Bf16>& weights() {
    static const std::vector<kernels::Bf16> values = [] {
        std::vector<kernels::Bf16> all(static_cast<std::size_t>(kQuantizedRows * kHiddenDim));
        std::uint32_t state = 1;
        const auto uniform = [&] {
            state = state * 1664525u + 1013904223u;
            return static_cast<float>(state >> 8) * 0x1p-24f - 0.5f;
        };
        for (kernels::Bf16& weight : all) weight = kernels::to_bf16(0.04f * (uniform() + uniform() + uniform()));
        return all;
    }();
    return values;
}

void rate(benchmark::State& state, const char* name, double per_iteration) {
    state.counters[name] = benchmark::Counter(per_iteration, benchmark::Counter::kIsIterationInvariantRate);
}

void quantize(benchmark::State& state, WeightType format, engine::QuantMethod method, int n_threads) {
    kernels::ThreadPool pool(n_threads);
    engine::Quantizer quantizer(pool, method);
    const kernels::WeightView rows{weights().data(), WeightType::kBf16, kQuantizedRows, kHiddenDim};
    std::vector<std::byte> out(static_cast<std::size_t>(kQuantizedRows) * kernels::row_bytes(format, kHiddenDim));
    for (auto _ : state) {
        const engine::QuantError error = quantizer.quantize(rows, format, out.data());
        benchmark::DoNotOptimize(error.squared);
    }
    rate(state, "Mweights/s/core", 1e-6 * static_cast<double>(kQuantizedRows * kHiddenDim) / n_threads);
}

// A folder for one kept copy, gone afterwards.
class Folder {
  public:
    Folder() {
        std::string path = std::filesystem::current_path() / "bench_quantize.XXXXXX";
        if (mkdtemp(path.data()) == nullptr) throw std::runtime_error("no folder can be made here");
        path_ = path;
    }
    ~Folder() { std::filesystem::remove_all(path_); }
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

void forget_pages(const std::filesystem::path& file) {
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) throw std::runtime_error(file.string() + " cannot be opened");
    ::fsync(descriptor);
    ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    ::close(descriptor);
}

// In the current folder: run it where the cache would lie.
void read_cached(benchmark::State& state, WeightType format, bool cold, int n_threads) {
    kernels::ThreadPool pool(n_threads);
    const Folder folder;
    engine::QuantCache cache(folder.path());
    const engine::QuantKey key{{1, 2}, format, kKeptRows, kHiddenDim};
    std::vector<std::byte> block(key.block_bytes(), std::byte{0x5a});
    engine::QuantError error{1, 2};
    if (!cache.store(key, block, error, pool)) throw std::runtime_error("nothing can be kept here");
    for (auto _ : state) {
        if (cold) {
            state.PauseTiming();
            forget_pages(folder.path() / key.file_name());
            state.ResumeTiming();
        }
        if (!cache.load(key, block, error, pool)) throw std::runtime_error("what was kept cannot be read");
    }
    rate(state, "GB/s", 1e-9 * static_cast<double>(block.size()));
    rate(state, "Gweights/s", 1e-9 * static_cast<double>(kKeptRows * kHiddenDim));
}

void fingerprint(benchmark::State& state, int n_threads) {
    kernels::ThreadPool pool(n_threads);
    const std::vector<std::byte> bytes(kBytes, std::byte{0x37});
    kernels::ReadBandwidthProbe probe(pool);
    std::vector<double> plain;
    for (auto _ : state) {
        state.PauseTiming();
        plain.push_back(probe.measure_gbps());
        state.ResumeTiming();
        const engine::Fingerprint print = engine::fingerprint_of(bytes, pool);
        benchmark::DoNotOptimize(print.low);
    }
    std::nth_element(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(plain.size() / 2), plain.end());
    state.counters["plain read GB/s"] = plain[plain.size() / 2];
    rate(state, "GB/s", 1e-9 * static_cast<double>(kBytes));
}

void copy(benchmark::State& state) {
    const std::vector<std::byte> from(kBytes, std::byte{0x37});
    std::vector<std::byte> to(kBytes);
    for (auto _ : state) {
        std::memcpy(to.data(), from.data(), kBytes);
        benchmark::ClobberMemory();
    }
    rate(state, "GB/s", 1e-9 * static_cast<double>(kBytes));
}

// One thread's work is timed in CPU time, which is right on a shared machine too; waiting
// for a disk or for other threads is real time.
enum class Clock { kCpu, kReal };

template <typename Body>
void add(const std::string& name, Clock clock, const Body& body) {
    auto* const bench = benchmark::RegisterBenchmark(name.c_str(), body)->MinTime(0.4);
    if (clock == Clock::kReal) bench->UseRealTime();
}

void register_all() {
    for (const WeightType format : kPacked) {
        const std::string name(engine::format_row(format).option);
        const int n_cores = kernels::ThreadPool(0).n_threads();
        for (int n_threads = 1; n_threads <= n_cores;
             n_threads = n_threads == 1 && n_cores > 1 ? n_cores : n_cores + 1) {
            add("quantize/" + name + "/threads:" + std::to_string(n_threads),
                n_threads == 1 ? Clock::kCpu : Clock::kReal,
                [=](benchmark::State& state) { quantize(state, format, engine::QuantMethod::kHqq, n_threads); });
        }
        add("quantize_nearest/" + name + "/threads:1", Clock::kCpu,
            [=](benchmark::State& state) { quantize(state, format, engine::QuantMethod::kNearest, 1); });
    }
    for (const bool cold : {false, true}) {
        const std::string from = cold ? "/disk" : "/memory";
        const Clock clock = cold ? Clock::kReal : Clock::kCpu;
        for (const WeightType format : {WeightType::kHqq4, WeightType::kHqq2}) {
            const std::string name(engine::format_row(format).option);
            add("cache/" + name + from, clock, [=](benchmark::State& state) { read_cached(state, format, cold, 1); });
        }
    }
    add("fingerprint/threads:1", Clock::kCpu, [](benchmark::State& state) { fingerprint(state, 1); });
    add("fingerprint/all_threads", Clock::kReal, [](benchmark::State& state) { fingerprint(state, 0); });
    add("memcpy/threads:1", Clock::kCpu, [](benchmark::State& state) { copy(state); });
}

}  // namespace

int main(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    register_all();
    try {
        benchmark::RunSpecifiedBenchmarks();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench_quantize: %s\n", error.what());
        return 1;
    }
    benchmark::Shutdown();
    return 0;
}
