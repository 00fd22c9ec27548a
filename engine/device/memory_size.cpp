#include "engine/device/memory_size.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/device/control_groups.h"
#include "engine/device/device_messages.h"
#include "engine/device/host_buffer.h"

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kKib = 1024;
constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;  // and more: what version 1 writes where there is none

// The number at the start of `text`, blanks skipped; nothing for "max" and "unlimited".
std::optional<std::int64_t> leading_number(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end == text.data()) return std::nullopt;
    return value;
}

// The number after `key`, in the first line that begins with it: "VmSize:", "Max data
// size".
std::optional<std::int64_t> number_after(const fs::path& file, std::string_view key) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with(key)) return leading_number(std::string_view(line).substr(key.size()));
    }
    return std::nullopt;
}

std::optional<std::int64_t> number_in(const fs::path& file) {
    return number_after(file, "");
}

void lower(MemorySize& memory, std::int64_t limit, std::int64_t used, std::string name) {
    memory.total_bytes = std::min(memory.total_bytes, limit);
    const std::int64_t left = std::max<std::int64_t>(0, limit - std::max<std::int64_t>(0, used));
    if (left >= memory.available_bytes) return;
    memory.available_bytes = left;
    memory.limit = std::move(name);
    memory.limit_bytes = limit;
}

// ---- control groups
// The files of one version of control groups.
struct GroupFiles {
    ControlGroups groups;
    std::array<const char*, 2> limits{};  // the second may be absent
    const char* used = nullptr;
    // Keys of memory.stat: pages of files that the group's processes read. They count as
    // used, but the system frees them on demand. Includes groups below this one, as the
    // limit does.
    std::array<const char*, 2> page_cache{};
};

constexpr GroupFiles kVersion2 = {
    kControlGroups2, {"memory.max", "memory.high"}, "memory.current", {"inactive_file ", "active_file "}};
constexpr GroupFiles kVersion1 = {{"memory", "sys/fs/cgroup/memory"},
                                  {"memory.limit_in_bytes", nullptr},
                                  "memory.usage_in_bytes",
                                  {"total_inactive_file ", "total_active_file "}};

void lower_by_groups(MemorySize& memory, const GroupFiles& files, const fs::path& root) {
    for (const fs::path& folder : control_group_folders(files.groups, root)) {
        for (const char* name : files.limits) {
            if (name == nullptr) continue;
            const std::optional<std::int64_t> limit = number_in(folder / name);
            if (!limit || *limit <= 0 || *limit >= kNoLimit) continue;
            std::int64_t used = number_in(folder / files.used).value_or(0);
            for (const char* key : files.page_cache) used -= number_after(folder / "memory.stat", key).value_or(0);
            lower(memory, *limit, used, ("/" / (folder / name).lexically_relative(root)).string());
        }
        // Version 1: a group may leave those below it to themselves.
        if (!files.groups.unified() && number_in(folder.parent_path() / "memory.use_hierarchy") == 0) return;
    }
}

}  // namespace

MemorySize memory_size(const fs::path& root, std::uint64_t mapped_later_bytes) {
    const fs::path process = root / "proc/self";
    MemorySize memory;
    memory.total_bytes = number_after(root / "proc/meminfo", "MemTotal:").value_or(0) * kKib;
    memory.available_bytes = number_after(root / "proc/meminfo", "MemAvailable:").value_or(0) * kKib;
    lower_by_groups(memory, kVersion2, root);
    lower_by_groups(memory, kVersion1, root);
    if (const auto limit = number_after(process / "limits", "Max address space")) {
        const std::int64_t mapped = number_after(process / "status", "VmSize:").value_or(0) * kKib;
        lower(memory, *limit, mapped + static_cast<std::int64_t>(mapped_later_bytes), "RLIMIT_AS");
    }
    if (const auto limit = number_after(process / "limits", "Max data size")) {
        lower(memory, *limit, number_after(process / "status", "VmData:").value_or(0) * kKib, "RLIMIT_DATA");
    }
    return memory;
}

MessageArgument free_memory_text(const MemorySize& memory) {
    const auto size = [](std::int64_t bytes) {
        return ByteSize{static_cast<std::uint64_t>(std::max<std::int64_t>(0, bytes))};
    };
    if (memory.limit.empty()) return size(memory.available_bytes);
    return messages::free_below_limit(size(memory.available_bytes), memory.limit, size(memory.limit_bytes));
}

}  // namespace offstage::engine
