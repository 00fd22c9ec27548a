#include <cstring>
#include <immintrin.h>

#include "kernels/cpu/limit_loops.h"
#include "kernels/cpu/simd.h"

namespace offstage::kernels::limit_loops::OFFSTAGE_INSTRUCTION_SET {
namespace {

// A register's integers.
using Words = std::uint64_t __attribute__((vector_size(sizeof(Vector))));
using Lanes = std::int32_t __attribute__((vector_size(sizeof(Vector))));

// Adds products of a register's bytes with themselves. Without dot products of bytes:
// pairs in 16 bits, their pairs in 32 bits, the sum.
#if OFFSTAGE_VECTOR_BITS == 512
#define OFFSTAGE_WITH_VNNI __attribute__((target("avx512vnni")))
constexpr bool CpuFeatures::*kHasVnni = &CpuFeatures::avx512_vnni;
using Bytes = __m512i;
inline Bytes add_pairs(Bytes sum, Bytes bytes, Bytes ones) {
    return _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_maddubs_epi16(bytes, bytes), ones));
}
OFFSTAGE_WITH_VNNI inline Bytes add_dots(Bytes sum, Bytes bytes) {
    return _mm512_dpbusd_epi32(sum, bytes, bytes);
}
#else
#define OFFSTAGE_WITH_VNNI __attribute__((target("avxvnni")))
constexpr bool CpuFeatures::*kHasVnni = &CpuFeatures::avx_vnni;
using Bytes = __m256i;
inline Bytes add_pairs(Bytes sum, Bytes bytes, Bytes ones) {
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(bytes, bytes), ones));
}
OFFSTAGE_WITH_VNNI inline Bytes add_dots(Bytes sum, Bytes bytes) {
    return _mm256_dpbusd_avx_epi32(sum, bytes, bytes);
}
#endif

Bytes all_lanes(std::int32_t lane) {
    return reinterpret_cast<Bytes>(Lanes{} + lane);
}

std::uint64_t read(const std::byte* data, std::int64_t n_bytes, int n_streams) {
    constexpr auto kBytes = static_cast<int>(sizeof(Words));
    Words sums[4] = {};
    for (std::int64_t i = 0; i < n_bytes; i += 256) {
        for (int stream = 0; stream < n_streams; ++stream) {
            const std::byte* const from = data + stream * n_bytes + i;
            for (int k = 0; k < 256 / kBytes; ++k) {
                Words words;
                std::memcpy(&words, from + kBytes * k, sizeof words);
                sums[k % 4] += words;
            }
        }
    }
    const Words sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    std::uint64_t total = 0;
    for (int k = 0; k < kBytes / 8; ++k) total += sum[k];
    return total;
}

// Different ones: equal ones would be computed once.
void begin(Vector (&chains)[kChains]) {
    for (int c = 0; c < kChains; ++c) chains[c] = broadcast(static_cast<float>(c));
}
void begin(Bytes (&chains)[kChains]) {
    for (int c = 0; c < kChains; ++c) chains[c] = all_lanes(c);
}
double total(const Vector (&chains)[kChains]) {
    double sum = 0.0;
    for (const Vector& chain : chains) {
        for (int lane = 0; lane < kLanes; ++lane) sum += static_cast<double>(chain[lane]);
    }
    return sum;
}
double total(const Bytes (&chains)[kChains]) {
    double sum = 0.0;
    for (const Bytes& chain : chains) {
        for (int lane = 0; lane < kLanes; ++lane) sum += static_cast<double>(reinterpret_cast<Lanes>(chain)[lane]);
    }
    return sum;
}

double f32(std::int64_t n_rounds) {
    Vector chains[kChains];
    begin(chains);
    const Vector factor = broadcast(0.999f), addend = broadcast(0.001f);
    for (std::int64_t round = 0; round < n_rounds; ++round) {
#pragma GCC unroll 12
        for (int c = 0; c < kChains; ++c) chains[c] = fma(chains[c], factor, addend);
    }
    return total(chains);
}

// The cost of a bf16 product without the instruction: the weight is widened by a shift,
// then multiplied.
double bf16(std::int64_t n_rounds) {
    Vector chains[kChains];
    begin(chains);
    Lanes weights = Lanes{} + 0x3f80;
    const Vector addend = broadcast(0.001f);
    for (std::int64_t round = 0; round < n_rounds; ++round) {
        asm volatile("" : "+v"(weights));  // makes the compiler assume a new weight each round
        const auto factor = reinterpret_cast<Vector>(weights << 16);
#pragma GCC unroll 12
        for (int c = 0; c < kChains; ++c) chains[c] = fma(chains[c], factor, addend);
    }
    return total(chains);
}

double int8(std::int64_t n_rounds) {
    Bytes chains[kChains];
    begin(chains);
    Bytes weights = all_lanes(0x03030303);
    const Bytes ones = all_lanes(0x00010001);
    for (std::int64_t round = 0; round < n_rounds; ++round) {
#pragma GCC unroll 12
        for (int c = 0; c < kChains; ++c) {
            asm volatile("" : "+v"(weights));  // makes the compiler assume new weights each round
            chains[c] = add_pairs(chains[c], weights, ones);
        }
    }
    return total(chains);
}

OFFSTAGE_WITH_VNNI double int8_vnni(std::int64_t n_rounds) {
    Bytes chains[kChains];
    begin(chains);
    const Bytes weights = all_lanes(0x03030303);
    for (std::int64_t round = 0; round < n_rounds; ++round) {
#pragma GCC unroll 12
        for (int c = 0; c < kChains; ++c) chains[c] = add_dots(chains[c], weights);
    }
    return total(chains);
}

}  // namespace

const Loops kLoops = {read,
                      {f32, 2.0 * kChains* kLanes},
                      {bf16, 2.0 * kChains* kLanes},
                      {int8, 8.0 * kChains* kLanes},
                      {int8_vnni, 8.0 * kChains* kLanes},
                      kHasVnni};

}  // namespace offstage::kernels::limit_loops::OFFSTAGE_INSTRUCTION_SET
