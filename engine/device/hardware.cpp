#include "engine/device/hardware.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sched.h>
#include <string_view>
#include <sys/utsname.h>
#include <thread>

#include "engine/device/control_groups.h"
#include "engine/device/cuda_messages.h"
#include "engine/device/device_messages.h"
#include "engine/error.h"
#include "kernels/cpu_kernels.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {
namespace {

constexpr const char* kThreadsVariable = "OFFSTAGE_THREADS";

// nullptr also where it is empty.
const char* set_variable(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && *value != '\0' ? value : nullptr;
}

// The text after the colon of the first line that begins with `key`: "model name\t: AMD
// ..." -> "AMD ...".
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

std::string read_cpu_model() {
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

int cores_to_use(const std::filesystem::path& root) {
    const double quota = cpu_quota(root);
    const int cores = usable_cores();
    return quota > 0 && quota < cores ? static_cast<int>(std::ceil(quota)) : cores;
}

int compute_threads(int asked) {
    check_environment();
    if (asked > 0) return asked;
    return set_variable(kThreadsVariable) != nullptr ? kernels::ThreadPool::threads_for(0) : cores_to_use();
}

void check_environment() {
    if (const char* const wanted = set_variable("OFFSTAGE_ISA")) {
        std::string known;
        bool found = false;
        for (const kernels::InstructionSet set : kernels::available_instruction_sets()) {
            known += (known.empty() ? "" : ", ") + std::string(kernels::name_of(set));
            found = found || kernels::name_of(set) == wanted;
        }
        if (!found) throw Error(ErrorKind::kInvalidInput, messages::no_such_instruction_set(wanted, known));
    }
    if (const char* const wanted = set_variable(kThreadsVariable)) {
        int n = 0;
        const char* const end = wanted + std::strlen(wanted);
        if (std::from_chars(wanted, end, n).ptr != end || n < 1 || n > 1024) {
            throw Error(ErrorKind::kInvalidInput, messages::threads_variable_invalid(wanted));
        }
    }
}

const std::string& cpu_model() {
    static const std::string model = read_cpu_model();
    return model;
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

Message instruction_set_note(kernels::InstructionSet used, kernels::InstructionSet best) {
    if (used == best) return {};
    return messages::compiled_for_another_processor(std::string(kernels::name_of(used)),
                                                    std::string(kernels::name_of(best)));
}

Message instruction_set_note() {
    return instruction_set_note(kernels::available_instruction_sets().back(), kernels::best_of_processor());
}

Message Hardware::no_gpu_because() const {
    return message_of(cuda.none_because);
}

}  // namespace offstage::engine
