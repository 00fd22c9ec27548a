#pragma once

#include <QAbstractListModel>

#include "ui/history/conversation_folders.h"
#include "ui/history/history.h"

namespace offstage::ui {

// The folders of a history, each with its conversations unless it is closed, then those
// in no folder: pinned ones first, then the newest. Or, during a search, the hits. A
// conversation that is dropped on a row goes where that is. GUI thread only.
class ConversationListModel : public QAbstractListModel {
    Q_OBJECT

  public:
    enum Role {
        ConversationRole = Qt::UserRole + 1,  // quint64; 0: the row is a folder
        MessageRole,                          // quint64: where it was found; 0: in the title, or not searched
        SecondLineRole,                       // QString
        HitRole,                              // int: SearchHit::Place of the hit
        PlaceRole,                            // QString: of a hit, its folder and "Thought"; else empty
        MarksRole,                            // QVariantList of QPoint(from, length) in the second line
        TitleMarksRole,                       // the same in the title, of a hit there
        SectionRole,                          // QString: "Today", above the first of them; empty above the others
        UnsavedRole,                          // bool: trouble keeps it from the disk; the second line begins with that
        FolderRole,                           // QString: that it is, or is listed in; empty: none, or a search's hit
        ClosedRole,                           // bool: a closed folder
    };

    explicit ConversationListModel(History& history, QObject* parent = nullptr);

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;  // renames
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    QStringList mimeTypes() const override;
    QMimeData* mimeData(const QModelIndexList& indexes) const override;
    Qt::DropActions supportedDropActions() const override { return Qt::MoveAction; }
    bool dropMimeData(const QMimeData* data, Qt::DropAction action, int row, int column,
                      const QModelIndex& parent) override;

    ConversationFolders& folders() { return m_folders; }

    void setShowArchived(bool archived);  // only these, or only the others
    bool showsArchived() const { return m_archived; }
    // Empty: back to the list.
    void setQuery(const QString& query);
    bool isSearching() const { return !m_query.isEmpty(); }
    // "Answering…", "Number 2 in the queue"; conversations without such a text show the
    // time of their last change.
    void setActivities(const QHash<ConversationId, QString>& activities);
    int rowOf(ConversationId id) const;  // the first; -1: none
    int rowOfFolder(const QString& folder) const;

  private:
    struct Row {
        SearchHit hit;           // in the list only `conversation` counts; 0: a folder
        QString folder;          // it is this one, or is listed in it
        int nConversations = 0;  // of a folder
        bool isClosed = false;   // the same

        bool operator==(const Row& other) const {
            return hit.conversation == other.hit.conversation && hit.message == other.hit.message &&
                   folder == other.folder;
        }
    };

    QVariant folderData(const Row& row, int role) const;
    QString sectionOf(const Row& row) const;
    QString placeOf(const Row& row) const;
    QList<Row> wantedRows() const;
    void rebuild();
    void update();
    void refreshSecondLines();
    void onChanged(ConversationId id);

    History& m_history;
    ConversationFolders m_folders;
    QList<Row> m_rows;
    QString m_query;
    bool m_archived = false;
    QHash<ConversationId, QString> m_activities;
};

}  // namespace offstage::ui
