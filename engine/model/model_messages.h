#pragma once
// The codes of model_messages.def.

#include "engine/message.h"

namespace offstage::engine::messages {
#include "engine/model/model_messages.def"
}  // namespace offstage::engine::messages
