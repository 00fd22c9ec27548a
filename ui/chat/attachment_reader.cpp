#include "ui/chat/attachment_reader.h"

#include <QFileInfo>

namespace offstage::ui {

AttachmentReader::AttachmentReader(QObject* parent) : QObject(parent) {
    m_thread.setMaxThreadCount(1);
}

AttachmentReader::~AttachmentReader() {
    m_stop.request_stop();
    m_thread.waitForDone();
}

void AttachmentReader::start(const QStringList& paths) {
    Q_ASSERT(!m_reading);
    m_reading = true;
    m_stop = std::stop_source();
    m_thread.start([this, paths, stop = m_stop.get_token()] {  // the destructor waits for this
        QList<ReadAttachment> files;
        for (const QString& path : paths) {
            const QString name = QFileInfo(path).fileName();
            const auto say = [this, name](int page, int nPages) {
                QMetaObject::invokeMethod(
                    this,
                    [this, name, page, nPages] {
                        if (m_reading) {
                            Q_EMIT progressed(name, page, nPages);
                        }
                    },
                    Qt::QueuedConnection);
            };
            say(0, 0);
            files.append(readAttachment(path, stop, say));
        }
        QMetaObject::invokeMethod(
            this,
            [this, files] {
                m_reading = false;
                Q_EMIT finished(files);
            },
            Qt::QueuedConnection);
    });
}

}  // namespace offstage::ui
