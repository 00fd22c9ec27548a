#pragma once
// The codes of cluster_messages.def.

#include "engine/message.h"

namespace offstage::engine::messages {
#include "engine/cluster/cluster_messages.def"
}  // namespace offstage::engine::messages
