#pragma once

#include <QByteArray>
#include <QString>

class QImage;

namespace offstage::ui {

// Writes a file that a person chose, by the rules of engine::FileWriter: a regular file is the old one or the whole new
// one, the target of a link changes, a device is written to. Empty: done; else the reason, for a sentence that names
// the file. Never waits for a FIFO's reader.
QString saveFile(const QString& path, const QByteArray& bytes);
QString savePng(const QString& path, const QImage& image);

}  // namespace offstage::ui
