#pragma once

#include <string>

#include "engine/cluster/node_client.h"
#include "engine/nodes/paired_peers.h"

namespace offstage::engine {

// How a paired node is reached: TLS in which it must show the key that it was paired
// with, and this machine shows its own. `through` (tests): another address to connect to.
NodeAddress address_of(const PairedPeer& peer, const NodeIdentity& own, const std::string& through = {});

}  // namespace offstage::engine
