#pragma once
// The codes of hub_messages.def.

#include "engine/message.h"

namespace offstage::engine::messages {
#include "engine/hub/hub_messages.def"
}  // namespace offstage::engine::messages
