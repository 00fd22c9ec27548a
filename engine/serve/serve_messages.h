#pragma once
// The codes of serve_messages.def.

#include "engine/message.h"

namespace offstage::engine::messages {
#include "engine/serve/serve_messages.def"
}  // namespace offstage::engine::messages
