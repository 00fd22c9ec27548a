#pragma once
// The codes of run_messages.def.

#include "engine/message.h"

namespace offstage::engine::messages {
#include "engine/run/run_messages.def"
}  // namespace offstage::engine::messages
