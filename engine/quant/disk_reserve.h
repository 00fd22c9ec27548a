#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

namespace offstage::engine {

// The space of the file system that contains a folder.
struct DiskSpace {
    std::uint64_t total_bytes = 0;
    std::uint64_t free_bytes = 0;  // to this user

    // The space that caches leave free for all other files there (conversations,
    // settings, other programs): the environment's OFFSTAGE_DISK_RESERVE ("2GiB"), else 5
    // %, at least 1 GiB and at most 8 GiB. On a small file system that may be more than
    // its size. Throws Error (kInvalidInput) if the variable is no size.
    std::uint64_t reserve_bytes() const;
    // The missing part of the reserve once `more` bytes are written; 0: nothing is
    // missing.
    std::uint64_t missing_bytes(std::uint64_t more = 0) const;
};

// As of now, for a folder or the nearest existing one above it; nothing if the system
// does not report it. Any thread.
std::optional<DiskSpace> disk_space(const std::filesystem::path& folder);

using DiskSpaceFn = std::function<std::optional<DiskSpace>(const std::filesystem::path& folder)>;

}  // namespace offstage::engine
