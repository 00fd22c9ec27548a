#pragma once

#include <span>

namespace offstage::ui {

// What the engine says to a person, as its sources write it: whole sentences, and parts that stand in the places of
// others. %1 to %9 stand for names, numbers and such parts. The engine has no translations, so its sentences are listed
// here for lupdate (context "EngineText") and for engineText(), which finds them again in what it says.
std::span<const char* const> engineSentences();

}  // namespace offstage::ui
