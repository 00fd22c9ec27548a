#include <iostream>

#include "app/cli/commands.h"
#include "engine/device/byte_size.h"

namespace offstage::cli {

int run_cluster(const ClusterOptions& options) {
    engine::ClusterNode node = options.node;
    if (!options.memory.empty()) node.memory_bytes = engine::parse_bytes(options.memory, "--node-memory");
    const engine::ModelShape shape = engine::read_model_shape(options.model);
    engine::Network network = engine::find_network(options.network);
    if (options.card_usd >= 0) network.card_usd = options.card_usd;
    engine::ClusterBounds bounds = engine::cluster_bounds(shape, node, network, options.n_machines);
    if (options.helpers) {
        engine::ClusterNode desktop = node;
        if (options.desktop_gbps > 0) desktop.memory_gbps = options.desktop_gbps;
        if (options.desktop_tflops > 0) desktop.tflops = options.desktop_tflops;
        engine::compare_shapes(bounds, shape, desktop);
    }
    if (!options.measured.empty()) engine::expect(bounds, engine::parse_cluster_measured(options.measured));
    print_report(bounds, options.json);
    return 0;
}

}  // namespace offstage::cli
