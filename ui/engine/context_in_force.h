#pragma once

#include "ui/engine/engine_controller.h"

namespace offstage::ui {

// Tokens; a change of budgets may have made it another one than the model was opened
// with. 0: no model is open.
inline qint64 contextInForce(const EngineController& engine) {
    if (!engine.model()) {
        return 0;
    }
    const auto snapshot = engine.snapshot();
    return snapshot && snapshot->context_size > 0 ? qint64{snapshot->context_size} : qint64{engine.model()->context};
}

}  // namespace offstage::ui
