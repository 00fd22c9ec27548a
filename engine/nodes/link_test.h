#pragma once

#include <stop_token>

#include "engine/cluster/node_client.h"

namespace offstage::engine {

// The figures of a link without a model: nothing is computed.
struct LinkTest {
    double latency_us = 0;  // round trip of a small message, median
    double mbps = 0;        // 1e6 bytes per second, one direction
    NodeState state;        // of the node
};

// Connects, measures for about a second, and disconnects. Throws Error (kNotFound) if the
// node cannot be reached or does not answer within 10 seconds, or if a stop is requested.
LinkTest test_link(const NodeAddress& address, const std::stop_token& stop = {});

}  // namespace offstage::engine
