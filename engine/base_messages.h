#pragma once
// The codes of base_messages.def.

#include "engine/message.h"

namespace offstage::engine::messages {
#include "engine/base_messages.def"
}  // namespace offstage::engine::messages
