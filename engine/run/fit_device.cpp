#include "engine/run/fit_device.h"

#include "engine/device/open_device.h"
#include "engine/run/load_planner.h"

namespace offstage::engine {

Backend& FitDevice::open(const LoadRequest& request, std::uint64_t vram_bytes, CpuOperations& operations) {
    const std::string name = runs_on_cpu(request) ? "cpu" : request.device;
    if (device_ == nullptr || name != name_ || !device_->ok()) {
        device_.reset();
        device_ = request.opens_device ? request.opens_device(vram_bytes) : open_device(name, vram_bytes, operations);
        name_ = name;
        return *device_;
    }
    Backend::StepShape nothing;
    nothing.n_tokens = 0;
    device_->reserve(nothing);
    device_->set_byte_inputs({});
    return *device_;
}

}  // namespace offstage::engine
