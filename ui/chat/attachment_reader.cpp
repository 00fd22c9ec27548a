#include "ui/chat/attachment_reader.h"

#include <QFileInfo>

namespace offstage::ui {

AttachmentReader::AttachmentReader(QObject* parent) : QObject(parent), m_thread(this) {}

void AttachmentReader::start(const QStringList& paths) {
    Q_ASSERT(!m_reading);
    m_reading = true;
    m_thread.start([this, paths](const BackgroundThread::Reply& reply, const std::stop_token& stop) {
        QList<ReadAttachment> files;
        for (const QString& path : paths) {
            const auto say = [&, name = QFileInfo(path).fileName()](int page, int nPages) {
                reply([this, name, page, nPages] { Q_EMIT progressed(name, page, nPages); });
            };
            say(0, 0);
            files.append(readAttachment(path, stop, say));
        }
        reply([this, files] {
            m_reading = false;
            Q_EMIT finished(files);
        });
    });
}

}  // namespace offstage::ui
