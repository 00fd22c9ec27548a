#pragma once
// The codes of telemetry_messages.def.

#include "engine/message.h"

namespace offstage::engine::messages {
#include "engine/telemetry/telemetry_messages.def"
}  // namespace offstage::engine::messages
