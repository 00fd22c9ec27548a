#include <iostream>

#include "app/cli/commands.h"
#include "engine/device/byte_size.h"

namespace offstage::cli {

int run_cluster(const ClusterOptions& options) {
    engine::ClusterNode node = options.node;
    if (!options.memory.empty()) node.memory_bytes = engine::parse_bytes(options.memory, "--node-memory");
    engine::ClusterBounds bounds = engine::cluster_bounds(
        engine::read_model_shape(options.model), node, engine::find_network(options.network), options.n_machines);
    if (!options.measured.empty()) engine::expect(bounds, engine::parse_cluster_measured(options.measured));
    print_report(bounds, options.json);
    return 0;
}

}  // namespace offstage::cli
