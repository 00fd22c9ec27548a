#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace offstage::engine {

// A host that is accounted instead of measured.
struct HostProfile {
    std::string name;
    double read_gbps = 0;  // read by the CPU's kernels alone, 1e9 bytes per second
    double dram_gbps = 0;  // memory bandwidth of CPU and copies together
    double gflops = 0;     // batched products
    double disk_gbps = 0;  // of the disk with the models; 0: reading it takes no time

    double disk_us(double bytes) const { return disk_gbps > 0 ? bytes / (disk_gbps * 1e3) : 0; }
};

// A GPU that this machine does not have, from resources/hardware/NAME.json: its datasheet
// values and the shares of them that programs reach. Forecasts and EmulatedAccelerator
// compute times from it; these figures are never shown as measurements.
struct HardwareProfile {
    std::string id;    // "rtx-3060": the file's name
    std::string name;  // "GeForce RTX 3060"
    std::uint64_t memory_bytes = 0;
    std::uint64_t reserved_bytes = 0;  // driver, display: not for us
    double memory_gbps = 0;            // datasheet
    double memory_efficiency = 0;      // share reached
    double tflops = 0;                 // 16-bit matrix products, float32 sums, dense; datasheet
    double compute_efficiency = 0;
    double bus_gbps = 0;  // one direction, datasheet
    double bus_efficiency = 0;
    double launch_us = 0;        // per operation on the compute queue
    double sync_us = 0;          // host and device meeting once
    double copy_latency_us = 0;  // per copy
    std::optional<HostProfile> host;
    std::string source;  // the origin of the figures

    double operation_us(double bytes, double flops) const;  // launch_us + the roofline of both
    double copy_us(double bytes) const;
    // An expert whose rows are interleaved in host memory: a kernel puts each piece of
    // the copy in order while the next one crosses the bus, the last one behind it.
    double strips_copy_us(double bytes) const;
};

// Throws Error with file, key and the expected value; every number must be finite and
// positive (latencies: not negative).
HardwareProfile parse_hardware_profile(std::string_view json, const std::string& source);

// `name`: a file (if it ends in .json) or the id of a file in profile_directory(). Throws
// Error (kNotFound lists the existing ids).
HardwareProfile find_hardware_profile(const std::string& name);
std::vector<std::string> hardware_profile_ids();
// resources/hardware of the installation or of the source tree; OFFSTAGE_RESOURCES
// replaces it.
std::filesystem::path resource_directory();

}  // namespace offstage::engine
