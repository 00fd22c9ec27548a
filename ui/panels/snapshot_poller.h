#pragma once

#include <QObject>
#include <QTimer>

#include "ui/engine/engine_controller.h"

class QWidget;

namespace offstage::ui {

// Takes a snapshot of the engine for one panel, 4 times a second: faster numbers and
// curves cannot be read, and each snapshot costs a layout and a painting, for which the
// engine's threads have to wait on machines with few cores. A lively panel, whose picture
// is watched rather than read, polls 10 times a second while an answer is being written
// and the window has the focus. Never while the panel is hidden. Emits only when the
// revision has changed.
class SnapshotPoller : public QObject {
    Q_OBJECT

  public:
    static constexpr int kLivelyIntervalMs = 100;
    static constexpr int kQuietIntervalMs = 250;

    SnapshotPoller(EngineController& engine, QWidget& panel);

    void setLively(bool lively);

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
    bool m_lively = false;
};

}  // namespace offstage::ui
