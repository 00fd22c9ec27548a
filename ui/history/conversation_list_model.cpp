#include "ui/history/conversation_list_model.h"

#include <algorithm>

#include <QDateTime>
#include <QLocale>
#include <QPoint>

namespace offstage::ui {

namespace {

QString shownTime(qint64 ms) {
    const QDateTime then = QDateTime::fromMSecsSinceEpoch(ms);
    const QLocale locale;
    return then.date() == QDate::currentDate() ? locale.toString(then.time(), QLocale::ShortFormat)
                                               : locale.toString(then.date(), QLocale::ShortFormat);
}

}  // namespace

ConversationListModel::ConversationListModel(History& history, QObject* parent)
    : QAbstractListModel(parent), m_history(history) {
    connect(&m_history, &History::added, this, &ConversationListModel::onAdded);
    connect(&m_history, &History::changed, this, &ConversationListModel::onChanged);
    connect(&m_history, &History::removed, this, &ConversationListModel::onRemoved);
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
    const SearchHit& row = m_rows[index.row()];
    const ConversationInfo& info = m_history.info(row.conversation);
    const bool found = isSearching() && row.message != 0;
    switch (role) {
        case Qt::DisplayRole:
        case Qt::EditRole:
            return info.title.isEmpty() && role == Qt::DisplayRole ? tr("New conversation") : info.title;
        case Qt::ToolTipRole:
            return info.title + (info.model.isEmpty() ? QString() : u'\n' + info.model);
        case Qt::AccessibleTextRole:
            return data(index, Qt::DisplayRole).toString() + QStringLiteral(", ") +
                   (found && row.inThought ? data(index, PlaceRole).toString() + QStringLiteral(": ") : QString()) +
                   data(index, SecondLineRole).toString();
        case ConversationRole:
            return row.conversation;
        case MessageRole:
            return row.message;
        case ThoughtRole:
            return found && row.inThought;
        case PlaceRole:
            return found && row.inThought ? tr("Thought", "where a search found something") : QString();
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
            const QString section = sectionOf(row.conversation);
            const bool isFirst = index.row() == 0 || sectionOf(m_rows[index.row() - 1].conversation) != section;
            return isFirst ? section : QString();
        }
        case UnsavedRole:
            return !found && m_history.isUnsaved(row.conversation);
        case MarksRole: {
            QVariantList marks;
            for (const auto& [from, length] : found ? row.marks : decltype(row.marks)()) {
                marks.append(QPoint(static_cast<int>(from), static_cast<int>(length)));
            }
            return marks;
        }
        default:
            return {};
    }
}

Qt::ItemFlags ConversationListModel::flags(const QModelIndex& index) const {
    return QAbstractListModel::flags(index) | (index.isValid() ? Qt::ItemIsEditable : Qt::NoItemFlags);
}

bool ConversationListModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::EditRole || !checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return false;
    }
    const ConversationId id = m_rows[index.row()].conversation;
    if (value.toString() != m_history.info(id).title) {
        m_history.setTitle(id, value.toString());
    }
    return true;
}

int ConversationListModel::rowOf(ConversationId id) const {
    for (int row = 0; row < m_rows.size(); ++row) {
        if (m_rows[row].conversation == id) {
            return row;
        }
    }
    return -1;
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

bool ConversationListModel::isListed(ConversationId id) const {
    return m_history.contains(id) && m_history.info(id).archived == m_archived;
}

QString ConversationListModel::sectionOf(ConversationId id) const {
    const ConversationInfo& info = m_history.info(id);
    if (info.pinned) {
        return tr("Pinned");
    }
    const qint64 days = QDateTime::fromMSecsSinceEpoch(info.changedMs).date().daysTo(QDate::currentDate());
    return days <= 0 ? tr("Today") : days == 1 ? tr("Yesterday") : days < 7 ? tr("This week") : tr("Older");
}

bool ConversationListModel::precedes(ConversationId a, ConversationId b) const {
    const ConversationInfo& first = m_history.info(a);
    const ConversationInfo& second = m_history.info(b);
    if (first.pinned != second.pinned) {
        return first.pinned;
    }
    return first.changedMs != second.changedMs ? first.changedMs > second.changedMs : a > b;
}

void ConversationListModel::rebuild() {
    beginResetModel();
    m_rows.clear();
    if (isSearching()) {
        m_rows = m_history.search(m_query);
    } else {
        for (const ConversationInfo& info : m_history.conversations()) {
            if (info.archived == m_archived) {
                SearchHit row;
                row.conversation = info.id;
                m_rows.append(row);
            }
        }
        std::sort(m_rows.begin(), m_rows.end(),
                  [this](const SearchHit& a, const SearchHit& b) { return precedes(a.conversation, b.conversation); });
    }
    endResetModel();
}

void ConversationListModel::onAdded(ConversationId id) {
    if (isSearching() || !isListed(id) || rowOf(id) >= 0) {
        return;
    }
    int at = 0;
    while (at < m_rows.size() && precedes(m_rows[at].conversation, id)) {
        ++at;
    }
    SearchHit row;
    row.conversation = id;
    beginInsertRows({}, at, at);
    m_rows.insert(at, row);
    endInsertRows();
}

void ConversationListModel::onRemoved(ConversationId id) {
    for (int row = rowOf(id); row >= 0; row = rowOf(id)) {
        beginRemoveRows({}, row, row);
        m_rows.removeAt(row);
        endRemoveRows();
    }
}

void ConversationListModel::onChanged(ConversationId id) {
    const int from = rowOf(id);
    if (isSearching()) {
        if (from >= 0) {
            Q_EMIT dataChanged(index(0), index(rowCount() - 1));
        }
        return;
    }
    if (!isListed(id)) {
        onRemoved(id);
        return;
    }
    if (from < 0) {
        onAdded(id);
        return;
    }
    // Its place among the others.
    int to = 0;
    for (int row = 0; row < m_rows.size(); ++row) {
        to += row != from && precedes(m_rows[row].conversation, id) ? 1 : 0;
    }
    if (to != from && beginMoveRows({}, from, from, {}, to > from ? to + 1 : to)) {
        m_rows.move(from, to);
        endMoveRows();
    }
    Q_EMIT dataChanged(index(to), index(to));
}

}  // namespace offstage::ui
