#pragma once
// The codes of command_messages.def.

#include "engine/message.h"

namespace offstage::engine::messages {
#include "app/cli/command_messages.def"
}  // namespace offstage::engine::messages
