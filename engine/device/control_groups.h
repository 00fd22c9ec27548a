#pragma once
// The control groups that a container, systemd or an administrator puts this process in.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace offstage::engine {

// One hierarchy of them.
struct ControlGroups {
    std::string_view controller;        // for version 1: "memory"; empty: version 2, which has one for all
    const char* usual_mount = nullptr;  // below the root, used where no list of mounts is found
    constexpr bool unified() const { return controller.empty(); }
};
inline constexpr ControlGroups kControlGroups2 = {{}, "sys/fs/cgroup"};

// The folders of this process's group and of its parents, its own first; empty if the
// hierarchy is not mounted. Any thread. Both functions throw only std::bad_alloc.
std::vector<std::filesystem::path> control_group_folders(const ControlGroups& groups,
                                                         const std::filesystem::path& root);

// The number of cores whose time these groups leave to this process: cpu.max of version
// 2, cpu.cfs_quota_us and cpu.cfs_period_us of version 1, the least of all; 0: no limit.
// (sched_getaffinity reports which cores it may run on, cpuset.)
double cpu_quota(const std::filesystem::path& root = "/");

}  // namespace offstage::engine
