#pragma once
// The instruction sets for which this program has kernels: CMake's
// OFFSTAGE_INSTRUCTION_SETS. Internal to kernels/.

#include <string_view>
#include <vector>

#include "kernels/cpu_features.h"
#include "kernels/cpu_kernels.h"

namespace offstage::kernels {

// Names between blanks: "avx2", "avx512", what they have besides ("avx512_bf16",
// "avx512_vbmi"), and integer products ("avx2_integer", "avx2_vnni_integer", ...).
constexpr bool contains_set(std::string_view compiled, std::string_view name) {
    for (std::size_t at = 0; at < compiled.size();) {
        const std::size_t end = compiled.find(' ', at) < compiled.size() ? compiled.find(' ', at) : compiled.size();
        if (compiled.substr(at, end - at) == name) return true;
        at = end + 1;
    }
    return false;
}

// Those that such a processor runs and that are among the compiled, worst first.
std::vector<InstructionSet> usable_sets(const CpuFeatures& features, std::string_view compiled);

}  // namespace offstage::kernels
