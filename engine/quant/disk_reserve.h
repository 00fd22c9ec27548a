#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

namespace offstage::engine {

// Of the file system that a folder lies on.
struct DiskSpace {
    std::uint64_t total_bytes = 0;
    std::uint64_t free_bytes = 0;  // to this user

    // What caches leave free for everything else that is written there (conversations,
    // settings, other programs): the environment's OFFSTAGE_DISK_RESERVE ("2GiB"), else
    // 5 %, at least 1 GiB and at most 8 GiB. On a small file system that may be more than
    // there is. Throws Error (kInvalidInput) where the variable is no size.
    std::uint64_t reserve_bytes() const;
    // How much less is free than the reserve, once `more` bytes are written; 0: it is
    // kept.
    std::uint64_t missing_bytes(std::uint64_t more = 0) const;
};

// As of now, of a folder or of the nearest one above that exists; nothing where the
// system tells nothing. Any thread.
std::optional<DiskSpace> disk_space(const std::filesystem::path& folder);

using DiskSpaceFn = std::function<std::optional<DiskSpace>(const std::filesystem::path& folder)>;

}  // namespace offstage::engine
