#include "ui/engine/machines.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include <QFileInfo>
#include <QLocale>

#include "engine/cluster/node_messages.h"
#include "engine/error.h"
#include "ui/base/delay.h"
#include "ui/base/settings.h"
#include "ui/engine/engine_controller.h"
#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"

namespace offstage::ui {

namespace {

constexpr int kNotesMs = 250;
constexpr int kListMs = 100;
// A machine reads once a second whom it is paired with.
constexpr int kTriesAfterPairing = 8;
constexpr std::chrono::milliseconds kBetweenTries{500};

// False: a stop was requested.
bool waitABit(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, kBetweenTries, [] { return false; });
    return !stop.stop_requested();
}

// The name used by the command line's --node-shape and in the settings.
constexpr std::pair<engine::NodeShape, const char*> kShapeNames[] = {
    {engine::NodeShape::kAuto, "auto"},
    {engine::NodeShape::kHelpers, "helpers"},
    {engine::NodeShape::kDecentralised, "decentralised"},
};

engine::NodeShape shapeOf(const QString& name) {
    for (const auto& [shape, text] : kShapeNames) {
        if (name == QLatin1String(text)) {
            return shape;
        }
    }
    return engine::NodeShape::kAuto;
}

QString nameOf(engine::NodeShape shape) {
    for (const auto& [known, text] : kShapeNames) {
        if (known == shape) {
            return QString::fromLatin1(text);
        }
    }
    return {};
}

QString sentence(const engine::MachineTest& test, const QString& name) {
    return Machines::tr("%1: %2 ms there and back, %3 MB/s; it holds %4 experts in %5 of %6.")
        .arg(name, QLocale().toString(test.latency_us / 1e3, 'f', 2), QLocale().toString(test.mbps, 'f', 0),
             QLocale().toString(static_cast<qulonglong>(test.state.n_held)), bytesText(test.state.ram_used_bytes),
             bytesText(test.state.ram_bytes));
}

}  // namespace

Machines::Machines(std::shared_ptr<engine::MachineNetwork> network, EngineController& engine, QObject* parent)
    : QObject(parent), m_network(std::move(network)), m_engine(engine) {
    if (!m_network) {
        return;
    }
    m_use.always = settings::kMachinesAlways.value();
    m_use.halves_activations = settings::kMachinesHalve.value();
    m_use.shape = shapeOf(settings::kMachinesShape.value());
    read();
    m_there = new QObject;
    m_there->moveToThread(&m_thread);
    connect(&m_thread, &QThread::finished, m_there, &QObject::deleteLater);
    m_thread.setObjectName(QStringLiteral("machines"));
    m_thread.start();
    m_notes.setInterval(kNotesMs);
    connect(&m_notes, &QTimer::timeout, this, &Machines::lookForNotes);
    connect(&m_engine, &EngineController::machinesJoining, this, [this] {
        for (const Machine& machine : std::as_const(m_machines)) {
            if (machine.used) {
                Q_EMIT connecting(
                    machine.address,
                    m_use.shape == engine::NodeShape::kDecentralised
                        ? tr("steps of the model, made by %1 as well; again while it cannot be reached")
                              .arg(machine.name)
                        : tr("experts of the model on %1; again while it cannot be reached").arg(machine.name));
            }
        }
        m_notes.start();
    });
    connect(&m_engine, &EngineController::machinesFailed, this,
            [this](const QString& why) { Q_EMIT noted(why, true); });
    connect(&m_engine, &EngineController::loadStarted, this, [this] { m_choseAgain = m_followedKv = false; });
    callAfter(m_listChanged, kListMs, this, &Machines::readAgain);
    for (const auto& changed : {&QFileSystemWatcher::fileChanged, &QFileSystemWatcher::directoryChanged}) {
        connect(&m_list, changed, &m_listChanged, qOverload<>(&QTimer::start));
    }
    watchList();
    join();
}

Machines::~Machines() {
    m_pairingStop.request_stop();
    m_testStop.request_stop();
    m_thread.quit();
    m_thread.wait();
}

const Machines::Machine* Machines::find(const QString& name) const {
    const auto found =
        std::find_if(m_machines.begin(), m_machines.end(), [&](const Machine& m) { return m.name == name; });
    return found == m_machines.end() ? nullptr : &*found;
}

void Machines::read() {
    const QStringList used = settings::kMachinesUsed.value();
    m_machines.clear();
    m_problem.clear();
    try {
        for (const engine::PairedMachine& paired : m_network->machines()) {
            const QString name = QString::fromStdString(paired.name);
            m_machines.append({name, QString::fromStdString(paired.address), QString::fromStdString(paired.fingerprint),
                               used.contains(name)});
        }
    } catch (const engine::Error& error) {
        m_problem = engineText(error.message());
    }
}

// A file that is replaced is another one, and a first pair makes folder and file.
void Machines::watchList() {
    const QString file = QString::fromStdString(m_network->list_file());
    if (file.isEmpty()) {
        return;
    }
    QString folder = QFileInfo(file).path();
    while (!QFileInfo::exists(folder) && QFileInfo(folder).path() != folder) {
        folder = QFileInfo(folder).path();
    }
    for (const QString& path : {folder, file}) {
        if (QFileInfo::exists(path) && !m_list.files().contains(path) && !m_list.directories().contains(path)) {
            m_list.addPath(path);
        }
    }
}

// Another program, or this one, has written the list.
void Machines::readAgain() {
    watchList();
    const auto known = [this] {
        QStringList all{m_problem};
        for (const Machine& machine : std::as_const(m_machines)) {
            all << machine.name << machine.address << machine.fingerprint << QString::number(machine.used);
        }
        return all;
    };
    const auto used = [this] {
        QStringList all;
        for (const Machine& machine : std::as_const(m_machines)) {
            if (machine.used) {
                all << machine.name << machine.address << machine.fingerprint;
            }
        }
        return all;
    };
    const QStringList knownBefore = known(), usedBefore = used();
    read();
    if (known() == knownBefore) {
        return;
    }
    if (m_problem.isEmpty()) {
        keep();
        if (used() != usedBefore) {
            joinAsChosen();
        }
    } else {
        Q_EMIT noted(m_problem, true);
    }
    Q_EMIT changed();
}

bool Machines::anyUsed() const {
    return std::any_of(m_machines.begin(), m_machines.end(), [](const Machine& m) { return m.used; });
}

// Knowledge about the shape does not apply to other machines or another choice.
void Machines::joinAsChosen() {
    m_choseAgain = m_helpersOnly = m_followedKv = false;
    join();
}

void Machines::keep() const {
    QStringList used;
    for (const Machine& machine : m_machines) {
        if (machine.used) {
            used << machine.name;
        }
    }
    QSettings open;
    settings::kMachinesUsed.set(open, used);
    settings::kMachinesAlways.set(open, m_use.always);
    settings::kMachinesHalve.set(open, m_use.halves_activations);
    settings::kMachinesShape.set(open, nameOf(m_use.shape));
}

void Machines::join() {
    std::vector<std::string> names;
    for (const Machine& machine : std::as_const(m_machines)) {
        if (machine.used) {
            names.push_back(machine.name.toStdString());
        }
    }
    engine::MachineUse use = m_use;
    if (m_helpersOnly) {
        use.shape = engine::NodeShape::kHelpers;
    }
    try {
        m_engine.setMachines(names.empty() ? engine::JoinMachinesFn() : m_network->joining(names, use));
    } catch (const engine::Error& error) {
        Q_EMIT noted(engineText(error.message()), true);
    }
}

void Machines::setUsed(const QString& name, bool used) {
    for (Machine& machine : m_machines) {
        if (machine.name == name && machine.used != used) {
            machine.used = used;
            keep();
            joinAsChosen();
            Q_EMIT changed();
            return;
        }
    }
}

void Machines::setUse(const engine::MachineUse& use) {
    if (!m_network || (use.always == m_use.always && use.halves_activations == m_use.halves_activations &&
                       use.shape == m_use.shape)) {
        return;
    }
    m_use = use;
    keep();
    if (anyUsed()) {
        joinAsChosen();
    }
    Q_EMIT changed();
}

QString Machines::remove(const QString& name) {
    if (!m_network) {
        return {};
    }
    const Machine* machine = find(name);
    const bool used = machine != nullptr && machine->used;
    try {
        m_network->remove(name.toStdString());
    } catch (const engine::Error& error) {
        return engineText(error.message());
    }
    read();
    keep();
    if (used) {
        joinAsChosen();
    }
    Q_EMIT changed();
    return {};
}

void Machines::pair(const QString& address, const QString& words, const QString& name) {
    if (!m_network || m_pairing) {
        return;
    }
    std::string where;
    try {
        where = m_network->pairing_address(address.trimmed().toStdString());
    } catch (const engine::Error& error) {
        Q_EMIT pairingFailed(engineText(error.message()));
        return;
    }
    m_pairing = true;
    m_pairingStop = std::stop_source();
    Q_EMIT connecting(QString::fromStdString(where), tr("pairing"));
    Q_EMIT changed();
    QMetaObject::invokeMethod(
        m_there,
        [this, where, words = words.toStdString(), name = name.trimmed().toStdString(),
         stop = m_pairingStop.get_token()] {
            // The destructor joins the thread: `this` is there while it works.
            const auto here = [this](auto what) { QMetaObject::invokeMethod(this, what, Qt::QueuedConnection); };
            try {
                const engine::PairedMachine machine = m_network->pair(where, words, name, stop);
                const QString paired = QString::fromStdString(machine.name);
                here([this, address = QString::fromStdString(machine.address), paired] {
                    Q_EMIT connecting(address, tr("test of the connection to %1").arg(paired));
                });
                bool answers = false;
                for (int i = 0; i < kTriesAfterPairing && !answers && (i == 0 || waitABit(stop)); ++i) {
                    try {
                        m_network->test(machine.name, stop);
                        answers = true;
                    } catch (const engine::Error&) {
                        // It does not serve yet, or has not read of the pair.
                    }
                }
                here([this, paired, answers] {
                    m_pairing = false;
                    read();
                    keep();
                    Q_EMIT changed();
                    Q_EMIT this->paired(paired, answers);
                });
            } catch (const engine::Error& error) {
                const bool cancelled = error.kind() == engine::ErrorKind::kCancelled;
                here([this, message = cancelled ? engine::Message() : error.message()] {
                    m_pairing = false;
                    Q_EMIT changed();
                    Q_EMIT pairingFailed(engineText(message));
                });
            }
        },
        Qt::QueuedConnection);
}

void Machines::cancelPairing() {
    m_pairingStop.request_stop();
}

void Machines::test(const QString& name) {
    const Machine* machine = find(name);
    if (machine == nullptr || m_testing) {
        return;
    }
    m_testing = true;
    m_testStop = std::stop_source();
    Q_EMIT connecting(machine->address, tr("test of the connection to %1").arg(name));
    Q_EMIT changed();
    QMetaObject::invokeMethod(
        m_there,
        [this, name, stop = m_testStop.get_token()] {
            std::optional<engine::MachineTest> test;
            engine::Message why;
            try {
                test = m_network->test(name.toStdString(), stop);
            } catch (const engine::Error& error) {
                why = error.message();
            }
            QMetaObject::invokeMethod(
                this,
                [this, name, test, why] {
                    m_testing = false;
                    Q_EMIT changed();
                    Q_EMIT tested(name, test ? sentence(*test, name) : engineText(why), !test);
                },
                Qt::QueuedConnection);
        },
        Qt::QueuedConnection);
}

void Machines::lookForNotes() {
    namespace messages = engine::messages;
    for (const engine::Message& note : m_engine.takeMachineNotes()) {
        const bool isReturn = note.is(messages::node_is_back);
        if (isReturn) {
            for (const Machine& machine : std::as_const(m_machines)) {
                if (!note.arguments().empty() && note.arguments().front().english() == machine.name.toStdString()) {
                    Q_EMIT connecting(machine.address, tr("experts of the model on %1, again").arg(machine.name));
                }
            }
        }
        const bool makesSteps =
            note.is(messages::node_shape_decentralised) || note.is(messages::node_shape_now_decentralised);
        if (makesSteps || note.is(messages::node_shape_now_helpers)) {
            // A shape is chosen over connections of helpers; another shape needs new
            // connections.
            for (const Machine& machine : std::as_const(m_machines)) {
                if (machine.used) {
                    Q_EMIT connecting(machine.address,
                                      makesSteps ? tr("steps of the model, made by %1 as well").arg(machine.name)
                                                 : tr("experts of the model on %1, again").arg(machine.name));
                }
            }
        }
        const bool isProblem = note.is(messages::node_lost) || note.is(messages::node_not_reached) ||
                               note.is(messages::node_refuses) || note.is(messages::node_holds_nothing) ||
                               note.is(messages::node_loss_costs) || note.is(messages::node_cannot_follow) ||
                               note.is(messages::node_link_is_slower) || note.is(messages::node_use_is_slower);
        Q_EMIT noted(engineText(note), isProblem);
    }
    lookAtShape();
    // Not joined any more: all notes have been shown.
    if (!anyUsed() && !m_engine.isAnswering()) {
        m_notes.stop();
    }
}

// Joined again, between two answers, where that makes better use of the machines.
void Machines::lookAtShape() {
    const auto snapshot = m_engine.snapshot();
    if (!snapshot || snapshot->machines.empty() || m_engine.isAnswering() || !anyUsed()) {
        return;
    }
    const engine::MachineShape& shape = snapshot->machine_shape;
    if (shape.alone != engine::StepsAlone::kKvType) {
        m_followedKv = false;
    } else if (!std::exchange(m_followedKv, true)) {
        join();
    }
    if (shape.automatic && shape.decentralised && shape.refuses && !std::exchange(m_helpersOnly, true)) {
        join();
    } else if (shape.automatic && shape.late && !std::exchange(m_choseAgain, true)) {
        join();
    }
}

}  // namespace offstage::ui
