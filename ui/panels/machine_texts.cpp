#include "ui/panels/machine_texts.h"

#include <algorithm>

#include <QLocale>

#include "engine/cluster/node_messages.h"
#include "ui/engine/engine_controller.h"
#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"
#include "ui/engine/machines.h"

namespace offstage::ui {

namespace {

constexpr double kNoticeablyFaster = 1.5;

// For a machine that has become faster or slower since it was connected; otherwise
// nothing.
QString measuredAgain(const engine::MachineFigures& figures) {
    if (!(figures.first_expert_us > 0) || !(figures.expert_us > 0)) {
        return {};
    }
    const double faster = figures.first_expert_us / figures.expert_us;
    if (faster >= kNoticeablyFaster) {
        return MachineTexts::tr("Measured again: %1 times faster than at first, so more is computed there.")
            .arg(QLocale().toString(faster, 'f', faster < 10 ? 1 : 0));
    }
    if (faster <= 1 / kNoticeablyFaster) {
        return MachineTexts::tr("Measured again: %1 times slower than at first, so less is computed there.")
            .arg(QLocale().toString(1 / faster, 'f', 1 / faster < 10 ? 1 : 0));
    }
    return {};
}

}  // namespace

QString MachineTexts::ms(double us, int decimals) {
    return QLocale().toString(us / 1e3, 'f', decimals);
}

QString MachineTexts::ofState(const engine::MachineFigures& figures) {
    switch (figures.state) {
        case engine::MachineState::kConnecting:
            return tr("◌ connecting…");
        case engine::MachineState::kUp:
            return tr("● up");
        case engine::MachineState::kUnreachable:
            return tr("▲ not reached");
        case engine::MachineState::kRefused:
            return tr("▲ refuses");
        case engine::MachineState::kEnding:
            return tr("▲ shutting down");
    }
    return {};
}

const engine::MachineFigures* MachineTexts::figuresOf(const QString& machine) const {
    for (const engine::MachineFigures& figures : m_snapshot.machines) {
        if (QString::fromStdString(figures.name) == machine) {
            return &figures;
        }
    }
    return nullptr;
}

bool MachineTexts::isAny(engine::MachineState state) const {
    return std::any_of(m_snapshot.machines.begin(), m_snapshot.machines.end(),
                       [state](const engine::MachineFigures& figures) { return figures.state == state; });
}

QString MachineTexts::stateOf(const QString& machine) const {
    const Machines::Machine* paired = m_machines.find(machine);
    const engine::MachineFigures* figures = figuresOf(machine);
    if (paired == nullptr) {
        return {};
    }
    if (!paired->used) {
        return figures != nullptr && m_engine.isAnswering() ? tr("◌ draining") : tr("○ off");
    }
    if (!m_engine.model()) {
        return tr("○ no model open");
    }
    if (figures == nullptr) {
        return m_engine.isAnswering() ? tr("◌ after this answer") : tr("◌ connecting…");
    }
    return ofState(*figures);
}

QString MachineTexts::hereText() const {
    QStringList lines;
    if (const auto& model = m_engine.model()) {
        lines << hardwareText(*model);
        if (m_snapshot.machine_shape.decentralised && !m_snapshot.expert_owners.empty()) {
            const auto& owners = m_snapshot.expert_owners;
            lines << tr("Attention and the choice of experts are computed on every machine; %1 of the %2 experts here.")
                         .arg(QLocale().toString(qlonglong{std::count(owners.begin(), owners.end(), 0)}),
                              QLocale().toString(qlonglong{m_snapshot.n_layers * m_snapshot.n_experts}));
        } else {
            lines << tr(
                "Attention and the choice of experts are computed here, and all experts that no other machine "
                "takes.");
        }
    }
    const bool emulated = m_engine.model() && m_engine.model()->emulated;
    if (m_snapshot.machine_tokens > 0 && !m_snapshot.machines.empty() && !emulated) {
        double waiting_us = 0;
        for (const engine::MachineFigures& figures : m_snapshot.machines) {
            waiting_us += figures.waiting_us;
        }
        lines << tr("Of a token's %1 ms it waited %2 ms for other machines.")
                     .arg(ms(m_snapshot.machine_token_us), ms(waiting_us));
    }
    return lines.join(u'\n');
}

QString MachineTexts::detailsOf(const QString& machine) const {
    const Machines::Machine* paired = m_machines.find(machine);
    if (paired == nullptr) {
        return hereText();
    }
    QStringList lines;
    lines << tr("%1, %2, key %3…").arg(machine, paired->address, paired->fingerprint.left(8));
    const engine::MachineFigures* figures = figuresOf(machine);
    if (figures == nullptr) {
        if (!paired->used) {
            lines << tr("It is not used, and nothing connects to it.");
        }
        return lines.join(u'\n');
    }
    if (!figures->why.empty()) {
        const bool isSentence = figures->state == engine::MachineState::kRefused;
        lines << (isSentence ? engineText(figures->why)
                             : tr("It is not reached: %1. Its experts run here; it is tried again by itself.")
                                   .arg(engineText(figures->why)));
    }
    if (figures->state == engine::MachineState::kUp) {
        lines << tr("Holds %1 of %2 experts in %3 of %4.")
                     .arg(QLocale().toString(qlonglong{figures->n_held}),
                          QLocale().toString(qlonglong{m_snapshot.n_layers * m_snapshot.n_experts}),
                          bytesText(figures->held_bytes), bytesText(figures->ram_bytes));
        lines << tr("%1 ms there and back, %2 MB/s; %3 threads, %4.")
                     .arg(ms(figures->latency_us), QLocale().toString(figures->mbps, 'f', 0),
                          QLocale().toString(figures->n_threads), QString::fromStdString(figures->instruction_set));
        const bool makesSteps = m_snapshot.machine_shape.decentralised;
        if (makesSteps) {
            lines << tr("Makes each step as well; computes %1 of the experts.")
                         .arg(QLocale().toString(qlonglong{figures->n_owned}));
        }
        if (const QString again = measuredAgain(*figures); !again.isEmpty()) {
            lines << again;
        }
        for (const engine::MachineLink& link : figures->links) {
            const QString other = QString::fromStdString(link.to);
            lines << (link.direct ? tr("Connected to %1 itself: %2 ms there and back, %3 MB/s.")
                                        .arg(other, ms(link.latency_us), QLocale().toString(link.mbps, 'f', 0))
                                  : tr("Not connected to %1 (%2): what the two send each other goes by this computer.")
                                        .arg(other, engineText(link.why)));
        }
        if (m_snapshot.machine_tokens > 0 && makesSteps) {
            lines << tr("A token: %1 ms computing its experts, %2 ms on the network, %3 ms waited for here; %4.")
                         .arg(ms(figures->compute_us), ms(figures->network_us), ms(figures->waiting_us),
                              bytesText(static_cast<quint64>(figures->bytes)));
        } else if (m_snapshot.machine_tokens > 0) {
            lines << tr("A token: %1 ms computing there, %2 ms on the network, %3 ms waited for here; %4.")
                         .arg(ms(figures->compute_us), ms(figures->network_us), ms(figures->waiting_us),
                              bytesText(static_cast<quint64>(figures->bytes)));
        }
    }
    if (figures->n_losses > 0) {
        lines << tr("Lost since it was joined: %n time(s).", nullptr, static_cast<int>(figures->n_losses));
    }
    return lines.join(u'\n');
}

// The present shape and its forecast, problems, and restrictions.
QString MachineTexts::shapeInForce() const {
    namespace messages = engine::messages;
    const engine::MachineUse& use = m_machines.use();
    const bool automatic = use.shape == engine::NodeShape::kAuto;
    const bool insists = automatic && use.always;
    const engine::Snapshot& now = m_snapshot;
    QStringList lines;
    if (now.machines.empty()) {
        lines << (insists ? tr("As long as they compute whatever they hold, the others are helpers.")
                  : automatic
                      ? tr("Chosen when machines are connected to, and anew before an answer where the other has "
                           "become clearly faster, by what each is forecast to take.")
                      : tr("Counts as soon as a machine is used."));
        return lines.join(u'\n');
    }
    if (!isAny(engine::MachineState::kUp)) {
        return isAny(engine::MachineState::kConnecting)
                   ? tr("Being connected to; until then this machine makes every step alone.")
                   : tr("No other machine is reached: this one makes every step alone.");
    }
    const engine::MachineShape& shape = now.machine_shape;
    const bool known = shape.helpers.us() > 0 && shape.peers.us() > 0;
    const QString mine = ms(shape.in_force().us());
    const QString other = ms(shape.decentralised ? shape.helpers.us() : shape.peers.us());
    const QString name =
        shape.decentralised ? tr("In force: every machine makes each step.") : tr("In force: desktop and helpers.");
    if (insists && !shape.decentralised) {
        lines << name + u' ' + tr("As long as they compute whatever they hold, the others are helpers.");
    } else if (shape.automatic && known) {
        lines << name + u' ' +
                     (shape.in_force().us() <= (shape.decentralised ? shape.helpers : shape.peers).us()
                          ? tr("Forecast: %1 ms a token, the other way %2 ms.").arg(mine, other)
                          : tr("Forecast now: %1 ms a token, the other way %2 ms; it is chosen anew before an answer, "
                               "where it is clearly faster.")
                                .arg(mine, other));
    } else if (shape.automatic) {
        lines << name + u' ' + tr("What the other would take is not known.");
    } else if (known) {
        lines << name + u' ' + tr("Forecast: %1 ms a token, the other way %2 ms.").arg(mine, other);
    } else {
        lines << name;
    }
    if (automatic && !insists && !shape.automatic) {
        lines << tr("A machine makes no steps for this one, so the choice fell on helpers.");
    }
    switch (shape.alone) {
        case engine::StepsAlone::kAnswer:
            lines << engineText(messages::node_steps_alone);
            break;
        case engine::StepsAlone::kKvType:
            lines << engineText(messages::node_steps_alone_for_kv);
            break;
        case engine::StepsAlone::kNo:
            break;
    }
    return lines.join(u'\n');
}

}  // namespace offstage::ui
