#include "ui/window/answer_tokens.h"

#include <QAction>
#include <QDockWidget>
#include <QMainWindow>
#include <QStatusBar>

#include "ui/base/settings.h"
#include "ui/chat/chat_page.h"
#include "ui/chat/conversation_view.h"
#include "ui/chat/input_bar.h"
#include "ui/chat/surprise_legend.h"
#include "ui/chat/token_choices_view.h"
#include "ui/window/core.h"
#include "ui/window/panel_docks.h"
#include "ui/window/side_columns.h"

namespace offstage::ui {

AnswerTokens::AnswerTokens(QMainWindow& window, Core& core, ChatPage& page, PanelDocks& panels)
    : QObject(&window),
      m_window(window),
      m_core(core),
      m_page(page),
      m_view(new TokenChoicesView(core.choices, page.view())),
      m_probabilities(
          makeSwitch("tokenProbabilities", tr("Token pro&babilities (from the next answer on)"),
                     tr("At a word of an answer: how probable its tokens were, what else could stand there, and, by a "
                        "click, a branch from there. From the next answer on"))),
      m_surprise(makeSwitch("surprise", tr("&Underline unlikely words"),
                            tr("Lines under what the model itself did not expect: dotted below 50 %, dashed below "
                               "20 %, solid below 5 %, thick below 1 %. From the next answer on"))),
      m_legend(new SurpriseLegend) {
    m_window.statusBar()->addPermanentWidget(m_legend);
    connectSelection(panels);
    connect(&m_core.chat, &ChatController::answerExtended, &m_core.choices, &TokenChoices::add);
    connect(m_view, &TokenChoicesView::rivalChosen, this, &AnswerTokens::goOnWith);
    const std::pair<QAction*, const Setting<bool>*> switches[] = {{m_probabilities, &settings::kShowsProbabilities},
                                                                  {m_surprise, &settings::kShowsSurprise}};
    for (const auto& [action, setting] : switches) {
        action->setChecked(setting->value());
        connect(action, &QAction::toggled, this, [this, setting = setting](bool on) {
            setting->set(on);
            applySwitches();
        });
    }
    applySwitches();
}

QAction* AnswerTokens::makeSwitch(const char* name, const QString& text, const QString& tip) {
    auto* made = new QAction(text, this);
    made->setObjectName(QLatin1String(name));
    made->setCheckable(true);
    made->setToolTip(tip);
    made->setStatusTip(tip);
    return made;
}

void AnswerTokens::applySwitches() {
    m_view->setShowsProbabilities(m_probabilities->isChecked());
    m_view->setShowsSurprise(m_surprise->isChecked());
    m_legend->setVisible(m_surprise->isChecked());
    m_core.chat.setWantsChoices(m_probabilities->isChecked() || m_surprise->isChecked());
}

void AnswerTokens::connectSelection(PanelDocks& panels) {
    ConversationView& view = m_page.view();
    Selection& selection = m_core.selection;
    connect(&m_core.chat, &ChatController::answerExtended, &m_core.tokens, &TokenLog::addTokens);
    connect(&view, &ConversationView::tokenPicked, &selection, &Selection::selectTokenAt);
    connect(&view, &ConversationView::tokenTimelineRequested, this, [this, &panels](MessageId id) {
        if (m_core.selection.selectToken(id, m_core.tokens.tokenCount(id) - 1)) {
            panels.show(QStringLiteral("dispatch"));
        } else {
            m_window.statusBar()->showMessage(tr("The timeline of this answer is no longer kept: it was written before "
                                                 "Offstage was started, or long ago."),
                                              8000);
        }
    });
    // Another conversation or branch is shown, which does not have that token.
    connect(&m_core.conversation, &QAbstractItemModel::modelReset, this, [this] {
        const auto& token = m_core.selection.token();
        if (token && m_core.conversation.find(token->message) == nullptr) {
            m_core.selection.clearToken();
        }
    });
    selection.setTextSource([this](MessageId id, const TextRange& range) {
        const Message* message = m_core.conversation.find(id);
        return message != nullptr ? message->text.mid(range.begin, range.end - range.begin) : QString();
    });
    connect(&selection, &Selection::tokenMarked, &view, [&view](quint64 message, const TextRange& range) {
        view.markPickedToken(message, {range.begin, range.end});
    });
    followUnderlined(panels);
}

// Lines below the words of the selected expert, while the panel says of which: one that
// gave its place to the conversation comes back.
void AnswerTokens::followUnderlined(PanelDocks& panels) {
    QDockWidget* const dock = panels.dock(QStringLiteral("experts"));
    const auto underline = [this, dock, &panels](quint64 message, const QList<TextRange>& ranges) {
        const bool isSaid = !dock->isHidden() || panels.columns().room() == SideColumns::Room::One;
        ConversationView::SourceRanges source;
        for (const TextRange& range : isSaid ? ranges : QList<TextRange>()) {
            source.append({range.begin, range.end});
        }
        m_page.view().underlineTokens(message, source);
    };
    connect(&m_core.selection, &Selection::underlined, this, underline);
    connect(dock, &QDockWidget::visibilityChanged, this, [this, underline] {
        const QHash<MessageId, QList<TextRange>>& all = m_core.selection.textOfExpert();
        for (auto message = all.cbegin(); message != all.cend(); ++message) {
            underline(message.key(), message.value());
        }
    });
}

// Another branch: the answer up to this token, an alternative in its place, continued by
// the model.
void AnswerTokens::goOnWith(MessageId answer, int index, engine::TokenId rival) {
    const Message* message = m_core.conversation.find(answer);
    const ChosenToken* token = m_core.choices.token(answer, index);
    const auto beginning = m_core.choices.beginningWith(answer, index, rival);
    if (!message || !token || !beginning) {
        return;
    }
    if (message->figures && message->figures->tokensOut != m_core.choices.count(answer)) {
        m_window.statusBar()->showMessage(tr("The beginning of this answer was written before its probabilities were "
                                             "kept; it cannot be gone on from here."),
                                          8000);
        return;
    }
    const MessageId branch =
        m_core.chat.branchFrom(answer, message->text.left(token->begin) + beginning->rivalText, beginning->ids);
    if (branch == 0) {
        m_window.statusBar()->showMessage(tr("An answer is on its way. Choose again after that."), 8000);
        return;
    }
    m_core.choices.addBranch(branch, answer, index, rival);
    m_page.input().setFocus();
}

}  // namespace offstage::ui
