#pragma once

#include <string>

#include "engine/cluster/node_client.h"
#include "engine/cluster/node_peers.h"
#include "engine/nodes/paired_peers.h"

namespace offstage::engine {

// How a paired node is reached: TLS in which it must show the key that it was paired
// with, and this machine shows its own. `through` (tests): another address to connect to.
NodeAddress address_of(const PairedPeer& peer, const NodeIdentity& own, const std::string& through = {});

// How a node with this key reaches the others that its desktop names: TLS in which the other one must show the key of
// NodePeer::fingerprint.
ConnectPeer connecting_peers(const NodeIdentity& own);

}  // namespace offstage::engine
