// Replaces integer_*_simd.cpp in sanitizer builds for the instruction sets that this
// machine's processor never uses: it uses either the set with an instruction for dot
// products of bytes or the one without. Compiled once for each such set; this saves a
// minute and a half.

#include <cstdio>
#include <cstdlib>

#include "kernels/cpu/operations.h"

namespace offstage::kernels {
namespace {

[[noreturn]] void refuse() {
    std::fputs("This sanitized build has the integer kernels of the machine it was built on alone.\n", stderr);
    std::abort();
}

}  // namespace

namespace OFFSTAGE_INSTRUCTION_SET {

void round_inputs(WeightType, const float*, std::int64_t, int, std::int64_t, std::byte*) {
    refuse();
}

void matvec_bytes(const WeightView&, const std::byte* const*, int, std::int64_t, std::int64_t, float*, std::int64_t,
                  std::byte*) {
    refuse();
}

void expert_ffn_bytes(const ExpertView&, const std::byte* const*, const float*, int, std::int64_t, std::int64_t, float*,
                      std::byte*) {
    refuse();
}

void sparse_expert_ffn_bytes(const ExpertView&, const std::byte* const*, const float*, int, std::int64_t, std::int64_t,
                             float*, NeuronCounts&) {
    refuse();
}

std::int64_t chosen_neurons_bytes(const ExpertView&, const std::byte* const*, int, std::int64_t, std::int64_t,
                                  std::int32_t*, std::uint64_t&) {
    refuse();
}

}  // namespace OFFSTAGE_INSTRUCTION_SET
}  // namespace offstage::kernels
