#pragma once

#include <QFileSystemWatcher>
#include <QLockFile>
#include <QObject>
#include <QString>

namespace offstage::ui {

// One window program for each folder of conversations: a later one hands over what it was
// started for, and ends. It goes through files in a folder beside the conversations:
//
//   window.lock            held by the first, with its process id; a dead one's is taken over
//   requests/ID.json       {"model", "prompt", "new_chat"}, renamed into place; the first
//                          removes it when it has read it
//
// GUI thread only.
class OneInstance : public QObject {
    Q_OBJECT

  public:
    struct Request {
        QString model;   // empty: none was named
        QString prompt;  // the same
        bool newChat = false;
    };
    static constexpr int kPatienceMs = 3000;

    explicit OneInstance(const QString& folder, QObject* parent = nullptr);

    // True also where the folder cannot be written: nobody can be asked then.
    bool isFirst() const { return m_isFirst; }
    // For a later one. False: the first did not take the request within kPatienceMs.
    bool handOver(const Request& request) const;

  Q_SIGNALS:
    void asked(const offstage::ui::OneInstance::Request& request);  // of the first

  private:
    void readRequests();

    QString m_requests;  // folder
    QLockFile m_lock;
    QFileSystemWatcher m_watcher;
    bool m_isFirst = true;
};

}  // namespace offstage::ui
