#include "kernels/short_turns.h"

#include <cstdint>

#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace offstage::kernels {

#if defined(__linux__)
void ask_for_short_turns() {
    // struct sched_attr of sched_setattr(2), its first version, which glibc 2.36 does not declare.
    struct {
        std::uint32_t size, policy;
        std::uint64_t flags;
        std::int32_t nice;
        std::uint32_t priority;
        std::uint64_t runtime_ns, deadline_ns, period_ns;
    } attributes{};
    static_assert(sizeof attributes == 48);
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
    // What other policies call a runtime is a budget.
    if (attributes.policy != SCHED_OTHER && attributes.policy != SCHED_BATCH) return;
    constexpr std::uint64_t kShortTurnNs = 400'000;
    attributes.runtime_ns = kShortTurnNs;
    syscall(SYS_sched_setattr, 0, &attributes, 0);  // refused: some speed is lost, nothing else
}
#else
void ask_for_short_turns() {}
#endif

}  // namespace offstage::kernels
