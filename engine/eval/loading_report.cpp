#include "engine/eval/loading_report.h"

#include <nlohmann/json.hpp>

#include "engine/print.h"

namespace offstage::engine {

nlohmann::ordered_json to_json(const LoadingTimes& times) {
    if (times.computing_us <= 0) return nullptr;
    return {{"loading_s", times.loading_us / 1e6},
            {"computing_s", times.computing_us / 1e6},
            {"overlap_s", times.overlap_us / 1e6},
            {"hidden_computing", times.hidden_computing()},
            {"hidden_loading", times.hidden_loading()}};
}

std::string to_text(const LoadingTimes& times) {
    return print(
        "loading %.2f ms, computing %.2f ms, both at once %.2f ms: %.0f %% of the computing and %.0f %% of the loading "
        "hidden",
        times.loading_us / 1e3, times.computing_us / 1e3, times.overlap_us / 1e3, 100 * times.hidden_computing(),
        100 * times.hidden_loading());
}

}  // namespace offstage::engine
