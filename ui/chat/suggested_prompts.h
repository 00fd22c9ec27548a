#pragma once

#include <QList>
#include <QString>

namespace offstage::ui {

struct SuggestedPrompt {
    QString domain;
    QString prompt;
};

// Reads suggested_prompts.json beside the model: an array of {"domain": ..., "prompt":
// ...}. A file that is missing, too large or of another shape gives no suggestions: they
// are optional and not part of the model.
QList<SuggestedPrompt> readSuggestedPrompts(const QString& model);

}  // namespace offstage::ui
