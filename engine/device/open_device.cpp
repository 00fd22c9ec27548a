#include "engine/device/open_device.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "engine/device/cpu_backend.h"
#include "engine/device/cuda_backend.h"
#include "engine/device/device_messages.h"
#include "engine/device/emulated_accelerator.h"
#include "engine/device/hardware_profile.h"
#include "engine/error.h"
#include "engine/json.h"

namespace offstage::engine {
namespace {

[[noreturn]] void reject_device(const std::string& device) {
    throw Error(ErrorKind::kInvalidInput, messages::no_such_device(in_quotes(device)));
}

// The requested size, or all that the device has.
std::uint64_t vram_budget(const HardwareProfile& profile, std::uint64_t wanted, std::uint64_t available) {
    check_emulated_vram_budget(profile.name, wanted, available);
    return wanted == 0 ? available : wanted;
}

std::optional<int> ordinal_in(std::string_view text) {
    int ordinal = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ordinal);
    if (error != std::errc{} || end != text.data() + text.size() || ordinal < 0) return std::nullopt;
    return ordinal;
}

}  // namespace

void check_vram_budget(const std::string& device, std::uint64_t wanted, std::uint64_t available) {
    if (wanted <= available) return;
    throw Error(ErrorKind::kInvalidInput,
                messages::vram_budget_too_large(ByteSize{wanted}, device, ByteSize{available}));
}

void check_emulated_vram_budget(const std::string& profile, std::uint64_t wanted, std::uint64_t available) {
    if (wanted <= available) return;
    throw Error(ErrorKind::kInvalidInput,
                messages::vram_budget_too_large_for_the(ByteSize{wanted}, profile, ByteSize{available}));
}

std::unique_ptr<Backend> open_device(const std::string& device, std::uint64_t vram_bytes, CpuOperations& operations) {
    constexpr std::string_view kCuda = "cuda:";
    constexpr std::string_view kEmulated = "emulated:";
    if (device == "cpu") {
        const auto available = static_cast<std::uint64_t>(memory_size().available_bytes);
        if (vram_bytes > available) {
            throw Error(ErrorKind::kInvalidInput,
                        messages::ram_budget_not_there(ByteSize{vram_bytes}, ByteSize{available}));
        }
        return std::make_unique<CpuBackend>(operations.pool(), operations.form(),
                                            vram_bytes == 0 ? available : vram_bytes);
    }
    if (device == "cuda") return open_cuda_backend(0, vram_bytes);
    if (device.starts_with(kCuda)) {
        const auto ordinal = ordinal_in(std::string_view(device).substr(kCuda.size()));
        if (!ordinal) reject_device(device);
        return open_cuda_backend(*ordinal, vram_bytes);
    }
    if (device.starts_with(kEmulated)) {
        const HardwareProfile profile = find_hardware_profile(device.substr(kEmulated.size()));
        const std::uint64_t available = profile.memory_bytes - profile.reserved_bytes;
        return std::make_unique<EmulatedAccelerator>(profile, operations, vram_budget(profile, vram_bytes, available));
    }
    reject_device(device);
}

std::unique_ptr<Backend> open_dry_device(const std::string& device, std::uint64_t vram_bytes, CpuOperations& operations,
                                         EmulatedAccelerator::DrawnRouting routing) {
    constexpr std::string_view kEmulated = "emulated:";
    std::optional<HardwareProfile> profile;
    if (device.starts_with(kEmulated)) profile = find_hardware_profile(device.substr(kEmulated.size()));
    if (!profile || !profile->host) {
        throw Error(ErrorKind::kInvalidInput, messages::dry_run_needs_host(in_quotes(device)));
    }
    const std::uint64_t available = profile->memory_bytes - profile->reserved_bytes;
    return std::make_unique<EmulatedAccelerator>(*profile, operations, vram_budget(*profile, vram_bytes, available),
                                                 std::move(routing));
}

}  // namespace offstage::engine
