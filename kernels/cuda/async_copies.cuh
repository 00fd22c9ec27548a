#pragma once
// Copies to shared memory that run while the thread computes (cp.async of the PTX ISA,
// compute capability 8.0 and later).

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cuda_runtime.h>
#ifdef OFFSTAGE_CUDA_ON_HOST
#include <vector>
#endif

namespace offstage::kernels::cuda {

// A place in shared memory as the instruction takes it.
#if defined(OFFSTAGE_CUDA_ON_HOST)
using SharedPlace = unsigned char*;
__device__ inline SharedPlace shared_place(void* place) {
    return static_cast<unsigned char*>(place);
}
#else
using SharedPlace = unsigned;
__device__ inline SharedPlace shared_place(void* place) {
    return static_cast<unsigned>(__cvta_generic_to_shared(place));
}
#endif

// The copies of one thread, in groups: commit() ends a group. The data is visible to this
// thread after wait(), to others after a barrier behind it. In the tests' host layer it
// arrives no earlier than that, and the place holds NaN from copy() until then; copies
// that nobody waited for are a problem (cuda_host::problems()), since on a GPU they
// arrive in memory that has another use by then. Empty in code for GPUs before compute
// capability 8.0, which never calls it.
class AsyncCopies {
  public:
#ifdef OFFSTAGE_CUDA_ON_HOST
    AsyncCopies() = default;
    AsyncCopies(const AsyncCopies&) = delete;
    AsyncCopies& operator=(const AsyncCopies&) = delete;
    ~AsyncCopies() {
        if (!copies_.empty()) cuda_host::report("a thread did not wait for its copies to shared memory");
    }
#endif
    // kBytes: 4, 8 or 16, both addresses multiples of it. Only the first n are read;
    // zeros follow them.
    template <int kBytes = 16>
    __device__ void copy(void* to, const void* from, int n = kBytes) {
        static_assert(kBytes == 4 || kBytes == 8 || kBytes == 16, "what the instruction takes");
#if defined(OFFSTAGE_CUDA_ON_HOST)
        const auto bits = reinterpret_cast<std::uintptr_t>(to) | (n > 0 ? reinterpret_cast<std::uintptr_t>(from) : 0);
        if (bits % kBytes != 0) cuda_host::report("a copy to shared memory is not aligned");
        std::memset(to, 0xff, kBytes);
        copies_.push_back({to, from, kBytes, static_cast<std::size_t>(n), n_groups_});
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        const SharedPlace place = shared_place(to);
        const auto source = __cvta_generic_to_global(from);
        if constexpr (kBytes == 16) {
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                         :
                         : "r"(place), "l"(source), "r"(n)
                         : "memory");
        } else {
            asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                         :
                         : "r"(place), "l"(source), "n"(kBytes), "r"(n)
                         : "memory");
        }
#endif
    }
    // All 16 bytes, in fewer instructions than with a number.
    __device__ void copy_word(SharedPlace to, const void* from) {
#if defined(OFFSTAGE_CUDA_ON_HOST)
        copy(to, from);
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                     :
                     : "r"(to), "l"(__cvta_generic_to_global(from))
                     : "memory");
#endif
    }
    __device__ void commit() {
#if defined(OFFSTAGE_CUDA_ON_HOST)
        ++n_groups_;
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        asm volatile("cp.async.commit_group;" : : : "memory");
#endif
    }
    // Waits for all groups but the last kLeft.
    template <int kLeft>
    __device__ void wait() {
#if defined(OFFSTAGE_CUDA_ON_HOST)
        std::size_t n = 0;
        for (; n < copies_.size() && copies_[n].group + kLeft < n_groups_; ++n) {
            const Copy& copy = copies_[n];
            std::memset(copy.to, 0, copy.bytes);
            if (copy.n > 0) std::memcpy(copy.to, copy.from, copy.n);
        }
        copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(n));
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        asm volatile("cp.async.wait_group %0;" : : "n"(kLeft) : "memory");
#endif
    }

#ifdef OFFSTAGE_CUDA_ON_HOST
  private:
    struct Copy {
        void* to;
        const void* from;
        std::size_t bytes, n;
        int group;
    };
    std::vector<Copy> copies_;
    int n_groups_ = 0;
#endif
};

}  // namespace offstage::kernels::cuda
