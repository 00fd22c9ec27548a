#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <QObject>
#include <QTimer>

#include "ui/engine/engine_controller.h"
#include "ui/panels/token_log.h"

class QMenu;

namespace offstage::ui {

// What a person can do with experts - pin them, let them go, keep them in another format
// - and what became of it. GUI thread only.
class ExpertActions : public QObject {
    Q_OBJECT

  public:
    static constexpr int kIntervalMs = 100;  // between two looks at a change that is under way

    explicit ExpertActions(EngineController& engine, QObject* parent = nullptr);

    // The experts' actions, at the front of the menu. The state is their present one.
    struct State {
        bool pinned = false;                       // all are
        bool onDevice = false;                     // some are
        std::optional<engine::FormatId> format{};  // of all
    };
    void fill(QMenu& menu, const std::vector<ExpertId>& experts, const State& state);

    void change(engine::ExpertChange::Kind kind, const std::vector<ExpertId>& experts, engine::FormatId format = {});
    bool isWatching() const { return m_watched != 0; }
    // Since the model was loaded, by (layer, expert): taken off the device by the person and not brought back by them,
    // and kept in another format than the model's by their choice.
    using Experts = std::set<std::pair<int, int>>;
    const Experts& evicted() const { return m_evicted; }
    const Experts& reformatted() const { return m_reformatted; }

  Q_SIGNALS:
    // A sentence about the newest change: asked for, done, or why not.
    void said(const QString& text, bool isProblem);

  private:
    void look();
    void remember();
    qsizetype withoutPlace() const;  // of the experts that it is about
    // One expert with the model's own number of the layer as %1, its own as %2; of many
    // the number as %1.
    QString named(const QString& one, const QString& many) const;

    EngineController& m_engine;
    QTimer m_timer;
    quint64 m_watched = 0;  // report; 0: none
    QString m_done;
    std::vector<ExpertId> m_experts;  // that it is about
    bool m_pins = false;
    engine::ExpertChange::Kind m_kind{};
    engine::FormatId m_format{};
    Experts m_evicted, m_reformatted;
};

}  // namespace offstage::ui
