// Two machines from the first key to the answer, as users set them up: offstage-node,
// offstage-node pair, offstage-cli nodes and --node.

#include <csignal>

#include <QJsonArray>
#include <QProcess>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QTest>

#include "tests/app/cli_runner.h"

using namespace offstage::test;

class TestCliNodes : public QObject {
    Q_OBJECT

    const QString m_demo = QStringLiteral(OFFSTAGE_SOURCE_DIR "/resources/demo-model");
    const QString m_program = QStringLiteral(OFFSTAGE_BIN_DIR "/offstage-node");
    QTemporaryDir m_folder;
    QProcess m_node;
    QByteArray m_said;

    QStringList onNode(const QString& line, const QStringList& values = {}) const {
        return QStringList{QStringLiteral("--state"), m_folder.filePath(QStringLiteral("node")),
                           QStringLiteral("--name"), QStringLiteral("cupboard")} +
               words(line, values);
    }
    // The program's output until `end` occurs in it, or until the program ends.
    static QByteArray read(QProcess& process, const char* end) {
        QByteArray out;
        while (!out.contains(end) && process.waitForReadyRead(60'000)) out += process.readAllStandardOutput();
        return out;
    }
    static QString found(const QByteArray& text, const char* pattern) {
        return QRegularExpression(QString::fromLatin1(pattern)).match(QString::fromUtf8(text)).captured(1);
    }
    CliOutcome answer(const QString& options = {}) {
        return runCli(
            words(QStringLiteral("generate --model %1 --max-tokens 12 --temperature 0 --compute f32 --threads 1 "
                                 "--json --prompt %2 ") +
                      options,
                  {m_demo, QStringLiteral("What is an expert?")}));
    }

  private Q_SLOTS:
    void initTestCase() {
        for (const char* variable : {"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"})
            qputenv(variable, m_folder.filePath(QString::fromLatin1(variable)).toUtf8());
        m_node.start(m_program, onNode(QStringLiteral("--model %1 --listen 127.0.0.1:0 --compute f32 --threads 1 "
                                                      "--state-every 1"),
                                       {m_demo}));
        m_said = read(m_node, "Ctrl+C ends.");
        QVERIFY2(m_said.contains("No desktop is paired with this machine yet"), m_said.constData());
    }
    void cleanupTestCase() {
        if (m_node.state() != QProcess::NotRunning) {
            m_node.kill();
            m_node.waitForFinished();
        }
        const QByteArray errors = m_node.readAllStandardError();
        QVERIFY2(!errors.contains("Sanitizer"), errors.constData());
    }

    void before_nothingIsPaired() {
        QVERIFY(runCli(words(QStringLiteral("nodes list"))).out.contains("No machine is paired"));
        const CliOutcome outcome = answer(QStringLiteral("--node cupboard"));
        QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.err.contains("No machine \"cupboard\" is paired with this one"), outcome.err.constData());
    }

    void pair_withTheCodeThatIsShown() {
        QProcess pair;
        // Without a name: it takes the running node's. The address is the machine's.
        pair.start(m_program, words(QStringLiteral("--state %1 pair --listen 127.0.0.1:0"),
                                    {m_folder.filePath(QStringLiteral("node"))}));
        const QByteArray shown = read(pair, "good for one pair:\n\n    ");  // written as one
        const QString port = found(shown, "nodes pair \\S+:(\\d+)");
        const QString code = found(shown, "\n    ((?:[a-z]{4} ){7}[a-z]{4})\n");
        QVERIFY2(!port.isEmpty() && !code.isEmpty(), shown.constData());
        const QStringList arguments = words(QStringLiteral("nodes pair 127.0.0.1:") + port);

        CliOutcome outcome = runCli(arguments, "one two three\n");
        QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.err.contains("\"one\" is no word of a pairing code"), outcome.err.constData());
        outcome = runCli(arguments, "bada bada bada bada bada bada bada bada\n");
        QCOMPARE(outcome.status, 1);
        QVERIFY2(outcome.err.contains("does not accept this code"), outcome.err.constData());
        outcome = runCli(arguments, code.toUtf8() + "\n");
        QVERIFY2(outcome.status == 0, outcome.err.constData());
        QVERIFY2(outcome.out.contains("Paired with cupboard, which serves at 127.0.0.1:" +
                                      found(m_said, "ready on port (\\d+)").toUtf8()),
                 outcome.out.constData());
        QVERIFY(pair.waitForFinished(60'000));
        QCOMPARE(pair.exitCode(), 0);
        QVERIFY(runProgram(m_program, onNode(QStringLiteral("desktops"))).out.split('\n').size() == 2);
        QVERIFY(runCli(words(QStringLiteral("nodes list"))).out.startsWith("cupboard  127.0.0.1:"));
    }

    void test_measuresTheLink() {
        // A pair counts at once.
        const CliOutcome outcome = runCli(words(QStringLiteral("nodes test cupboard --json")));
        QVERIFY2(outcome.status == 0, outcome.err.constData());
        QVERIFY(outcome.json()[QStringLiteral("round_trip_us")].toDouble() > 0);
        QVERIFY(outcome.json()[QStringLiteral("mb_per_s")].toDouble() > 0);
    }

    void answer_isTheSameWithItsHelp() {
        const CliOutcome alone = answer();
        const CliOutcome helped = answer(QStringLiteral("--node cupboard --node-use always"));
        QVERIFY2(helped.status == 0, helped.err.constData());
        QCOMPARE(helped.json()[QStringLiteral("text")], alone.json()[QStringLiteral("text")]);
        const QJsonObject node = helped.json()[QStringLiteral("nodes")].toArray()[0].toObject();
        QCOMPARE(node[QStringLiteral("name")].toString(), QStringLiteral("cupboard"));
        QCOMPARE(node[QStringLiteral("experts")].toInt(), 64);
        QVERIFY(node[QStringLiteral("rows")].toInt() > 0);
        QVERIFY2(helped.err.contains("note: cupboard is connected: it holds 64 of 64 experts"), helped.err.constData());
        QVERIFY(!alone.json().contains(QStringLiteral("nodes")));
    }

    void answer_isTheSameWhereTheNodeMakesTheSteps() {
        const CliOutcome alone = answer();
        const CliOutcome both = answer(QStringLiteral("--node cupboard --node-shape decentralised"));
        QVERIFY2(both.status == 0, both.err.constData());
        QCOMPARE(both.json()[QStringLiteral("text")], alone.json()[QStringLiteral("text")]);
        const QJsonObject node = both.json()[QStringLiteral("nodes")].toArray()[0].toObject();
        QCOMPARE(node[QStringLiteral("shape")].toString(), QStringLiteral("decentralised"));
        QVERIFY(node[QStringLiteral("requests")].toInt() > 0);  // its shares of layers, if only empty ones
        QCOMPARE(node[QStringLiteral("failed_rows")].toInt(), 0);
    }

    // By default it reports which shape is forecast to be faster.
    void shape_isChosenAndSaid() {
        const CliOutcome outcome = answer(QStringLiteral("--node cupboard"));
        QVERIFY2(outcome.status == 0, outcome.err.constData());
        const QString shape =
            outcome.json()[QStringLiteral("nodes")].toArray()[0].toObject()[QStringLiteral("shape")].toString();
        QVERIFY2(outcome.err.contains(shape == QStringLiteral("helpers")
                                          ? "note: The other machines compute experts for this one (forecast: "
                                          : "note: Every machine makes each step itself and computes its share"),
                 outcome.err.constData());
        QCOMPARE(outcome.json()[QStringLiteral("text")], answer().json()[QStringLiteral("text")]);
    }

    void plan_saysWhatItCouldHold() {
        const CliOutcome outcome =
            runCli(words(QStringLiteral("plan --model %1 --compute f32 --node cupboard"), {m_demo}));
        QVERIFY2(outcome.status == 0 && outcome.out.contains("cupboard: room for 64 of 64 experts;"),
                 (outcome.out + outcome.err).constData());
    }

    void plan_forecastsBothShapes() {
        const auto plan = [&](const QString& more) {
            return runCli(
                words(QStringLiteral("plan --model %1 --compute f32 --threads 1 --node cupboard ") + more, {m_demo}));
        };
        const QJsonObject joint = plan(QStringLiteral("--json")).json()[QStringLiteral("joint")].toObject();
        double ms[2] = {};
        for (const int shape : {0, 1}) {
            const QJsonObject of =
                joint[shape == 0 ? QStringLiteral("helpers") : QStringLiteral("decentralised")].toObject();
            ms[shape] = of[QStringLiteral("ms_per_token")].toDouble();
            QVERIFY(ms[shape] > 0);
            const double sum = of[QStringLiteral("computing_ms")].toDouble() +
                               of[QStringLiteral("network_ms")].toDouble() +
                               of[QStringLiteral("waiting_ms")].toDouble();
            QVERIFY(std::abs(sum - ms[shape]) < 1e-9);
            const QJsonArray calls = of[QStringLiteral("calls")].toArray();
            QCOMPARE(calls[0].toDouble() + calls[1].toDouble(), 16.0);  // 8 layers, 2 experts each
        }
        QVERIFY(joint[QStringLiteral("chosen_by_forecast")].toBool());
        QCOMPARE(joint[QStringLiteral("shape")].toString(),
                 ms[1] < ms[0] ? QStringLiteral("decentralised") : QStringLiteral("helpers"));
        QCOMPARE(joint[QStringLiteral("owners")].toArray().size(), 8);
        QCOMPARE(joint[QStringLiteral("owners")].toArray()[0].toArray().size(), 8);

        // The user may fix the shape.
        const CliOutcome every = plan(QStringLiteral("--node-shape decentralised"));
        QVERIFY2(every.out.contains("* every machine (--node-shape decentralised)") &&
                     every.out.contains("* as --node-shape says") && every.out.contains("are its own in every step"),
                 every.out.constData());
        const CliOutcome helpers = plan(QStringLiteral("--node-use always"));
        QVERIFY2(helpers.out.contains("* desktop and helpers") &&
                     helpers.out.contains("as --node-use always asks for") &&
                     helpers.out.contains("cupboard: computes 100 % of a token's experts"),
                 helpers.out.constData());
    }

    void scenarioBench_runsWithItsHelp() {
        const CliOutcome outcome =
            runCli(words(QStringLiteral("bench --model %1 --scenario decode --in 8 --out 4 --repeat 1 --compute f32 "
                                        "--threads 1 --json --node cupboard --node-use always"),
                         {m_demo}));
        QVERIFY2(outcome.status == 0, outcome.err.constData());
        const QJsonObject node = outcome.json()[QStringLiteral("nodes")].toArray()[0].toObject();
        QCOMPARE(node[QStringLiteral("name")].toString(), QStringLiteral("cupboard"));
        QVERIFY(node[QStringLiteral("rows")].toInt() > 0);
    }

    void server_isHelpedToo() {
        QProcess server;
        server.start(cliProgram(), words(QStringLiteral("serve --model %1 --listen 127.0.0.1:0 --compute f32 "
                                                        "--threads 1 --node cupboard --node-use always"),
                                         {m_demo}));
        const QByteArray out = read(server, "Ctrl+C ends.");
        const QByteArray err = server.readAllStandardError();
        QVERIFY2(err.contains("note: cupboard is connected: it holds 64 of 64 experts"), (out + err).constData());
        ::kill(static_cast<pid_t>(server.processId()), SIGTERM);
        QVERIFY(server.waitForFinished(60'000));
        QCOMPARE(server.exitCode(), 0);
    }

    void removedMachine_isUnknown() {
        QCOMPARE(runCli(words(QStringLiteral("nodes remove cupboard"))).status, 0);
        QCOMPARE(runCli(words(QStringLiteral("nodes test cupboard"))).status, 1);
        QVERIFY(runCli(words(QStringLiteral("nodes list"))).out.contains("No machine is paired"));
    }

    void node_saysWhatItDoes_andEndsWhenItIsTold() {
        ::kill(static_cast<pid_t>(m_node.processId()), SIGTERM);
        QVERIFY(m_node.waitForFinished(60'000));
        QCOMPARE(m_node.exitCode(), 0);
        m_said += m_node.readAllStandardOutput();
        QVERIFY2(QString::fromUtf8(m_said).contains(QRegularExpression(
                     QStringLiteral("\n\\d+ experts in .* of .*, \\d+ desktops, \\d+ requests with \\d+ rows"))),
                 m_said.constData());
    }
};

QTEST_GUILESS_MAIN(TestCliNodes)
#include "tst_cli_nodes.moc"
