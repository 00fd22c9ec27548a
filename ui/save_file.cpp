#include "ui/save_file.h"

#include <QBuffer>
#include <QFile>
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

}  // namespace offstage::ui
