#pragma once

#include <QAbstractListModel>
#include <QDate>

#include "ui/base/message.h"

namespace offstage::ui {

// The messages of one conversation, in order. A streamed answer grows through
// appendText(), whose own signal beside dataChanged has the added text, so that a view
// need not compare texts.
class ConversationModel : public QAbstractListModel {
    Q_OBJECT

  public:
    enum Role { MessageRole = Qt::UserRole + 1, ThoughtRole };

    explicit ConversationModel(QObject* parent = nullptr);

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;

    const QList<Message>& messages() const { return m_messages; }
    bool isEmpty() const { return m_messages.isEmpty(); }
    int rowOf(MessageId id) const;  // -1: none
    const Message* find(MessageId id) const;
    // The day of a message, where it differs from that of the message before, or, of the
    // first one, from today. Invalid: it does not, or a time is not known.
    QDate dayBegunBy(int row) const;

    MessageId append(Message message);  // gives the message an id if it has none
    void appendText(MessageId id, const QString& text);
    // `now`: the message's new thought: more of the same text, or its end.
    void setThought(MessageId id, const Thought& now);
    // Everything but the id; a change of text beyond appending shows as a whole new text.
    template <typename Edit>
    void edit(MessageId id, Edit&& change) {
        const int row = rowOf(id);
        if (row >= 0) {
            change(m_messages[row]);
            m_messages[row].id = id;
            Q_EMIT dataChanged(index(row), index(row));
        }
    }
    void remove(MessageId id);
    void clear();
    // Another path or another conversation: all rows at once. Their ids are kept.
    void reset(QList<Message> messages);

    // For the clipboard and for files: roles as headings, texts unchanged.
    QString toMarkdown() const;

  Q_SIGNALS:
    void textAppended(int row, const QString& text);
    void thoughtChanged(int row);  // besides dataChanged() for ThoughtRole

  private:
    QList<Message> m_messages;
    MessageId m_lastId = 0;
};

}  // namespace offstage::ui
