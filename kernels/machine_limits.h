#pragma once
// The limits of this machine, measured at the time of the call: reported beside every
// speed figure.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "kernels/gemm.h"
#include "kernels/thread_pool.h"

namespace offstage::kernels {

// Measures how fast this many bytes are read repeatedly: from memory if they are larger
// than any cache.
class ReadBandwidthProbe {
  public:
    // Reads existing memory, for example a model's weights: the same pages that the
    // measured work reads, and no extra memory. The caller owns the pieces; less than
    // kGrain at a piece's end is left out.
    ReadBandwidthProbe(ThreadPool& pool, std::vector<std::span<const std::byte>> pieces);
    // Reads a buffer that it allocates.
    explicit ReadBandwidthProbe(ThreadPool& pool, std::size_t bytes = std::size_t{1} << 30);
    ~ReadBandwidthProbe();
    ReadBandwidthProbe(const ReadBandwidthProbe&) = delete;
    ReadBandwidthProbe& operator=(const ReadBandwidthProbe&) = delete;

    // All threads of the pool read their own parts, as often as it takes to read
    // kLeastRead in all, as one stream or several side by side: as was fastest when the
    // probe was made. In 1e9 bytes per second.
    double measure_gbps();

    static constexpr std::size_t kGrain = 4096;
    static constexpr std::size_t kLeastRead = std::size_t{1} << 30;

  private:
    void choose_streams();
    double read_gbps(int n_streams, std::size_t least);

    ThreadPool& pool_;
    std::byte* own_ = nullptr;
    std::vector<std::span<const std::byte>> pieces_;  // multiples of kGrain
    std::size_t bytes_ = 0;                           // of all pieces
    int n_streams_ = 1;
};

// Highest rate of independent multiply-adds from registers over all threads of the pool,
// in 1e9 operations per second (a multiply-add counts as two). bf16: the dot-product
// instruction if the processor has it, otherwise widening + FMA.
double measure_peak_gflops_f32(ThreadPool& pool);
double measure_peak_gflops_bf16(ThreadPool& pool);
// Dot products of bytes: by the instruction for them where there is one.
double measure_peak_gops_int8(ThreadPool& pool);

// The peak that limits Gemm's products in this mode: bf16 products use the dot-product
// instruction, and without it float32 products of rounded numbers. Empty where oneDNN may
// use tile instructions (AMX), whose peak is not measured.
std::optional<GemmMode> limiting_peak(GemmMode mode);

}  // namespace offstage::kernels
