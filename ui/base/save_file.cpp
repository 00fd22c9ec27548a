#include "ui/base/save_file.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QImageWriter>

#include "engine/files/file_writer.h"
#include "ui/base/settings.h"

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

QFileDialog* fileDialog(QWidget* parent, const QString& title, const Setting<QString>& last,
                        const std::function<void(const QString&)>& chosen, const QString& folder) {
    auto* dialog = new QFileDialog(parent, title);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setDirectory(settings::folderOf(last, folder));
    QObject::connect(dialog, &QFileDialog::fileSelected, parent, [last, chosen](const QString& path) {
        last.set(QFileInfo(path).path());
        chosen(path);
    });
    return dialog;
}

}  // namespace

void openFileDialog(QWidget* parent, const QString& title, const QStringList& filters, const Setting<QString>& last,
                    const std::function<void(const QString& path)>& chosen, const QString& folder) {
    QFileDialog* dialog = fileDialog(parent, title, last, chosen, folder);
    dialog->setFileMode(QFileDialog::ExistingFile);
    if (!filters.isEmpty()) {
        dialog->setNameFilters(filters);
    }
    dialog->open();
}

void openFolderDialog(QWidget* parent, const QString& title, const Setting<QString>& last,
                      const std::function<void(const QString& path)>& chosen, const QString& folder) {
    QFileDialog* dialog = fileDialog(parent, title, last, chosen, folder);
    dialog->setFileMode(QFileDialog::Directory);
    dialog->open();
}

void chooseModelsFolder(QWidget* parent, const std::function<void(const QString& path)>& chosen) {
    openFolderDialog(parent, QCoreApplication::translate("FileDialogs", "Look for models in a folder"),
                     settings::kLastFolder, [chosen](const QString& folder) {
                         settings::kLastFolder.set(folder);
                         chosen(folder);
                     });
}

void openSaveDialog(QWidget* parent, const QString& title, const QStringList& filters, const QString& name,
                    const std::function<void(const QString& path)>& chosen) {
    QFileDialog* dialog = fileDialog(parent, title, settings::kLastExportFolder, chosen, {});
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setNameFilters(filters);
    const auto endingOf = [](const QString& filter) { return filter.section(QStringLiteral("*."), 1).chopped(1); };
    dialog->setDefaultSuffix(endingOf(filters.front()));
    QObject::connect(dialog, &QFileDialog::filterSelected, dialog,
                     [dialog, endingOf](const QString& filter) { dialog->setDefaultSuffix(endingOf(filter)); });
    if (!name.isEmpty()) {
        dialog->selectFile(name + u'.' + endingOf(filters.front()));
    }
    dialog->open();
}

}  // namespace offstage::ui
