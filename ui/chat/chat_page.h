#pragma once

#include <functional>

#include <QStringList>
#include <QWidget>

#include "ui/chat/chat_controller.h"

class QStackedWidget;

namespace offstage::ui {

class ContextCounter;
class ConversationFind;
class ConversationView;
class DraftAttachments;
class EmptyState;
class FindBar;
class InputBar;
class LoadBanner;

// The middle of the window: the load banner, the conversation (or its empty state) and
// the input bar.
class ChatPage : public QWidget {
    Q_OBJECT

  public:
    ChatPage(EngineController& engine, ConversationModel& conversation, ChatController& chat,
             QWidget* parent = nullptr);

    InputBar& input() const { return *m_input; }
    ConversationView& view() const { return *m_view; }
    EmptyState& emptyState() const { return *m_empty; }
    ContextCounter& counter() const { return *m_counter; }
    DraftAttachments& attachments() const { return *m_attachments; }

    // Asked before a prompt without files is sent, or edited (`beside`: the one before;
    // 0: none): true, it was answered by other means.
    using HelpAsked = std::function<bool(const QString& prompt, MessageId beside)>;
    void setAnsweredByHelp(HelpAsked asked) { m_answeredByHelp = std::move(asked); }

    // Takes the room that the docks leave, and needs only its minimum.
    QSize sizeHint() const override { return minimumSizeHint(); }

  public Q_SLOTS:
    void find();  // opens the find bar, where there is a conversation to look in

  Q_SIGNALS:
    void openRequested();
    // A remedy of a problem that is not the chat's.
    void actionChosen(offstage::ui::ProblemAction action);

  private:
    void connectMessages();
    void showDraft();
    void sendDraft();
    void sendNext();
    bool askHelp(const QString& prompt, MessageId beside) const;
    void refresh();
    void refreshEmptyState();

    EngineController& m_engine;
    ConversationModel& m_conversation;
    ChatController& m_chat;
    LoadBanner* m_banner;
    QStackedWidget* m_stack;
    EmptyState* m_empty;
    ConversationView* m_view;
    InputBar* m_input;
    ConversationFind* m_find;
    FindBar* m_findBar;
    ContextCounter* m_counter;
    DraftAttachments* m_attachments;
    HelpAsked m_answeredByHelp;
};

}  // namespace offstage::ui
