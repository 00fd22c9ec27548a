#pragma once

#include <QString>

#include "engine/message.h"

namespace offstage::ui {

struct EngineFailure;

// The engine's messages in the window's language: the template by its code, numbers and
// sizes in the language's format. Text from outside (names, paths, the system's words) is
// not translated. Empty for an empty message.
//
// GUI thread.
QString engineText(const engine::Message& message);

// For a failure: its message's text, or the sentence that came with it.
QString sentenceOf(const EngineFailure& failure);

}  // namespace offstage::ui
