#pragma once

#include <QAbstractListModel>

#include "ui/history/history.h"

namespace offstage::ui {

// The conversations of a history, pinned ones first, then the newest; or, during a
// search, the hits. GUI thread only.
class ConversationListModel : public QAbstractListModel {
    Q_OBJECT

  public:
    enum Role {
        ConversationRole = Qt::UserRole + 1,  // quint64
        MessageRole,                          // quint64: where it was found; 0: in the title, or not searched
        SecondLineRole,                       // QString
        ThoughtRole,                          // bool: the hit is in the model's thinking
        PlaceRole,                            // QString: "Thought", before the second line of such a hit; else empty
        MarksRole,                            // QVariantList of QPoint(from, length) in the second line
        SectionRole,                          // QString: "Today", above the first of them; empty above the others
        UnsavedRole,                          // bool: trouble keeps it from the disk; the second line begins with that
    };

    explicit ConversationListModel(History& history, QObject* parent = nullptr);

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;  // renames
    Qt::ItemFlags flags(const QModelIndex& index) const override;

    void setShowArchived(bool archived);  // only these, or only the others
    bool showsArchived() const { return m_archived; }
    // Empty: back to the list.
    void setQuery(const QString& query);
    bool isSearching() const { return !m_query.isEmpty(); }
    // "Answering…", "Number 2 in the queue"; conversations without such a text show the
    // time of their last change.
    void setActivities(const QHash<ConversationId, QString>& activities);
    int rowOf(ConversationId id) const;  // the first; -1: none

  private:
    bool isListed(ConversationId id) const;
    QString sectionOf(ConversationId id) const;
    bool precedes(ConversationId a, ConversationId b) const;
    void rebuild();
    void refreshSecondLines();
    void onAdded(ConversationId id);
    void onChanged(ConversationId id);
    void onRemoved(ConversationId id);

    History& m_history;
    QList<SearchHit> m_rows;  // in the list, only `conversation` counts
    QString m_query;
    bool m_archived = false;
    QHash<ConversationId, QString> m_activities;
};

}  // namespace offstage::ui
