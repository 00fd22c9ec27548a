#pragma once

#include <unordered_map>

#include <QList>

#include "ui/base/message.h"

namespace offstage::ui {

// All messages of one conversation. An edited message or a regenerated answer is a
// sibling of the original; every message stores which of its children was shown last, and
// the active path follows these from the first message on. Ids grow with time, so a
// parent's id is below its children's; a stored parent that breaks this is ignored.
class ConversationTree {
  public:
    // Parents before children. A message with a missing parent is attached to the message
    // before it.
    void reset(const QList<Message>& messages, MessageId leaf);

    // Appends the message to the active path. The id must be new; the parent is 0 or in
    // the tree.
    void add(const Message& message);
    // Removes the message and everything after it. The path then ends at its parent, or
    // continues with a sibling.
    void remove(MessageId id);

    bool contains(MessageId id) const { return id != 0 && m_nodes.contains(id); }
    const Message* find(MessageId id) const;
    Message* find(MessageId id);  // parent and id are not to be changed

    // From the first message to the leaf, with `branch` and `branches` filled in.
    QList<Message> path() const;
    QList<Message> pathTo(MessageId id) const;         // on the shown path or not
    MessageId leaf() const;                            // 0: an empty conversation
    MessageId first() const { return shownChild(0); }  // of the path
    // Moves the path through this message and on to the end that was last shown.
    void show(MessageId id);
    // For messages on the path, shows the sibling `step` places further. False: there is
    // none.
    bool switchBranch(MessageId id, int step);

    QList<MessageId> children(MessageId id) const;  // of 0: the first messages
    // All, parents before children.
    QList<Message> messages() const;
    qsizetype size() const { return static_cast<qsizetype>(m_nodes.size()); }

  private:
    struct Node {
        Message message;
        QList<MessageId> children;  // ascending
        MessageId shown = 0;        // among the children; 0: the newest
    };

    const QList<MessageId>& childrenOf(MessageId id) const;
    MessageId shownChild(MessageId id) const;
    void setShownChild(MessageId parent, MessageId child);

    std::unordered_map<MessageId, Node> m_nodes;
    QList<MessageId> m_roots;
    MessageId m_shownRoot = 0;
};

}  // namespace offstage::ui
