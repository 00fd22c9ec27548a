#pragma once

#include <functional>

#include <QByteArray>
#include <QString>
#include <QStringList>

class QImage;
class QWidget;

namespace offstage::ui {

template <typename T>
struct Setting;

// Writes a file that the user chose, by the rules of engine::FileWriter: a regular file
// is the old one or the whole new one, the target of a link changes, a device is written
// to. Empty: done; otherwise the reason, for a sentence that names the file. Never waits
// for a FIFO's reader.
QString saveFile(const QString& path, const QByteArray& bytes);
QString savePng(const QString& path, const QImage& image);

// Opens a dialog for the name of a file to write; `parent` owns it, and `chosen` gets the
// path. Each filter names one ending, "CSV (*.csv)", which is added to a name without an
// ending; `name` may have dots, and is offered with the first ending. Begins in the
// folder where a file was saved last, or else at home.
void openSaveDialog(QWidget* parent, const QString& title, const QStringList& filters, const QString& name,
                    const std::function<void(const QString& path)>& chosen);

// The same for one existing file, or one existing folder. `last` keeps the folder in which
// the choice was made, where the next dialog begins; before the first, it begins in
// `folder`, or else at home.
void openFileDialog(QWidget* parent, const QString& title, const QStringList& filters, const Setting<QString>& last,
                    const std::function<void(const QString& path)>& chosen, const QString& folder = {});
void openFolderDialog(QWidget* parent, const QString& title, const Setting<QString>& last,
                      const std::function<void(const QString& path)>& chosen, const QString& folder = {});
// One where models are looked for: the next dialog begins in it.
void chooseModelsFolder(QWidget* parent, const std::function<void(const QString& path)>& chosen);

}  // namespace offstage::ui
