#pragma once
// Runs code in a separate process, in which the n-th call that changes a file of one
// folder fails (tests/faults/file_faults.cpp).

#include <functional>

#include <QByteArray>
#include <QString>
#include <QStringList>

namespace offstage::test {

enum class Fault { None, Killed, FullDisk, ReadOnlyDisk, ReadOnlyFolder, LostFolder };
QString nameOf(Fault fault);

struct FaultRun {
    Fault fault = Fault::None;
    int at = 0;       // the call that went wrong, 1 is the first
    QString folder;   // the run's own; LostFolder: it may have the name lostName() now
    QStringList log;  // counted calls, "write /a.json"; "!" behind failed ones; "saved" where claimed
    bool wentWrong = false;
    bool wasKilled = false;
    int status = -1;  // exit status; -1: a signal
    QByteArray said;  // standard error

    QString lostName() const { return folder + QStringLiteral(".lost"); }
    bool claimed() const { return log.contains(QStringLiteral("saved")); }
    bool claimedBeforeFault() const;
    // For messages: "full disk at call 3, write /a.json".
    QString description() const;
};

// One run of `write`, which gets the run's folder and returns the exit status; it runs in
// a process forked from this one, or calls exec. Engine errors that it throws are
// printed, and give status 1.
class FaultProcess {
  public:
    using Write = std::function<int(const QString& folder)>;

    FaultProcess(Fault fault, int at, const QString& folder, const Write& write);
    ~FaultProcess();  // wait()
    FaultProcess(const FaultProcess&) = delete;
    FaultProcess& operator=(const FaultProcess&) = delete;

    const FaultRun& wait();

  private:
    FaultRun m_run;
    int m_process = -1;
};

// In such a process: prints a line on standard error; and declares the data written so
// far as safe.
void say(const QString& text);
void claimSaved();

// Call it first in main(): starts this program again with the library that makes faults.
// False: that is impossible.
bool startWithFaults(char** argv);

}  // namespace offstage::test
