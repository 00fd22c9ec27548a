#pragma once

#include <QString>

#include "engine/message.h"

namespace offstage::ui {

struct EngineFailure;

// What the engine says, in the language of the window: its template by its code, numbers and sizes as the language
// writes them. What comes from outside (names, paths, words of the system) stays as it is. Empty for an empty message.
//
// GUI thread.
QString engineText(const engine::Message& message);

// Of a failure: its message's, or the sentence that came with it.
QString sentenceOf(const EngineFailure& failure);

}  // namespace offstage::ui
