#include "kernels/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <cstdint>
#include <cstring>
#endif

namespace offstage::kernels {

namespace {

#if defined(__x86_64__)

// The register state that the operating system saves (Intel SDM vol. 1, 13.3). Without
// it, AVX registers would be lost.
std::uint64_t read_xcr0() {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (std::uint64_t{high} << 32) | low;
}

constexpr bool bit(std::uint32_t word, int index) {
    return ((word >> index) & 1u) != 0;
}

// The family of leaf 1's eax, 0 where another company made the processor.
std::uint32_t amd_family(std::uint32_t version) {
    std::uint32_t largest = 0, name[3] = {};
    __get_cpuid(0, &largest, &name[0], &name[2], &name[1]);
    if (std::memcmp(name, "AuthenticAMD", sizeof name) != 0) return 0;
    const std::uint32_t base = version >> 8 & 0xf;
    return base == 0xf ? base + (version >> 20 & 0xff) : base;
}

CpuFeatures detect() {
    CpuFeatures features;
    std::uint32_t eax = 0;
    std::uint32_t ebx = 0;
    std::uint32_t ecx = 0;
    std::uint32_t edx = 0;
    if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return features;
    features.rows_in_turn = amd_family(eax) == 0x1a;
    const bool fma = bit(ecx, 12);
    const bool osxsave = bit(ecx, 27);
    const bool avx = bit(ecx, 28);
    const bool f16c = bit(ecx, 29);
    if (!osxsave || !avx) return features;
    const std::uint64_t xcr0 = read_xcr0();
    const bool saves_ymm = (xcr0 & 0x06) == 0x06;
    const bool saves_zmm = (xcr0 & 0xe6) == 0xe6;

    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return features;
    const std::uint32_t last_subleaf = eax;
    features.amx_bf16 = bit(edx, 22);
    features.avx2 = saves_ymm && bit(ebx, 5) && fma && f16c;
    const bool avx512 = bit(ebx, 16) && bit(ebx, 17) && bit(ebx, 30) && bit(ebx, 31);  // F, DQ, BW, VL
    features.avx512 = features.avx2 && saves_zmm && avx512;
    features.avx512_vnni = features.avx512 && bit(ecx, 11);
    features.avx512_vbmi = features.avx512 && bit(ecx, 1);
    if (last_subleaf >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) {
        features.avx_vnni = features.avx2 && bit(eax, 4);
        features.avx512_bf16 = features.avx512 && bit(eax, 5);
    }
    return features;
}

#else

CpuFeatures detect() {
    return {};
}

#endif

}  // namespace

const CpuFeatures& cpu_features() {
    static const CpuFeatures features = detect();
    return features;
}

}  // namespace offstage::kernels
