#include "kernels/machine_limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "kernels/cpu/limit_loops.h"
#include "kernels/cpu_features.h"

namespace offstage::kernels {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kAlignment = 4096;
constexpr double kPeakSeconds = 0.01;
constexpr int kPeakRepeats = 4;  // the best counts: other load can only make it slower

// The loops' results go here, so that no compiler may leave the loops out.
std::atomic<std::uint64_t> consumed{0};

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// Runs `loop` on all threads for about kPeakSeconds, several times; returns the best rate
// in 1e9 operations per second.
double measure_peak(ThreadPool& pool, limit_loops::Loop loop) {
    const auto run = [&](std::int64_t n_rounds) {
        const auto start = Clock::now();
        pool.run([&](int) {
            consumed.fetch_add(static_cast<std::uint64_t>(loop.run(n_rounds)), std::memory_order_relaxed);
        });
        return seconds_since(start);
    };
    // The number of rounds is found on this thread alone: waking the others may take
    // longer than the loop.
    std::int64_t n_rounds = 1000;
    double seconds = 0.0;
    for (;; n_rounds *= 2) {
        const auto start = Clock::now();
        consumed.fetch_add(static_cast<std::uint64_t>(loop.run(n_rounds)), std::memory_order_relaxed);
        seconds = seconds_since(start);
        if (seconds > 0.0005) break;
    }
    n_rounds =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(n_rounds) * kPeakSeconds / seconds));
    double best = 0.0;
    for (int repeat = 0; repeat < kPeakRepeats; ++repeat) {
        const double operations = static_cast<double>(n_rounds) * loop.operations_per_round * pool.n_threads();
        best = std::max(best, operations / run(n_rounds) * 1e-9);
    }
    return best;
}

}  // namespace

ReadBandwidthProbe::ReadBandwidthProbe(ThreadPool& pool, std::vector<std::span<const std::byte>> pieces)
    : pool_(pool), pieces_(std::move(pieces)) {
    for (auto& piece : pieces_) {
        piece = piece.first(piece.size() / kGrain * kGrain);
        bytes_ += piece.size();
    }
    choose_streams();
}

ReadBandwidthProbe::ReadBandwidthProbe(ThreadPool& pool, std::size_t bytes)
    : pool_(pool), bytes_((bytes + kAlignment - 1) / kAlignment * kAlignment) {
    own_ = static_cast<std::byte*>(::operator new (bytes_, std::align_val_t{kAlignment}));
    pieces_ = {{own_, bytes_}};
    // The threads that read the memory write it first: a NUMA machine then puts each part
    // next to its reader.
    pool_.parallel_for(static_cast<std::int64_t>(bytes_), kGrain, [this](std::int64_t begin, std::int64_t end, int) {
        std::memset(own_ + begin, 0x5a, static_cast<std::size_t>(end - begin));
    });
    choose_streams();
}

ReadBandwidthProbe::~ReadBandwidthProbe() {
    ::operator delete (own_, std::align_val_t{kAlignment});
}

void ReadBandwidthProbe::choose_streams() {
    constexpr int kTurns = 2;
    double best = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
        for (const int n_streams : {1, 2, 4, 8}) {
            const double gbps = read_gbps(n_streams, kLeastRead / 8);
            if (gbps > best) {
                best = gbps;
                n_streams_ = n_streams;
            }
        }
    }
}

double ReadBandwidthProbe::measure_gbps() {
    return read_gbps(n_streams_, kLeastRead);
}

double ReadBandwidthProbe::read_gbps(int n_streams, std::size_t least) {
    if (bytes_ == 0) return 0;
    const limit_loops::Read read = limit_loops::best_read();
    const std::size_t n_times = std::max<std::size_t>(1, (least + bytes_ - 1) / bytes_);
    std::atomic<std::int64_t> n_read{0};
    const auto start = Clock::now();
    // No thread waits for the others between two times. Each thread reads its part of
    // every piece.
    const auto n_threads = static_cast<std::size_t>(pool_.n_threads());
    pool_.run([&](int thread) {
        constexpr std::size_t kStep = 256;
        std::uint64_t sum = 0;
        std::size_t n_bytes = 0;
        for (std::size_t i = 0; i < n_times; ++i) {
            for (const auto piece : pieces_) {
                const std::size_t part = piece.size() / n_threads / kStep * kStep;
                const std::size_t stream = part / static_cast<std::size_t>(n_streams) / kStep * kStep;
                sum += read(piece.data() + static_cast<std::size_t>(thread) * part, static_cast<std::int64_t>(stream),
                            n_streams);
                n_bytes += stream * static_cast<std::size_t>(n_streams);
            }
        }
        consumed.fetch_add(sum, std::memory_order_relaxed);
        n_read.fetch_add(static_cast<std::int64_t>(n_bytes), std::memory_order_relaxed);
    });
    return static_cast<double>(n_read.load()) / seconds_since(start) * 1e-9;
}

std::optional<GemmMode> limiting_peak(GemmMode mode) {
    if (mode == GemmMode::kF32) return GemmMode::kF32;
    if (cpu_features().amx_bf16) return std::nullopt;
    return cpu_features().avx512_bf16 ? GemmMode::kBf16 : GemmMode::kF32;
}

double measure_peak_gflops_f32(ThreadPool& pool) {
    return measure_peak(pool, limit_loops::best_f32());
}

double measure_peak_gflops_bf16(ThreadPool& pool) {
    return measure_peak(pool, limit_loops::best_bf16());
}

double measure_peak_gops_int8(ThreadPool& pool) {
    return measure_peak(pool, limit_loops::best_int8());
}

}  // namespace offstage::kernels
