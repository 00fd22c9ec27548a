#include <cstdio>
#include <iostream>
#include <unistd.h>

#include "app/cli/commands.h"
#include "engine/device/host_buffer.h"

namespace offstage::cli {

engine::LoadRequest load_request(const ModelOptions& options) {
    engine::LoadRequest request;
    request.model = options.model;
    request.n_threads = options.n_threads;
    request.context = options.context;
    if (options.compute == "f32") request.compute = engine::ComputeMode::kF32;
    if (options.compute == "bf16") request.compute = engine::ComputeMode::kBf16;
    return request;
}

engine::LoadProgressFn progress_on_terminal() {
    if (isatty(STDERR_FILENO) == 0) return {};
    return [](const engine::LoadProgress& progress) {
        const bool done = progress.bytes_done >= progress.bytes_total;
        std::cerr << "\r\x1b[K";
        if (!done) {
            std::cerr << progress.stage << ": " << engine::format_bytes(progress.bytes_done) << " of "
                      << engine::format_bytes(progress.bytes_total);
        }
        std::cerr << std::flush;
    };
}

void print_json(const nlohmann::ordered_json& object) {
    std::cout << object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << std::endl;
}

}  // namespace offstage::cli
