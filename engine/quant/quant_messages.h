#pragma once
// The codes of quant_messages.def.

#include "engine/message.h"

namespace offstage::engine::messages {
#include "engine/quant/quant_messages.def"
}  // namespace offstage::engine::messages
