#pragma once

#include <filesystem>
#include <stop_token>

#include "engine/hub/hub_download.h"

namespace offstage::engine {

// The files of a hub's model from which its shape can be read (FitEstimator::Text::
// kHeadersAlone), in a folder that is removed with the object: of weights the headers
// alone, in files that are as long as the real ones but take no room.
class HubPreview {
  public:
    // Throws Error as HubConnection, and kInvalidModel for headers that are none.
    HubPreview(const HubDownload& download, const std::stop_token& stop);
    ~HubPreview();
    HubPreview(const HubPreview&) = delete;
    HubPreview& operator=(const HubPreview&) = delete;
    const std::filesystem::path& model() const { return model_; }  // to open

  private:
    std::filesystem::path folder_, model_;
};

}  // namespace offstage::engine
