#pragma once

#include <QObject>

#include "ui/chat/token_choices.h"

class QAction;
class QMainWindow;

namespace offstage::ui {

class ChatPage;
class PanelDocks;
class SurpriseLegend;
class TokenChoicesView;
struct Core;

// The tokens of the shown answers: the picked one and its timeline, their probabilities,
// and the branches that begin at one. GUI thread only.
class AnswerTokens : public QObject {
    Q_OBJECT

  public:
    AnswerTokens(QMainWindow& window, Core& core, ChatPage& page, PanelDocks& panels);

    QAction* probabilitiesAction() const { return m_probabilities; }
    QAction* surpriseAction() const { return m_surprise; }

  private:
    QAction* makeSwitch(const char* name, const QString& text, const QString& tip);
    void connectSelection(PanelDocks& panels);
    void followUnderlined(PanelDocks& panels);
    void applySwitches();
    void goOnWith(MessageId answer, int index, engine::TokenId rival);

    QMainWindow& m_window;
    Core& m_core;
    ChatPage& m_page;
    TokenChoicesView* m_view;
    QAction* m_probabilities;
    QAction* m_surprise;
    SurpriseLegend* m_legend;
};

}  // namespace offstage::ui
