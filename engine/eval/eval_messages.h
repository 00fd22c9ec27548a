#pragma once
// The codes of eval_messages.def.

#include "engine/message.h"

namespace offstage::engine::messages {
#include "engine/eval/eval_messages.def"
}  // namespace offstage::engine::messages
