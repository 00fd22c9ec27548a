#include "ui/history/conversation_list_model.h"

#include <algorithm>

#include <QDateTime>
#include <QLocale>
#include <QMap>
#include <QMimeData>
#include <QPoint>

namespace offstage::ui {

namespace {

const QString kMimeType = QStringLiteral("application/x-offstage-conversation");

QString shownTime(qint64 ms) {
    const QDateTime then = QDateTime::fromMSecsSinceEpoch(ms);
    const QLocale locale;
    return then.date() == QDate::currentDate() ? locale.toString(then.time(), QLocale::ShortFormat)
                                               : locale.toString(then.date(), QLocale::ShortFormat);
}

}  // namespace

ConversationListModel::ConversationListModel(History& history, QObject* parent)
    : QAbstractListModel(parent), m_history(history), m_folders(history) {
    const auto follow = [this] {
        if (!isSearching()) {
            update();
        }
    };
    connect(&m_history, &History::added, this, follow);
    connect(&m_history, &History::changed, this, &ConversationListModel::onChanged);
    connect(&m_history, &History::removed, this, &ConversationListModel::update);
    connect(&m_folders, &ConversationFolders::changed, this, follow);
    connect(&m_history, &History::listed, this, &ConversationListModel::rebuild);
    connect(&m_history, &History::troubleChanged, this, &ConversationListModel::refreshSecondLines);
    rebuild();
}

int ConversationListModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

QVariant ConversationListModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return {};
    }
    if (m_rows[index.row()].hit.conversation == 0) {
        return folderData(m_rows[index.row()], role);
    }
    const SearchHit& row = m_rows[index.row()].hit;
    const ConversationInfo& info = m_history.info(row.conversation);
    const bool found = isSearching() && row.message != 0;
    switch (role) {
        case Qt::DisplayRole:
        case Qt::EditRole:
            return info.title.isEmpty() && role == Qt::DisplayRole ? tr("New conversation") : info.title;
        case Qt::ToolTipRole:
            return info.title + (info.model.isEmpty() ? QString() : u'\n' + info.model);
        case Qt::AccessibleTextRole: {
            const QString place = placeOf(m_rows[index.row()]);
            return data(index, Qt::DisplayRole).toString() + QStringLiteral(", ") +
                   (place.isEmpty() ? place : place + QStringLiteral(": ")) + data(index, SecondLineRole).toString();
        }
        case ConversationRole:
            return row.conversation;
        case MessageRole:
            return row.message;
        case HitRole:
            return static_cast<int>(found ? row.place : SearchHit::Place::Text);
        case PlaceRole:
            return placeOf(m_rows[index.row()]);
        case FolderRole:
            return m_rows[index.row()].folder;
        case SecondLineRole: {
            if (found) {
                return row.snippet;
            }
            const QString activity = m_activities.value(row.conversation);
            QString line = activity.isEmpty() ? shownTime(info.changedMs) : activity;
            if (info.pinned) {
                line = tr("Pinned · %1").arg(line);
            }
            return m_history.isUnsaved(row.conversation) ? tr("Not saved · %1").arg(line) : line;
        }
        case SectionRole: {
            if (isSearching()) {
                return QString();
            }
            const QString section = sectionOf(m_rows[index.row()]);
            const bool isFirst = index.row() == 0 || sectionOf(m_rows[index.row() - 1]) != section;
            return isFirst ? section : QString();
        }
        case UnsavedRole:
            return !found && m_history.isUnsaved(row.conversation);
        case MarksRole:
        case TitleMarksRole: {
            QVariantList marks;
            if (isSearching() && found == (role == MarksRole)) {
                for (const auto& [from, length] : row.marks) {
                    marks.append(QPoint(static_cast<int>(from), static_cast<int>(length)));
                }
            }
            return marks;
        }
        default:
            return {};
    }
}

QVariant ConversationListModel::folderData(const Row& row, int role) const {
    switch (role) {
        case Qt::DisplayRole:
        case Qt::EditRole:
        case FolderRole:
            return row.folder;
        case Qt::ToolTipRole:
        case Qt::AccessibleTextRole:
            return (row.isClosed ? tr("%1, closed folder, %n conversation(s)", nullptr, row.nConversations)
                                 : tr("%1, folder, %n conversation(s)", nullptr, row.nConversations))
                .arg(row.folder);
        case SecondLineRole:
            return QLocale().toString(row.nConversations);
        case ConversationRole:
        case MessageRole:
            return quint64{0};
        case ClosedRole:
            return row.isClosed;
        default:
            return {};
    }
}

// Where a hit is: "Work · Thought".
QString ConversationListModel::placeOf(const Row& row) const {
    if (!isSearching()) {
        return {};
    }
    QStringList places;
    if (const QString& folder = m_history.info(row.hit.conversation).folder; !folder.isEmpty()) {
        places << folder;
    }
    if (row.hit.message != 0 && row.hit.place == SearchHit::Place::Thought) {
        places << tr("Thought", "where a search found something");
    } else if (row.hit.message != 0 && row.hit.place == SearchHit::Place::File) {
        places << tr("Attached file", "where a search found something");
    }
    return places.join(QStringLiteral(" · "));
}

Qt::ItemFlags ConversationListModel::flags(const QModelIndex& index) const {
    if (!index.isValid()) {
        return Qt::ItemIsDropEnabled;  // below the last row
    }
    const bool isConversation = m_rows[index.row()].hit.conversation != 0;
    return QAbstractListModel::flags(index) | Qt::ItemIsEditable |
           (isSearching() ? Qt::NoItemFlags : Qt::ItemIsDropEnabled) |
           (isConversation && !isSearching() ? Qt::ItemIsDragEnabled : Qt::NoItemFlags);
}

QStringList ConversationListModel::mimeTypes() const {
    return {kMimeType};
}

QMimeData* ConversationListModel::mimeData(const QModelIndexList& indexes) const {
    auto* data = new QMimeData;
    data->setData(kMimeType, QByteArray::number(m_rows[indexes.first().row()].hit.conversation));
    return data;
}

bool ConversationListModel::dropMimeData(const QMimeData* data, Qt::DropAction, int, int, const QModelIndex& parent) {
    const ConversationId id = data->data(kMimeType).toULongLong();
    if (!m_history.contains(id)) {
        return false;
    }
    m_folders.put(id, parent.isValid() ? m_rows[parent.row()].folder : QString());
    return true;
}

bool ConversationListModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::EditRole || !checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return false;
    }
    const Row row = m_rows[index.row()];
    if (row.hit.conversation == 0) {
        const QString name = value.toString().simplified();
        // The rows stay, with their editor, unless the folder joins another one.
        for (Row& each : m_rows) {
            if (each.folder == row.folder && !name.isEmpty() && !m_folders.names().contains(name)) {
                each.folder = name;
            }
        }
        m_folders.rename(row.folder, name);
    } else if (value.toString() != m_history.info(row.hit.conversation).title) {
        m_history.setTitle(row.hit.conversation, value.toString());
    }
    return true;
}

int ConversationListModel::rowOf(ConversationId id) const {
    const auto found =
        std::find_if(m_rows.begin(), m_rows.end(), [id](const Row& row) { return row.hit.conversation == id; });
    return found == m_rows.end() || id == 0 ? -1 : static_cast<int>(found - m_rows.begin());
}

int ConversationListModel::rowOfFolder(const QString& folder) const {
    return static_cast<int>(m_rows.indexOf(Row{{}, folder, 0, false}));
}

void ConversationListModel::setShowArchived(bool archived) {
    if (archived != m_archived) {
        m_archived = archived;
        rebuild();
    }
}

void ConversationListModel::setQuery(const QString& query) {
    m_query = query.trimmed();
    rebuild();
}

void ConversationListModel::setActivities(const QHash<ConversationId, QString>& activities) {
    if (activities != m_activities) {
        m_activities = activities;
        refreshSecondLines();
    }
}

void ConversationListModel::refreshSecondLines() {
    if (!m_rows.isEmpty()) {
        Q_EMIT dataChanged(index(0), index(rowCount() - 1), {SecondLineRole, UnsavedRole});
    }
}

QString ConversationListModel::sectionOf(const Row& row) const {
    if (!row.folder.isEmpty()) {
        return {};
    }
    const ConversationInfo& info = m_history.info(row.hit.conversation);
    if (info.pinned) {
        return tr("Pinned");
    }
    const qint64 days = QDateTime::fromMSecsSinceEpoch(info.changedMs).date().daysTo(QDate::currentDate());
    return days <= 0 ? tr("Today") : days == 1 ? tr("Yesterday") : days < 7 ? tr("This week") : tr("Older");
}

QList<ConversationListModel::Row> ConversationListModel::wantedRows() const {
    QList<Row> rows;
    if (isSearching()) {
        for (const SearchHit& hit : m_history.search(m_query)) {
            rows.append({hit, {}, 0, false});
        }
        return rows;
    }
    QList<ConversationInfo> listed = m_history.conversations();
    listed.removeIf([this](const ConversationInfo& info) { return info.archived != m_archived; });
    std::sort(listed.begin(), listed.end(), [](const ConversationInfo& a, const ConversationInfo& b) {
        if (a.pinned != b.pinned) {
            return a.pinned;
        }
        return a.changedMs != b.changedMs ? a.changedMs > b.changedMs : a.id > b.id;
    });
    QMap<QString, QList<Row>> inFolder;
    for (const ConversationInfo& info : std::as_const(listed)) {
        Row row{{}, info.folder, 0, false};
        row.hit.conversation = info.id;
        inFolder[info.folder].append(row);
    }
    for (const QString& folder : m_folders.names()) {
        if (m_archived && !inFolder.contains(folder)) {
            continue;
        }
        const QList<Row> inIt = inFolder.value(folder);
        rows.append({{}, folder, static_cast<int>(inIt.size()), m_folders.isClosed(folder)});
        if (!rows.last().isClosed) {
            rows += inIt;
        }
    }
    return rows + inFolder.value({});
}

void ConversationListModel::rebuild() {
    beginResetModel();
    m_rows = wantedRows();
    endResetModel();
}

// Row by row, so that selection, editors and the scrolled place stay.
void ConversationListModel::update() {
    QList<Row> wanted = isSearching() ? m_rows : wantedRows();
    if (isSearching()) {
        wanted.removeIf([this](const Row& row) { return !m_history.contains(row.hit.conversation); });
    }
    for (int row = m_rows == wanted ? -1 : rowCount() - 1; row >= 0; --row) {
        if (!wanted.contains(m_rows[row])) {
            beginRemoveRows({}, row, row);
            m_rows.removeAt(row);
            endRemoveRows();
        }
    }
    for (int row = 0; row < wanted.size(); ++row) {
        if (row < m_rows.size() && m_rows[row] == wanted[row]) {
            continue;
        }
        const auto from = static_cast<int>(m_rows.indexOf(wanted[row], row));
        const auto down = row < m_rows.size() ? static_cast<int>(wanted.indexOf(m_rows[row], row)) : -1;
        if (from < 0) {
            beginInsertRows({}, row, row);
            m_rows.insert(row, wanted[row]);
            endInsertRows();
        } else if (from == row + 1 && down > row && down < m_rows.size()) {  // one goes down: the others stay
            beginMoveRows({}, row, row, {}, down + 1);
            m_rows.move(row, down);
            endMoveRows();
        } else {
            beginMoveRows({}, from, from, {}, row);
            m_rows.move(from, row);
            endMoveRows();
        }
    }
    for (int row = 0; row < rowCount(); ++row) {
        if (m_rows[row].nConversations != wanted[row].nConversations || m_rows[row].isClosed != wanted[row].isClosed) {
            m_rows[row] = wanted[row];
            Q_EMIT dataChanged(index(row), index(row), {SecondLineRole, ClosedRole});
        }
    }
}

void ConversationListModel::onChanged(ConversationId id) {
    if (isSearching()) {
        if (rowOf(id) >= 0) {
            Q_EMIT dataChanged(index(0), index(rowCount() - 1));
        }
        return;
    }
    update();
    if (const int row = rowOf(id); row >= 0) {
        Q_EMIT dataChanged(index(row), index(row));
    }
}

}  // namespace offstage::ui
