#pragma once
// The model's input for a prompt and its files.

#include "ui/base/message.h"

namespace offstage::ui {

// The model's input for a file: its name, and its text in a fence that is longer than any
// inside it.
QString framed(const Attachment& attachment);
// The model's input for a prompt: the files, then the user's text. Without files it is
// the text unchanged. The same prompt always gives the same text, so that its KV cache is
// found again.
QString promptForModel(const QString& text, const QList<Attachment>& attachments);

// For people, above a prompt: what the model no longer sees, and the summary that it sees
// instead. Precondition: there is a cut.
QString cutText(const Message& prompt);

}  // namespace offstage::ui
