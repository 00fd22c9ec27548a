#pragma once
// What a conversation's view keeps alive.

#include "ui/chat/conversation_view.h"
#include "ui/chat/message_body.h"
#include "ui/chat/message_widget.h"

namespace offstage::test {

// Without released ones, which are hidden until they are deleted.
inline QList<ui::MessageWidget*> messageWidgets(const ui::ConversationView& view) {
    QList<ui::MessageWidget*> all = view.findChildren<ui::MessageWidget*>();
    all.removeIf([](const ui::MessageWidget* each) { return each->isHidden(); });
    return all;
}

inline int documentCount(const ui::ConversationView& view) {
    int count = 0;
    for (const ui::MessageWidget* each : messageWidgets(view)) {
        count += each->body().text().documentCount();
    }
    return count;
}

}  // namespace offstage::test
