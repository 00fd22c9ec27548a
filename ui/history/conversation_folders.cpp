#include "ui/history/conversation_folders.h"

#include <algorithm>

#include <QSettings>

#include "ui/base/settings.h"
#include "ui/history/history.h"

namespace offstage::ui {

ConversationFolders::ConversationFolders(History& history, QObject* parent)
    : QObject(parent),
      m_history(history),
      m_known(settings::kFolders.value()),
      m_closed(settings::kClosedFolders.value()) {}

QStringList ConversationFolders::names() const {
    QStringList all = m_known;
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
    m_known.removeDuplicates();
    m_closed.removeDuplicates();
    QSettings open;
    settings::kFolders.set(open, m_known);
    settings::kClosedFolders.set(open, m_closed);
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
    m_known << name;
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
    m_known.removeAll(folder);
    m_known << wanted;
    m_closed.removeAll(folder);
    for (const ConversationId id : conversationsOf(folder)) {
        m_history.setFolder(id, wanted);
    }
    keep();
}

void ConversationFolders::remove(const QString& folder) {
    m_known.removeAll(folder);
    m_closed.removeAll(folder);
    for (const ConversationId id : conversationsOf(folder)) {
        m_history.setFolder(id, {});
    }
    keep();
}

void ConversationFolders::restore(const QString& folder, const QList<ConversationId>& conversations, bool closed) {
    m_known << folder;
    for (const ConversationId id : conversations) {
        m_history.setFolder(id, folder);
    }
    setClosed(folder, closed);
}

void ConversationFolders::put(ConversationId conversation, const QString& folder) {
    // A folder that becomes empty stays.
    const QString before = m_history.info(conversation).folder;
    for (const QString& name : {before, folder}) {
        if (!name.isEmpty() && !m_known.contains(name)) {
            m_known << name;
        }
    }
    m_history.setFolder(conversation, folder);
    keep();
}

}  // namespace offstage::ui
