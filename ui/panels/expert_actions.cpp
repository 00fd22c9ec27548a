#include "ui/panels/expert_actions.h"

#include <algorithm>
#include <iterator>

#include <QMenu>

#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"

namespace offstage::ui {

namespace {

struct Choice {
    engine::FormatId format{};
    QString text;
    bool isStored = false;
};

// The formats that an expert may be given, the model's own first.
std::vector<Choice> choicesFor(const std::optional<engine::ModelSummary>& model) {
    std::vector<Choice> choices;
    if (model && model->expert_formats.in_blocks) {  // layers may differ: each gets its own
        choices.push_back(
            {model->expert_format,
             ExpertActions::tr("&As in the file: %1").arg(QString::fromStdString(model->expert_formats.stored)), true});
    } else if (model) {
        choices.push_back(
            {model->expert_format, formatText(model->formats, static_cast<std::size_t>(model->expert_format)), true});
    }
    for (const engine::FormatRow& row : engine::expert_formats()) {
        const auto& smaller = model ? model->expert_formats.smaller : std::vector{row.id};
        if (std::find(smaller.begin(), smaller.end(), row.id) != smaller.end()) {
            choices.push_back({row.id, formatText(row)});
        }
    }
    return choices;
}

// Whether the format is one of the model's file.
bool isOfFile(engine::FormatId format) {
    return engine::format_row(format).kind == engine::FormatRow::Kind::kFile;
}

}  // namespace

ExpertActions::ExpertActions(EngineController& engine, QObject* parent) : QObject(parent), m_engine(engine) {
    m_timer.setInterval(kIntervalMs);
    connect(&m_timer, &QTimer::timeout, this, &ExpertActions::look);
    connect(&m_engine, &EngineController::loadStarted, this, [this] {
        m_evicted.clear();
        m_reformatted.clear();
    });
}

void ExpertActions::fill(QMenu& menu, const std::vector<ExpertId>& experts, const State& state) {
    using Kind = engine::ExpertChange::Kind;
    const bool ready =
        m_engine.model() && (m_engine.isAnswering() || m_engine.state() == EngineController::State::Ready);
    const bool device = m_engine.model() && m_engine.model()->device != "cpu";
    QAction* first = menu.actions().isEmpty() ? nullptr : menu.actions().constFirst();
    const QString whyNot = !ready    ? tr("No model is ready to be changed now")
                           : !device ? tr("The model runs on the CPU: there is no device to bring experts to")
                                     : tr("None of these is on the device");
    const auto add = [&](const QString& one, const QString& many, const QString& what, bool enabled, Kind kind) {
        const QString tip = enabled ? what : whyNot;
        auto* action = new QAction(experts.size() == 1 ? one : many.arg(experts.size()), &menu);
        action->setToolTip(tip);
        action->setStatusTip(tip);
        action->setEnabled(enabled);
        connect(action, &QAction::triggered, this, [this, kind, experts] { change(kind, experts); });
        menu.insertAction(first, action);
    };
    if (state.pinned) {
        add(tr("&Unpin"), tr("&Unpin %1 experts"), tr("The cache may take the place on the device again"),
            ready && device, Kind::kUnpin);
    } else {
        add(tr("&Pin to the device"), tr("&Pin %1 experts to the device"),
            tr("Brings to the device and keeps there, whatever the cache says"), ready && device, Kind::kPin);
    }
    add(tr("&Evict from the device"), tr("&Evict %1 experts from the device"),
        tr("Lets go; what leaves the device stays in RAM or on disk"), ready && device && state.onDevice, Kind::kEvict);
    auto* precision =
        new QMenu(experts.size() == 1 ? tr("P&recision") : tr("P&recision of %1 experts").arg(experts.size()), &menu);
    precision->setEnabled(ready);
    precision->menuAction()->setToolTip(ready ? tr("The number format that these are kept in") : whyNot);
    for (const Choice& choice : choicesFor(m_engine.model())) {
        QAction* action = precision->addAction(choice.text);
        action->setCheckable(true);
        action->setChecked(choice.format == state.format ||
                           (choice.isStored && isOfFile(choice.format) && state.format && isOfFile(*state.format)));
        connect(action, &QAction::triggered, this,
                [this, experts, id = choice.format] { change(Kind::kFormat, experts, id); });
    }
    menu.insertMenu(first, precision);
    if (first != nullptr) {
        menu.insertSeparator(first);
    }
}

void ExpertActions::change(engine::ExpertChange::Kind kind, const std::vector<ExpertId>& experts,
                           engine::FormatId format) {
    using Kind = engine::ExpertChange::Kind;
    engine::ExpertChange change{kind, {}, format};
    for (const ExpertId& expert : experts) {
        change.experts.push_back({expert.layer, expert.expert});
    }
    const quint64 id = experts.empty() ? 0 : m_engine.changeExperts(change);
    if (id == 0) {
        Q_EMIT said(tr("Experts cannot be changed at the moment: no model is loaded."), true);
        return;
    }
    m_watched = id;
    m_experts = experts;
    m_pins = kind == Kind::kPin;
    m_kind = kind;
    m_format = format;
    QString doing;
    switch (kind) {
        case Kind::kPin:
            doing = named(tr("Pinning layer %1, expert %2…"), tr("Pinning %1 experts…"));
            m_done = named(tr("Layer %1, expert %2 is pinned to the device."), tr("%1 experts are pinned."));
            break;
        case Kind::kUnpin:
            doing = named(tr("Unpinning layer %1, expert %2…"), tr("Unpinning %1 experts…"));
            m_done = named(tr("Layer %1, expert %2 is no longer pinned."), tr("%1 experts are no longer pinned."));
            break;
        case Kind::kEvict:
            doing = named(tr("Taking layer %1, expert %2 off the device…"), tr("Taking %1 experts off the device…"));
            m_done = named(tr("Layer %1, expert %2 has left the device."), tr("%1 experts have left the device."));
            break;
        case Kind::kFormat:
            const QString to = formatText(m_engine.model() ? m_engine.model()->formats : engine::format_rows(),
                                          static_cast<std::size_t>(format));
            doing = named(tr("Changing layer %1, expert %2 to %3…"), tr("Changing %1 experts to %2…")).arg(to);
            m_done = named(tr("Layer %1, expert %2 is kept in %3."), tr("%1 experts are kept in %2.")).arg(to);
            break;
    }
    Q_EMIT said(doing, false);
    m_timer.start();
    look();
}

QString ExpertActions::named(const QString& one, const QString& many) const {
    if (m_experts.size() != 1) {
        return many.arg(m_experts.size());
    }
    const auto& model = m_engine.model();
    const ExpertId expert = m_experts.front();
    return one.arg(model ? model->layer_number(expert.layer) : expert.layer).arg(expert.expert);
}

// More experts than the device has room for can be pinned: those stay where they are.
qsizetype ExpertActions::withoutPlace() const {
    const auto snapshot = m_engine.snapshot();
    return !snapshot ? 0 : std::count_if(m_experts.begin(), m_experts.end(), [&](const ExpertId& expert) {
        const auto at = static_cast<std::size_t>(expert.layer) * static_cast<std::size_t>(snapshot->n_experts) +
                        static_cast<std::size_t>(expert.expert);
        return at < snapshot->experts.place.size() &&
               static_cast<engine::Place>(snapshot->experts.place[at]) != engine::Place::kDevice;
    });
}

void ExpertActions::remember() {
    using Kind = engine::ExpertChange::Kind;
    const bool isModels = m_engine.model() && (m_format == m_engine.model()->expert_format || isOfFile(m_format));
    for (const ExpertId& expert : m_experts) {
        const std::pair<int, int> at(expert.layer, expert.expert);
        if (m_kind == Kind::kEvict) {
            m_evicted.insert(at);
        } else if (m_kind == Kind::kPin) {
            m_evicted.erase(at);
        } else if (m_kind == Kind::kFormat && isModels) {
            m_reformatted.erase(at);
        } else if (m_kind == Kind::kFormat) {
            m_reformatted.insert(at);
        }
    }
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
            remember();
            if (const qsizetype without = m_pins ? withoutPlace() : 0; without > 0) {
                m_done += u' ' + tr("%1 of them found no room there.").arg(without);
            }
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
