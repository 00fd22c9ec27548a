#pragma once

#include <QHash>
#include <QObject>
#include <QTimer>

#include "ui/chat/conversation_model.h"

namespace offstage::ui {

// [begin, end) of each place of these words in a message's text, in order; answers are
// searched as below. The search over all conversations finds other forms of a word as
// well, which have no place here.
QList<QPair<int, int>> placesOfWords(const Message& message, const QString& words);

// Searches all messages of a conversation for a text, in any case: in the model's data,
// so that it does not matter which messages are shown. Answers are searched as shown:
// marks of Markdown between the characters do not count, and addresses of links are
// skipped. Follows the conversation while it grows.
class ConversationFind : public QObject {
    Q_OBJECT

  public:
    explicit ConversationFind(ConversationModel& model, QObject* parent = nullptr);

    void setText(const QString& text);  // empty: nothing is looked for
    const QString& text() const { return m_text; }
    void next();
    void previous();

    struct Hit {
        MessageId message = 0;
        QPair<int, int> range;  // [begin, end) of its text
        bool operator==(const Hit&) const = default;
    };
    int count() const { return static_cast<int>(m_hits.size()); }
    int current() const { return m_current; }  // -1: none
    const QList<Hit>& hits() const { return m_hits; }
    QHash<MessageId, QList<QPair<int, int>>> byMessage() const;

  Q_SIGNALS:
    void hitsChanged();
    void currentChanged();  // the user has gone to another, or the first was found

  private:
    void search();

    ConversationModel& m_model;
    QString m_text;
    QList<Hit> m_hits;
    int m_current = -1;
    QTimer m_again;  // while an answer streams: a few times a second
};

}  // namespace offstage::ui
