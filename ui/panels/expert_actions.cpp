#include "ui/panels/expert_actions.h"

#include <algorithm>
#include <iterator>

#include <QMenu>

#include "ui/engine_text.h"
#include "ui/format.h"

namespace offstage::ui {

namespace {

// The formats that an expert may be given, the model's own first.
std::vector<engine::FormatRow> formatsFor(const std::optional<engine::ModelSummary>& model) {
    std::vector<engine::FormatRow> formats;
    const auto rows = engine::format_rows();
    const auto own = std::find_if(rows.begin(), rows.end(),
                                  [&](const auto& row) { return model && row.name == model->weight_type; });
    if (own != rows.end()) {
        formats.push_back(*own);
    }
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(formats), [&](const engine::FormatRow& row) {
        return row.for_experts && (own == rows.end() || row.bits < own->bits);
    });
    return formats;
}

}  // namespace

ExpertActions::ExpertActions(EngineController& engine, QObject* parent) : QObject(parent), m_engine(engine) {
    m_timer.setInterval(kIntervalMs);
    connect(&m_timer, &QTimer::timeout, this, &ExpertActions::look);
}

void ExpertActions::fill(QMenu& menu, ExpertId expert, const State& state) {
    const bool ready =
        m_engine.model() && (m_engine.isAnswering() || m_engine.state() == EngineController::State::Ready);
    const bool device = m_engine.model() && m_engine.model()->device != "cpu";
    QAction* first = menu.actions().isEmpty() ? nullptr : menu.actions().constFirst();
    const auto add = [&](const QString& text, const QString& tip, bool enabled, auto slot) {
        auto* action = new QAction(text, &menu);
        action->setToolTip(tip);
        action->setStatusTip(tip);
        action->setEnabled(enabled);
        connect(action, &QAction::triggered, this, slot);
        menu.insertAction(first, action);
    };
    if (state.pinned) {
        add(tr("&Unpin"), tr("The cache may take its place on the device again"), ready && device,
            [this, expert] { pin(expert, false); });
    } else {
        add(tr("&Pin to the device"), tr("Brings it to the device and keeps it there, whatever the cache says"),
            ready && device, [this, expert] { pin(expert, true); });
    }
    add(tr("&Evict from the device"), tr("Lets it go; it stays in RAM or on disk"), ready && device && state.onDevice,
        [this, expert] { evict(expert); });
    auto* precision = new QMenu(tr("P&recision"), &menu);
    precision->setEnabled(ready);
    for (const engine::FormatRow& format : formatsFor(m_engine.model())) {
        QAction* action = precision->addAction(u'&' + formatText(format));
        action->setCheckable(true);
        action->setChecked(format.id == state.format);
        connect(action, &QAction::triggered, this, [this, expert, id = format.id] { setFormat(expert, id); });
    }
    menu.insertMenu(first, precision);
    if (first != nullptr) {
        menu.insertSeparator(first);
    }
}

void ExpertActions::pin(ExpertId expert, bool pinned) {
    const quint64 id = m_engine.pinExpert(expert.layer, expert.expert, pinned);
    if (pinned) {
        watch(id, tr("Pinning layer %1, expert %2…").arg(expert.layer).arg(expert.expert),
              tr("Layer %1, expert %2 is pinned to the device.").arg(expert.layer).arg(expert.expert));
    } else {
        watch(id, tr("Unpinning layer %1, expert %2…").arg(expert.layer).arg(expert.expert),
              tr("Layer %1, expert %2 is no longer pinned.").arg(expert.layer).arg(expert.expert));
    }
}

void ExpertActions::evict(ExpertId expert) {
    watch(m_engine.evictExpert(expert.layer, expert.expert),
          tr("Taking layer %1, expert %2 off the device…").arg(expert.layer).arg(expert.expert),
          tr("Layer %1, expert %2 has left the device.").arg(expert.layer).arg(expert.expert));
}

void ExpertActions::setFormat(ExpertId expert, engine::FormatId format) {
    const int bits = engine::format_row(format).bits;
    watch(m_engine.setExpertFormat(expert.layer, expert.expert, format),
          tr("Changing layer %1, expert %2 to %3 bit…").arg(expert.layer).arg(expert.expert).arg(bits),
          tr("Layer %1, expert %2 is kept in %3 bit.").arg(expert.layer).arg(expert.expert).arg(bits));
}

void ExpertActions::watch(quint64 id, const QString& doing, const QString& done) {
    if (id == 0) {
        Q_EMIT said(tr("Experts cannot be changed at the moment: no model is loaded."), true);
        return;
    }
    m_watched = id;
    m_done = done;
    Q_EMIT said(doing, false);
    m_timer.start();
    look();
}

void ExpertActions::look() {
    const auto reports = m_engine.replans();
    const auto report = std::find_if(reports.begin(), reports.end(),
                                     [this](const engine::ReplanReport& r) { return r.id == m_watched; });
    if (!m_engine.model()) {
        m_watched = 0;
        m_timer.stop();
        Q_EMIT said({}, false);
        return;
    }
    if (report == reports.end() || report->state == engine::ReplanState::kWaiting ||
        report->state == engine::ReplanState::kMoving) {
        return;
    }
    m_watched = 0;
    m_timer.stop();
    const QString problem = engineText(report->problem);
    switch (report->state) {
        case engine::ReplanState::kDone:
            Q_EMIT said(problem.isEmpty() ? m_done : m_done + u' ' + problem, false);
            break;
        case engine::ReplanState::kCancelled:
            Q_EMIT said(tr("The change was cancelled; everything is as before."), false);
            break;
        case engine::ReplanState::kSuperseded:
            Q_EMIT said(tr("A later change took the place of this one."), false);
            break;
        default:
            Q_EMIT said(problem.isEmpty() ? tr("The change could not be made.") : problem, true);
            break;
    }
}

}  // namespace offstage::ui
