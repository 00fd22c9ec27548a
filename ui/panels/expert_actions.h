#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <QObject>

#include "ui/engine/engine_controller.h"
#include "ui/panels/token_log.h"

class QMenu;

namespace offstage::ui {

// The user's actions on experts (pin, unpin, evict, another format) and their results.
// What concerns several experts is proposed first, with what it would change; every
// change can be undone, the last first: experts that left the device for it come back.
// GUI thread only.
class ExpertActions : public QObject {
    Q_OBJECT

  public:
    using Experts = std::set<std::pair<int, int>>;
    static constexpr std::size_t kMostUndo = 20;

    explicit ExpertActions(EngineController& engine, QObject* parent = nullptr);

    // The experts' actions, at the front of the menu. The state is their present one.
    struct State {
        bool pinned = false;                       // all are
        bool onDevice = false;                     // some are
        std::optional<engine::FormatId> format{};  // of all
    };
    void fill(QMenu& menu, const std::vector<ExpertId>& experts, const State& state);

    void change(engine::ExpertChange::Kind kind, const std::vector<ExpertId>& experts, engine::FormatId format = {});
    // The same for one expert; of several proposed() says what it would change, until
    // apply() or drop().
    void propose(engine::ExpertChange::Kind kind, const std::vector<ExpertId>& experts, engine::FormatId format = {});
    bool hasProposal() const { return m_proposal.has_value(); }
    void apply();
    void drop();
    bool canUndo() const { return !m_history.empty() && !isWatching(); }
    void undo();
    bool isWatching() const { return m_watched != 0; }
    // Since the model was loaded, by (layer, expert): evicted from the device by the user
    // and not brought back, and set by the user to another format than the model's.
    const Experts& evicted() const { return m_evicted; }
    const Experts& reformatted() const { return m_reformatted; }

  Q_SIGNALS:
    // A sentence about the newest change: requested, done, or why not.
    void said(const QString& text, bool isProblem);
    void proposed(const QString& what);  // empty: there is no proposal any more

  private:
    // A change, the experts' state before it, and their places after it: nothing until
    // they are known.
    struct Undo {
        engine::ExpertChange change;
        engine::ExpertStates before;
        std::vector<std::uint8_t> after;
        Experts evicted, reformatted;
        QString done;
    };
    Undo undoOf(const engine::ExpertChange& change) const;
    void notePlaces();
    // Requests that take it back, in this order. What others moved since stays.
    std::vector<engine::ExpertChange> wayBack(const Undo& undo) const;
    bool ask(const engine::ExpertChange& change);
    qsizetype nPlacesFor(const engine::ExpertChange& change) const;
    QString proposalText(const engine::ExpertChange& change) const;
    QString formatName(engine::FormatId format) const;
    void onEnded(const engine::ReplanReport& report);
    void remember();
    qsizetype withoutPlace() const;  // of the experts concerned
    // One expert with the model's own number of the layer as %1, its own as %2; of many
    // the number as %1.
    QString named(const QString& one, const QString& many) const;

    EngineController& m_engine;
    quint64 m_watched = 0;  // report; 0: none
    QString m_done;
    std::vector<ExpertId> m_experts;  // the experts concerned
    bool m_pins = false;
    engine::ExpertChange::Kind m_kind{};
    engine::FormatId m_format{};
    Experts m_evicted, m_reformatted;
    std::optional<engine::ExpertChange> m_proposal;
    std::vector<Undo> m_history;
    std::optional<Undo> m_undo;  // of the change that is under way
    bool m_undoing = false;
};

}  // namespace offstage::ui
