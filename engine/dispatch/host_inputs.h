#pragma once

#include <cstdint>

#include "engine/device/mirror.h"
#include "engine/message.h"

namespace offstage::engine {

// The experts' input of a step, (n_tokens, hidden_dim), on the host: copied there when an
// executor needs it, or before. One thread.
class HostInputs {
  public:
    // Room for `most` floats. Throws Error (kOutOfMemory). The device must outlive this
    // object.
    HostInputs(Backend& device, std::int64_t most, const MessageArgument& purpose) : device_(device) {
        resize(most, purpose);
    }
    // A new size from the next step on. Throws Error (kOutOfMemory), and has no room
    // then.
    void resize(std::int64_t most, const MessageArgument& purpose) {
        copy_ = {};
        if (device_.shares_host_memory() || most == 0) return;
        copy_ = PinnedHost<float>(device_, static_cast<std::size_t>(most), purpose);
    }

    // Sets the layer's input on the device. Only the n floats from `first` on are needed.
    void set(const float* inputs, std::int64_t first, std::int64_t n) {
        inputs_ = inputs;
        first_ = first;
        n_ = n;
        on_way_ = came_ = false;
    }
    // Starts the copy if it has not been started. Compute queue; as_operation: by
    // Backend::store(), and set_stored() must follow.
    void fetch(bool as_operation = false) {
        if (on_way_ || device_.shares_host_memory()) return;
        const auto first = static_cast<std::size_t>(first_);
        const auto n = static_cast<std::size_t>(n_);
        on_way_ = true;
        if (as_operation) {
            copy_.store(first, inputs_ + first_, n);
        } else {
            device_.download(copy_.host() + first, inputs_ + first_, n * sizeof(float));
            there_ = device_.record(DeviceEvent::Queue::kCompute);
        }
    }
    // A point behind the copy, if it has been started.
    void set_stored(DeviceEvent point) {
        if (on_way_) there_ = point;
    }
    // Whether fetch(true) is an operation on this device.
    bool stores() const { return copy_.mapped() != nullptr; }
    // The copy was handed over: Backend::host_wait_handed().
    void set_handed() { on_way_ = came_ = true; }
    // Waits for the copy. Returns the address of the whole input's first row.
    const float* get() {
        if (device_.shares_host_memory()) return inputs_;
        fetch();
        if (!came_) device_.host_wait(there_);
        came_ = true;
        return copy_.host();
    }

  private:
    Backend& device_;
    PinnedHost<float> copy_;
    const float* inputs_ = nullptr;
    std::int64_t first_ = 0, n_ = 0;
    bool on_way_ = false, came_ = false;
    DeviceEvent there_;
};

}  // namespace offstage::engine
