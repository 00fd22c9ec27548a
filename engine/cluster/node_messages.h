#pragma once
// The codes of node_messages.def.

#include "engine/message.h"

namespace offstage::engine::messages {
#include "engine/cluster/node_messages.def"
}  // namespace offstage::engine::messages
