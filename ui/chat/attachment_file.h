#pragma once
// Files that are attached to a prompt: how they are read.

#include <functional>
#include <stop_token>

#include <QStringList>

#include "ui/base/message.h"

class QMimeData;

namespace offstage::ui {

inline constexpr qint64 kLargestAttachment = 4 << 20;  // bytes; about a million tokens

struct ReadAttachment {
    Attachment attachment;
    QString error;  // a sentence that names the file and the remedy; empty: the attachment is whole
};

// Reads a text file: UTF-8, or UTF-16 and UTF-32 with a byte order mark; or the text of a
// PDF file (readPdf()). Everything else is refused, and so are texts above
// kLargestAttachment. Ends with an error soon after a stop request. `onPage`: for a PDF
// file. Blocks for the time of the disk; any thread.
ReadAttachment readAttachment(const QString& path, const std::stop_token& stop = {},
                              const std::function<void(int page, int nPages)>& onPage = {});

// A folder, or a file of a model: by its name, or because it begins like a GGUF file.
bool isModelPath(const QString& path);
// The paths of a drag or of the clipboard that can be attached. Empty if any of them is a
// folder, a model, missing, or not on this computer.
QStringList attachablePathsIn(const QMimeData* mime);

}  // namespace offstage::ui
