#include "ui/engine/engine_text.h"

#include "ui/engine/engine_values.h"
#include "ui/engine/kept_text.h"

namespace offstage::ui {

QString engineText(const engine::Message& message) {
    return textOf(keptText(message));
}

QString sentenceOf(const EngineFailure& failure) {
    return failure.message.empty() ? failure.sentence : engineText(failure.message);
}

}  // namespace offstage::ui
