#include "ui/history/conversation_folders.h"

#include <algorithm>

#include "ui/base/settings.h"
#include "ui/history/history.h"

namespace offstage::ui {

ConversationFolders::ConversationFolders(History& history, QObject* parent)
    : QObject(parent), m_history(history), m_closed(settings::kClosedFolders.value()) {
    const QStringList earlier = settings::kFolders.value();
    const quint64 before = m_history.changeCount();
    for (const QString& folder : earlier) {
        m_history.setFolderExists(folder, true);
    }
    if (earlier.isEmpty() || !m_history.isOpen()) {
        return;
    }
    // They leave the settings once the history has them on the disk.
    if (const quint64 wanted = m_history.changeCount(); wanted == before) {
        settings::kFolders.remove();
    } else {
        auto* until = new QObject(this);
        connect(&m_history, &History::saved, until, [wanted, until](quint64 changes) {
            if (changes >= wanted) {
                settings::kFolders.remove();
                until->deleteLater();
            }
        });
    }
}

QStringList ConversationFolders::names() const {
    QStringList all = m_history.folders();
    for (const ConversationInfo& info : m_history.conversations()) {
        if (!info.folder.isEmpty()) {
            all << info.folder;
        }
    }
    all.removeDuplicates();
    std::sort(all.begin(), all.end(),
              [](const QString& a, const QString& b) { return QString::localeAwareCompare(a, b) < 0; });
    return all;
}

QList<ConversationId> ConversationFolders::conversationsOf(const QString& folder) const {
    QList<ConversationId> ids;
    for (const ConversationInfo& info : m_history.conversations()) {
        if (info.folder == folder) {
            ids << info.id;
        }
    }
    return ids;
}

void ConversationFolders::keep() {
    m_closed.removeDuplicates();
    settings::kClosedFolders.set(m_closed);
    Q_EMIT changed();
}

void ConversationFolders::setClosed(const QString& folder, bool closed) {
    m_closed.removeAll(folder);
    if (closed) {
        m_closed << folder;
    }
    keep();
}

QString ConversationFolders::create() {
    const QStringList taken = names();
    QString name = tr("New folder");
    for (int n = 2; taken.contains(name); ++n) {
        name = tr("New folder %1").arg(n);
    }
    m_history.setFolderExists(name, true);
    keep();
    return name;
}

void ConversationFolders::rename(const QString& folder, const QString& name) {
    const QString wanted = name.simplified();
    if (wanted.isEmpty() || wanted == folder) {
        return;
    }
    if (isClosed(folder) && !names().contains(wanted)) {
        m_closed << wanted;
    }
    m_history.setFolderExists(folder, false);
    m_history.setFolderExists(wanted, true);
    m_closed.removeAll(folder);
    for (const ConversationId id : conversationsOf(folder)) {
        m_history.setFolder(id, wanted);
    }
    keep();
}

void ConversationFolders::remove(const QString& folder) {
    m_history.setFolderExists(folder, false);
    m_closed.removeAll(folder);
    for (const ConversationId id : conversationsOf(folder)) {
        m_history.setFolder(id, {});
    }
    keep();
}

void ConversationFolders::restore(const QString& folder, const QList<ConversationId>& conversations, bool closed) {
    m_history.setFolderExists(folder, true);
    for (const ConversationId id : conversations) {
        m_history.setFolder(id, folder);
    }
    setClosed(folder, closed);
}

void ConversationFolders::put(ConversationId conversation, const QString& folder) {
    // A folder that becomes empty stays.
    m_history.setFolderExists(m_history.info(conversation).folder, true);
    m_history.setFolderExists(folder, true);
    m_history.setFolder(conversation, folder);
    keep();
}

}  // namespace offstage::ui
