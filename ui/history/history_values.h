#pragma once
// The parts of the history, as plain values: exchanged between the window, the writer's
// thread and the database.

#include <utility>
#include <variant>

#include <QList>
#include <QString>

#include "ui/base/message.h"
#include "ui/engine/sampling.h"

namespace offstage::ui {

using ConversationId = quint64;  // 0: none

// Everything about a conversation but its messages.
struct ConversationInfo {
    ConversationId id = 0;
    QString title;               // empty: no prompt yet
    bool titleByPerson = false;  // not to be replaced by a made one
    bool pinned = false;
    bool archived = false;
    qint64 createdMs = 0;  // since 1970, UTC
    qint64 changedMs = 0;  // the last message
    QString model;         // of the last answer
    QString systemPrompt;
    Sampling sampling;
    MessageId activeLeaf = 0;  // the end of the shown path; 0: at the newest message
    QString draft;             // the input box's text
    QString persona;           // Persona::id; empty: none
    QString folder;            // its name; empty: in none

    bool operator==(const ConversationInfo&) const = default;
};

struct StoredConversation {
    ConversationInfo info;
    QList<Message> messages;  // the whole tree, parents before children
    int nDamaged = 0;         // messages that could not be read; each has a Message of Kind::Problem in its place
};

// A message with a hit of a search.
struct SearchHit {
    ConversationId conversation = 0;
    MessageId message = 0;
    Message::Kind kind = Message::Kind::Prompt;
    enum class Place { Text, Thought, File };
    Place place = Place::Text;  // in the message, the model's thinking before it, or a file with it
    qint64 createdMs = 0;
    QString snippet;                               // a line of the text around the first match
    QList<std::pair<qsizetype, qsizetype>> marks;  // (from, length) of the matches in `snippet`
};

// One change of the database. The writer makes them in the order they came in.
namespace change {

// Adds the conversation, or replaces all of its fields.
struct PutConversation {
    ConversationInfo info;
};
// Adds the message, or replaces all of its fields; `message.text` is the whole text, and
// its journal is emptied.
struct PutMessage {
    ConversationId conversation = 0;
    Message message;
};
// Adds to the text of a message that is being streamed: costs the piece, not the text.
struct AppendText {
    MessageId message = 0;
    QString text;
};
// Its answers must have gone before.
struct RemoveMessage {
    MessageId message = 0;
};
// Hides the conversation until the next start, which removes it; or shows it again.
struct SetDeleted {
    ConversationId conversation = 0;
    bool deleted = true;
};
// Adds the folder of conversations, or removes its name: conversations keep theirs.
struct SetFolder {
    QString name;
    bool exists = true;
};

}  // namespace change

using Change = std::variant<change::PutConversation, change::PutMessage, change::AppendText, change::RemoveMessage,
                            change::SetDeleted, change::SetFolder>;

}  // namespace offstage::ui
