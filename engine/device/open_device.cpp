#include "engine/device/open_device.h"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "engine/device/cpu_backend.h"
#include "engine/device/cuda_backend.h"
#include "engine/device/emulated_accelerator.h"
#include "engine/device/hardware.h"
#include "engine/device/hardware_profile.h"
#include "engine/device/host_buffer.h"
#include "engine/error.h"
#include "engine/json.h"

namespace offstage::engine {
namespace {

[[noreturn]] void reject_device(const std::string& device) {
    throw Error(ErrorKind::kInvalidInput,
                "There is no device " + in_quotes(device) + "; expected cpu, cuda, cuda:N or emulated:PROFILE.");
}

// What is asked for, or all that the device has.
std::uint64_t vram_budget(const HardwareProfile& profile, std::uint64_t wanted, std::uint64_t available) {
    check_vram_budget("the " + profile.name, wanted, available);
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
    throw Error(ErrorKind::kInvalidInput, "The VRAM budget is " + format_bytes(wanted) + ", but " + device +
                                              " has only " + format_bytes(available) + " to give; lower it.");
}

std::unique_ptr<Backend> open_device(const std::string& device, std::uint64_t vram_bytes, CpuOperations& operations) {
    constexpr std::string_view kCuda = "cuda:";
    constexpr std::string_view kEmulated = "emulated:";
    if (device == "cpu") {
        const auto available = static_cast<std::uint64_t>(memory_size().available_bytes);
        if (vram_bytes > available) {
            throw Error(ErrorKind::kInvalidInput, "The RAM budget is " + format_bytes(vram_bytes) + ", but only " +
                                                      format_bytes(available) + " are there; lower it.");
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
        throw Error(ErrorKind::kInvalidInput, "A dry run accounts time from a hardware profile, and " +
                                                  in_quotes(device) +
                                                  " describes no GPU together with its host; expected emulated:PROFILE "
                                                  "with a \"host\" section, like emulated:fiddler-env1.");
    }
    const std::uint64_t available = profile->memory_bytes - profile->reserved_bytes;
    return std::make_unique<EmulatedAccelerator>(*profile, operations, vram_budget(*profile, vram_bytes, available),
                                                 std::move(routing));
}

std::uint64_t parse_bytes(const std::string& text, const std::string& what) {
    struct Unit {
        std::string_view name;
        int shift;
    };
    constexpr std::array<Unit, 6> kUnits = {{{"", 0}, {"B", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}}};
    const auto reject = [&] {
        throw Error(ErrorKind::kInvalidInput, what + " is " + in_quotes(text) +
                                                  "; expected a number of bytes, or one with KiB, MiB, GiB or TiB, "
                                                  "like 6GiB or 1.5GiB, below 16 million TiB.");
    };
    const std::size_t number_size = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::string_view number = std::string_view(text).substr(0, number_size);
    std::string_view rest = std::string_view(text).substr(number_size);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    std::optional<int> shift;
    for (const Unit& unit : kUnits) {
        if (rest == unit.name) shift = unit.shift;
    }
    if (!shift || number.empty()) reject();

    std::uint64_t whole = 0;  // exact, where a double would round
    const char* const end = number.data() + number.size();
    if (const auto [stop, error] = std::from_chars(number.data(), end, whole); error == std::errc{} && stop == end) {
        if (whole > (~std::uint64_t{0} >> *shift)) reject();
        return whole << *shift;
    }
    double value = 0;
    const auto [stop, error] = std::from_chars(number.data(), end, value, std::chars_format::fixed);
    const double bytes = std::ldexp(value, *shift);
    // A fraction of a byte is a slip: a unit left out.
    if (error != std::errc{} || stop != end || *shift == 0 || !(bytes < 0x1p64)) reject();
    return static_cast<std::uint64_t>(bytes);
}

}  // namespace offstage::engine
