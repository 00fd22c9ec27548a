#pragma once

#include <string>

#include <QString>

namespace offstage::ui {

// What the engine says in English, in the language of the window. Names and numbers stay as they are, but sizes get the
// language's decimal point. Sentences that follow one another, and those inside others, are translated each; what is
// not in engineSentences() comes back as it is.
//
// GUI thread. Cheap where the same is asked again, and in English, where nothing is done.
QString engineText(const QString& english);
QString engineText(const std::string& english);

}  // namespace offstage::ui
