// Runs installer/run and installer/test on an invented machine: a copy of the installer
// in a folder with spaces, and a PATH with the usual small tools and with replacements
// for dpkg-query, apt-get, sudo, id and cmake that record their calls.
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QMap>
#include <QProcess>
#include <QRegularExpression>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

namespace {

struct Outcome {
    int code = -1;
    QString out;
    QString err;
};

// One invented machine with a source tree on it.
class Machine {
  public:
    Machine() {
        for (const char* folder : {"bin", "home", "my tree/app", "my tree/engine", "my tree/kernels", "my tree/ui",
                                   "my tree/resources/demo-model", "my tree/tests", "my tree/installer"}) {
            QDir(m_directory.path()).mkpath(QString::fromUtf8(folder));
        }
        for (const char* file : {"run", "test", "common.sh", "packages.txt"}) {
            QFile::copy(QStringLiteral(OFFSTAGE_SOURCE_DIR "/installer/") + QString::fromUtf8(file),
                        tree(QStringLiteral("installer/") + QString::fromUtf8(file)));
        }
        QDir(m_directory.path()).mkpath(QStringLiteral("my tree/app/cli"));
        for (const char* file : {"read_option.h", "cli/generation_options.cpp", "cli/model_options.cpp",
                                 "cli/command_generate.cpp"}) {  // where options are declared
            QFile::copy(QStringLiteral(OFFSTAGE_SOURCE_DIR "/app/") + QString::fromUtf8(file),
                        tree(QStringLiteral("app/") + QString::fromUtf8(file)));
        }
        for (const char* file : {"CMakeLists.txt", "CMakePresets.json", "tests/CMakeLists.txt", "engine/error.h"}) {
            write(tree(QString::fromUtf8(file)), "\n");
        }
        for (const char* tool :
             {"bash", "sh",    "env", "cat",   "sed",   "tr",    "grep",    "find",     "tee",     "tail",  "wc",
              "awk",  "nproc", "mv",  "mkdir", "touch", "chmod", "dirname", "readlink", "timeout", "flock", "rm"}) {
            const QString real = QStandardPaths::findExecutable(QString::fromUtf8(tool));
            if (!real.isEmpty()) QFile::link(real, bin(QString::fromUtf8(tool)));
        }
        fake("id", "echo 1000\n");
        fake("apt-cache", "echo Filename: pool/x.deb\n");
        fake("dpkg-query", "");
        fake("apt-get", "");
        // Configures and builds: makes programs that print their arguments, one a line,
        // and exit with $PROGRAM_STATUS.
        fake("cmake", R"(
            if [ "$1" != --build ]; then exit "${CONFIGURE_STATUS:-0}"; fi
            echo "[1/2] compiling"; echo "a compiler's complaint"; echo "[2/2] linking"
            if [ "${BUILD_STATUS:-0}" != 0 ]; then exit "$BUILD_STATUS"; fi
            bin=$2/bin; mkdir -p "$bin"
            while [ $# -gt 0 ] && [ "$1" != --target ]; do shift; done
            if [ $# -gt 0 ]; then shift; else set -- offstage offstage-cli offstage-node; fi
            for program in "$@"; do
                printf '#!/bin/sh\nfor word in %s "$@"; do printf "%%s\\n" "$word"; done\nexit ${PROGRAM_STATUS:-0}\n' \
                    "$program" > "$bin/$program"
                chmod +x "$bin/$program"
            done
        )");
        fake("ctest", "echo '100% tests passed, 0 tests failed out of 1'\nexit ${CTEST_STATUS:-0}\n");
        m_environment.insert(QStringLiteral("PATH"), bin(QString()));
        m_environment.insert(QStringLiteral("HOME"), m_directory.filePath(QStringLiteral("home")));
        m_environment.insert(QStringLiteral("CALLS"), m_directory.filePath(QStringLiteral("calls")));
        m_environment.insert(QStringLiteral("OFFSTAGE_SYSTEM_ROOT"), m_directory.filePath(QStringLiteral("system")));
        write(system(QStringLiteral("proc/cpuinfo")), "processor\t: 0\nflags\t\t: fpu fma f16c avx2 rdseed\n");
    }

    // A file of the machine's own: /proc/..., /dev/...
    QString system(const QString& path) const { return m_directory.filePath(QStringLiteral("system/") + path); }

    QString tree(const QString& path) const { return m_directory.filePath(QStringLiteral("my tree/") + path); }
    QString bin(const QString& name) const { return m_directory.filePath(QStringLiteral("bin/") + name); }
    QString home() const { return m_directory.filePath(QStringLiteral("home")); }

    static void write(const QString& path, const QByteArray& text) {
        QVERIFY(QDir().mkpath(QFileInfo(path).path()));
        QFile file(path);
        QVERIFY(file.open(QFile::WriteOnly | QFile::Truncate));
        file.write(text);
    }

    // A program on the PATH that writes "NAME ARGUMENTS" to the list of calls and then
    // runs `body`.
    void fake(const char* name, const QByteArray& body) {
        const QString path = bin(QString::fromUtf8(name));
        QFile::remove(path);
        write(path, "#!/bin/sh\necho \"" + QByteArray(name) + " $*\" >>\"$CALLS\"\n" + body);
        QFile::setPermissions(path, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    }

    // dpkg-query reports all packages as installed, except those named.
    void install_all_but(const QStringList& names) {
        QByteArray answer;
        QFile file(QStringLiteral(OFFSTAGE_SOURCE_DIR "/installer/packages.txt"));
        QVERIFY(file.open(QFile::ReadOnly));
        const QStringList lines = QString::fromUtf8(file.readAll()).split('\n');
        for (const QString& line : lines) {
            const QString name = line.section('#', 0, 0).section('|', -1).trimmed();  // of alternatives, the last
            if (!name.isEmpty() && !names.contains(name)) answer += "echo installed " + name.toUtf8() + "\n";
        }
        fake("dpkg-query", answer);
    }

    void set(const char* variable, const QString& value) { m_environment.insert(QString::fromUtf8(variable), value); }

    Outcome start(const char* script, const QStringList& arguments, const QByteArray& shell = "bash") {
        QProcess process;
        process.setProcessEnvironment(m_environment);
        process.setWorkingDirectory(home());
        process.start(bin(QString::fromUtf8(shell)),
                      QStringList{tree(QStringLiteral("installer/") + QString::fromUtf8(script))} + arguments);
        process.closeWriteChannel();
        if (!process.waitForFinished()) return {};
        return {process.exitCode(), QString::fromUtf8(process.readAllStandardOutput()),
                QString::fromUtf8(process.readAllStandardError())};
    }

    // The calls since the last use of this function.
    QStringList calls() {
        QFile file(m_directory.filePath(QStringLiteral("calls")));
        if (!file.open(QFile::ReadOnly)) return {};
        const QStringList lines = QString::fromUtf8(file.readAll()).split('\n', Qt::SkipEmptyParts);
        file.remove();
        return lines;
    }
    bool called(const char* name) {
        return !calls().filter(QRegularExpression(QStringLiteral("^%1 ").arg(QLatin1String(name)))).isEmpty();
    }

  private:
    QTemporaryDir m_directory;
    QProcessEnvironment m_environment;
};

QStringList words(const QString& text) {
    return text.split('\n', Qt::SkipEmptyParts);
}

}  // namespace

class TestInstaller : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void initTestCase();
    void help_needsNothing();
    void unknownOption_isRefused();
    void packagesMissing_noRootNoSudo_namesTheCommand();
    void packagesMissing_sudoWithoutTerminal_namesTheCommand();
    void packagesMissing_sudoWithoutPassword_installs();
    void packagesMissing_root_installsOnlyThose();
    void packagesUnknown_fetchesTheListsFirst();
    void installFails_triesFreshListsThenSaysWhy();
    void noApt_namesWhatIsNeeded();
    void prompt_onlyTheAnswerOnStdout();
    void optionsOfTheCommandLine_arePassedOn_data();
    void optionsOfTheCommandLine_arePassedOn();
    void secondStart_asksNobody();
    void start_buildsWhatItNeeds_data();
    void start_buildsWhatItNeeds();
    void node_getsWhatFollows();
    void computerChanged_buildsAgain_data();
    void computerChanged_buildsAgain();
    void testsBuilt_programsHaveAllThatTheyHave();
    void cuda_onlyForTheGpuThatIsThere_data();
    void cuda_onlyForTheGpuThatIsThere();
    void sourceChanged_buildsAgain_data();
    void sourceChanged_buildsAgain();
    void memoryOfGroups_isCounted_data();
    void memoryOfGroups_isCounted();
    void treeMoved_configuresAfresh();
    void display_decides_data();
    void display_decides();
    void exitCode_isPassedOn();
    void buildFails_showsTheLog();
    void plainSh_works();
    void test_runsCtestLast();
};

void TestInstaller::initTestCase() {
    if (QStandardPaths::findExecutable(QStringLiteral("bash")).isEmpty()) QSKIP("the installer is written for bash");
}

void TestInstaller::help_needsNothing() {
    Machine machine;
    const Outcome outcome = machine.start("run", {QStringLiteral("--help")});
    QCOMPARE(outcome.code, 0);
    QVERIFY(outcome.out.contains(QStringLiteral("--prompt")));
    QCOMPARE(machine.calls(), QStringList());
}

void TestInstaller::unknownOption_isRefused() {
    Machine machine;
    QCOMPARE(machine.start("run", {QStringLiteral("--promt"), QStringLiteral("Hi")}).code, 2);
    QCOMPARE(machine.start("run", {QStringLiteral("--prompt")}).code, 2);
    QCOMPARE(machine.start("run", {QStringLiteral("synthetic:one"), QStringLiteral("synthetic:two")}).code, 2);
    QCOMPARE(machine.start("run", {QStringLiteral("/no/such.gguf")}).code, 2);
    QCOMPARE(machine.calls(), QStringList());
}

void TestInstaller::packagesMissing_noRootNoSudo_namesTheCommand() {
    Machine machine;
    machine.install_all_but({QStringLiteral("cmake"), QStringLiteral("libcli11-dev")});
    const Outcome outcome = machine.start("run", {});
    QCOMPARE(outcome.code, 1);
    QCOMPARE(outcome.out, QString());
    QVERIFY2(outcome.err.contains(
                 QStringLiteral("apt-get update && apt-get install --no-install-recommends cmake libcli11-dev\n")),
             qPrintable(outcome.err));
    QVERIFY(!machine.called("apt-get"));
}

void TestInstaller::packagesMissing_sudoWithoutTerminal_namesTheCommand() {
    Machine machine;
    machine.fake("sudo", "[ \"$1\" != -n ]\n");
    const Outcome outcome = machine.start("run", {});
    QCOMPARE(outcome.code, 1);
    QVERIFY2(outcome.err.contains(QStringLiteral("sudo apt-get install --no-install-recommends cmake ninja-build")),
             qPrintable(outcome.err));
    QVERIFY(!machine.called("apt-get"));
}

void TestInstaller::packagesMissing_sudoWithoutPassword_installs() {
    Machine machine;
    machine.fake("sudo", "if [ \"$1\" = -n ]; then exit 0; fi\nexec \"$@\"\n");
    machine.install_all_but({QStringLiteral("libcli11-dev")});
    const Outcome outcome = machine.start("run", {});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QCOMPARE(machine.calls().filter(QStringLiteral("apt-get -o")).size(), 2);  // sudo's call, and apt-get's own
}

void TestInstaller::packagesMissing_root_installsOnlyThose() {
    Machine machine;
    machine.fake("id", "echo 0\n");
    machine.install_all_but({QStringLiteral("ninja-build"), QStringLiteral("libqt6svg6-dev")});
    const Outcome outcome = machine.start("run", {});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    const QStringList apt = machine.calls().filter(QStringLiteral("apt-get"));
    QCOMPARE(apt.size(), 1);
    QVERIFY2(apt[0].endsWith(QStringLiteral("install -y --no-install-recommends ninja-build qt6-svg-dev")),
             qPrintable(apt[0]));
}

void TestInstaller::packagesUnknown_fetchesTheListsFirst() {
    Machine machine;
    machine.fake("id", "echo 0\n");
    machine.fake("apt-cache", "exit 100\n");
    QCOMPARE(machine.start("run", {}).code, 0);
    const QStringList apt = machine.calls().filter(QStringLiteral("apt-get"));
    QCOMPARE(apt.size(), 2);
    QVERIFY(apt[0].endsWith(QStringLiteral(" update")));
    QVERIFY(apt[1].contains(QStringLiteral(" install ")));
}

void TestInstaller::installFails_triesFreshListsThenSaysWhy() {
    Machine machine;
    machine.fake("id", "echo 0\n");
    machine.fake("apt-get", "echo 'E: 404 Not Found'\nexit 100\n");
    const Outcome outcome = machine.start("run", {});
    QCOMPARE(outcome.code, 1);
    QVERIFY2(outcome.err.contains(QStringLiteral("  | E: 404 Not Found")), qPrintable(outcome.err));
    const QStringList calls = machine.calls();
    QCOMPARE(calls.filter(QStringLiteral("apt-get")).size(), 2);
    QVERIFY(calls.filter(QRegularExpression(QStringLiteral("^cmake "))).isEmpty());
}

void TestInstaller::noApt_namesWhatIsNeeded() {
    Machine machine;
    QFile::remove(machine.bin(QStringLiteral("dpkg-query")));
    const Outcome lacking = machine.start("run", {});
    QCOMPARE(lacking.code, 1);
    QVERIFY2(lacking.err.contains(QStringLiteral("  libdnnl-dev\n")), qPrintable(lacking.err));
    QVERIFY2(lacking.err.contains(QStringLiteral("Not found: ninja c++ pkg-config")), qPrintable(lacking.err));
    for (const char* tool : {"ninja", "c++", "pkg-config"}) machine.fake(tool, "");
    const Outcome complete = machine.start("run", {});
    QVERIFY2(complete.code == 0, qPrintable(complete.err));
}

void TestInstaller::prompt_onlyTheAnswerOnStdout() {
    Machine machine;
    machine.install_all_but({});
    const QStringList arguments{QStringLiteral("--prompt"), QStringLiteral("-- Hello  there, \"you\" $HOME *"),
                                QStringLiteral("--max-tokens"), QStringLiteral("8")};
    // With "=", so that a prompt that begins with a dash is no option.
    const QStringList expected{QStringLiteral("offstage-cli"),
                               QStringLiteral("generate"),
                               QStringLiteral("--model"),
                               machine.tree(QStringLiteral("resources/demo-model")),
                               QStringLiteral("--prompt=-- Hello  there, \"you\" $HOME *"),
                               QStringLiteral("--max-tokens=8")};
    QCOMPARE(words(machine.start("run", arguments).out), expected);  // with a build before it
    QCOMPARE(words(machine.start("run", arguments).out), expected);  // and without
}

void TestInstaller::optionsOfTheCommandLine_arePassedOn_data() {
    QTest::addColumn<bool>("hasValue");
    for (const char* name :
         {"--seed", "--system", "--compute", "--theta", "--vram", "--quant", "--beam", "--kept-context"}) {
        QTest::newRow(name) << true;
    }
    for (const char* name : {"--raw", "--json", "--paced", "--hide-thinking", "--no-cuda-graphs"}) {
        QTest::newRow(name) << false;
    }
}

// Before a build it is known whether the word after an option is its value.
void TestInstaller::optionsOfTheCommandLine_arePassedOn() {
    QFETCH(bool, hasValue);
    const QString name = QString::fromUtf8(QTest::currentDataTag());
    Machine machine;
    machine.install_all_but({});
    const QStringList said =
        words(machine.start("run", {QStringLiteral("--terminal"), name, QStringLiteral("synthetic:WORD")}).out);
    if (hasValue) {
        QVERIFY(said.contains(name + QStringLiteral("=synthetic:WORD")));
        QCOMPARE(machine.start("run", {QStringLiteral("--terminal"), name}).code, 2);
    } else {
        QVERIFY(said.contains(name));
        QVERIFY(said.contains(QStringLiteral("synthetic:WORD")));  // the model
    }
}

void TestInstaller::secondStart_asksNobody() {
    Machine machine;
    machine.install_all_but({});
    const QStringList arguments{QStringLiteral("--window"), QStringLiteral("synthetic:fine?layers=2")};
    QCOMPARE(machine.start("run", arguments).code, 0);
    QVERIFY(machine.called("cmake"));
    const Outcome second = machine.start("run", arguments);
    QCOMPARE(second.code, 0);
    QCOMPARE(words(second.out), QStringList({QStringLiteral("offstage"), QStringLiteral("synthetic:fine?layers=2")}));
    QCOMPARE(second.err, QString());
    QCOMPARE(machine.calls(), QStringList());
    // The terminal's program was built with the window.
    QCOMPARE(machine.start("run", {QStringLiteral("--terminal")}).code, 0);
    QCOMPARE(machine.calls(), QStringList());
}

void TestInstaller::start_buildsWhatItNeeds_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("targets");
    QTest::newRow("window") << QStringList{QStringLiteral("--window")} << "offstage offstage-cli";
    QTest::newRow("terminal") << QStringList{QStringLiteral("--terminal")} << "offstage-cli";
    QTest::newRow("no display") << QStringList() << "offstage-cli";
    QTest::newRow("prompt") << QStringList{QStringLiteral("--prompt=Hello")} << "offstage-cli";
    QTest::newRow("node") << QStringList{QStringLiteral("--node")} << "offstage-node";
}

void TestInstaller::start_buildsWhatItNeeds() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, targets);
    Machine machine;
    machine.install_all_but({});
    const Outcome outcome = machine.start("run", arguments);
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    const QStringList calls = machine.calls().filter(QRegularExpression(QStringLiteral("^cmake ")));
    QCOMPARE(calls.size(), 2);
    QCOMPARE(calls[0], QStringLiteral("cmake --preset release -DOFFSTAGE_INSTRUCTION_SETS=native -DOFFSTAGE_CUDA=OFF"));
    QVERIFY2(calls[1].endsWith(QStringLiteral(" --target ") + targets), qPrintable(calls[1]));
    QCOMPARE(machine.start("run", arguments).code, 0);
    QCOMPARE(machine.calls(), QStringList());
}

void TestInstaller::node_getsWhatFollows() {
    Machine machine;
    machine.install_all_but({});
    const QStringList options{QStringLiteral("--model"), QStringLiteral("my model"), QStringLiteral("--prompt")};
    const Outcome started = machine.start("run", QStringList{QStringLiteral("--node")} + options);
    QCOMPARE(words(started.out), QStringList{QStringLiteral("offstage-node")} + options);
}

// A disk that was moved to another computer, or a new GPU: code that was compiled for one
// computer is compiled again for the next.
void TestInstaller::computerChanged_buildsAgain_data() {
    QTest::addColumn<QString>("file");
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<bool>("builds");
    QTest::newRow("an older processor") << "proc/cpuinfo" << QByteArray("flags : fpu sse2\n") << true;
    QTest::newRow("a newer processor") << "proc/cpuinfo"
                                       << QByteArray("flags : fma f16c avx2 avx512f avx512bw avx512dq avx512vl\n")
                                       << true;
    QTest::newRow("a flag of no interest") << "proc/cpuinfo" << QByteArray("flags : fma f16c avx2 smap\n") << false;
    QTest::newRow("another core first") << "proc/cpuinfo"
                                        << QByteArray("processor\t: 1\nflags\t\t: fpu fma f16c avx2 rdseed\n") << false;
    QTest::newRow("a GPU") << "dev/nvidia0" << QByteArray() << true;
    QTest::newRow("the second GPU alone, in a container") << "dev/nvidia1" << QByteArray() << true;
    QTest::newRow("a GPU's control device alone") << "dev/nvidiactl" << QByteArray() << false;
}

void TestInstaller::computerChanged_buildsAgain() {
    QFETCH(QString, file);
    QFETCH(QByteArray, text);
    QFETCH(bool, builds);
    Machine machine;
    machine.install_all_but({});
    QCOMPARE(machine.start("run", {}).code, 0);
    QVERIFY(machine.called("cmake"));
    Machine::write(machine.system(file), text);
    QCOMPARE(machine.start("run", {}).code, 0);
    QCOMPARE(machine.called("cmake"), builds);
    QCOMPARE(machine.start("run", {}).code, 0);
    QCOMPARE(machine.calls(), QStringList());
}

void TestInstaller::testsBuilt_programsHaveAllThatTheyHave() {
    const QString all =
        QStringLiteral("cmake --preset release -DOFFSTAGE_INSTRUCTION_SETS=usable -DOFFSTAGE_CUDA=AUTO");
    Machine machine;
    machine.install_all_but({});
    QCOMPARE(machine.start("test", {}).code, 0);
    QVERIFY(machine.calls().contains(all));
    QCOMPARE(machine.start("run", {QStringLiteral("--window")}).code, 0);
    QCOMPARE(machine.calls(), QStringList());
    // Later builds in that folder use the same settings.
    QFile::remove(machine.tree(QStringLiteral("build/release/bin/offstage-cli")));
    QCOMPARE(machine.start("run", {}).code, 0);
    QVERIFY(machine.calls().contains(all));
}

void TestInstaller::cuda_onlyForTheGpuThatIsThere_data() {
    QTest::addColumn<QStringList>("files");
    QTest::addColumn<bool>("cuda");
    QTest::newRow("no GPU") << QStringList() << false;
    QTest::newRow("a GPU") << QStringList{QStringLiteral("dev/nvidia0")} << true;
    QTest::newRow("Windows' subsystem") << QStringList{QStringLiteral("dev/dxg"),
                                                       QStringLiteral("usr/lib/wsl/lib/libcuda.so.1")}
                                        << true;
    QTest::newRow("Windows' subsystem, no CUDA") << QStringList{QStringLiteral("dev/dxg")} << false;
}

void TestInstaller::cuda_onlyForTheGpuThatIsThere() {
    QFETCH(QStringList, files);
    QFETCH(bool, cuda);
    Machine machine;
    machine.install_all_but({});
    for (const QString& file : files) Machine::write(machine.system(file), "");
    QCOMPARE(machine.start("run", {}).code, 0);
    const QString configured = machine.calls().filter(QStringLiteral("--preset")).join(' ');
    QCOMPARE(configured.contains(QStringLiteral("-DOFFSTAGE_CUDA=AUTO")), cuda);
    QCOMPARE(configured.contains(QStringLiteral("-DOFFSTAGE_CUDA=OFF")), !cuda);
    // Not the flags of a build before the GPU came.
    QCOMPARE(configured.contains(QStringLiteral("-DCMAKE_CUDA_ARCHITECTURES=native -DCMAKE_CUDA_FLAGS=")), cuda);
}

void TestInstaller::sourceChanged_buildsAgain_data() {
    QTest::addColumn<QString>("change");
    QTest::addColumn<bool>("builds");
    QTest::newRow("a file") << "touch engine/error.h" << true;
    QTest::newRow("a new file") << "touch ui/new.cpp" << true;
    QTest::newRow("a file is gone") << "rm engine/error.h" << true;
    QTest::newRow("the presets") << "touch CMakePresets.json" << true;
    QTest::newRow("a program is gone") << "rm build/release/bin/offstage-cli" << true;
    QTest::newRow("a test") << "touch tests/tst_new.cpp" << false;
    QTest::newRow("the readme") << "touch README.md" << false;
}

void TestInstaller::sourceChanged_buildsAgain() {
    QFETCH(QString, change);
    QFETCH(bool, builds);
    Machine machine;
    machine.install_all_but({});
    QCOMPARE(machine.start("run", {}).code, 0);
    QVERIFY(machine.called("cmake"));
    // As if the build had been long ago: file times are too coarse for an immediate
    // change.
    QProcess::execute(QStringLiteral("sh"),
                      {QStringLiteral("-c"), QStringLiteral("cd \"$0\" && find . -exec touch -d '1 hour ago' {} +"),
                       machine.tree(QString())});
    QProcess::execute(QStringLiteral("sh"),
                      {QStringLiteral("-c"), QStringLiteral("cd \"$0\" && ") + change, machine.tree(QString())});
    QCOMPARE(machine.start("run", {}).code, 0);
    QCOMPARE(machine.called("cmake"), builds);
}

void TestInstaller::memoryOfGroups_isCounted_data() {
    QTest::addColumn<QMap<QString, QString>>("files");
    QTest::addColumn<QString>("room");  // MiB
    using Files = QMap<QString, QString>;
    const auto own = [](const char* lines) {
        return Files{{QStringLiteral("proc/self/cgroup"), QLatin1String(lines)}};
    };
    // A group with 3072 MiB in use, 1024 of them pages of files.
    const auto group = [](Files files, bool unified, const char* folder, const char* limit) {
        const QString at = QLatin1String(folder) + QLatin1Char('/');
        const QString stat = unified ? QStringLiteral("anon 5\ninactive_file 536870912\nactive_file 536870912\n")
                                     : QStringLiteral(
                                           "inactive_file 5\nactive_file 7\ntotal_inactive_file 536870912\n"
                                           "total_active_file 536870912\n");
        files[at + (unified ? QStringLiteral("memory.max") : QStringLiteral("memory.limit_in_bytes"))] =
            QLatin1String(limit);
        files[at + (unified ? QStringLiteral("memory.current") : QStringLiteral("memory.usage_in_bytes"))] =
            QStringLiteral("3221225472\n");
        files[at + QStringLiteral("memory.stat")] = stat;
        return files;
    };
    const char* const k4Gib = "4294967296\n";
    QTest::newRow("no groups") << Files() << QString();
    QTest::newRow("2: container") << group(own("0::/\n"), true, "sys/fs/cgroup", k4Gib) << "2048";
    QTest::newRow("2: own group") << group(own("0::/a b/c\n"), true, "sys/fs/cgroup/a b/c", k4Gib) << "2048";
    QTest::newRow("2: group above") << group(own("0::/a/b\n"), true, "sys/fs/cgroup/a", k4Gib) << "2048";
    QTest::newRow("2: seen from inside") << group(own("0::/../x\n"), true, "sys/fs/cgroup", k4Gib) << "2048";
    QTest::newRow("2: no limit") << group(own("0::/a\n"), true, "sys/fs/cgroup/a", "max\n") << QString();
    QTest::newRow("2: used up") << group(own("0::/a\n"), true, "sys/fs/cgroup/a", "2147483648\n") << "0";
    const char* const v1 = "sys/fs/cgroup/memory/a";
    QTest::newRow("1: own group") << group(own("5:memory:/a\n"), false, v1, k4Gib) << "2048";
    QTest::newRow("1: group above") << group(own("3:cpu:/x\n5:hugetlb,memory:/a/b/c\n0::/\n"), false, v1, k4Gib)
                                    << "2048";
    QTest::newRow("1: container") << group(own("5:memory:/docker/0af\n"), false, "sys/fs/cgroup/memory", k4Gib)
                                  << "2048";
    QTest::newRow("1: no limit") << group(own("5:memory:/a\n"), false, v1, "9223372036854771712\n") << QString();
    QTest::newRow("both") << group(group(own("5:memory:/a\n0::/b\n"), false, v1, k4Gib), true, "sys/fs/cgroup/b",
                                   "3221225472\n")
                          << "1024";
}

void TestInstaller::memoryOfGroups_isCounted() {
    using Files = QMap<QString, QString>;
    QFETCH(Files, files);
    QFETCH(QString, room);
    Machine machine;
    for (auto file = files.begin(); file != files.end(); ++file) {
        const QString path = machine.home() + QStringLiteral("/system/") + file.key();
        Machine::write(path, file.value().toUtf8());
    }
    Machine::write(machine.tree(QStringLiteral("installer/room")),
                   "set -eu\n. \"$(dirname -- \"$0\")/common.sh\"\n"
                   "room=$(groups_room \"$1\")\nif [ -n \"$room\" ]; then echo $((room / 1048576)); fi\n");
    const Outcome outcome = machine.start("room", {machine.home() + QStringLiteral("/system")});
    QCOMPARE(outcome.err, QString());
    QCOMPARE(outcome.code, 0);
    QCOMPARE(outcome.out.trimmed(), room);
}

void TestInstaller::treeMoved_configuresAfresh() {
    Machine machine;
    machine.install_all_but({});
    QCOMPARE(machine.start("run", {}).code, 0);
    Machine::write(machine.tree(QStringLiteral("build/release/CMakeCache.txt")),
                   "CMAKE_HOME_DIRECTORY:INTERNAL=/elsewhere\n");
    Machine::write(machine.tree(QStringLiteral("build/release/offstage-cli.stamp")), "/elsewhere\n");
    machine.calls();
    QCOMPARE(machine.start("run", {}).code, 0);
    QVERIFY(machine.calls().filter(QStringLiteral("cmake --preset release --fresh")).size() == 1);
}

void TestInstaller::display_decides_data() {
    QTest::addColumn<QByteArray>("variable");
    QTest::addColumn<QString>("value");
    QTest::addColumn<QString>("program");
    QTest::newRow("nothing") << QByteArray("LANG") << "C"
                             << "offstage-cli";
    QTest::newRow("an X server that is not there") << QByteArray("DISPLAY") << ":4711"
                                                   << "offstage-cli";
    QTest::newRow("a nonsense display") << QByteArray("DISPLAY") << "nonsense"
                                        << "offstage-cli";
    QTest::newRow("a compositor that is not there") << QByteArray("WAYLAND_DISPLAY") << "wayland-4711"
                                                    << "offstage-cli";
    QTest::newRow("drawn to nowhere") << QByteArray("QT_QPA_PLATFORM") << "offscreen"
                                      << "offstage-cli";
    QTest::newRow("a framebuffer") << QByteArray("QT_QPA_PLATFORM") << "linuxfb"
                                   << "offstage";
}

void TestInstaller::display_decides() {
    QFETCH(QByteArray, variable);
    QFETCH(QString, value);
    QFETCH(QString, program);
    Machine machine;
    machine.install_all_but({});
    machine.set(variable.constData(), value);
    const QStringList started = words(machine.start("run", {}).out);
    QVERIFY(!started.isEmpty());
    QCOMPARE(started[0], program);
    if (program == QStringLiteral("offstage-cli")) QCOMPARE(started[1], QStringLiteral("chat"));
}

void TestInstaller::exitCode_isPassedOn() {
    Machine machine;
    machine.install_all_but({});
    machine.set("PROGRAM_STATUS", QStringLiteral("7"));
    QCOMPARE(machine.start("run", {QStringLiteral("--prompt"), QStringLiteral("Hi")}).code, 7);
    QCOMPARE(machine.start("run", {QStringLiteral("--terminal")}).code, 7);
    QCOMPARE(machine.start("run", {QStringLiteral("--window")}).code, 7);
}

void TestInstaller::buildFails_showsTheLog() {
    Machine machine;
    machine.install_all_but({});
    machine.set("BUILD_STATUS", QStringLiteral("1"));
    const Outcome outcome = machine.start("run", {QStringLiteral("--prompt"), QStringLiteral("Hi")});
    QCOMPARE(outcome.code, 1);
    QCOMPARE(outcome.out, QString());
    QVERIFY2(outcome.err.contains(QStringLiteral("  | a compiler's complaint")), qPrintable(outcome.err));
    QVERIFY(outcome.err.contains(machine.tree(QStringLiteral("build/installer.log"))));
    machine.set("BUILD_STATUS", QStringLiteral("0"));
    QCOMPARE(machine.start("run", {}).code, 0);
}

void TestInstaller::plainSh_works() {
    Machine machine;
    machine.install_all_but({});
    const Outcome outcome = machine.start("run", {QStringLiteral("--terminal")}, "sh");
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QCOMPARE(words(outcome.out).value(1), QStringLiteral("chat"));
}

void TestInstaller::test_runsCtestLast() {
    Machine machine;
    machine.install_all_but({});
    const Outcome outcome = machine.start("test", {QStringLiteral("-R"), QStringLiteral("kernels")});
    QVERIFY2(outcome.code == 0, qPrintable(outcome.err));
    QCOMPARE(outcome.out, QStringLiteral("100% tests passed, 0 tests failed out of 1\n"));
    const QStringList calls = machine.calls();
    QVERIFY(calls.filter(QStringLiteral("cmake --build")).join("").count(QStringLiteral("--target")) == 0);
    QVERIFY2(calls.last().startsWith(QStringLiteral("ctest --test-dir")) &&
                 calls.last().endsWith(QStringLiteral("-R kernels")),
             qPrintable(calls.last()));
    machine.set("CTEST_STATUS", QStringLiteral("8"));
    QCOMPARE(machine.start("test", {}).code, 8);
}

QTEST_GUILESS_MAIN(TestInstaller)
#include "tst_installer.moc"
