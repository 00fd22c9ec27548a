#pragma once
// The codes of experts_messages.def.

#include "engine/message.h"

namespace offstage::engine::messages {
#include "engine/experts/experts_messages.def"
}  // namespace offstage::engine::messages
