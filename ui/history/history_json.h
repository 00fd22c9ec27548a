#pragma once
// Parts of the history as JSON: columns of the database, and parts of exported files
// (conversation_export.h).

#include <optional>

#include <QJsonArray>
#include <QJsonObject>
#include <QString>

#include "ui/base/message.h"
#include "ui/engine/sampling.h"

namespace offstage::ui {

// "prompt", "answer", "problem"; "done", "waiting", "streaming", "stopped", "failed".
QString nameOf(Message::Kind kind);
QString nameOf(Message::State state);
std::optional<Message::Kind> messageKind(const QString& name);
std::optional<Message::State> messageState(const QString& name);

// {"ttft_s", "tokens_per_s", "tokens_in", "tokens_reused", "tokens_out", "emulated"}:
// numbers; emulated: 1 if the times are those of an emulated device.
QJsonObject toJson(const AnswerFigures& figures);
AnswerFigures figuresFrom(const QJsonObject& json);  // values that are not numbers become 0

// {"text", "open", "tokens", "seconds"}; open: 1 if the answer ends within the thought.
QJsonObject toJson(const Thought& thought);
Thought thoughtFrom(const QJsonObject& json);  // values of another type count as missing

// {"name", "bytes", "text"}: a file that went with a prompt.
QJsonArray toJson(const QList<Attachment>& attachments);
QList<Attachment> attachmentsFrom(const QJsonArray& json);  // values of another type count as missing

// The figures of a message, with its thought as "thought", its files as "attachments",
// 1 as "edited" if the user wrote an answer, Message::cut as "cut", and as "refused"
// Problem::kept, which says why a prompt was never answered: a column of the database.
// Empty: it has none of them.
QJsonObject figuresColumn(const Message& message);
void readFiguresColumn(const QJsonObject& json, Message& message);

// {"temperature", "top_k", "top_p", "min_p", "repeat_penalty", "repeat_window", "seed",
// "max_tokens", "beam_width", "thinking"}: numbers, except the seed (a text of decimal
// digits, because it uses all 64 bits) and thinking (a text; present only if the user has
// chosen it).
QJsonObject toJson(const Sampling& sampling);
// Missing or out-of-range fields get the default; `complaint`, if given, gets the first
// field that is out of range.
Sampling samplingFrom(const QJsonObject& json, QString* complaint = nullptr);

}  // namespace offstage::ui
