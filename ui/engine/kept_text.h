#pragma once
// Texts that are kept on disk and read in the language of a later start: what tr() gets,
// and what its places stand for, as JSON.
//   {"in": "offstage::ui::AnswerWriter", "text": "The prompt fills %1 tokens.", "with": [2048]}
// "with": numbers ({"count"} in digits above the largest signed one), texts from outside,
// {"bytes"}, {"number", "decimals"}, and such texts.
// "code" tells apart what has the same text. An array: sentences, one after the other.

#include <QJsonArray>
#include <QJsonObject>
#include <QString>

#include "engine/message.h"
#include "ui/base/message.h"

namespace offstage::ui {

// `text`: QT_TRANSLATE_NOOP(context, text).
QJsonObject keptText(const char* context, const char* text, const QJsonArray& with = {});
QJsonObject keptText(const engine::Message& message);  // empty for an empty one

// In the window's language, numbers and sizes in its format. A text alone stays as it is.
QString textOf(const QJsonValue& kept);

// Sets title and sentence in the window's language, and Problem::kept.
void setTexts(Problem& problem, const QJsonValue& title, const QJsonValue& sentences);

}  // namespace offstage::ui
