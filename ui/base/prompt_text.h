#pragma once
// What the model gets of a prompt and its files.

#include "ui/base/message.h"

namespace offstage::ui {

// What the model gets of a file: its name, and its text in a fence that is longer than any inside it.
QString framed(const Attachment& attachment);
// What the model gets of a prompt: the files, then what the person wrote. Without files it is the text as it is. The
// same prompt always gives the same text, so that its KV cache is found again.
QString promptForModel(const QString& text, const QList<Attachment>& attachments);

}  // namespace offstage::ui
