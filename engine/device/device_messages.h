#pragma once
// The codes of device_messages.def.

#include "engine/message.h"

namespace offstage::engine::messages {
#include "engine/device/device_messages.def"
}  // namespace offstage::engine::messages
