#pragma once
// The codes of dispatch_messages.def.

#include "engine/message.h"

namespace offstage::engine::messages {
#include "engine/dispatch/dispatch_messages.def"
}  // namespace offstage::engine::messages
