#pragma once
// The codes of nodes_messages.def.

#include "engine/message.h"

namespace offstage::engine::messages {
#include "engine/nodes/nodes_messages.def"
}  // namespace offstage::engine::messages
