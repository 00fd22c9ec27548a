#include "ui/panels/expert_actions.h"

#include <algorithm>
#include <map>
#include <numeric>

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

engine::ExpertChange changeOf(engine::ExpertChange::Kind kind, const std::vector<ExpertId>& experts,
                              engine::FormatId format) {
    engine::ExpertChange change{kind, {}, format};
    for (const ExpertId& expert : experts) {
        change.experts.push_back({expert.layer, expert.expert});
    }
    return change;
}

// Whether the format is one of the model's file.
bool isOfFile(engine::FormatId format) {
    return engine::format_row(format).kind == engine::FormatRow::Kind::kFile;
}

}  // namespace

ExpertActions::ExpertActions(EngineController& engine, QObject* parent) : QObject(parent), m_engine(engine) {
    connect(&m_engine, &EngineController::replanEnded, this, [this](const engine::ReplanReport& report) {
        if (m_watched != 0 && report.id == m_watched) {
            m_watched = 0;
            onEnded(report);
        }
    });
    connect(&m_engine, &EngineController::loadStarted, this, [this] {
        m_evicted.clear();
        m_reformatted.clear();
        m_history.clear();
        if (std::exchange(m_watched, 0) != 0) {
            Q_EMIT said({}, false);
        }
        drop();
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
        connect(action, &QAction::triggered, this, [this, kind, experts] { propose(kind, experts); });
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
                [this, experts, id = choice.format] { propose(Kind::kFormat, experts, id); });
    }
    menu.insertMenu(first, precision);
    if (first != nullptr) {
        menu.insertSeparator(first);
    }
}

void ExpertActions::change(engine::ExpertChange::Kind kind, const std::vector<ExpertId>& experts,
                           engine::FormatId format) {
    using Kind = engine::ExpertChange::Kind;
    drop();
    notePlaces();  // of the change before, which may have ended just now
    const engine::ExpertChange change = changeOf(kind, experts, format);
    Undo undo = undoOf(change);
    if (!ask(change)) {
        return;
    }
    m_undo = std::move(undo);
    m_undoing = false;
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
            const QString to = formatName(format);
            doing = named(tr("Changing layer %1, expert %2 to %3…"), tr("Changing %1 experts to %2…")).arg(to);
            m_done = named(tr("Layer %1, expert %2 is kept in %3."), tr("%1 experts are kept in %2.")).arg(to);
            break;
    }
    Q_EMIT said(doing, false);
}

bool ExpertActions::ask(const engine::ExpertChange& change) {
    m_watched = change.experts.empty() ? 0 : m_engine.changeExperts(change);
    if (m_watched == 0) {
        Q_EMIT said(tr("Experts cannot be changed at the moment: no model is loaded."), true);
    }
    return m_watched != 0;
}

void ExpertActions::propose(engine::ExpertChange::Kind kind, const std::vector<ExpertId>& experts,
                            engine::FormatId format) {
    if (experts.size() < 2) {
        change(kind, experts, format);
        return;
    }
    m_proposal = changeOf(kind, experts, format);
    Q_EMIT proposed(proposalText(*m_proposal));
}

void ExpertActions::apply() {
    if (!m_proposal) {
        return;
    }
    std::vector<ExpertId> experts;
    for (const engine::ExpertChange::Expert& each : m_proposal->experts) {
        experts.push_back({static_cast<int>(each.layer), static_cast<int>(each.expert)});
    }
    change(m_proposal->kind, experts, m_proposal->format);
}

void ExpertActions::drop() {
    if (m_proposal) {
        m_proposal.reset();
        Q_EMIT proposed({});
    }
}

// Requests that follow each other become one re-plan.
void ExpertActions::undo() {
    drop();
    if (!canUndo()) {
        return;
    }
    notePlaces();
    m_undo = m_history.back();
    m_undoing = true;
    m_pins = false;
    m_done = m_undo->done;
    const std::vector<engine::ExpertChange> way = wayBack(*m_undo);
    if (way.empty()) {  // others took it back
        remember();
        Q_EMIT said(m_done, false);
        return;
    }
    for (const engine::ExpertChange& change : way) {
        if (!ask(change)) {
            return;
        }
    }
    Q_EMIT said(tr("Going back…"), false);
}

ExpertActions::Undo ExpertActions::undoOf(const engine::ExpertChange& change) const {
    Undo undo{change, {}, {}, m_evicted, m_reformatted, {}};
    if (const auto snapshot = m_engine.snapshot()) {
        undo.before = snapshot->experts;
        undo.before.uses.clear();
    }
    undo.done = change.experts.size() == 1 ? tr("The expert is as before.")
                                           : tr("%1 experts are as before.").arg(change.experts.size());
    return undo;
}

// After the last change.
void ExpertActions::notePlaces() {
    const auto snapshot = m_engine.snapshot();
    if (!m_history.empty() && m_history.back().after.empty() && snapshot) {
        m_history.back().after = snapshot->experts.place;
    }
}

// The device keeps its number of experts when one is pinned: the least popular one that
// is not pinned leaves. So all that belong there are pinned, for that moment alone.
std::vector<engine::ExpertChange> ExpertActions::wayBack(const Undo& undo) const {
    using Kind = engine::ExpertChange::Kind;
    const auto snapshot = m_engine.snapshot();
    const engine::ExpertStates now = snapshot ? snapshot->experts : engine::ExpertStates();
    const engine::ExpertStates& before = undo.before;
    const std::size_t n = now.place.size();
    for (const auto* each : {&before.place, &before.pinned, &before.format, &undo.after, &now.pinned, &now.format}) {
        if (each->size() != n) {
            return {};
        }
    }
    std::vector<std::uint8_t> isChanged(n, 0);
    for (const engine::ExpertChange::Expert& each : undo.change.experts) {
        isChanged[static_cast<std::size_t>(each.layer * snapshot->n_experts + each.expert)] = 1;
    }
    const auto isThere = [](const std::vector<std::uint8_t>& places, std::size_t i) {
        return static_cast<engine::Place>(places[i]) == engine::Place::kDevice;
    };
    std::map<engine::FormatId, engine::ExpertChange> formats;
    engine::ExpertChange unpin{Kind::kUnpin, {}, {}}, hold{Kind::kPin, {}, {}}, release{Kind::kUnpin, {}, {}},
        evict{Kind::kEvict, {}, {}};
    bool isMissing = false;
    for (std::size_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const engine::ExpertChange::Expert expert{at / snapshot->n_experts, at % snapshot->n_experts};
        if (undo.change.kind == Kind::kFormat && isChanged[i] != 0) {
            const auto format = static_cast<engine::FormatId>(before.format[i]);
            formats.try_emplace(format, engine::ExpertChange{Kind::kFormat, {}, format})
                .first->second.experts.push_back(expert);
        }
        const bool came = isThere(undo.after, i) && !isThere(before.place, i);
        const bool left = isThere(before.place, i) && !isThere(undo.after, i);
        const bool isPinned = now.pinned[i] != 0;
        const bool staysPinned = (isChanged[i] != 0 ? before.pinned[i] : now.pinned[i]) != 0;
        if (isPinned && !staysPinned) {
            unpin.experts.push_back(expert);
        }
        if (staysPinned || left || (isThere(now.place, i) && !came)) {
            hold.experts.push_back(expert);
            isMissing = isMissing || !isThere(now.place, i) || (staysPinned && !isPinned);
            if (!staysPinned) {
                release.experts.push_back(expert);
            }
        } else if (isThere(now.place, i)) {
            evict.experts.push_back(expert);
        }
    }
    std::vector<engine::ExpertChange> way;
    for (auto& [format, each] : formats) {
        way.push_back(std::move(each));
    }
    if (!isMissing) {
        hold.experts.clear();
        release.experts.clear();
    }
    for (engine::ExpertChange* each : {&unpin, &hold, &release, &evict}) {
        if (!each->experts.empty()) {
            way.push_back(std::move(*each));
        }
    }
    return way;
}

QString ExpertActions::formatName(engine::FormatId format) const {
    return formatText(m_engine.model() ? m_engine.model()->formats : engine::format_rows(),
                      static_cast<std::size_t>(format));
}

// The places on the device that pinned experts may take: those of experts that are
// neither pinned nor concerned, and free memory (Replanner::change()).
qsizetype ExpertActions::nPlacesFor(const engine::ExpertChange& change) const {
    const auto snapshot = m_engine.snapshot();
    if (!snapshot) {
        return 0;
    }
    const engine::ExpertStates& states = snapshot->experts;
    const auto isThere = [&](std::size_t at) {
        return static_cast<engine::Place>(states.place[at]) == engine::Place::kDevice;
    };
    std::vector<std::uint8_t> isConcerned(states.place.size(), 0);
    for (const engine::ExpertChange::Expert& each : change.experts) {
        const auto at = static_cast<std::size_t>(each.layer * snapshot->n_experts + each.expert);
        if (at < isConcerned.size()) {
            isConcerned[at] = 1;
        }
    }
    qsizetype nPlaces = 0;
    std::uint64_t nOnDevice = 0;
    for (std::size_t at = 0; at < states.place.size() && at < states.pinned.size(); ++at) {
        nOnDevice += isThere(at) ? 1 : 0;
        nPlaces += isThere(at) && states.pinned[at] == 0 && isConcerned[at] == 0 ? 1 : 0;
    }
    const engine::MemoryLedger& vram = snapshot->vram;
    const std::uint64_t inExperts = std::accumulate(vram.experts.begin(), vram.experts.end(), std::uint64_t{0});
    const std::uint64_t one = nOnDevice > 0 ? inExperts / nOnDevice : 0;
    const std::uint64_t used = vram.used();
    const std::uint64_t limit = vram.budget > 0 ? vram.budget : vram.total;
    return nPlaces + (one > 0 && limit > used ? static_cast<qsizetype>((limit - used) / one) : 0);
}

// Bytes by the formats' bits, without their scales.
QString ExpertActions::proposalText(const engine::ExpertChange& change) const {
    using Kind = engine::ExpertChange::Kind;
    const auto& model = m_engine.model();
    const auto snapshot = m_engine.snapshot();
    const auto bytesIn = [&](engine::FormatId format) {
        const double weights = model ? 3.0 * static_cast<double>(model->hidden_dim * model->ffn_dim) : 0;
        const bool isStored = model && model->expert_formats.in_blocks && isOfFile(format);
        return weights / 8 * (isStored ? model->expert_formats.bits : engine::format_row(format).bits);
    };
    double now = 0, there = 0, missing = 0, after = 0;
    qsizetype nThere = 0;
    for (const engine::ExpertChange::Expert& each : change.experts) {
        const auto at = static_cast<std::size_t>(each.layer * (snapshot ? snapshot->n_experts : 0) + each.expert);
        if (!snapshot || at >= snapshot->experts.place.size() || at >= snapshot->experts.format.size()) {
            continue;
        }
        const double bytes = bytesIn(static_cast<engine::FormatId>(snapshot->experts.format[at]));
        const bool isThere = static_cast<engine::Place>(snapshot->experts.place[at]) == engine::Place::kDevice;
        nThere += isThere ? 1 : 0;
        now += bytes;
        (isThere ? there : missing) += bytes;
        after += bytesIn(change.format);
    }
    const auto n = static_cast<qsizetype>(change.experts.size());
    const auto text = [](double bytes) { return bytesText(static_cast<quint64>(bytes)); };
    switch (change.kind) {
        case Kind::kPin:
            if (const qsizetype nComing = nPlacesFor(change); nComing < n - nThere) {
                return tr("Pin %1 experts: %2 are on the device, and it has places for %3 more of them, about %4.")
                    .arg(n)
                    .arg(nThere)
                    .arg(nComing)
                    .arg(text(missing * static_cast<double>(nComing) / static_cast<double>(n - nThere)));
            }
            return tr("Pin %1 experts: %2 of them are copied to the device, about %3, and others leave it where there "
                      "is no room.")
                .arg(n)
                .arg(n - nThere)
                .arg(text(missing));
        case Kind::kUnpin:
            return tr("Unpin %1 experts: the cache may give their places to others.").arg(n);
        case Kind::kEvict:
            return tr("Take %1 experts off the device: %2 are there, about %3.").arg(n).arg(nThere).arg(text(there));
        case Kind::kFormat:
            break;
    }
    return tr("Keep %1 experts in %2: about %3 instead of %4. Answers change.")
        .arg(n)
        .arg(formatName(change.format), text(after), text(now));
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
    if (m_undoing) {
        m_evicted = m_undo->evicted;
        m_reformatted = m_undo->reformatted;
        m_history.pop_back();
        return;
    }
    m_history.push_back(*m_undo);
    if (m_history.size() > kMostUndo) {
        m_history.erase(m_history.begin());
    }
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

void ExpertActions::onEnded(const engine::ReplanReport& report) {
    const QString problem = engineText(report.problem);
    switch (report.state) {
        case engine::ReplanState::kDone:
            remember();
            notePlaces();
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
