#include "engine/device/hardware_profile.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <system_error>

#include "engine/device/device_messages.h"
#include "engine/error.h"
#include "engine/json.h"

namespace offstage::engine {
namespace {

constexpr std::uintmax_t kLargestProfile = std::uintmax_t{1} << 20;
constexpr std::int64_t kLargestMemory = std::int64_t{1} << 50;
// Far beyond any machine, and far from where sums of times would lose their precision.
constexpr double kSmallestRate = 1e-6;
constexpr double kLargestRate = 1e9;
constexpr double kLongestLatencyUs = 1e9;

constexpr double kStripPieceBytes = 8 << 20;

constexpr std::array kKeys = {"name",    "memory_bytes",       "reserved_bytes", "memory_gbps",    "memory_efficiency",
                              "tflops",  "compute_efficiency", "bus_gbps",       "bus_efficiency", "launch_us",
                              "sync_us", "copy_latency_us",    "host",           "source"};
constexpr std::array kHostKeys = {"name", "read_gbps", "dram_gbps", "gflops", "disk_gbps"};

template <typename Names>
std::string joined(const Names& names) {
    std::string all;
    for (const auto& name : names) {
        if (!all.empty()) all += ", ";
        all += name;
    }
    return all;
}

// Without this check a misspelt key would be ignored silently.
void require_known_keys(const nlohmann::json& object, std::span<const char* const> keys, const std::string& source,
                        const std::string& path) {
    for (const auto& item : object.items()) {
        const bool known = std::any_of(keys.begin(), keys.end(), [&](const char* key) { return item.key() == key; });
        if (known) continue;
        throw Error(ErrorKind::kInvalidInput,
                    messages::profile_key_unknown(source, in_quotes(path + item.key()), joined(keys)));
    }
}

double rate(const JsonFields& fields, const char* key) {
    return fields.number(key, kSmallestRate, kLargestRate);
}

double share(const JsonFields& fields, const char* key) {
    return fields.number(key, kSmallestRate, 1.0);
}

double latency(const JsonFields& fields, const char* key) {
    return fields.number(key, 0.0, kLongestLatencyUs);
}

std::string name_in(const JsonFields& fields) {
    std::string name = fields.text("name");
    if (name.empty()) fields.reject("name", messages::a_text_not_empty);
    return name;
}

HardwareProfile parse(std::string_view text, const std::string& source) {
    JsonLimits limits;
    limits.max_depth = 4;
    limits.max_values = 1000;
    const nlohmann::json root = parse_json(text, source, limits);
    const JsonFields fields(root, source);
    require_known_keys(root, kKeys, source, "");
    HardwareProfile profile;
    profile.id = std::filesystem::path(source).stem().string();
    profile.name = name_in(fields);
    profile.memory_bytes = static_cast<std::uint64_t>(fields.integer("memory_bytes", 1, kLargestMemory));
    profile.reserved_bytes = static_cast<std::uint64_t>(
        fields.integer("reserved_bytes", 0, static_cast<std::int64_t>(profile.memory_bytes) - 1, 0));
    profile.memory_gbps = rate(fields, "memory_gbps");
    profile.memory_efficiency = share(fields, "memory_efficiency");
    profile.tflops = rate(fields, "tflops");
    profile.compute_efficiency = share(fields, "compute_efficiency");
    profile.bus_gbps = rate(fields, "bus_gbps");
    profile.bus_efficiency = share(fields, "bus_efficiency");
    profile.launch_us = latency(fields, "launch_us");
    profile.sync_us = latency(fields, "sync_us");
    profile.copy_latency_us = latency(fields, "copy_latency_us");
    if (fields.has_value("host")) {
        const nlohmann::json& object = *fields.find("host");
        const JsonFields host(object, source, "host.");
        require_known_keys(object, kHostKeys, source, "host.");
        profile.host.emplace();
        profile.host->name = name_in(host);
        profile.host->read_gbps = rate(host, "read_gbps");
        profile.host->dram_gbps = rate(host, "dram_gbps");
        profile.host->gflops = rate(host, "gflops");
        if (host.has_value("disk_gbps")) profile.host->disk_gbps = rate(host, "disk_gbps");
        if (profile.host->dram_gbps < profile.host->read_gbps) {
            host.reject("dram_gbps", messages::at_least_the_cpus_rate);
        }
    }
    profile.source = fields.text("source");
    return profile;
}

std::filesystem::path profile_directory() {
    return resource_directory() / "hardware";
}

bool holds_profiles(const std::filesystem::path& resources) {
    std::error_code error;
    return std::filesystem::is_directory(resources / "hardware", error);
}

}  // namespace

double HardwareProfile::operation_us(double bytes, double flops) const {
    const double memory_us = bytes / (memory_gbps * memory_efficiency * 1e3);
    const double compute_us = flops / (tflops * compute_efficiency * 1e6);
    return launch_us + std::max(memory_us, compute_us);
}

double HardwareProfile::copy_us(double bytes) const {
    return copy_latency_us + bytes / (bus_gbps * bus_efficiency * 1e3);
}

double HardwareProfile::strips_copy_us(double bytes) const {
    return copy_us(bytes) + operation_us(2 * std::min(bytes, kStripPieceBytes), 0);
}

HardwareProfile parse_hardware_profile(std::string_view json, const std::string& source) {
    try {
        return parse(json, source);
    } catch (const Error& error) {  // the readers of JSON take every file for a model's
        if (error.kind() != ErrorKind::kInvalidModel) throw;
        throw Error(ErrorKind::kInvalidInput, error.message(), error.detail());
    }
}

HardwareProfile find_hardware_profile(const std::string& name) {
    const bool is_file = name.ends_with(".json");
    const bool is_word = !name.empty() && name.find('/') == std::string::npos && !name.starts_with('.');
    const std::filesystem::path path = is_file ? std::filesystem::path(name) : profile_directory() / (name + ".json");
    std::error_code error;
    if ((!is_file && !is_word) || !std::filesystem::is_regular_file(path, error)) {
        if (is_file) throw Error(ErrorKind::kNotFound, messages::no_such_profile(in_quotes(name)));
        const std::string all = joined(hardware_profile_ids());
        throw Error(ErrorKind::kNotFound, all.empty() ? messages::no_such_profile_none_in(
                                                            in_quotes(name), in_quotes(profile_directory().string()))
                                                      : messages::no_such_profile_there_are(in_quotes(name), all));
    }
    if (std::filesystem::file_size(path, error) > kLargestProfile || error) {
        throw Error(ErrorKind::kInvalidInput, messages::profile_too_large(path.string()));
    }
    std::ifstream in(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    if (!in.good() && !in.eof()) throw Error(ErrorKind::kNotFound, messages::profile_cannot_be_read(path.string()));
    return parse_hardware_profile(text, path.string());
}

std::vector<std::string> hardware_profile_ids() {
    std::vector<std::string> ids;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(profile_directory(), error), end; !error && entry != end;
         entry.increment(error)) {
        if (entry->path().extension() == ".json") ids.push_back(entry->path().stem().string());
    }
    std::sort(ids.begin(), ids.end());
    return ids;
}

std::filesystem::path resource_directory() {
    if (const char* wanted = std::getenv("OFFSTAGE_RESOURCES"); wanted != nullptr && *wanted != '\0') return wanted;
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) {
        std::filesystem::path installed = program.parent_path().parent_path() / "share/offstage";
        if (holds_profiles(installed)) return installed;
        // A program of a build tree inside the source tree.
        for (auto folder = program.parent_path(); folder.has_relative_path(); folder = folder.parent_path()) {
            if (holds_profiles(folder / "resources")) return folder / "resources";
        }
    }
    return "resources";
}

}  // namespace offstage::engine
