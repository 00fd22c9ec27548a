#pragma once

#include <cstddef>
#include <utility>

#include "engine/device/backend.h"
#include "engine/device/host_buffer.h"
#include "engine/message.h"

namespace offstage::engine {

// Host memory that a device copies from and to: page-locked where the system lets us.
template <typename T>
class PinnedHost {
  public:
    PinnedHost() = default;
    // Throws Error (kOutOfMemory).
    PinnedHost(Backend& device, std::size_t n, const MessageArgument& purpose)
        : backend_(&device), memory_(n * sizeof(T), purpose) {
        pinned_ = device.pin({memory_.data(), memory_.size()});
        if (pinned_ && memory_.size() > 0) mapped_ = device.mapped(memory_.data());
    }
    ~PinnedHost() {
        if (pinned_ && memory_.size() > 0) backend_->unpin({memory_.data(), memory_.size()});
    }
    PinnedHost(PinnedHost&& other) noexcept { *this = std::move(other); }
    PinnedHost& operator=(PinnedHost&& other) noexcept {
        std::swap(backend_, other.backend_);
        std::swap(memory_, other.memory_);
        std::swap(pinned_, other.pinned_);
        std::swap(mapped_, other.mapped_);
        return *this;
    }

    T* host() { return reinterpret_cast<T*>(memory_.data()); }
    // The same memory for the device's operations; nullptr: they cannot use it.
    T* mapped() const { return reinterpret_cast<T*>(mapped_); }
    std::size_t size() const { return memory_.size() / sizeof(T); }
    bool pinned() const { return pinned_; }
    // n values from `first` on: Backend::store().
    void store(std::size_t first, const T* device, std::size_t n) {
        std::byte* const mapped = mapped_ == nullptr ? nullptr : mapped_ + first * sizeof(T);
        backend_->store(host() + first, mapped, device, n * sizeof(T));
    }

  private:
    Backend* backend_ = nullptr;
    HostBuffer memory_;
    bool pinned_ = false;
    std::byte* mapped_ = nullptr;  // its address for the device's operations
};

// The same values on the host and on the device, for data copied at every step. A device
// that shares the host's memory uses one piece of memory, and copying does nothing.
template <typename T>
class Mirror {
  public:
    Mirror() = default;
    // Throws Error (kOutOfMemory).
    Mirror(Backend& device, std::size_t n, MemoryUse use, const MessageArgument& purpose)
        : backend_(&device), device_(device.memory().allocate(n * sizeof(T), use, purpose)) {
        if (!device.shares_host_memory()) host_ = PinnedHost<T>(device, n, purpose);
    }

    T* device() const { return device_.template as<T>(); }
    T* host() { return host_.size() > 0 ? host_.host() : device(); }
    T* mapped() const { return host_.mapped(); }  // PinnedHost::mapped()

    // n values from `first` on; on the compute queue.
    void upload(std::size_t first, std::size_t n) {
        if (host_.size() > 0 && n > 0) backend_->upload(device() + first, host() + first, n * sizeof(T));
    }
    void download(std::size_t first, std::size_t n) {
        if (host_.size() > 0 && n > 0) backend_->download(host() + first, device() + first, n * sizeof(T));
    }
    // download() as an operation that may be kept.
    void store(std::size_t first, std::size_t n) {
        if (host_.size() > 0 && n > 0) host_.store(first, device() + first, n);
    }

  private:
    Backend* backend_ = nullptr;
    DeviceBlock device_;
    PinnedHost<T> host_;
};

}  // namespace offstage::engine
