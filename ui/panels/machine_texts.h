#pragma once

#include <QCoreApplication>
#include <QString>

#include "engine/run/session.h"

namespace offstage::ui {

class EngineController;
class Machines;

// This machine and those paired with it in sentences, by the latest snapshot.
class MachineTexts {
    Q_DECLARE_TR_FUNCTIONS(offstage::ui::MachineTexts)

  public:
    MachineTexts(const Machines& machines, const EngineController& engine, const engine::Snapshot& snapshot)
        : m_machines(machines), m_engine(engine), m_snapshot(snapshot) {}

    static QString ms(double us, int decimals = 2);
    // The problem of a machine, or that it works: "● up".
    static QString ofState(const engine::MachineFigures& figures);

    // nullptr: the engine has none of this machine.
    const engine::MachineFigures* figuresOf(const QString& machine) const;
    bool isAny(engine::MachineState state) const;
    QString stateOf(const QString& machine) const;
    QString detailsOf(const QString& machine) const;
    // The present shape and its forecast, problems, and restrictions.
    QString shapeInForce() const;

  private:
    QString hereText() const;

    const Machines& m_machines;
    const EngineController& m_engine;
    const engine::Snapshot& m_snapshot;
};

}  // namespace offstage::ui
