#pragma once
// The vectors of the instruction set that a *_simd.cpp is being compiled for: each such
// file is compiled once for every set (kernels/CMakeLists.txt).

#if OFFSTAGE_VECTOR_BITS == 512
#include "kernels/cpu/simd_avx512.h"
#else
#include "kernels/cpu/simd_avx2.h"
#endif
