#pragma once

#include <optional>

#include <QObject>

#include "ui/engine/engine_controller.h"

class QLabel;
class QStatusBar;

namespace offstage::ui {

class ContextMeter;
class SpeedMeter;

// Fills the status bar: the engine's state, tokens per second, context used, the model's
// name.
class StatusLine : public QObject {
    Q_OBJECT

  public:
    StatusLine(EngineController& engine, QStatusBar& bar);

    // For the shown conversation, with its draft.
    void setContextUsed(qint64 tokens);
    // Whether the running answer belongs to the shown conversation, and fills its
    // context.
    void setFollowsAnswer(bool follows) { m_followsAnswer = follows; }
    // The speed is that of the running answer, or of the last one of this conversation
    // while it is shown.
    void setConversation(quint64 shown);

    QString stateText() const;
    QString speedText() const;
    QString contextText() const;
    QString thetaText() const;  // a note that answers differ from the model's own; empty: they do not

  Q_SIGNALS:
    void speedChanged();

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void refreshSpeed();
    void refreshState();
    void refreshTheta();
    void onStreamed();

    EngineController& m_engine;
    QLabel* m_state;
    QLabel* m_speed;
    SpeedMeter* m_meter;
    QLabel* m_theta;
    QLabel* m_model;
    ContextMeter* m_context;
    qint64 m_contextUsed = 0;
    bool m_first = true;
    std::optional<bool> m_showsSimulated;  // by the speed's tool tip
    bool m_followsAnswer = false;
    bool m_isOfShown = false;  // the last piece of an answer
    quint64 m_conversation = 0;
    bool m_isNarrow = false;
};

}  // namespace offstage::ui
