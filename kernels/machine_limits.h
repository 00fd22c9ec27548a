#pragma once
// What this machine can do at best, measured here and now: stated beside every speed figure.

#include <cstddef>
#include <span>

#include "kernels/thread_pool.h"

namespace offstage::kernels {

// Measures how fast memory is read, on bytes larger than any cache.
class ReadBandwidthProbe {
  public:
    // Reads memory that is there already, a model's weights say: the same pages as the work it stands beside, and no
    // memory of its own. The bytes belong to the caller; a part shorter than 4 KiB at their end is left out.
    ReadBandwidthProbe(ThreadPool& pool, std::span<const std::byte> memory);
    // Reads a buffer of its own.
    explicit ReadBandwidthProbe(ThreadPool& pool, std::size_t bytes = std::size_t{1} << 30);
    ~ReadBandwidthProbe();
    ReadBandwidthProbe(const ReadBandwidthProbe&) = delete;
    ReadBandwidthProbe& operator=(const ReadBandwidthProbe&) = delete;

    // One sequential read of it all by all threads of the pool, each its own part. In 1e9 bytes per second.
    double measure_gbps();

  private:
    ThreadPool& pool_;
    std::size_t bytes_;
    std::byte* own_ = nullptr;
    const std::byte* data_;
};

// Highest rate of independent multiply-adds from registers over all threads of the pool, in 1e9 operations per second
// (one multiply-add counts two). bf16: the dot-product instruction where there is one, otherwise widening + FMA.
double measure_peak_gflops_f32(ThreadPool& pool);
double measure_peak_gflops_bf16(ThreadPool& pool);

}  // namespace offstage::kernels
