// Any bytes as a hardware profile: an engine::Error or figures that a clock can count
// with.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "engine/device/hardware_profile.h"
#include "engine/error.h"

namespace {

void require(bool kept, const char* promise) {
    if (kept) return;
    std::fprintf(stderr, "broken promise: %s\n", promise);
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace offstage::engine;
    try {
        const HardwareProfile profile =
            parse_hardware_profile({reinterpret_cast<const char*>(data), size}, "input.json");
        require(profile.reserved_bytes < profile.memory_bytes, "some memory is not reserved");
        for (const double amount : {0.0, 1.0, 1e15}) {
            require(std::isfinite(profile.operation_us(amount, amount)), "the time of an operation is finite");
            require(profile.operation_us(amount, amount) >= 0, "the time of an operation is not negative");
            require(std::isfinite(profile.copy_us(amount)), "the time of a copy is finite");
        }
        require(!profile.host || profile.host->dram_gbps >= profile.host->read_gbps,
                "the host reads what memory gives");
    } catch (const Error& error) {
        require(error.kind() == ErrorKind::kInvalidInput, "errors are of one kind");
        require(std::string_view(error.what()).starts_with("input.json"), "an error names the file");
    }
    return 0;
}
