#include "ui/chat/conversation_model.h"

#include <algorithm>

#include <QDateTime>

#include "ui/base/prompt_text.h"

namespace offstage::ui {

ConversationModel::ConversationModel(QObject* parent) : QAbstractListModel(parent) {}

int ConversationModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_messages.size());
}

QVariant ConversationModel::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return {};
    }
    const Message& message = m_messages[index.row()];
    switch (role) {
        case Qt::DisplayRole:
            return message.kind == Message::Kind::Problem ? message.problem.sentence : message.text;
        case MessageRole:
            return QVariant::fromValue(message);
        case ThoughtRole:
            return message.thought.text;
        default:
            return {};
    }
}

int ConversationModel::rowOf(MessageId id) const {
    // The one looked for is nearly always among the last.
    for (int row = static_cast<int>(m_messages.size()) - 1; row >= 0; --row) {
        if (m_messages[row].id == id) {
            return row;
        }
    }
    return -1;
}

const Message* ConversationModel::find(MessageId id) const {
    const int row = rowOf(id);
    return row < 0 ? nullptr : &m_messages[row];
}

QDate ConversationModel::dayBegunBy(int row) const {
    const auto dayOf = [](const Message& message) {
        return message.createdMs != 0 ? QDateTime::fromMSecsSinceEpoch(message.createdMs).date() : QDate();
    };
    const QDate day = dayOf(m_messages[row]);
    QDate before = QDate::currentDate();
    for (int above = row - 1; above >= 0; --above) {
        if (m_messages[above].kind != Message::Kind::Problem) {
            before = dayOf(m_messages[above]);
            break;
        }
    }
    return before.isValid() && before != day ? day : QDate();
}

MessageId ConversationModel::append(Message message) {
    m_lastId = message.id != 0 ? std::max(m_lastId, message.id) : m_lastId + 1;
    if (message.id == 0) {
        message.id = m_lastId;
    }
    const MessageId id = message.id;
    const int row = static_cast<int>(m_messages.size());
    beginInsertRows({}, row, row);
    m_messages.append(std::move(message));
    endInsertRows();
    return id;
}

void ConversationModel::appendText(MessageId id, const QString& text) {
    const int row = rowOf(id);
    if (row < 0 || text.isEmpty()) {
        return;
    }
    m_messages[row].text += text;
    Q_EMIT textAppended(row, text);
    Q_EMIT dataChanged(index(row), index(row), {Qt::DisplayRole});
}

void ConversationModel::setThought(MessageId id, const Thought& now) {
    const int row = rowOf(id);
    if (row < 0 || m_messages[row].thought == now) {
        return;
    }
    m_messages[row].thought = now;
    Q_EMIT thoughtChanged(row);
    Q_EMIT dataChanged(index(row), index(row), {ThoughtRole});
}

void ConversationModel::remove(MessageId id) {
    const int row = rowOf(id);
    if (row >= 0) {
        beginRemoveRows({}, row, row);
        m_messages.removeAt(row);
        endRemoveRows();
    }
}

void ConversationModel::clear() {
    if (m_messages.isEmpty()) {
        return;
    }
    beginResetModel();
    m_messages.clear();
    endResetModel();
}

void ConversationModel::reset(QList<Message> messages) {
    beginResetModel();
    m_messages = std::move(messages);
    for (const Message& message : m_messages) {
        m_lastId = std::max(m_lastId, message.id);
    }
    endResetModel();
}

QString ConversationModel::toMarkdown() const {
    QString out;
    for (const Message& message : m_messages) {
        if (message.kind == Message::Kind::Problem || message.text.isEmpty()) {
            continue;
        }
        out += QStringLiteral("## %1\n\n%2\n\n")
                   .arg(speakerOf(message), promptForModel(message.text.trimmed(), message.attachments));
    }
    return out;
}

}  // namespace offstage::ui
