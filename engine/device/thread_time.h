#pragma once

#include <ctime>

namespace offstage::engine {

// Microseconds that the calling thread has run on a core so far: work that one thread
// does alone takes this time, whatever else the computer does.
inline double thread_time_us() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

}  // namespace offstage::engine
