// offstage-cli and the window with standard streams that are full, closed or cut off, and
// when a user or the system stops them: real processes.

#include <csignal>
#include <unistd.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QTemporaryDir>
#include <QtTest>

#include "tests/app/cli_runner.h"

namespace {

using Outcome = offstage::test::CliOutcome;
using offstage::test::cliProgram;
using offstage::test::runCli;
using offstage::test::runInShell;
using offstage::test::words;

const QString kTiny = QStringLiteral(OFFSTAGE_SOURCE_DIR "/tests/engine/data/models/grouped_f32");
const QString kDemo = QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model");
const QString kLicense = QStringLiteral(OFFSTAGE_SOURCE_DIR "/LICENSE");

QStringList generate(const QString& options) {
    return words("generate --model %1", {kDemo}) + words(options);
}

qint64 linesOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll().count('\n') : -1;
}

// offstage-cli with `descriptor` as its standard output, which the caller closes.
Outcome runInto(int descriptor, const QStringList& arguments, const QByteArray& input) {
    QProcess process;
    process.setChildProcessModifier([descriptor] { dup2(descriptor, STDOUT_FILENO); });
    process.start(cliProgram(), arguments);
    process.write(input);
    process.closeWriteChannel();
    if (!process.waitForFinished(240'000)) return {};
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1, {}, process.readAllStandardError()};
}

void allCommands() {
    QTest::addColumn<QStringList>("arguments");
    const auto row = [](const char* name, const QString& arguments) { QTest::newRow(name) << words(arguments); };
    const QString demo = QStringLiteral(" --model ") + kDemo;
    const QString tiny = QStringLiteral(" --model ") + kTiny;
    row("help", QStringLiteral("--help"));
    row("help of a command", QStringLiteral("bench --help"));
    row("version", QStringLiteral("--version"));
    row("info", QStringLiteral("info ") + kTiny);
    row("info --json", QStringLiteral("info --json ") + kTiny);
    row("generate", QStringLiteral("generate --prompt Hi") + demo);
    row("generate --json", QStringLiteral("generate --json --max-tokens 2 --prompt Hi") + demo);
    row("generate --answers", QStringLiteral("generate --answers 2 --max-tokens 2 --prompt Hi") + demo);
    row("generate --beam", QStringLiteral("generate --beam 2 --max-tokens 2 --prompt Hi") + demo);
    row("chat", QStringLiteral("chat") + demo);
    row("logits", QStringLiteral("logits --tokens 1,2") + tiny);
    row("logits --all, more than a buffer", QStringLiteral("logits --all --tokens 1,2,3,4") + demo);
    row("bench", QStringLiteral("bench --prompt 4 --decode 2 --repeat 1") + tiny);
    row("bench --json", QStringLiteral("bench --json --prompt 4 --decode 2 --repeat 1") + tiny);
    row("bench --scenario", QStringLiteral("bench --model synthetic:fine?layers=2 --scenario decode --in 32 --out 2 "
                                           "--dry --device emulated:fiddler-env1"));
    row("plan", QStringLiteral("plan") + tiny);
    static const QTemporaryDir folder;
    row("profile",
        QStringLiteral("profile --text %1 --out %2").arg(kLicense, folder.filePath(QStringLiteral("profile"))) + demo);
    row("calibrate", QStringLiteral("calibrate") + tiny);
    row("perplexity", QStringLiteral("perplexity --text %1").arg(kLicense) + demo);
}

}  // namespace

class TestCliStreams : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void fullOutput_isAFailure_ofEveryCommand_data() { allCommands(); }
    void fullOutput_isAFailure_ofEveryCommand() {
        QFETCH(QStringList, arguments);
        const QTemporaryDir cache;
        const Outcome outcome =
            runInShell(QStringLiteral("exec \"$0\" \"$@\" >/dev/full"), arguments, "Hello\nAgain\n", cache.path());
        QCOMPARE(outcome.status, 1);
        const QByteArray sentence = "offstage-cli: Standard output cannot be written: No space left on device\n";
        QVERIFY2(outcome.err.endsWith(sentence), outcome.err.constData());
        QCOMPARE(outcome.err.count("offstage-cli:"), 1);
    }

    void promptCache_isReadAgain_orSaysWhyNot() {
        const QTemporaryDir folder;
        const QString kept = folder.filePath(QStringLiteral("kept"));
        const QStringList asked = generate(QStringLiteral("--json --temperature 0 --max-tokens 2 --prompt-cache")) +
                                  QStringList{kept, QStringLiteral("--prompt"), QStringLiteral("word ").repeated(100)};
        const QJsonObject first = runCli(asked).json();
        QCOMPARE(first[QStringLiteral("reused_tokens")].toInt(-1), 0);
        const QJsonObject second = runCli(asked).json();
        QVERIFY(second[QStringLiteral("reused_tokens")].toInt() > 0);
        QCOMPARE(second[QStringLiteral("text")], first[QStringLiteral("text")]);
        QVERIFY(QFile::remove(kept + QStringLiteral(".end")));
        QVERIFY(QDir().mkpath(kept + QStringLiteral(".end/in the way")));
        const Outcome outcome = runCli(asked);
        QCOMPARE(outcome.status, 0);
        QVERIFY2(outcome.out.contains("is not kept on disk"), outcome.out.constData());
    }

    void closedPipe_endsQuietly_data() { allCommands(); }
    void closedPipe_endsQuietly() {
        QFETCH(QStringList, arguments);
        int ends[2];
        QCOMPARE(pipe(ends), 0);
        close(ends[0]);  // the reader is closed
        const Outcome outcome = runInto(ends[1], arguments, "Hello\nAgain\n");
        close(ends[1]);
        QCOMPARE(outcome.status, 141);
        QVERIFY2(!outcome.err.contains("offstage-cli:"), outcome.err.constData());
    }

    // The answer has some twenty tokens; after the first that could not be written none
    // is computed.
    void fullOutput_endsTheAnswerAtItsFirstPiece() {
        const QTemporaryDir folder;
        const QString trace = folder.filePath(QStringLiteral("trace"));
        const QString options = QStringLiteral("--prompt Hi --temperature 0 --trace ") + trace;
        const Outcome whole = runCli(generate(options + QStringLiteral(" --json")));
        const auto n_prompt = static_cast<qint64>(whole.json()[QLatin1String("prompt_tokens")].toInteger());
        const auto n_answer = static_cast<qint64>(whole.json()[QLatin1String("tokens")].toArray().size());
        QVERIFY(n_answer > 3);
        QCOMPARE(linesOf(trace), 1 + n_prompt + n_answer);
        QVERIFY(QFile::remove(trace));
        QCOMPARE(runInShell(QStringLiteral("exec \"$0\" \"$@\" >/dev/full"), generate(options)).status, 1);
        QCOMPARE(linesOf(trace), 1 + n_prompt);
    }

    // Otherwise descriptor 0 is the first file of the model that stays open.
    void chat_closedInput_isAnEndOfInput() {
        const QStringList chat = words("chat --model %1", {kDemo});
        const Outcome empty = runCli(chat);
        const Outcome closed = runInShell(QStringLiteral("exec \"$0\" \"$@\" <&-"), chat);
        QCOMPARE(closed.status, 0);
        QCOMPARE(closed.out, empty.out);
        QVERIFY2(closed.err.isEmpty(), closed.err.constData());
    }

    // Otherwise the answer would go into the trace's file.
    void generate_closedStreams_leaveTheTraceAlone() {
        const QTemporaryDir folder;
        const QString trace = folder.filePath(QStringLiteral("trace"));
        const Outcome outcome =
            runInShell(QStringLiteral("exec \"$0\" \"$@\" <&- >&- 2>&-"),
                       generate(QStringLiteral("--prompt Hi --max-tokens 3 --temperature 0 --trace ") + trace));
        QCOMPARE(outcome.status, 0);
        QFile file(trace);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QList<QByteArray> lines = file.readAll().split('\n');
        QVERIFY(lines.size() > 3);
        for (const QByteArray& line : lines) QVERIFY2(line.isEmpty() || line.startsWith('{'), line.constData());
    }

    void bothPrograms_openClosedStreams_andIgnoreTheSignalsOfWrites_data() {
        QTest::addColumn<QString>("program");
        QTest::addColumn<QStringList>("arguments");
        QTest::newRow("offstage-cli") << cliProgram() << words("bench --repeat 1000 --model %1", {kDemo});
        QTest::newRow("offstage") << QStringLiteral(OFFSTAGE_BIN_DIR "/offstage") << QStringList{};
    }
    void bothPrograms_openClosedStreams_andIgnoreTheSignalsOfWrites() {
        QFETCH(QString, program);
        QFETCH(QStringList, arguments);
        if (!QFileInfo::exists(program)) QSKIP("this build has no window");
        const QTemporaryDir home;
        QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
        environment.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("offscreen"));
        for (const char* folder : {"HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"}) {
            environment.insert(QString::fromLatin1(folder), home.path());
        }
        QProcess process;
        process.setProcessEnvironment(environment);
        process.setChildProcessModifier([] {
            std::signal(SIGPIPE, SIG_DFL);
            std::signal(SIGXFSZ, SIG_DFL);
        });
        process.start(
            QStringLiteral("sh"),
            QStringList{QStringLiteral("-c"), QStringLiteral("exec \"$0\" \"$@\" <&- >&- 2>&-"), program} + arguments);
        QVERIFY(process.waitForStarted());
        const QString proc = QStringLiteral("/proc/%1/").arg(process.processId());
        const auto ignores = [&](int signal) {
            QFile status(proc + QStringLiteral("status"));
            if (!status.open(QIODevice::ReadOnly)) return false;
            const QByteArray text = status.readAll();
            const QByteArray mask = text.mid(text.indexOf("SigIgn:") + 7, 17).trimmed();
            return (mask.toULongLong(nullptr, 16) >> (signal - 1) & 1u) != 0;
        };
        QTRY_VERIFY_WITH_TIMEOUT(ignores(SIGXFSZ) && ignores(SIGPIPE), 60'000);
        for (const char* descriptor : {"fd/0", "fd/1", "fd/2"}) {
            QTRY_COMPARE_WITH_TIMEOUT(QFile::symLinkTarget(proc + QString::fromLatin1(descriptor)),
                                      QStringLiteral("/dev/null"), 60'000);
        }
        process.kill();
        process.waitForFinished();
    }

    // Help, version and mistakes in the command line of the window.
    void window_printsItsTexts_withoutADisplay_data() {
        QTest::addColumn<QString>("option");
        QTest::addColumn<QString>("display");
        QTest::addColumn<int>("status");
        QTest::addColumn<QByteArray>("says");
        const auto row = [](const char* option, const char* display, int status, const char* says) {
            QTest::addRow("%s, display \"%s\"", option, display)
                << QString::fromLatin1(option) << QString::fromLatin1(display) << status << QByteArray(says);
        };
        row("--help", "", 0, "Usage: ");
        row("-h", "", 0, "Usage: ");
        row("--help-all", "", 0, "Usage: ");
        row("--version", "", 0, "offstage ");
        row("--help", ":7777", 0, "Usage: ");
        row("--version", ":7777", 0, "offstage ");
        row("--nosuch", "", 1, "nosuch");
        row("--new-chat", "", 1, "There is no display for a window");
        // A value of another form is refused, with the one that is expected.
        for (const char* size : {"foo", "1280", "1280x", "0x800", "12.5x4", "1280x800x2", ""}) {
            row(("--size=" + std::string(size)).c_str(), "", 2, "WIDTHxHEIGHT, for example 1280x800");
        }
        row("--theme=blue", "", 2, "--theme blue: expected is system, light or dark");
        row("--language=xx", "", 2, "--language xx: expected is en, de or vi");
        row("--vram=much", "", 2, "--vram");
        row("--size=640x480", "", 1, "There is no display for a window");
        row("--theme=Dark", "", 1, "There is no display for a window");
        row("--language=de_AT", "", 1, "Bildschirm");
    }
    void window_printsItsTexts_withoutADisplay() {
        QFETCH(QString, option);
        QFETCH(QString, display);
        QFETCH(int, status);
        QFETCH(QByteArray, says);
        const QString program = QStringLiteral(OFFSTAGE_BIN_DIR "/offstage");
        if (!QFileInfo::exists(program)) QSKIP("this build has no window");
        const QTemporaryDir home;
        const Outcome outcome = offstage::test::runProgram(
            QStringLiteral("env"),
            {QStringLiteral("-u"), QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("-u"),
             QStringLiteral("WAYLAND_DISPLAY"), QStringLiteral("DISPLAY=") + display, QStringLiteral("LANG=C"),
             QStringLiteral("LC_ALL=C.UTF-8"), QStringLiteral("HOME=") + home.path(), program, option});
        QCOMPARE(outcome.status, status);
        QVERIFY2((outcome.out + outcome.err).contains(says), (outcome.out + outcome.err).constData());
        QVERIFY2(!outcome.err.contains("qt.qpa"), outcome.err.constData());
    }

    void addressLimit_isOneLine_data() {
        QTest::addColumn<int>("kilobytes");
        for (const int kilobytes :
             {60'000, 80'000, 90'000, 100'000, 120'000, 150'000, 175'000, 200'000, 300'000, 1'000'000}) {
            QTest::addRow("%d", kilobytes) << kilobytes;
        }
    }
    // Done, or one line with the reason; never a signal.
    void addressLimit_isOneLine() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        QSKIP("sanitizers need more addresses than such limits leave");
#endif
        QFETCH(int, kilobytes);
        const QTemporaryDir cache;
        const QString script = QStringLiteral("ulimit -c 0; ulimit -v %1; exec \"$0\" \"$@\"").arg(kilobytes);
        // Threads need addresses too. One command shows it: the tests of a limit wait for
        // a busy machine most of the time.
        const QString two_threads = QStringLiteral("export OFFSTAGE_THREADS=2; ");
        const QString demo = QStringLiteral(" --model ") + kDemo;
        // The system's libraries before main() are not under test.
        const int started = runInShell(script, words(QStringLiteral("--version")), "", cache.path()).status;
        if (started != 0 && started != 1) QSKIP("the system's libraries do not start");
        for (const QString& command :
             {QStringLiteral("info ") + kDemo, QStringLiteral("generate --prompt Hi --max-tokens 2") + demo,
              QStringLiteral("generate --prompt Hi --max-tokens 2 --device emulated:rtx-3060 --quant experts=hqq3") +
                  demo,
              QStringLiteral("chat") + demo, QStringLiteral("plan") + demo,
              QStringLiteral("bench --prompt 4 --decode 2 --repeat 1") + demo}) {
            const bool threads = command.startsWith(QStringLiteral("bench"));
            const Outcome outcome =
                runInShell(threads ? two_threads + script : script, words(command), "Hello\n", cache.path());
            if (outcome.status == 127) QSKIP("the system cannot load the program itself");
            const QByteArray said = command.toUtf8() + ": " + outcome.err;
            QVERIFY2(outcome.status == 0 || outcome.status == 1, said.constData());
            QVERIFY2(outcome.err.count("offstage-cli: ") == outcome.status, said.constData());
            QVERIFY2(!outcome.err.contains("inside Offstage"), said.constData());
        }
    }

    void fileLimit_isAnErrorThatIsReported() {
        const QTemporaryDir folder;
        const QString trace = folder.filePath(QStringLiteral("trace"));
        const QString script = QStringLiteral("ulimit -f 1; exec \"$0\" \"$@\"");
        const Outcome traced = runInShell(
            script, generate(QStringLiteral("--prompt Hi --max-tokens 2 --trace ") + trace), {}, folder.path());
        QCOMPARE(traced.status, 1);
        QVERIFY2(traced.err.contains("offstage-cli: The routing trace " + trace.toUtf8()), traced.err.constData());
        const Outcome cached = runInShell(
            script, generate(QStringLiteral("--prompt Hi --max-tokens 2 --quant experts=hqq3")), {}, folder.path());
        QCOMPARE(cached.status, 0);
        QVERIFY2(cached.err.contains("Quantized experts could not be kept in") && cached.err.contains("File too large"),
                 cached.err.constData());
    }

    void interrupt_keepsTheTrace_andSaysSo_data() {
        QTest::addColumn<bool>("json");
        QTest::newRow("text") << false;
        QTest::newRow("json") << true;
    }
    void interrupt_keepsTheTrace_andSaysSo() {
        QFETCH(bool, json);
        const QTemporaryDir folder;
        const QString trace = folder.filePath(QStringLiteral("trace"));
        // A device that takes a second for a token.
        const QString profile = folder.filePath(QStringLiteral("slow.json"));
        QFile fast(QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/hardware/rtx-3060.json"));
        QFile slow(profile);
        QVERIFY(fast.open(QIODevice::ReadOnly) && slow.open(QIODevice::WriteOnly));
        QByteArray device = fast.readAll();
        QVERIFY(device.contains("\"memory_gbps\": 360.0"));
        slow.write(device.replace("\"memory_gbps\": 360.0", "\"memory_gbps\": 0.01"));
        slow.close();
        QProcess process;
        QStringList arguments =
            generate(QStringLiteral("--prompt Hi --temperature 0 --paced --device emulated:%1 --trace %2 --policy "
                                    "transfer --seed 5")
                         .arg(profile, trace));
        if (json) arguments << QStringLiteral("--json") << QStringLiteral("--answers") << QStringLiteral("16");
        process.start(cliProgram(), arguments);
        QVERIFY(process.waitForStarted());
        QFile status(QStringLiteral("/proc/%1/status").arg(process.processId()));
        const auto catchesInterrupts = [&] {
            if (!status.open(QIODevice::ReadOnly)) return false;
            const QByteArray text = status.readAll();
            status.close();
            return (text.mid(text.indexOf("SigCgt:") + 7, 17).trimmed().toULongLong(nullptr, 16) >> (SIGINT - 1) &
                    1u) != 0;
        };
        QTRY_VERIFY_WITH_TIMEOUT(catchesInterrupts() || process.state() == QProcess::NotRunning, 120'000);
        if (!json) QVERIFY(process.waitForReadyRead(120'000));  // the first token
        QCOMPARE(kill(static_cast<pid_t>(process.processId()), SIGINT), 0);
        QVERIFY(process.waitForFinished(120'000));
        QCOMPARE(process.exitStatus(), QProcess::NormalExit);
        QCOMPARE(process.exitCode(), 130);
        const QByteArray err = process.readAllStandardError();
        const qint64 n_traced = linesOf(trace) - 1;
        QVERIFY2(err.contains("Stopped by Ctrl+C; " + trace.toUtf8() + " holds the routing of the " +
                              QByteArray::number(n_traced) + " tokens up to then.\n"),
                 err.constData());
        if (json) QVERIFY(QJsonDocument::fromJson(process.readAllStandardOutput()).isObject());
        if (json && n_traced == 0) return;  // stopped within the prompt
        const Outcome replayed = runCli(words("replay --trace %1 --json", {trace}));
        QCOMPARE(replayed.status, 0);
    }
};

QTEST_GUILESS_MAIN(TestCliStreams)
#include "tst_cli_streams.moc"
