#include "ui/window/one_instance.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <QSaveFile>
#include <QThread>

namespace offstage::ui {

namespace {

constexpr qint64 kMostRequestBytes = 1 << 20;
const QString kEnding = QStringLiteral(".json");

}  // namespace

OneInstance::OneInstance(const QString& folder, QObject* parent)
    : QObject(parent),
      m_requests(folder + QStringLiteral("/requests")),
      m_lock(folder + QStringLiteral("/window.lock")) {
    QDir().mkpath(m_requests);
    m_lock.setStaleLockTime(0);  // however old: only a dead program's lock is taken over
    m_isFirst = m_lock.tryLock() || m_lock.error() != QLockFile::LockFailedError;
    if (!m_isFirst) {
        return;
    }
    m_watcher.addPath(m_requests);
    connect(&m_watcher, &QFileSystemWatcher::directoryChanged, this, &OneInstance::readRequests);
    // A request that came before the watch began waits already; what nobody waits for any
    // more goes.
    const QDateTime oldest = QDateTime::currentDateTime().addMSecs(-kPatienceMs);
    for (const QFileInfo& file : QDir(m_requests).entryInfoList({u'*' + kEnding}, QDir::Files)) {
        if (file.lastModified() < oldest) {
            QFile::remove(file.filePath());
        }
    }
    QMetaObject::invokeMethod(this, &OneInstance::readRequests, Qt::QueuedConnection);
}

bool OneInstance::handOver(const Request& request) const {
    const QString name = m_requests + u'/' + QString::number(QCoreApplication::applicationPid()) + kEnding;
    QSaveFile file(name);
    const QJsonObject json = {{QStringLiteral("model"), request.model},
                              {QStringLiteral("prompt"), request.prompt},
                              {QStringLiteral("new_chat"), request.newChat}};
    if (!file.open(QFile::WriteOnly) || !file.setPermissions(QFile::ReadOwner | QFile::WriteOwner) ||
        file.write(QJsonDocument(json).toJson()) < 0 || !file.commit()) {
        return false;
    }
    QElapsedTimer waiting;
    for (waiting.start(); QFile::exists(name) && waiting.elapsed() < kPatienceMs;) {
        QThread::msleep(10);
    }
    return !QFile::remove(name);  // a request that is still there was not taken
}

void OneInstance::readRequests() {
    for (const QString& name : QDir(m_requests).entryList({u'*' + kEnding}, QDir::Files, QDir::Time | QDir::Reversed)) {
        QFile file(m_requests + u'/' + name);
        if (file.size() > kMostRequestBytes || !file.open(QFile::ReadOnly)) {
            continue;
        }
        const QJsonObject json = QJsonDocument::fromJson(file.readAll()).object();
        file.close();
        if (file.remove()) {
            Q_EMIT asked({json[QLatin1String("model")].toString(), json[QLatin1String("prompt")].toString(),
                          json[QLatin1String("new_chat")].toBool()});
        }
    }
}

}  // namespace offstage::ui
