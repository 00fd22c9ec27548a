#pragma once

#include <optional>

#include <QObject>
#include <QTimer>

#include "ui/engine_controller.h"
#include "ui/panels/token_log.h"

class QMenu;

namespace offstage::ui {

// What a person can do with one expert - pin it, let it go, keep it in another format - and what became of it.
// GUI thread only.
class ExpertActions : public QObject {
    Q_OBJECT

  public:
    static constexpr int kIntervalMs = 100;  // between two looks at a change that is under way

    explicit ExpertActions(EngineController& engine, QObject* parent = nullptr);

    // The expert's actions, at the front of the menu. pinned, onDevice, format: its present state.
    struct State {
        bool pinned = false;
        bool onDevice = false;
        engine::FormatId format{};
    };
    void fill(QMenu& menu, ExpertId expert, const State& state);

    void pin(ExpertId expert, bool pinned);
    void evict(ExpertId expert);
    void setFormat(ExpertId expert, engine::FormatId format);
    bool isWatching() const { return m_watched != 0; }

  Q_SIGNALS:
    // A sentence about the newest change: asked for, done, or why not.
    void said(const QString& text, bool isProblem);

  private:
    void watch(quint64 id, const QString& doing, const QString& done);
    void look();

    EngineController& m_engine;
    QTimer m_timer;
    quint64 m_watched = 0;  // report; 0: none
    QString m_done;
};

}  // namespace offstage::ui
