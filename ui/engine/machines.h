#pragma once

#include <memory>
#include <stop_token>

#include <QFileSystemWatcher>
#include <QList>
#include <QObject>
#include <QStringList>
#include <QThread>
#include <QTimer>

#include "engine/cluster/machine_network.h"
#include "ui/engine/engine_values.h"

namespace offstage::ui {

class EngineController;

// The user's other machines that compute experts: those paired with this one, and the
// ones among them that are switched on, as stored in the settings. They join a loaded
// model; changes during an answer apply after its end. Pairing and testing run on a
// separate thread. Changes by another program are noticed at once. A connection is made
// only to a machine that the user has added and switched on, or tests. GUI thread only.
class Machines : public QObject {
    Q_OBJECT

  public:
    struct Machine {
        QString name;
        QString address;
        QString fingerprint;
        bool used = false;
    };

    // nullptr: this program was built without the libraries for connections; then there
    // are no machines.
    Machines(std::shared_ptr<engine::MachineNetwork> network, EngineController& engine, QObject* parent = nullptr);
    ~Machines() override;

    bool isBuilt() const { return m_network != nullptr; }
    const QList<Machine>& all() const { return m_machines; }
    const Machine* find(const QString& name) const;
    QString problem() const { return m_problem; }  // why they cannot be read; empty: they can

    void setUsed(const QString& name, bool used);
    // Removes the machine and its key. Empty: done; otherwise the reason why not.
    QString remove(const QString& name);
    const engine::MachineUse& use() const { return m_use; }
    void setUse(const engine::MachineUse& use);

    // paired() or pairingFailed() follows. Not while isPairing().
    void pair(const QString& address, const QString& words, const QString& name);
    void cancelPairing();
    bool isPairing() const { return m_pairing; }
    // tested() follows. Not while isTesting().
    void test(const QString& name);
    bool isTesting() const { return m_testing; }

  Q_SIGNALS:
    void changed();
    // answers: the machine has already answered as a running node.
    void paired(const QString& name, bool answers);
    void pairingFailed(const QString& sentence);  // empty: it was cancelled
    void tested(const QString& name, const QString& sentence, bool failed);
    // A connection is about to be made.
    void connecting(const QString& address, const QString& purpose);
    // Something happened to a machine that is joined.
    void noted(const QString& sentence, bool isProblem);

  private:
    void read();
    void keep() const;
    bool anyUsed() const;
    void joinAsChosen();
    void join();
    void watchList();
    void readAgain();
    void lookForNotes();
    void lookAtShape();

    std::shared_ptr<engine::MachineNetwork> m_network;
    EngineController& m_engine;
    QList<Machine> m_machines;
    QString m_problem;
    engine::MachineUse m_use;
    QThread m_thread;
    QObject* m_there = nullptr;  // on the thread; deleted there
    std::stop_source m_pairingStop{std::nostopstate};
    std::stop_source m_testStop{std::nostopstate};
    bool m_pairing = false, m_testing = false;
    QTimer m_notes;
    QFileSystemWatcher m_list;
    QTimer m_listChanged;  // a list is written in several steps
    // For the present machines and choice, each once: the choice was repeated with a
    // machine that it had not counted; helpers replaced a shape that a machine refused;
    // another type of the KV cache was followed.
    bool m_choseAgain = false, m_helpersOnly = false, m_followedKv = false;
};

}  // namespace offstage::ui
