#pragma once

#include <string>

#include "engine/cluster/node_client.h"
#include "engine/cluster/node_peers.h"
#include "engine/nodes/paired_peers.h"

namespace offstage::engine {

// The address of a paired node: over TLS, in which the node must present the key that it
// was paired with, and this machine presents its own. `through` (tests): another address
// to connect to.
NodeAddress address_of(const PairedPeer& peer, const NodeIdentity& own, const std::string& through = {});

// Connects a node with this key to others that its desktop names: over TLS, in which the
// other one must present the key of NodePeer::fingerprint.
ConnectPeer connecting_peers(const NodeIdentity& own);

}  // namespace offstage::engine
