#pragma once
// The features that the processor offers and the operating system saves on a context
// switch.

namespace offstage::kernels {

struct CpuFeatures {
    bool avx2 = false;         // with FMA and F16C
    bool avx_vnni = false;     // dot products of bytes in 256 bits, besides all of avx2
    bool avx512 = false;       // F, BW, DQ and VL, besides all of avx2
    bool avx512_vnni = false;  // dot products of bytes, besides all of avx512
    bool avx512_vbmi = false;  // permutations of bytes, besides all of avx512
    bool avx512_bf16 = false;  // besides all of avx512
    bool amx_bf16 = false;     // tiles; none of our own kernels uses them, oneDNN may
    // true: memory is read fastest one row after the other; false: several rows side by
    // side. Measured with rows of 4 KiB: true for AMD's family 1Ah (Zen 5), false for 19h
    // (Zen 4).
    bool rows_in_turn = false;
};

// Read once per process; any thread.
const CpuFeatures& cpu_features();

}  // namespace offstage::kernels
