#include "ui/history/conversation_tree.h"

#include <algorithm>

namespace offstage::ui {

void ConversationTree::reset(const QList<Message>& messages, MessageId leaf) {
    m_nodes.clear();
    m_nodes.reserve(static_cast<std::size_t>(messages.size()));
    m_roots.clear();
    m_shownRoot = 0;
    MessageId before = 0;
    for (Message message : messages) {
        const bool believable = message.parent == 0 || (message.parent < message.id && contains(message.parent));
        if (!believable) {
            message.parent = before;
        }
        before = message.id;
        QList<MessageId>& siblings = message.parent == 0 ? m_roots : m_nodes[message.parent].children;
        siblings.append(message.id);
        const MessageId id = message.id;
        m_nodes[id].message = std::move(message);
    }
    if (contains(leaf)) {
        show(leaf);
    }
}

void ConversationTree::add(const Message& message) {
    QList<MessageId>& siblings = message.parent == 0 ? m_roots : m_nodes[message.parent].children;
    siblings.append(message.id);
    m_nodes[message.id].message = message;
    show(message.id);
}

void ConversationTree::remove(MessageId id) {
    const Message* message = find(id);
    if (!message) {
        return;
    }
    const MessageId parent = message->parent;
    QList<MessageId> doomed = {id};
    for (qsizetype i = 0; i < doomed.size(); ++i) {
        doomed += childrenOf(doomed[i]);
    }
    QList<MessageId>& siblings = parent == 0 ? m_roots : m_nodes[parent].children;
    siblings.removeOne(id);
    if (shownChild(parent) == id || !siblings.contains(shownChild(parent))) {
        setShownChild(parent, 0);
    }
    for (const MessageId each : doomed) {
        m_nodes.erase(each);
    }
}

const Message* ConversationTree::find(MessageId id) const {
    const auto found = m_nodes.find(id);
    return found == m_nodes.end() ? nullptr : &found->second.message;
}

Message* ConversationTree::find(MessageId id) {
    const auto found = m_nodes.find(id);
    return found == m_nodes.end() ? nullptr : &found->second.message;
}

const QList<MessageId>& ConversationTree::childrenOf(MessageId id) const {
    static const QList<MessageId> none;
    if (id == 0) {
        return m_roots;
    }
    const auto found = m_nodes.find(id);
    return found == m_nodes.end() ? none : found->second.children;
}

QList<MessageId> ConversationTree::children(MessageId id) const {
    return childrenOf(id);
}

MessageId ConversationTree::shownChild(MessageId id) const {
    const QList<MessageId>& all = childrenOf(id);
    if (all.isEmpty()) {
        return 0;
    }
    const MessageId shown = id == 0 ? m_shownRoot : m_nodes.at(id).shown;
    return shown != 0 ? shown : all.last();
}

void ConversationTree::setShownChild(MessageId parent, MessageId child) {
    (parent == 0 ? m_shownRoot : m_nodes[parent].shown) = child;
}

QList<Message> ConversationTree::path() const {
    QList<Message> out;
    for (MessageId id = shownChild(0), parent = 0; id != 0; parent = id, id = shownChild(id)) {
        const QList<MessageId>& siblings = childrenOf(parent);
        Message message = m_nodes.at(id).message;
        message.branch = static_cast<int>(siblings.indexOf(id));
        message.branches = static_cast<int>(siblings.size());
        out.append(std::move(message));
    }
    return out;
}

QList<Message> ConversationTree::pathTo(MessageId id) const {
    QList<Message> out;
    for (const Message* message = find(id); message; message = find(message->parent)) {
        out.prepend(*message);
    }
    return out;
}

MessageId ConversationTree::leaf() const {
    MessageId last = 0;
    for (MessageId id = shownChild(0); id != 0; id = shownChild(id)) {
        last = id;
    }
    return last;
}

void ConversationTree::show(MessageId id) {
    for (const Message* message = find(id); message; message = find(message->parent)) {
        setShownChild(message->parent, message->id);
    }
}

bool ConversationTree::switchBranch(MessageId id, int step) {
    const Message* message = find(id);
    if (!message) {
        return false;
    }
    const QList<MessageId>& siblings = childrenOf(message->parent);
    const qsizetype at = siblings.indexOf(id) + step;
    if (step == 0 || at < 0 || at >= siblings.size()) {
        return false;
    }
    show(siblings[at]);
    return true;
}

QList<Message> ConversationTree::messages() const {
    QList<Message> out;
    out.reserve(size());
    for (const auto& [id, node] : m_nodes) {
        out.append(node.message);
    }
    std::sort(out.begin(), out.end(), [](const Message& a, const Message& b) { return a.id < b.id; });
    return out;
}

}  // namespace offstage::ui
