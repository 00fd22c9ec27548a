#pragma once

#include <QObject>
#include <QSet>
#include <QStringList>

#include "ui/history/history_values.h"

namespace offstage::ui {

class History;

// Folders of conversations. The history has their names, since a folder may be empty, and
// each conversation's folder; the settings have which are closed in the list. GUI thread
// only.
class ConversationFolders : public QObject {
    Q_OBJECT

  public:
    explicit ConversationFolders(History& history, QObject* parent = nullptr);

    QStringList names() const;  // by the alphabet
    QList<ConversationId> conversationsOf(const QString& folder) const;
    bool isClosed(const QString& folder) const { return m_closed.contains(folder); }
    void setClosed(const QString& folder, bool closed);
    // Returns its name, which no other has.
    QString create();
    // Under the name of another one: both become one. Blanks change nothing.
    void rename(const QString& folder, const QString& name);
    // Its conversations stay, in no folder.
    void remove(const QString& folder);
    // Takes that back.
    void restore(const QString& folder, const QList<ConversationId>& conversations, bool closed);
    void put(ConversationId conversation, const QString& folder);  // empty: in none

  Q_SIGNALS:
    void changed();

  private:
    void keep();

    History& m_history;
    QStringList m_closed;
};

}  // namespace offstage::ui
