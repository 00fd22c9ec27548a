#pragma once

#include <cstdint>

namespace offstage::kernels {

// Requests short time slices (0.4 ms) for the calling thread. The thread gets no larger
// share of the core, but starts at once when it is woken, instead of waiting for the end
// of another program's slice: Linux's scheduler (EEVDF, 6.6 and newer) lets a woken
// thread interrupt only threads with longer slices. A step is many short operations that
// wait for one another, so a token would pay for each of these waits. Threads made by
// this one inherit it. Before Linux 6.12, and on other systems, nothing happens.
void ask_for_short_turns();

// The calling thread's time slice in ns; 0 where the system does not report it.
std::uint64_t turn_ns();

}  // namespace offstage::kernels
