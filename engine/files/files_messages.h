#pragma once
// The codes of files_messages.def.

#include "engine/message.h"

namespace offstage::engine::messages {
#include "engine/files/files_messages.def"
}  // namespace offstage::engine::messages
