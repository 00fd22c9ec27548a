#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "engine/telemetry/layer_event.h"

namespace offstage::engine {

// CORM's table 3: {"loading_s", "computing_s", "overlap_s", "hidden_computing",
// "hidden_loading"}, the last two as shares. null where nothing was computed beside a
// device: on the CPU alone there is nothing to load.
nlohmann::ordered_json to_json(const LoadingTimes& times);
// "loading 12.1 ms, computing 3.9 ms, both at once 3.3 ms: 85 % of the computing and 27 %
// of the loading hidden".
std::string to_text(const LoadingTimes& times);

}  // namespace offstage::engine
