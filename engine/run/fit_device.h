#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/device/backend.h"
#include "engine/plan/load_request.h"

namespace offstage::engine {

class CpuOperations;

// A GPU that estimates of several models share: the first that needs it opens it, and it
// stays open for as long as this exists. One thread.
class FitDevice {
  public:
    // The request's device, with no scratch memory, and products in their first form.
    // `operations`: as open_device(). Throws Error as that does.
    Backend& open(const LoadRequest& request, std::uint64_t vram_bytes, CpuOperations& operations);

  private:
    std::string name_;
    std::unique_ptr<Backend> device_;
};

}  // namespace offstage::engine
