#include "ui/chat/chat_page.h"

#include <initializer_list>

#include <QPlainTextEdit>
#include <QStackedWidget>

#include "ui/chat/context_counter.h"
#include "ui/chat/conversation_find.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/draft_attachments.h"
#include "ui/chat/empty_state.h"
#include "ui/chat/find_bar.h"
#include "ui/chat/input_bar.h"
#include "ui/chat/load_banner.h"
#include "ui/engine/format.h"
#include "ui/widgets/boxes.h"

namespace offstage::ui {

namespace {

constexpr int kLeastPageWidth = 260;

}  // namespace

ChatPage::ChatPage(EngineController& engine, ConversationModel& conversation, ChatController& chat, QWidget* parent)
    : QWidget(parent),
      m_engine(engine),
      m_conversation(conversation),
      m_chat(chat),
      m_banner(new LoadBanner),
      m_stack(new QStackedWidget),
      m_empty(new EmptyState),
      m_view(new ConversationView(conversation)),
      m_input(new InputBar),
      m_find(new ConversationFind(conversation, this)),
      m_findBar(new FindBar(*m_find, *m_view, this)),
      m_counter(new ContextCounter(engine, chat, m_input->edit(), this)),
      m_attachments(new DraftAttachments(engine, chat, *m_counter, *m_input, this)) {
    m_stack->addWidget(m_empty);
    m_stack->addWidget(m_view);
    columnOf(this, {m_banner, m_findBar, {m_stack, 1}, m_input}, flush(0));
    // Without a minimum width, the widest sentence below the input or beside a load's
    // progress would push the panels aside.
    for (QWidget* part : std::initializer_list<QWidget*>{m_banner, m_findBar, m_stack, m_input}) {
        part->setMinimumWidth(kLeastPageWidth);
    }
    m_banner->hide();

    connect(&m_engine, &EngineController::stateChanged, this, &ChatPage::refresh);
    connect(&m_engine, &EngineController::loadStarted, m_banner, &LoadBanner::start);
    connect(&m_engine, &EngineController::loadStarted, this,
            [this](const QString& model) { m_empty->setPrompts(readSuggestedPrompts(model)); });
    connect(&m_engine, &EngineController::loadProgressed, m_banner, &LoadBanner::setProgress);
    connect(&m_engine, &EngineController::modelLoaded, this, &ChatPage::refreshEmptyState);
    connect(m_banner, &LoadBanner::cancelRequested, this, [this] {
        m_banner->setCancelling();
        m_engine.cancelLoad();
    });
    connect(&m_chat, &ChatController::waitingChanged, this, &ChatPage::refresh);
    connect(&m_chat, &ChatController::promptReturned, m_input, &InputBar::returnPrompt);
    connect(&m_chat, &ChatController::promptOffered, m_input, &InputBar::offerPrompt);
    connect(&m_chat, &ChatController::offerWithdrawn, m_input, &InputBar::withdrawPrompt);
    connect(m_findBar, &FindBar::left, m_input, [this] { m_input->setFocus(); });
    connect(m_input, &InputBar::stopRequested, &m_chat, &ChatController::stop);
    connect(m_input, &InputBar::sendRequested, this, &ChatPage::sendDraft);
    connect(m_attachments, &DraftAttachments::readyToSend, this, &ChatPage::sendDraft);
    connect(m_empty, &EmptyState::promptChosen, this, [this](const QString& prompt) {
        m_chat.send(prompt);
        m_input->setFocus();
    });
    connect(m_empty, &EmptyState::openRequested, this, &ChatPage::openRequested);
    connect(&m_chat, &ChatController::currentChanged, this, &ChatPage::showDraft);
    connect(&m_input->edit(), &QPlainTextEdit::textChanged, this,
            [this] { m_chat.setDraft(m_input->edit().toPlainText()); });
    connectMessages();
    for (const auto signal : {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved}) {
        connect(&m_conversation, signal, this, &ChatPage::refresh);
    }
    connect(&m_conversation, &QAbstractItemModel::modelReset, this, &ChatPage::refresh);
    refresh();
    refreshEmptyState();
}

// What the user does with a message of the conversation.
void ChatPage::connectMessages() {
    connect(m_view, &ConversationView::actionChosen, this, [this](ProblemAction action, const Problem& problem) {
        if (action == ProblemAction::EditPrompt) {
            m_chat.editFailedPrompt();
        } else if (action == ProblemAction::TryAgain) {
            m_chat.tryAgain();
        } else if (action == ProblemAction::AskAnew) {
            m_chat.askAnew();
            m_input->setFocus();
        } else if (action == ProblemAction::LargerContext || action == ProblemAction::LeaveOutOldest ||
                   action == ProblemAction::SummariseOldest) {
            m_chat.makeRoom(action, problem.context);
            m_input->setFocus();
        } else {
            Q_EMIT actionChosen(action);
        }
    });
    connect(m_view, &ConversationView::problemClosed, &m_chat, &ChatController::dismissProblem);
    const auto finish = [this](MessageId id, bool accepted, const QString& refusal) {
        if (accepted) {
            m_view->finishEditing(id);
            m_input->setFocus();
        } else {
            m_view->refuseEdit(id, refusal);
        }
    };
    connect(m_view, &ConversationView::promptEdited, this, [this, finish](MessageId id, const QString& text) {
        finish(id, askHelp(text, id) || m_chat.editPrompt(id, text),
               m_engine.state() == EngineController::State::NoModel
                   ? tr("No model is open. Your text stays here.")
                   : tr("An answer is on its way. Your text stays here: send it after that."));
    });
    connect(m_view, &ConversationView::answerEdited, this, [this, finish](MessageId id, const QString& text) {
        finish(id, m_chat.editAnswer(id, text),
               tr("An answer is on its way. Your text stays here: save it after that."));
    });
    connect(m_view, &ConversationView::regenerateRequested, this, [this](MessageId id) {
        if (!m_chat.regenerate(id) && m_engine.state() == EngineController::State::NoModel) {
            m_input->setNotice(tr("No model is open"));
        }
        m_input->setFocus();  // the next typed text is a message
    });
    connect(m_view, &ConversationView::continueRequested, this, [this](MessageId id) {
        m_chat.continueAnswer(id);
        m_input->setFocus();
    });
    connect(m_view, &ConversationView::branchRequested, this, [this](MessageId id, int branch) {
        if (const Message* message = m_conversation.find(id)) {
            m_chat.switchBranch(id, branch - message->branch);
        }
    });
}

void ChatPage::showDraft() {
    m_input->setSendsNext(false);
    const QString draft = m_chat.draft();
    if (m_input->edit().toPlainText() != draft) {
        const QSignalBlocker quiet(&m_input->edit());
        m_input->edit().setPlainText(draft);
    }
}

void ChatPage::sendDraft() {
    const bool isAnswered = m_chat.draftAttachments().isEmpty() && m_chat.canSend() && askHelp(m_input->text(), 0);
    if (isAnswered || (m_attachments->maySend() && m_chat.sendDraft(m_input->text()))) {
        m_input->clear();
        m_input->setNotice({});
    }
}

bool ChatPage::askHelp(const QString& prompt, MessageId beside) const {
    const Message* const before = m_conversation.find(beside);
    return m_answeredByHelp && (before == nullptr || before->attachments.isEmpty()) && m_answeredByHelp(prompt, beside);
}

void ChatPage::find() {
    if (!m_conversation.isEmpty()) {
        m_findBar->start();
    }
}

void ChatPage::refresh() {
    using State = EngineController::State;
    const State state = m_engine.state();
    m_banner->setVisible(state == State::Loading);
    m_stack->setCurrentWidget(m_conversation.isEmpty() ? static_cast<QWidget*>(m_empty) : m_view);
    switch (state) {
        case State::NoModel:
            m_input->setMode(InputBar::Mode::NoModel);
            break;
        case State::Loading:
            m_input->setMode(m_chat.hasWaitingPrompt() ? InputBar::Mode::Queued : InputBar::Mode::Queue);
            break;
        case State::Ready:
            m_input->setMode(m_chat.hasWaitingPrompt() ? InputBar::Mode::Queued : InputBar::Mode::Send);
            break;
        case State::Generating:
        case State::Stopping:
            if (m_chat.isAnswering()) {
                m_input->setMode(state == State::Generating ? InputBar::Mode::Busy : InputBar::Mode::Stopping);
            } else {  // the answer belongs to another conversation, or to a benchmark
                m_input->setMode(m_chat.hasWaitingPrompt() ? InputBar::Mode::Queued : InputBar::Mode::QueueBehind);
            }
            break;
    }
    if (state == State::NoModel || state == State::Loading) {
        refreshEmptyState();
    }
    if (m_input->sendsNext()) {  // later: the end of the answer is written first
        QMetaObject::invokeMethod(this, &ChatPage::sendNext, Qt::QueuedConnection);
    }
}

// What Enter was pressed for during the answer; one that failed is looked at first.
void ChatPage::sendNext() {
    if (m_input->sendsNext() && m_chat.canSend()) {
        m_input->setSendsNext(false);
        const QList<Message> shown = m_conversation.messages();
        if (!shown.isEmpty() && shown.back().kind == Message::Kind::Answer &&
            shown.back().state != Message::State::Failed) {
            sendDraft();
        }
    }
}

void ChatPage::refreshEmptyState() {
    const auto& model = m_engine.model();
    m_empty->setOpenOffered(m_engine.state() == EngineController::State::NoModel);
    if (model) {
        m_empty->setHeading(tr("What shall we talk about?"),
                            tr("%1 · %2 · %3 weights, %4 per token")
                                .arg(QString::fromStdString(model->name), modelText(*model),
                                     countText(model->total_weights), countText(model->active_weights)));
        m_empty->setPrompts(readSuggestedPrompts(QString::fromStdString(model->source)));
    } else if (m_engine.state() == EngineController::State::Loading) {
        m_empty->setHeading(tr("Raising the curtain…"),
                            tr("The model is loading. You can write your message already."));
    } else {
        m_empty->setHeading(tr("No model is open"),
                            tr("Open a Mixture-of-Experts model, or drop its folder or GGUF file on this window."));
        m_empty->setPrompts({});
    }
}

}  // namespace offstage::ui
