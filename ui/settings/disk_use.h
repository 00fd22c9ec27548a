#pragma once

#include <QString>
#include <QStringList>

namespace offstage::ui {

// What a file or a folder with all below it takes of the disk. Links are counted as themselves and never followed.
// Blocks for as long as the disk takes; 0 for what is not there. Any thread.
quint64 bytesAt(const QString& path);

// Removes the files in a folder and below it; the folder stays. Links are removed, what they point to stays. Returns
// what could not be removed, the reason with each; empty: nothing is left. Any thread.
QStringList emptyFolder(const QString& folder);

}  // namespace offstage::ui
