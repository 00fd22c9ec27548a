#pragma once

#include <QObject>

#include "ui/engine_controller.h"

class QLabel;
class QStatusBar;

namespace offstage::ui {

class ContextMeter;

// Fills the status bar: what the engine does, tokens per second, context used, the model's name.
class StatusLine : public QObject {
    Q_OBJECT

  public:
    StatusLine(EngineController& engine, QStatusBar& bar);

    QString stateText() const;
    QString speedText() const;
    QString contextText() const;

  private:
    void refreshState();
    void readContext();
    void onStreamed(const StreamedText& piece);
    void onAnswered(const engine::GenerationResult& result);

    EngineController& m_engine;
    QLabel* m_state;
    QLabel* m_speed;
    QLabel* m_model;
    ContextMeter* m_context;
    qint64 m_contextAtFirstToken = 0;
    bool m_first = true;
};

}  // namespace offstage::ui
