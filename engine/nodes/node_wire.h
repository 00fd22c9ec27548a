#pragma once
// Converts messages of engine/cluster/node_protocol.h to those of node.proto, and back.
// Checks limits that need no model: a message outside of them is not converted.

#include <optional>

#include "engine/cluster/node_protocol.h"
#include "engine/nodes/node.pb.h"

namespace offstage::engine {

node::ToNode to_wire(const ToNode& message);
node::FromNode to_wire(const FromNode& message);
// Nothing: it contains no known message, or impossible numbers.
std::optional<ToNode> from_wire(node::ToNode&& message);
std::optional<FromNode> from_wire(node::FromNode&& message);

// From now on bytes that are no message are not reported on standard error.
void silence_protobuf();

}  // namespace offstage::engine
