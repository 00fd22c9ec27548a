#pragma once

#include <cstdint>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace offstage::test {

// How long the calling thread may keep its core while others wait for it, in ns; 0 where the system does not tell
// (before Linux 6.12).
inline std::uint64_t turn_ns() {
#if defined(__linux__)
    struct {
        std::uint32_t size, policy;
        std::uint64_t flags;
        std::int32_t nice;
        std::uint32_t priority;
        std::uint64_t runtime_ns, deadline_ns, period_ns;
    } attributes{};
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0) return attributes.runtime_ns;
#endif
    return 0;
}

}  // namespace offstage::test
