#pragma once

#include <QObject>
#include <QTimer>

#include "ui/engine_controller.h"

class QWidget;

namespace offstage::ui {

// Takes a snapshot of the engine for one panel: at most 30 times a second while the panel shows and an answer is being
// written, 5 times a second while nothing runs or another window has the focus, never while the panel is hidden.
// Says so only when the revision has changed.
class SnapshotPoller : public QObject {
    Q_OBJECT

  public:
    static constexpr int kBusyIntervalMs = 34;
    static constexpr int kQuietIntervalMs = 200;

    SnapshotPoller(EngineController& engine, QWidget& panel);

    int pollCount() const { return m_pollCount; }
    bool isPolling() const { return m_timer.isActive(); }
    int intervalMs() const { return m_timer.interval(); }

  Q_SIGNALS:
    void changed(const offstage::engine::Snapshot& snapshot);

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void schedule();
    void poll();

    EngineController& m_engine;
    QWidget& m_panel;
    QTimer m_timer;
    quint64 m_revision = 0;
    bool m_any = false;
    int m_pollCount = 0;
};

}  // namespace offstage::ui
