#pragma once
// Products of small matrices of 8-bit numbers and of bf16, formed by a warp on tensor
// cores (mma.sync of the PTX ISA; integers of 8 bits since compute capability 7.5, bf16
// since 8.0). In the tests' host layer the lanes exchange their operands and add the
// products in loops.

#include <cuda_runtime.h>

#include "kernels/cuda/numbers.cuh"

namespace offstage::kernels::cuda {

// c (16, 8) += a (16, 16 * kSteps) * b (8, 16 * kSteps)^T, signed numbers of 8 bits,
// exact sums of 32 bits; kSteps: 1 or 2. By a whole warp. What a lane holds, with row =
// lane / 4 and place = lane % 4:
//   a[2 * s + h]  row `row + 8 * h`, columns 16 * s + 4 * place .. + 3
//   b[s]          row `row`, the same columns
//   c[2 * h + i]  row `row + 8 * h`, column 2 * place + i
template <int kSteps>
__device__ inline void multiply_bytes(int (&c)[4], const unsigned (&a)[2 * kSteps], const unsigned (&b)[kSteps]) {
    static_assert(kSteps == 1 || kSteps == 2, "what the instructions take");
#if defined(OFFSTAGE_CUDA_ON_HOST)
    unsigned mine[3 * kSteps];
    for (int i = 0; i < 2 * kSteps; ++i) mine[i] = a[i];
    for (int s = 0; s < kSteps; ++s) mine[2 * kSteps + s] = b[s];
    const std::uint32_t* const all = cuda_host::meet_warp(kAllLanes, "mma.sync", mine, 3 * kSteps);
    const auto word_of = [&](unsigned lane, int i) { return static_cast<int>(all[lane * 3 * kSteps + i]); };
    const unsigned lane = threadIdx.x % kWarp;
    for (int h = 0; h < 2; ++h) {
        for (unsigned i = 0; i < 2; ++i) {
            for (int s = 0; s < kSteps; ++s) {
                for (unsigned place = 0; place < 4; ++place) {
                    const int of_a = word_of(lane / 4 * 4 + place, 2 * s + h);
                    const int of_b = word_of((lane % 4 * 2 + i) * 4 + place, 2 * kSteps + s);
                    c[2 * h + i] = __dp4a(of_a, of_b, c[2 * h + i]);
                }
            }
        }
    }
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    if constexpr (kSteps == 2) {
        asm volatile(
            "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    } else {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
            : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
            : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    }
#elif defined(__CUDA_ARCH__)
    // Eight rows and 16 columns at a time: the same places, in pieces.
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                         : "+r"(c[2 * h]), "+r"(c[2 * h + 1])
                         : "r"(a[2 * s + h]), "r"(b[s]));
        }
    }
#endif
}

// Two numbers as bf16, to nearest even: the first in the lower half.
__device__ inline unsigned pack_bf16(float low, float high) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    unsigned both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
#else
    return narrow<Bf16>(low).bits | static_cast<unsigned>(narrow<Bf16>(high).bits) << 16;
#endif
}

// c (16, 8) += a (16, 16) * b (8, 16)^T, bf16, sums in float32. By a whole warp. A lane's
// operands, with row = lane / 4 and place = lane % 4, two columns in a word:
//   a[2 * s + h]  row `row + 8 * h`, columns 8 * s + 2 * place and the next
//   b[s]          row `row`, the same columns
//   c[2 * h + i]  row `row + 8 * h`, column 2 * place + i
// Empty in code for GPUs before compute capability 8.0, which never calls it.
__device__ inline void multiply_bf16(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
#if defined(OFFSTAGE_CUDA_ON_HOST)
    const unsigned mine[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
    const std::uint32_t* const all = cuda_host::meet_warp(kAllLanes, "mma.sync", mine, 6);
    const auto value_of = [&](unsigned lane, int word, unsigned half) {
        const unsigned bits = all[lane * 6 + static_cast<unsigned>(word)];
        return __uint_as_float(half == 0 ? bits << 16 : bits & 0xffff0000u);
    };
    const unsigned lane = threadIdx.x % kWarp;
    for (int h = 0; h < 2; ++h) {
        for (unsigned i = 0; i < 2; ++i) {
            for (int s = 0; s < 2; ++s) {
                for (unsigned column = 0; column < 8; ++column) {
                    const float of_a = value_of(lane / 4 * 4 + column / 2, 2 * s + h, column % 2);
                    const float of_b = value_of((lane % 4 * 2 + i) * 4 + column / 2, 4 + s, column % 2);
                    c[2 * h + static_cast<int>(i)] += of_a * of_b;
                }
            }
        }
    }
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

// Loads four matrices (8, 8) of 16-bit numbers from shared memory, whose rows are 16
// bytes, at multiples of 16. By a whole warp: lane 8 * m + r has the address of row r of
// matrix m. words[m]: of matrix m, row lane / 4, columns 2 * (lane % 4) and the next;
// kTransposed: of its transpose. Empty in code for GPUs before compute capability 7.5.
template <bool kTransposed>
__device__ inline void load_matrices(unsigned (&words)[4], const void* row) {
#if defined(OFFSTAGE_CUDA_ON_HOST)
    const auto address = reinterpret_cast<std::uintptr_t>(row);
    const std::uint32_t mine[2] = {static_cast<std::uint32_t>(address),
                                   static_cast<std::uint32_t>(std::uint64_t{address} >> 32)};
    const std::uint32_t* const all = cuda_host::meet_warp(kAllLanes, "ldmatrix", mine, 2);
    const unsigned lane = threadIdx.x % kWarp;
    for (unsigned m = 0; m < 4; ++m) {
        words[m] = 0;
        for (unsigned i = 0; i < 2; ++i) {
            const unsigned r = kTransposed ? lane % 4 * 2 + i : lane / 4;
            const unsigned column = kTransposed ? lane / 4 : lane % 4 * 2 + i;
            const std::uint32_t* const its = all + 2 * (8 * m + r);
            const auto* const numbers = reinterpret_cast<const std::uint16_t*>(
                static_cast<std::uintptr_t>(std::uint64_t{its[1]} << 32 | its[0]));
            words[m] |= static_cast<unsigned>(numbers[column]) << (16 * i);
        }
    }
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 750
    const auto place = static_cast<unsigned>(__cvta_generic_to_shared(row));
    if constexpr (kTransposed) {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                     : "r"(place)
                     : "memory");
    } else {
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                     : "r"(place)
                     : "memory");
    }
#endif
}

// values = the sum of kParts pairs of bf16, the largest first: of two parts 16 bits or
// more, of three all 24.
template <int kParts>
__device__ inline void split_bf16(float low, float high, unsigned (&parts)[kParts]) {
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
        parts[p] = pack_bf16(low, high);
        low -= __uint_as_float(parts[p] << 16);
        high -= __uint_as_float(parts[p] & 0xffff0000u);
    }
}

}  // namespace offstage::kernels::cuda
