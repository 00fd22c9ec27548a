#pragma once
// The inner loops of machine_limits.h: reading memory, and multiply-adds from registers.
// Internal to kernels/.

#include <cstddef>
#include <cstdint>

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

std::uint64_t read_scalar(const std::byte* data, std::int64_t n_bytes, int n_streams);
std::uint64_t read_avx2(const std::byte* data, std::int64_t n_bytes, int n_streams);
std::uint64_t read_avx512(const std::byte* data, std::int64_t n_bytes, int n_streams);
double f32_scalar(std::int64_t n_rounds);
double f32_avx2(std::int64_t n_rounds);
double f32_avx512(std::int64_t n_rounds);
double bf16_avx2(std::int64_t n_rounds);
double bf16_avx512(std::int64_t n_rounds);
double bf16_avx512_bf16(std::int64_t n_rounds);
double int8_scalar(std::int64_t n_rounds);
double int8_avx2(std::int64_t n_rounds);
double int8_avx2_vnni(std::int64_t n_rounds);
double int8_avx512(std::int64_t n_rounds);
double int8_avx512_vnni(std::int64_t n_rounds);

constexpr int kChains = 12;  // hides four cycles of latency on up to three units

}  // namespace offstage::kernels::limit_loops
