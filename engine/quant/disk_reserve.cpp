#include "engine/quant/disk_reserve.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sys/statvfs.h>

#include "engine/device/byte_size.h"

namespace offstage::engine {
namespace {

constexpr std::uint64_t kLeastReserve = std::uint64_t{1} << 30;
constexpr std::uint64_t kLargestReserve = std::uint64_t{8} << 30;
constexpr char kReserveVariable[] = "OFFSTAGE_DISK_RESERVE";

}  // namespace

std::uint64_t DiskSpace::reserve_bytes() const {
    const char* const wanted = std::getenv(kReserveVariable);
    if (wanted != nullptr && *wanted != '\0') return parse_bytes(wanted, kReserveVariable);
    return std::clamp(total_bytes / 20, kLeastReserve, kLargestReserve);
}

std::uint64_t DiskSpace::missing_bytes(std::uint64_t more) const {
    const std::uint64_t wanted = reserve_bytes() + more;
    return wanted - std::min(wanted, free_bytes);
}

std::optional<DiskSpace> disk_space(const std::filesystem::path& folder) {
    struct statvfs status {};
    std::filesystem::path at = folder;
    while (::statvfs(at.c_str(), &status) != 0) {
        if (errno == EINTR) continue;
        if (errno != ENOENT || !at.has_relative_path() || !at.has_parent_path()) return std::nullopt;
        at = at.parent_path();
    }
    const auto block = static_cast<std::uint64_t>(status.f_frsize);
    return DiskSpace{status.f_blocks * block, status.f_bavail * block};
}

}  // namespace offstage::engine
