#pragma once

#include <optional>

#include <QObject>

#include "ui/engine/engine_controller.h"

class QLabel;
class QStatusBar;

namespace offstage::ui {

class ContextMeter;
class SpeedMeter;

// Fills the status bar: what the engine does, tokens per second, context used, the model's name.
class StatusLine : public QObject {
    Q_OBJECT

  public:
    StatusLine(EngineController& engine, QStatusBar& bar);

    // Of the conversation shown, with what is being typed.
    void setContextUsed(qint64 tokens);
    // Whether the answer that is being written belongs to the conversation shown, and fills its context.
    void setFollowsAnswer(bool follows) { m_followsAnswer = follows; }

    QString stateText() const;
    QString speedText() const;
    QString contextText() const;
    QString thetaText() const;  // that answers are not the model's own; empty: they are

  Q_SIGNALS:
    void speedChanged();

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void refreshSpeed();
    void refreshState();
    void refreshTheta();
    void onStreamed(const StreamedText& piece);

    EngineController& m_engine;
    QLabel* m_state;
    QLabel* m_speed;
    SpeedMeter* m_meter;
    QLabel* m_theta;
    QLabel* m_model;
    ContextMeter* m_context;
    qint64 m_contextAtFirstToken = 0;
    bool m_first = true;
    std::optional<bool> m_showsSimulated;  // as the speed's tool tip says
    bool m_followsAnswer = false;
};

}  // namespace offstage::ui
