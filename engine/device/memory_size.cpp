#include "engine/device/memory_size.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/device/device_messages.h"
#include "engine/device/host_buffer.h"

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kKib = 1024;

// The number at the start of `text`, blanks skipped; nothing for "max" and "unlimited".
std::optional<std::int64_t> leading_number(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end == text.data()) return std::nullopt;
    return value;
}

// The number behind `key`, in the first line that begins with it: "VmSize:", "Max data
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
    bool unified = false;                 // version 2
    const char* usual_mount = nullptr;    // where no list of mounts says otherwise
    std::array<const char*, 2> limits{};  // the second may be absent
    const char* used = nullptr;
    // In memory.stat: pages of files that the group's processes read, counted as used and
    // given back when memory is wanted. Of the group with those below it, as the limit
    // is.
    std::array<const char*, 2> page_cache{};
};

constexpr GroupFiles kVersion2 = {
    true, "sys/fs/cgroup", {"memory.max", "memory.high"}, "memory.current", {"inactive_file ", "active_file "}};
constexpr GroupFiles kVersion1 = {false,
                                  "sys/fs/cgroup/memory",
                                  {"memory.limit_in_bytes", nullptr},
                                  "memory.usage_in_bytes",
                                  {"total_inactive_file ", "total_active_file "}};

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(separator, at), text.size());
        parts.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return parts;
}

bool lists(std::string_view list, std::string_view word) {
    const std::vector<std::string> words = split(list, ',');
    return std::find(words.begin(), words.end(), word) != words.end();
}

// mountinfo writes blanks and a few more as \040.
std::string unescaped(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        int code = 0;
        if (text[i] == '\\' && text.size() - i > 3 &&
            std::from_chars(text.data() + i + 1, text.data() + i + 4, code, 8).ptr == text.data() + i + 4) {
            plain += static_cast<char>(code);
            i += 3;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

// A folder in which a hierarchy of groups is seen, from the group `top` of it on.
struct GroupMount {
    fs::path top;
    fs::path folder;
};

// "35 31 0:32 /top /folder rw,relatime shared:1 - cgroup cgroup rw,memory"
std::vector<GroupMount> mounts_of(const GroupFiles& files, const fs::path& root) {
    std::ifstream in(root / "proc/self/mountinfo");
    if (!in) return {{"/", root / files.usual_mount}};
    std::vector<GroupMount> mounts;
    for (std::string line; std::getline(in, line);) {
        const std::size_t dash = line.find(" - ");
        if (dash == std::string::npos) continue;
        const std::vector<std::string> front = split(std::string_view(line).substr(0, dash), ' ');
        const std::vector<std::string> back = split(std::string_view(line).substr(dash + 3), ' ');
        if (front.size() < 5 || back.size() < 3) continue;
        if (files.unified ? back[0] != "cgroup2" : back[0] != "cgroup" || !lists(back[2], "memory")) continue;
        mounts.push_back({unescaped(front[3]), root / fs::path(unescaped(front[4])).relative_path()});
    }
    return mounts;
}

// The group of this process: "4:memory:/a/b" of version 1, "0::/a/b" of version 2.
std::optional<fs::path> own_group(const GroupFiles& files, const fs::path& root) {
    std::ifstream in(root / "proc/self/cgroup");
    for (std::string line; std::getline(in, line);) {
        const std::size_t controllers = line.find(':');
        const std::size_t path = controllers == std::string::npos ? controllers : line.find(':', controllers + 1);
        if (path == std::string::npos || path + 1 >= line.size() || line[path + 1] != '/') continue;
        const std::string_view named = std::string_view(line).substr(controllers + 1, path - controllers - 1);
        if (files.unified ? line.starts_with("0:") && named.empty() : lists(named, "memory")) {
            return fs::path(line.substr(path + 1)).lexically_normal();
        }
    }
    return std::nullopt;
}

bool is_inside(const fs::path& path, const fs::path& folder) {
    return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

// The folder of `group`, and the topmost one of its hierarchy. From inside a container
// the group's name may be one that only the system outside knows: then the topmost folder
// stands for it.
std::optional<std::pair<fs::path, fs::path>> group_folders(const std::vector<GroupMount>& mounts,
                                                           const fs::path& group) {
    if (mounts.empty()) return std::nullopt;
    for (const GroupMount& mount : mounts) {
        if (!is_inside(group, mount.top)) continue;
        const fs::path below = (mount.folder / group.lexically_relative(mount.top)).lexically_normal();
        fs::path folder = below.has_filename() ? below : below.parent_path();
        return std::pair(std::move(folder), mount.folder);
    }
    return std::pair(mounts.front().folder, mounts.front().folder);
}

void lower_by_groups(MemorySize& memory, const GroupFiles& files, const fs::path& root) {
    const std::optional<fs::path> group = own_group(files, root);
    if (!group) return;
    const auto found = group_folders(mounts_of(files, root), *group);
    if (!found) return;
    auto [folder, topmost] = *found;
    for (;; folder = folder.parent_path()) {
        for (const char* name : files.limits) {
            if (name == nullptr) continue;
            const std::optional<std::int64_t> limit = number_in(folder / name);
            if (!limit || *limit <= 0) continue;
            std::int64_t used = number_in(folder / files.used).value_or(0);
            for (const char* key : files.page_cache) used -= number_after(folder / "memory.stat", key).value_or(0);
            lower(memory, *limit, used, ("/" / (folder / name).lexically_relative(root)).string());
        }
        if (folder == topmost || !is_inside(folder, topmost)) return;
        // Version 1: a group may leave those below it to themselves.
        if (!files.unified && number_in(folder.parent_path() / "memory.use_hierarchy") == 0) return;
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
