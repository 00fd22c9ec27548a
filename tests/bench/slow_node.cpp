// offstage-node (app/node/main.cpp) on a slower processor: each kernel of the table for
// operations on the CPU is followed by a busy wait, so that in all it takes
// OFFSTAGE_SLOW_FACTOR times as long. A measured expert is slowed by the same factor as a
// layer of a step. Other work (connections, messages) is not slowed. The linker gives
// this program's cpu_kernels() to all callers (--wrap).
#include <chrono>
#include <cstdlib>

#include "kernels/cpu_kernels.h"

namespace offstage::test {

const kernels::CpuKernels& fast_kernels() asm("__real__ZN8offstage7kernels11cpu_kernelsEv");
const kernels::CpuKernels& slow_kernels() asm("__wrap__ZN8offstage7kernels11cpu_kernelsEv");

namespace {

using kernels::CpuKernels;

double slow_factor() {
    static const char* const text = std::getenv("OFFSTAGE_SLOW_FACTOR");
    static const double factor = text != nullptr ? std::atof(text) : 1;
    return factor;
}

class LongerTurn {
  public:
    LongerTurn() = default;
    ~LongerTurn() {
        const Clock::duration took = Clock::now() - begin_;
        const auto until = begin_ + std::chrono::duration_cast<Clock::duration>(took * slow_factor());
        while (Clock::now() < until) {
        }
    }
    LongerTurn(const LongerTurn&) = delete;
    LongerTurn& operator=(const LongerTurn&) = delete;

  private:
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin_ = Clock::now();
};

template <auto kKernel>
struct Slow;
template <typename Result, typename... Args, Result (*CpuKernels::*kKernel)(Args...)>
struct Slow<kKernel> {
    static Result call(Args... args) {
        const LongerTurn turn;
        return (fast_kernels().*kKernel)(args...);
    }
};

template <auto... kKernels>
void slow_down(CpuKernels& table) {
    ((table.*kKernels = Slow<kKernels>::call), ...);
}

}  // namespace

const CpuKernels& slow_kernels() {
    static const CpuKernels table = [] {
        using K = CpuKernels;
        K slow = fast_kernels();
        slow_down<&K::round_inputs, &K::matvec_bytes>(slow);
#define OFFSTAGE_SLOW(name) slow_down<&K::name>(slow);
        OFFSTAGE_CPU_KERNELS(OFFSTAGE_SLOW)
#undef OFFSTAGE_SLOW
        return slow;
    }();
    return table;
}

}  // namespace offstage::test
