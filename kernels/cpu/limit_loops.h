#pragma once
// The inner loops of machine_limits.h: reading memory, and multiply-adds from registers.
// Internal to kernels/.

#include <cstddef>
#include <cstdint>

#include "kernels/cpu_features.h"

namespace offstage::kernels::limit_loops {

// Reads n_streams consecutive pieces of n_bytes each (a multiple of 256; at any address)
// side by side: 256 bytes of each in turn. Returns a value that depends on all of them.
using Read = std::uint64_t (*)(const std::byte* data, std::int64_t n_bytes, int n_streams);

// Runs independent chains of multiply-adds; the value returned depends on all of them.
struct Loop {
    double (*run)(std::int64_t n_rounds);
    double operations_per_round;  // a multiply-add counts two
};

Read best_read();
Loop best_f32();
Loop best_bf16();
Loop best_int8();

// Those of one instruction set.
struct Loops {
    Read read;
    Loop f32, bf16, int8, int8_vnni;
    bool CpuFeatures::*has_vnni;
};
namespace avx2 {
extern const Loops kLoops;
}
namespace avx512 {
extern const Loops kLoops;
}
double bf16_avx512_bf16(std::int64_t n_rounds);

constexpr int kChains = 12;  // hides four cycles of latency on up to three units

}  // namespace offstage::kernels::limit_loops
