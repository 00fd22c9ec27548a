#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/device/emulated_accelerator.h"

namespace offstage::engine {

// Opens the device that --device names: "cpu", "cuda", "cuda:N", "emulated:PROFILE" (an
// id, or a .json file). vram_bytes 0: all memory that the device has. `operations`: the
// host's, which must outlive the device. Throws Error: kInvalidInput (unknown name, a
// budget above the device's memory), kUnsupported, kNotFound, kOutOfMemory.
std::unique_ptr<Backend> open_device(const std::string& device, std::uint64_t vram_bytes, CpuOperations& operations);

// The same as a dry run. Throws Error (kInvalidInput) unless it is an emulated device
// whose profile describes its host as well.
std::unique_ptr<Backend> open_dry_device(const std::string& device, std::uint64_t vram_bytes, CpuOperations& operations,
                                         EmulatedAccelerator::DrawnRouting routing);

// Throws Error (kInvalidInput) where a budget is more than the device has to give;
// `device` as in the sentence.
void check_vram_budget(const std::string& device, std::uint64_t wanted, std::uint64_t available);
// The same of an emulated device, by its profile's name.
void check_emulated_vram_budget(const std::string& profile, std::uint64_t wanted, std::uint64_t available);

}  // namespace offstage::engine
