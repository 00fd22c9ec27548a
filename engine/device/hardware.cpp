#include "engine/device/hardware.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sched.h>
#include <string_view>
#include <sys/utsname.h>
#include <thread>

#include "kernels/cpu_kernels.h"

namespace offstage::engine {
namespace {

// The number at the start of `text`, blanks skipped.
std::optional<std::int64_t> leading_number(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end == text.data()) return std::nullopt;
    return value;
}

// What follows the first line that begins with `key` and has a colon: "model name\t: AMD ..." -> "AMD ...".
std::string field(const std::filesystem::path& file, std::string_view key) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with(key)) continue;
        const auto colon = line.find(':');
        if (colon == std::string::npos) continue;
        const auto begin = line.find_first_not_of(" \t", colon + 1);
        return begin == std::string::npos ? std::string() : line.substr(begin);
    }
    return {};
}

// A control group's file with one number; nothing for "max" and for files that are not there.
std::optional<std::int64_t> number_in(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::string line;
    if (!std::getline(in, line)) return std::nullopt;
    return leading_number(line);
}

// Pages of files that the group's processes read: counted as used, given back when memory is wanted.
std::int64_t page_cache_bytes(const std::filesystem::path& group) {
    std::ifstream in(group / "memory.stat");
    std::int64_t bytes = 0;
    for (std::string line; std::getline(in, line);) {
        for (const std::string_view key : {"inactive_file ", "active_file "}) {
            if (line.starts_with(key)) bytes += leading_number(std::string_view(line).substr(key.size())).value_or(0);
        }
    }
    return bytes;
}

std::string cpu_model() {
    if (std::string name = field("/proc/cpuinfo", "model name"); !name.empty()) return name;
    // ARM kernels name no model; the architecture is better than nothing.
    utsname system{};
    return uname(&system) == 0 ? std::string(system.machine) : std::string();
}

int usable_cores() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores);
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));  // more cores than the set holds
}

}  // namespace

MemorySize memory_size(const std::filesystem::path& root) {
    constexpr std::int64_t kKib = 1024;
    const auto meminfo = root / "proc/meminfo";
    MemorySize memory;
    memory.total_bytes = leading_number(field(meminfo, "MemTotal:")).value_or(0) * kKib;
    memory.available_bytes = leading_number(field(meminfo, "MemAvailable:")).value_or(0) * kKib;

    // The line "0::/system.slice/x.service" names the group below /sys/fs/cgroup; inside a container it is mostly
    // "0::/".
    const auto mount = root / "sys/fs/cgroup";
    std::ifstream groups(root / "proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {
        if (!line.starts_with("0::/")) continue;
        auto group = (mount / line.substr(4)).lexically_normal();
        if (!group.has_filename()) group = group.parent_path();
        if (!group.string().starts_with(mount.string())) group = mount;  // "0::/../.." from inside a container
        for (;; group = group.parent_path()) {
            if (const auto limit = number_in(group / "memory.max"); limit && *limit > 0) {
                const std::int64_t used = number_in(group / "memory.current").value_or(0) - page_cache_bytes(group);
                memory.total_bytes = std::min(memory.total_bytes, *limit);
                memory.available_bytes = std::min(memory.available_bytes, std::max<std::int64_t>(0, *limit - used));
            }
            if (group == mount) break;
        }
    }
    return memory;
}

Hardware detect_host() {
    Hardware hardware;
    hardware.cpu_model = cpu_model();
    hardware.n_cores = usable_cores();
    hardware.instruction_set = kernels::name_of(kernels::cpu_kernels().instruction_set);
    hardware.ram = memory_size();
    return hardware;
}

Hardware detect_hardware() {
    Hardware hardware = detect_host();
    hardware.cuda = kernels::cuda_devices();
    return hardware;
}

}  // namespace offstage::engine
