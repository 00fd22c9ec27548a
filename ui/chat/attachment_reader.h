#pragma once

#include <QList>
#include <QObject>
#include <QStringList>

#include "ui/base/background_thread.h"
#include "ui/chat/attachment_file.h"

namespace offstage::ui {

// Reads files on a separate thread, one after another. GUI thread only.
class AttachmentReader : public QObject {
    Q_OBJECT

  public:
    explicit AttachmentReader(QObject* parent = nullptr);

    // Do not call it while it is reading. finished() follows, with a result for each
    // path, in order.
    void start(const QStringList& paths);
    bool isReading() const { return m_reading; }
    // finished() follows; files not read by then have an error that says so.
    void cancel() { m_thread.stop(); }

  Q_SIGNALS:
    // A page of a file is being read; nPages 0: it has none.
    void progressed(const QString& name, int page, int nPages);
    void finished(const QList<offstage::ui::ReadAttachment>& files);

  private:
    bool m_reading = false;
    BackgroundThread m_thread;  // its end waits for the page or block that is being read
};

}  // namespace offstage::ui
