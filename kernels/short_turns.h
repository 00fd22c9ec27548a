#pragma once

#include <cstdint>

namespace offstage::kernels {

// Asks the scheduler to give the calling thread the core in short turns (0.4 ms). It gets no more of the core for that,
// but gets it at once when it is woken, where it would have waited for the end of another program's turn: Linux's
// scheduler (EEVDF, 6.6 and newer) lets a woken thread interrupt those with longer turns only. Steps are many short
// operations that wait for one another, so all of that waiting is a token's. Threads made by this one inherit it.
// Before Linux 6.12, and on other systems, nothing happens.
void ask_for_short_turns();

// How long the calling thread's turns are, in ns; 0 where the system does not tell.
std::uint64_t turn_ns();

}  // namespace offstage::kernels
