#include "kernels/machine_limits.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include "kernels/cpu/limit_loops.h"

namespace offstage::kernels {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kAlignment = 4096;
constexpr std::int64_t kBlockBytes = 4096;
constexpr double kPeakSeconds = 0.01;
constexpr int kPeakRepeats = 4;  // the best counts: other load on the machine only ever takes away

// The loops' results go here, so that no compiler may leave the loops out.
std::atomic<std::uint64_t> consumed{0};

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// Runs `loop` on all threads for about kPeakSeconds, several times; the best rate in 1e9 operations per second.
double measure_peak(ThreadPool& pool, limit_loops::Loop loop) {
    const auto run = [&](std::int64_t n_rounds) {
        const auto start = Clock::now();
        pool.run([&](int) {
            consumed.fetch_add(static_cast<std::uint64_t>(loop.run(n_rounds)), std::memory_order_relaxed);
        });
        return seconds_since(start);
    };
    // How many rounds that takes is found on this thread alone: waking the others may take longer than the loop.
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

ReadBandwidthProbe::ReadBandwidthProbe(ThreadPool& pool, std::span<const std::byte> memory)
    : pool_(pool), bytes_(memory.size() / kBlockBytes * kBlockBytes), data_(memory.data()) {}

ReadBandwidthProbe::ReadBandwidthProbe(ThreadPool& pool, std::size_t bytes)
    : pool_(pool),
      bytes_((bytes + kAlignment - 1) / kAlignment * kAlignment),
      own_(static_cast<std::byte*>(::operator new (bytes_, std::align_val_t{kAlignment}))),
      data_(own_) {
    // Written by the threads that will read it: on a NUMA machine that puts each part next to its reader.
    pool_.parallel_for(static_cast<std::int64_t>(bytes_), kBlockBytes,
                       [this](std::int64_t begin, std::int64_t end, int) {
                           std::memset(own_ + begin, 0x5a, static_cast<std::size_t>(end - begin));
                       });
}

ReadBandwidthProbe::~ReadBandwidthProbe() {
    ::operator delete (own_, std::align_val_t{kAlignment});
}

double ReadBandwidthProbe::measure_gbps() {
    const limit_loops::Read read = limit_loops::best_read();
    const auto start = Clock::now();
    pool_.parallel_for(static_cast<std::int64_t>(bytes_), kBlockBytes, [&](std::int64_t begin, std::int64_t end, int) {
        consumed.fetch_add(read(data_ + begin, end - begin), std::memory_order_relaxed);
    });
    return static_cast<double>(bytes_) / seconds_since(start) * 1e-9;
}

double measure_peak_gflops_f32(ThreadPool& pool) {
    return measure_peak(pool, limit_loops::best_f32());
}

double measure_peak_gflops_bf16(ThreadPool& pool) {
    return measure_peak(pool, limit_loops::best_bf16());
}

}  // namespace offstage::kernels
