#pragma once

#include <cstring>
#include <memory>
#include <utility>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/device/host_memory.h"
#include "engine/message.h"

namespace offstage::engine {

// What devices share whose memory is the host's: CpuBackend and EmulatedAccelerator.
class HostBackend : public Backend {
  public:
    const DeviceInfo& info() const final { return info_; }
    Arena& memory() final { return arena_; }
    bool ok() const final { return failure_.empty(); }
    Message failure() const final { return failure_; }
    void clear_failure() final { failure_ = {}; }
    bool pin(std::span<std::byte>) final { return true; }
    void unpin(std::span<std::byte>) final {}
    std::byte* mapped(std::byte* pinned_host) final { return pinned_host; }
    std::uint64_t scratch_bytes(const StepShape&) const final { return 0; }  // CpuOperations has its own
    void reserve(const StepShape&) final {}
    void fail_copy(int n) final { fail_in_ = n; }

  protected:
    // place: as Arena's.
    HostBackend(DeviceInfo info, MessageArgument place, std::uint64_t budget_bytes,
                std::unique_ptr<MemorySource> source = {})
        : info_(std::move(info)),
          source_(source != nullptr ? std::move(source) : std::make_unique<HostMemory>()),
          arena_(std::move(place), *source_, budget_bytes) {}

    bool copy_fails() { return fail_in_ > 0 && --fail_in_ == 0; }
    // real: the bytes are needed.
    void copy(void* to, const void* from, std::size_t bytes, bool real = true) {
        if (copy_fails()) {
            failure_ = from_outside("A copy to or from " + info_.name + " failed (injected for a test).");
        } else if (bytes > 0 && real) {
            std::memcpy(to, from, bytes);
        }
    }

  private:
    const DeviceInfo info_;
    const std::unique_ptr<MemorySource> source_;
    Arena arena_;
    Message failure_;
    int fail_in_ = 0;
};

}  // namespace offstage::engine
