#include "tests/ui/fault_runs.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QFile>

namespace offstage::test {
namespace {

constexpr unsigned kLongestRunS = 120;
#ifdef OFFSTAGE_FAULTS_LIBRARY
constexpr const char* kLibrary = OFFSTAGE_FAULTS_LIBRARY;
#else
constexpr const char* kLibrary = "";
#endif

QString logName(const QString& folder) {
    return folder + QStringLiteral(".log");
}

QString errorName(const QString& folder) {
    return folder + QStringLiteral(".err");
}

QByteArray contentOf(const QString& name) {
    QFile file(name);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

[[noreturn]] void runChild(const FaultRun& run, const FaultProcess::Write& write) {
    alarm(kLongestRunS);
    const int errors = ::open(QFile::encodeName(errorName(run.folder)).constData(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int nothing = ::open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    qputenv("OFFSTAGE_FAULTS_KIND", nameOf(run.fault).toUtf8());
    qputenv("OFFSTAGE_FAULTS_AT", QByteArray::number(run.at));
    qputenv("OFFSTAGE_FAULTS_LOG", QFile::encodeName(logName(run.folder)));
    qputenv("OFFSTAGE_FAULTS_FOLDER", QFile::encodeName(run.folder));
    int status = 99;
    if (auto* const arm = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "offstage_arm_faults"))) {
        arm();
        try {
            status = write(run.folder);
        } catch (const std::exception& error) {
            say(QString::fromUtf8(error.what()));
            status = 1;
        }
    }
    _exit(status);
}

}  // namespace

QString nameOf(Fault fault) {
    switch (fault) {
        case Fault::Killed:
            return QStringLiteral("killed");
        case Fault::FullDisk:
            return QStringLiteral("full disk");
        case Fault::ReadOnlyDisk:
            return QStringLiteral("read-only disk");
        case Fault::ReadOnlyFolder:
            return QStringLiteral("read-only folder");
        case Fault::LostFolder:
            return QStringLiteral("lost folder");
        case Fault::None:
            break;
    }
    return QStringLiteral("no fault");
}

bool FaultRun::claimedBeforeFault() const {
    for (const QString& line : log) {
        if (line.endsWith(u'!')) {
            return false;
        }
        if (line == QStringLiteral("saved")) {
            return true;
        }
    }
    return false;
}

QString FaultRun::description() const {
    const QStringList wrong = log.filter(QStringLiteral("!"));
    return QStringLiteral("%1 at call %2, %3: status %4, said \"%5\"; in %6")
        .arg(nameOf(fault))
        .arg(at)
        .arg(wrong.isEmpty() ? QStringLiteral("never reached") : wrong.first())
        .arg(status)
        .arg(QString::fromUtf8(said).simplified(), folder);
}

FaultProcess::FaultProcess(Fault fault, int at, const QString& folder, const Write& write) {
    m_run.fault = fault;
    m_run.at = at;
    m_run.folder = folder;
    std::fflush(nullptr);
    m_process = fork();
    if (m_process == 0) {
        runChild(m_run, write);
    }
}

FaultProcess::~FaultProcess() {
    wait();
}

const FaultRun& FaultProcess::wait() {
    if (m_process <= 0) {
        return m_run;
    }
    int status = 0;
    while (waitpid(m_process, &status, 0) < 0 && errno == EINTR) {
    }
    m_process = -1;
    m_run.wasKilled = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    m_run.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    m_run.said = contentOf(errorName(m_run.folder));
    m_run.log = QString::fromUtf8(contentOf(logName(m_run.folder))).split(u'\n', Qt::SkipEmptyParts);
    m_run.wentWrong = !m_run.log.filter(QStringLiteral("!")).isEmpty();
    return m_run;
}

void say(const QString& text) {
    const QByteArray line = text.toUtf8() + '\n';
    static_cast<void>(!::write(STDERR_FILENO, line.constData(), static_cast<std::size_t>(line.size())));
}

void claimSaved() {
    QFile log(QFile::decodeName(qgetenv("OFFSTAGE_FAULTS_LOG")));
    if (log.open(QIODevice::Append)) {
        log.write("saved\n");
    }
}

bool startWithFaults(char** argv) {
    if (*kLibrary == 0) {
        return false;
    }
    if (qgetenv("LD_PRELOAD").contains(kLibrary)) {
        return dlsym(RTLD_DEFAULT, "offstage_arm_faults") != nullptr;
    }
    qputenv("LD_PRELOAD", kLibrary);
    execv("/proc/self/exe", argv);
    return false;
}

}  // namespace offstage::test
