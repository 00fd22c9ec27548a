#include "engine/device/control_groups.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <utility>

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;

constexpr ControlGroups kCpuGroups1 = {"cpu", "sys/fs/cgroup/cpu"};

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

// A folder that shows a hierarchy of groups, from the group `top` down.
struct GroupMount {
    fs::path top;
    fs::path folder;
};

// "35 31 0:32 /top /folder rw,relatime shared:1 - cgroup cgroup rw,memory"
std::vector<GroupMount> mounts_of(const ControlGroups& groups, const fs::path& root) {
    std::ifstream in(root / "proc/self/mountinfo");
    if (!in) return {{"/", root / groups.usual_mount}};
    std::vector<GroupMount> mounts;
    for (std::string line; std::getline(in, line);) {
        const std::size_t dash = line.find(" - ");
        if (dash == std::string::npos) continue;
        const std::vector<std::string> front = split(std::string_view(line).substr(0, dash), ' ');
        const std::vector<std::string> back = split(std::string_view(line).substr(dash + 3), ' ');
        if (front.size() < 5 || back.size() < 3) continue;
        if (groups.unified() ? back[0] != "cgroup2" : back[0] != "cgroup" || !lists(back[2], groups.controller))
            continue;
        mounts.push_back({unescaped(front[3]), root / fs::path(unescaped(front[4])).relative_path()});
    }
    return mounts;
}

// The group of this process: "4:memory:/a/b" of version 1, "0::/a/b" of version 2.
std::optional<fs::path> own_group(const ControlGroups& groups, const fs::path& root) {
    std::ifstream in(root / "proc/self/cgroup");
    for (std::string line; std::getline(in, line);) {
        const std::size_t controllers = line.find(':');
        const std::size_t path = controllers == std::string::npos ? controllers : line.find(':', controllers + 1);
        if (path == std::string::npos || path + 1 >= line.size() || line[path + 1] != '/') continue;
        const std::string_view named = std::string_view(line).substr(controllers + 1, path - controllers - 1);
        if (groups.unified() ? line.starts_with("0:") && named.empty() : lists(named, groups.controller)) {
            return fs::path(line.substr(path + 1)).lexically_normal();
        }
    }
    return std::nullopt;
}

bool is_inside(const fs::path& path, const fs::path& folder) {
    return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

// The folder of `group`, and the topmost one of its hierarchy. Inside a container the
// group's name may be valid only outside; then the result is the topmost folder.
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

}  // namespace

std::vector<fs::path> control_group_folders(const ControlGroups& groups, const fs::path& root) {
    const std::optional<fs::path> group = own_group(groups, root);
    if (!group) return {};
    const auto found = group_folders(mounts_of(groups, root), *group);
    if (!found) return {};
    auto [folder, topmost] = *found;
    std::vector<fs::path> folders = {folder};
    while (folder != topmost && is_inside(folder, topmost)) folders.push_back(folder = folder.parent_path());
    return folders;
}

double cpu_quota(const fs::path& root) {
    double least = 0, quota_us = 0, period_us = 0;
    const auto lower = [&] {
        if (quota_us <= 0 || period_us <= 0) return;
        const double cores = quota_us / period_us;
        if (least == 0 || cores < least) least = cores;
    };
    // Reading "max" as a number fails.
    for (const fs::path& folder : control_group_folders(kControlGroups2, root)) {
        if (std::ifstream(folder / "cpu.max") >> quota_us >> period_us) lower();
    }
    for (const fs::path& folder : control_group_folders(kCpuGroups1, root)) {
        if (std::ifstream(folder / "cpu.cfs_quota_us") >> quota_us &&
            std::ifstream(folder / "cpu.cfs_period_us") >> period_us) {
            lower();
        }
    }
    return least;
}

}  // namespace offstage::engine
