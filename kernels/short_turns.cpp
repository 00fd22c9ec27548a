#include "kernels/short_turns.h"

#include <cstdint>

#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace offstage::kernels {

#if defined(__linux__)
namespace {

// struct sched_attr of sched_setattr(2), its first version, which glibc 2.36 does not
// declare.
struct SchedulingAttributes {
    std::uint32_t size, policy;
    std::uint64_t flags;
    std::int32_t nice;
    std::uint32_t priority;
    std::uint64_t runtime_ns, deadline_ns, period_ns;
};
static_assert(sizeof(SchedulingAttributes) == 48);

// Reads the calling thread's attributes; false for policies other than the usual ones,
// whose runtime is a budget.
bool read_attributes(SchedulingAttributes& attributes) {
    return syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0 &&
           (attributes.policy == SCHED_OTHER || attributes.policy == SCHED_BATCH);
}

}  // namespace

void ask_for_short_turns() {
    SchedulingAttributes attributes{};
    if (!read_attributes(attributes)) return;
    constexpr std::uint64_t kShortTurnNs = 400'000;
    attributes.runtime_ns = kShortTurnNs;
    syscall(SYS_sched_setattr, 0, &attributes, 0);  // a refusal costs some speed, nothing else
}

std::uint64_t turn_ns() {
    SchedulingAttributes attributes{};
    return read_attributes(attributes) ? attributes.runtime_ns : 0;
}
#else
void ask_for_short_turns() {}

std::uint64_t turn_ns() {
    return 0;
}
#endif

}  // namespace offstage::kernels
