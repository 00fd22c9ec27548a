#pragma once

#include <cstdint>
#include <string_view>

namespace offstage::engine {

enum class PolicyKind : std::uint8_t {
    kThreshold,  // Fiddler's Algorithm 1: expert by expert, CPU or copy, whichever is shorter alone
    kBalanced,   // CPU, copy engine and GPU side by side: the split with the smallest makespan
    kTransfer,   // every miss is copied
    kStatic,     // every miss runs on the CPU
    kLayers,  // a layer runs on the GPU when all the experts it uses are there, else on the CPU (with their copies in
              // RAM)
};
std::string_view name_of(PolicyKind kind);       // "threshold", "balanced", "transfer", "static", "layers"
PolicyKind parse_policy(std::string_view name);  // throws Error (kInvalidInput), listing the names

// Where an expert of a layer and step runs: on the device, which holds it; on the device
// after a copy; on the CPU.
enum class ExecutionTarget : std::uint8_t { kResident, kCopy, kCpu };

}  // namespace offstage::engine
