#pragma once
// Files that are attached to a prompt: how they are read, and what the model gets of them.

#include <functional>
#include <stop_token>

#include <QStringList>

#include "ui/chat/message.h"

class QMimeData;

namespace offstage::ui {

inline constexpr qint64 kLargestAttachment = 4 << 20;  // bytes; about a million tokens

struct ReadAttachment {
    Attachment attachment;
    QString error;  // a sentence that names the file and the remedy; empty: the attachment is whole
};

// Reads a text file: UTF-8, or UTF-16 and UTF-32 that say so with a byte order mark; or the text of a PDF file
// (readPdf()). Everything else is refused, and so are texts above kLargestAttachment. Ends with an error soon after
// `stop` says so. `onPage`: of a PDF file. Blocks for as long as the disk takes; any thread.
ReadAttachment readAttachment(const QString& path, const std::stop_token& stop = {},
                              const std::function<void(int page, int nPages)>& onPage = {});

// What the model gets of a file: its name, and its text in a fence that is longer than any inside it.
QString framed(const Attachment& attachment);
// What the model gets of a prompt: the files, then what the person wrote. Without files it is the text as it is. The
// same prompt always gives the same text, so that its KV cache is found again.
QString promptForModel(const QString& text, const QList<Attachment>& attachments);

// A folder, or a file that a model is read from: by its name, or because it begins as GGUF files do.
bool isModelPath(const QString& path);
// The paths of a drag or of the clipboard that can be attached; empty where any of them is a folder, a model, not
// there, or not on this computer.
QStringList attachablePathsIn(const QMimeData* mime);

}  // namespace offstage::ui
