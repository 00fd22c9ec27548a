#pragma once

#include <stop_token>

#include "engine/cluster/machine_network.h"
#include "engine/cluster/node_client.h"

namespace offstage::engine {

// Connects, measures for about a second, and disconnects. Throws Error (kNotFound) if the
// node cannot be reached or does not answer within 10 seconds, or if a stop is requested.
MachineTest test_link(const NodeAddress& address, const std::stop_token& stop = {});

}  // namespace offstage::engine
