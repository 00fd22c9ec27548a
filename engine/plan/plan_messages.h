#pragma once
// The codes of plan_messages.def.

#include "engine/message.h"

namespace offstage::engine::messages {
#include "engine/plan/plan_messages.def"
}  // namespace offstage::engine::messages
