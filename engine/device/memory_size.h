#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/message.h"

namespace offstage::engine {

struct MemorySize {
    std::int64_t total_bytes = 0;      // of the machine, or of the smallest limit
    std::int64_t available_bytes = 0;  // to this process, without swapping, as of the call
    // The limit that leaves least, where it leaves less than the machine has free: a
    // control group's file ("/sys/fs/cgroup/a.slice/memory.max"), "RLIMIT_AS" or
    // "RLIMIT_DATA"; empty: the machine itself.
    std::string limit;
    std::int64_t limit_bytes = 0;  // the whole size that this limit allows
};

// Memory of the machine below `root`: proc/meminfo, limited by
//   - the limits of this process's control group and of its parents: version 2
//     (memory.max, memory.high) and version 1 (memory.limit_in_bytes), either or both.
//     Pages of files that the group has read count as free;
//   - RLIMIT_AS (ulimit -v) less the addresses in use. Mapped files count there:
//     mapped_later_bytes is the size of files that will be mapped later;
//   - RLIMIT_DATA (ulimit -d) less the memory in use.
// A limit that cannot be read is ignored; without proc/meminfo all values are 0. Any
// thread. Throws only std::bad_alloc.
MemorySize memory_size(const std::filesystem::path& root = "/", std::uint64_t mapped_later_bytes = 0);

// The size of free memory for sentences, with the limit where there is one: "6.2 GiB",
// "612.0 MiB (RLIMIT_AS: 1.9 GiB)".
MessageArgument free_memory_text(const MemorySize& memory);

}  // namespace offstage::engine
