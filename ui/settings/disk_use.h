#pragma once

#include <QString>
#include <QStringList>

namespace offstage::ui {

// The disk space of a file or a folder with its contents. Links are counted as themselves
// and never followed. Blocks for the time of the disk; 0 for a missing path. Any thread.
quint64 bytesAt(const QString& path);

// Removes the files in a folder and below it; the folder stays. Links are removed, their
// targets stay. Returns the paths that could not be removed, the reason with each; empty:
// nothing is left. Any thread.
QStringList emptyFolder(const QString& folder);

}  // namespace offstage::ui
