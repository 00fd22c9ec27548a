#include "ui/base/save_file.h"

#include <QBuffer>
#include <QFile>
#include <QFileDialog>
#include <QImageWriter>

#include "engine/files/file_writer.h"

namespace offstage::ui {

QString saveFile(const QString& path, const QByteArray& bytes) {
    const std::string why = engine::write_file(QFile::encodeName(path).toStdString(),
                                               {bytes.constData(), static_cast<std::size_t>(bytes.size())},
                                               {.make_folders = false, .wait_for_reader = false});
    return QString::fromStdString(why);
}

// Drawn in memory first: a picture that fails half way costs nothing that was there.
QString savePng(const QString& path, const QImage& image) {
    QBuffer png;
    QImageWriter writer(&png, "PNG");
    return writer.write(image) ? saveFile(path, png.data()) : writer.errorString();
}

namespace {

QFileDialog* fileDialog(QWidget* parent, const QString& title, const QString& folder,
                        const std::function<void(const QString&)>& chosen) {
    auto* dialog = new QFileDialog(parent, title);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    if (!folder.isEmpty()) {
        dialog->setDirectory(folder);
    }
    QObject::connect(dialog, &QFileDialog::fileSelected, parent, chosen);
    return dialog;
}

}  // namespace

void openFileDialog(QWidget* parent, const QString& title, const QStringList& filters, const QString& folder,
                    const std::function<void(const QString& path)>& chosen) {
    QFileDialog* dialog = fileDialog(parent, title, folder, chosen);
    dialog->setFileMode(QFileDialog::ExistingFile);
    if (!filters.isEmpty()) {
        dialog->setNameFilters(filters);
    }
    dialog->open();
}

void openFolderDialog(QWidget* parent, const QString& title, const QString& folder,
                      const std::function<void(const QString& path)>& chosen) {
    QFileDialog* dialog = fileDialog(parent, title, folder, chosen);
    dialog->setFileMode(QFileDialog::Directory);
    dialog->open();
}

void openSaveDialog(QWidget* parent, const QString& title, const QStringList& filters, const QString& folder,
                    const QString& name, const std::function<void(const QString& path)>& chosen) {
    QFileDialog* dialog = fileDialog(parent, title, folder, chosen);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setNameFilters(filters);
    const auto takeEnding = [dialog](const QString& filter) {
        dialog->setDefaultSuffix(filter.section(QStringLiteral("*."), 1).chopped(1));
    };
    takeEnding(filters.front());
    QObject::connect(dialog, &QFileDialog::filterSelected, dialog, takeEnding);
    if (!name.isEmpty()) {
        dialog->selectFile(name);
    }
    dialog->open();
}

}  // namespace offstage::ui
