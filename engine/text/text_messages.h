#pragma once
// The codes of text_messages.def.

#include "engine/message.h"

namespace offstage::engine::messages {
#include "engine/text/text_messages.def"
}  // namespace offstage::engine::messages
