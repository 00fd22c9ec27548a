#include <cstring>

#include "kernels/cpu/compiled_sets.h"
#include "kernels/cpu/limit_loops.h"
#include "kernels/cpu_features.h"

namespace offstage::kernels::limit_loops {

namespace {

constexpr int kScalarLanes = 4;

std::uint64_t read_scalar(const std::byte* data, std::int64_t n_bytes, int n_streams) {
    std::uint64_t sums[8] = {};
    for (std::int64_t i = 0; i < n_bytes; i += 256) {
        for (int stream = 0; stream < n_streams; ++stream) {
            const std::byte* const from = data + stream * n_bytes + i;
            for (int line = 0; line < 4; ++line) {
                std::uint64_t words[8];
                std::memcpy(words, from + 64 * line, sizeof words);
                for (int k = 0; k < 8; ++k) sums[k] += words[k];
            }
        }
    }
    std::uint64_t sum = 0;
    for (const std::uint64_t part : sums) sum += part;
    return sum;
}

// Lanes that a compiler for the baseline can keep in its vector registers.
double f32_scalar(std::int64_t n_rounds) {
    float chains[kChains][kScalarLanes];
    for (int c = 0; c < kChains; ++c) {
        for (int lane = 0; lane < kScalarLanes; ++lane) chains[c][lane] = static_cast<float>(c + lane);
    }
    for (std::int64_t round = 0; round < n_rounds; ++round) {
        for (auto& chain : chains) {
            for (float& value : chain) value = value * 0.999f + 0.001f;
        }
    }
    double sum = 0.0;
    for (const auto& chain : chains) {
        for (const float value : chain) sum += static_cast<double>(value);
    }
    return sum;
}

double int8_scalar(std::int64_t n_rounds) {
    std::uint32_t chains[kChains][kScalarLanes];
    for (std::uint32_t c = 0; c < kChains; ++c) {
        for (std::uint32_t lane = 0; lane < kScalarLanes; ++lane) chains[c][lane] = c + lane;
    }
    volatile std::int8_t from = 3;
    const auto weight = static_cast<std::uint32_t>(from);
    for (std::int64_t round = 0; round < n_rounds; ++round) {
        for (auto& chain : chains) {
            for (std::uint32_t& value : chain) value = value * weight + 1;
        }
    }
    double sum = 0.0;
    for (const auto& chain : chains) {
        for (const std::uint32_t value : chain) sum += static_cast<double>(value);
    }
    return sum;
}

constexpr double kScalarOperations = 2.0 * kChains * kScalarLanes;
constexpr Loop kScalarF32 = {f32_scalar, kScalarOperations};
constexpr Loop kScalarInt8 = {int8_scalar, kScalarOperations};
constexpr Loops kScalarLoops = {read_scalar, kScalarF32, kScalarF32, kScalarInt8, kScalarInt8, &CpuFeatures::avx_vnni};

const Loops& best_loops() {
    if constexpr (contains_set(OFFSTAGE_COMPILED_SETS, "avx512")) {
        if (cpu_features().avx512) return avx512::kLoops;
    }
    if constexpr (contains_set(OFFSTAGE_COMPILED_SETS, "avx2")) {
        if (cpu_features().avx2) return avx2::kLoops;
    }
    return kScalarLoops;
}

}  // namespace

Read best_read() {
    return best_loops().read;
}

Loop best_f32() {
    return best_loops().f32;
}

Loop best_bf16() {
    if constexpr (contains_set(OFFSTAGE_COMPILED_SETS, "avx512_bf16")) {
        if (cpu_features().avx512_bf16) return {bf16_avx512_bf16, 4.0 * kChains * 16};
    }
    return best_loops().bf16;
}

Loop best_int8() {
    const Loops& loops = best_loops();
    return cpu_features().*loops.has_vnni ? loops.int8_vnni : loops.int8;
}

}  // namespace offstage::kernels::limit_loops
