#pragma once

#include "engine/run/session.h"

namespace offstage::ui {

// The VRAM's parts under a plan, as far as it contains them.
engine::MemoryLedger vramAfter(const engine::Plan& plan, const engine::MemoryLedger& now);
// The RAM's parts: a plan contains only the sum. Everything but experts is assumed to
// stay.
engine::MemoryLedger ramAfter(const engine::Plan& plan, const engine::MemoryLedger& now);

}  // namespace offstage::ui
