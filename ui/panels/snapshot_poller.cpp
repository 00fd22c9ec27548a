#include "ui/panels/snapshot_poller.h"

#include <QEvent>
#include <QGuiApplication>
#include <QWidget>

namespace offstage::ui {

SnapshotPoller::SnapshotPoller(EngineController& engine, QWidget& panel)
    : QObject(&panel), m_engine(engine), m_panel(panel), m_timer(this) {
    connect(&m_timer, &QTimer::timeout, this, &SnapshotPoller::poll);
    connect(&m_engine, &EngineController::stateChanged, this, &SnapshotPoller::schedule);
    connect(qGuiApp, &QGuiApplication::applicationStateChanged, this, &SnapshotPoller::schedule);
    m_panel.installEventFilter(this);
    schedule();
}

void SnapshotPoller::setLively(bool lively) {
    m_lively = lively;
    schedule();
}

bool SnapshotPoller::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Show || event->type() == QEvent::Hide) {
        // After the event: isVisible() returns the new state then.
        QMetaObject::invokeMethod(this, &SnapshotPoller::schedule, Qt::QueuedConnection);
    }
    return QObject::eventFilter(watched, event);
}

void SnapshotPoller::schedule() {
    if (!m_panel.isVisible() || m_panel.window()->isMinimized()) {
        m_timer.stop();
        return;
    }
    const bool focused = QGuiApplication::applicationState() == Qt::ApplicationActive;
    const int interval = m_lively && m_engine.isAnswering() && focused ? kLivelyIntervalMs : kQuietIntervalMs;
    if (!m_timer.isActive() || m_timer.interval() != interval) {
        m_timer.start(interval);
        poll();
    }
}

void SnapshotPoller::poll() {
    if (!m_panel.isVisible() || m_panel.window()->isMinimized()) {
        m_timer.stop();
        return;
    }
    const auto snapshot = m_engine.snapshot();
    if (snapshot && (!m_any || snapshot->revision != m_revision)) {
        m_any = true;
        m_revision = snapshot->revision;
        Q_EMIT changed(*snapshot);
    }
}

}  // namespace offstage::ui
