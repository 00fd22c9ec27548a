#pragma once
// Messages of engine/cluster/node_protocol.h as those of node.proto, and back. Bounds that
// need no model are checked here: what is out of them becomes no message.

#include <optional>

#include "engine/cluster/node_protocol.h"
#include "engine/nodes/node.pb.h"

namespace offstage::engine {

node::ToNode to_wire(const ToNode& message);
node::FromNode to_wire(const FromNode& message);
// Nothing: it holds no message that is known, or numbers that none can have.
std::optional<ToNode> from_wire(node::ToNode&& message);
std::optional<FromNode> from_wire(node::FromNode&& message);

// From now on bytes that are no message are not reported on standard error.
void silence_protobuf();

}  // namespace offstage::engine
