// The window's machines with a real one: offstage-node on this computer, paired from the
// dialog, joined by the controller, and ended in the middle of an answer.
#include <csignal>

#include <QLineEdit>
#include <QProcess>
#include <QPushButton>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTreeWidget>

#include "engine/nodes/paired_network.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/window_fixture.h"
#include "ui/engine/machines.h"
#include "ui/panels/event_log.h"
#include "ui/panels/machines_panel.h"
#include "ui/panels/pair_dialog.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;
using State = EngineController::State;

class TestMachinesJoined : public QObject {
    Q_OBJECT

    const QString m_program = QStringLiteral(OFFSTAGE_BIN_DIR "/offstage-node");
    QTemporaryDir m_folder;
    QProcess m_node;
    QString m_port;
    std::unique_ptr<EngineController> m_engine;
    std::unique_ptr<Machines> m_machines;
    std::unique_ptr<MachinesPanel> m_panel;
    EventLog m_log;
    QStringList m_said;

    QStringList onNode(const QStringList& arguments) const {
        return QStringList{QStringLiteral("--state"), m_folder.filePath(QStringLiteral("node")),
                           QStringLiteral("--name"), QStringLiteral("cupboard")} +
               arguments;
    }
    static QByteArray read(QProcess& process, const char* end) {
        QByteArray out;
        while (!out.contains(end) && process.waitForReadyRead(60'000)) {
            out += process.readAllStandardOutput();
        }
        return out;
    }
    static QString found(const QByteArray& text, const char* pattern) {
        return QRegularExpression(QString::fromLatin1(pattern)).match(QString::fromUtf8(text)).captured(1);
    }
    void startNode(const QString& port) {
        m_node.start(m_program, onNode({QStringLiteral("--model"), demoModel(), QStringLiteral("--compute"),
                                        QStringLiteral("f32"), QStringLiteral("--threads"), QStringLiteral("1"),
                                        QStringLiteral("--listen"), QStringLiteral("127.0.0.1:") + port}));
        m_port = found(read(m_node, "Ctrl+C ends."), "ready on port (\\d+)");
        QVERIFY(!m_port.isEmpty());
    }
    void openModel() {
        engine::LoadRequest request;
        request.model = demoModel().toStdString();
        request.compute = engine::ComputeMode::kF32;
        request.context = 512;
        m_engine->openModel(request);
        QTRY_COMPARE_WITH_TIMEOUT(m_engine->state(), State::Ready, 60'000);
    }
    // The tokens of a greedy answer; `begun` is called when its first text has come.
    std::vector<engine::TokenId> answer(int n, const std::function<void()>& begun = {}) {
        engine::GenerationRequest request;
        request.messages = {{engine::Role::kUser, "Tell me about experts."}};
        request.sampler.temperature = 0;
        request.max_tokens = n;
        request.ignore_end = true;
        QSignalSpy answered(m_engine.get(), &EngineController::answered);
        bool first = true;
        const auto connection =
            connect(m_engine.get(), &EngineController::streamed, this, [&](quint64, const auto& piece) {
                if (first && piece.tokens > 12 && begun) {
                    first = false;
                    begun();
                }
            });
        m_engine->generate(request);
        static_cast<void>(QTest::qWaitFor([&] { return !answered.isEmpty(); }, 60'000));
        disconnect(connection);
        return answered.isEmpty() ? std::vector<engine::TokenId>()
                                  : answered.first().at(1).value<engine::GenerationResult>().tokens;
    }
    engine::MachineFigures figures() const {
        const auto snapshot = m_engine->snapshot();
        return snapshot && !snapshot->machines.empty() ? snapshot->machines.front() : engine::MachineFigures();
    }
    bool hasSaid(const char* text) const { return m_said.join(u'\n').contains(QString::fromUtf8(text)); }

  private Q_SLOTS:
    void initTestCase() {
        if (!QFile::exists(demoModel())) {
            QSKIP("the demo model is not in this tree");
        }
        qputenv("XDG_CACHE_HOME", m_folder.filePath(QStringLiteral("cache")).toUtf8());
        startNode(QStringLiteral("0"));
        m_engine = std::make_unique<EngineController>([] { return engine::Session::create(); });
        m_machines = std::make_unique<Machines>(
            engine::open_machine_network(m_folder.filePath(QStringLiteral("desktop")).toStdString()), *m_engine);
        m_panel = std::make_unique<MachinesPanel>(*m_engine, *m_machines);
        m_panel->show();
        connect(m_machines.get(), &Machines::connecting, &m_log, &EventLog::appendConnection);
        connect(m_machines.get(), &Machines::noted, this, [this](const QString& sentence) { m_said << sentence; });
        openModel();
    }
    void cleanupTestCase() {
        m_panel.reset();
        m_machines.reset();
        m_engine.reset();
        m_node.kill();
        m_node.waitForFinished();
    }

    void dialog_pairsWithTheWordsThatAreShown() {
        QProcess pair;
        pair.start(m_program,
                   onNode({QStringLiteral("pair"), QStringLiteral("--listen"), QStringLiteral("127.0.0.1:0")}));
        const QByteArray shown = read(pair, "good for one pair:\n\n    ");
        m_panel->add();
        auto& dialog = *m_panel->findChild<PairDialog*>();
        dialog.address().setText(QStringLiteral("127.0.0.1:") + found(shown, "nodes pair [^:]+:(\\d+)"));
        dialog.words().setText(QStringLiteral("bada bada bada bada bada bada bada bada"));
        test::find<QPushButton>(dialog, "Pair").click();
        QTRY_VERIFY_WITH_TIMEOUT(dialog.problem().contains(QStringLiteral("does not accept this code")), 60'000);
        QVERIFY(m_machines->all().isEmpty());
        dialog.words().setText(found(shown, "\n    ((?:[a-z]{4} ){7}[a-z]{4})\n"));
        QSignalSpy paired(m_machines.get(), &Machines::paired);
        test::find<QPushButton>(dialog, "Pair").click();
        QTRY_COMPARE_WITH_TIMEOUT(paired.size(), 1, 60'000);
        QCOMPARE(paired.first().at(0).toString(), QStringLiteral("cupboard"));
        QVERIFY(paired.first().at(1).toBool());  // it serves, and has answered
        QVERIFY(pair.state() == QProcess::NotRunning || pair.waitForFinished(60'000));
        QVERIFY(m_log.connections() >= 3);  // twice for the pair, and the test
    }

    void joined_answersAreTheSame_andThePanelShowsWhatItDid() {
        m_machines->setUsed(QStringLiteral("cupboard"), false);
        const auto alone = answer(40);
        QCOMPARE(alone.size(), std::size_t{40});
        m_machines->setUse({true, false});
        m_machines->setUsed(QStringLiteral("cupboard"), true);
        QTRY_VERIFY_WITH_TIMEOUT(figures().state == engine::MachineState::kUp && figures().n_held == 64, 60'000);
        QVERIFY(answer(40) == alone);
        const engine::MachineFigures held = figures();
        QVERIFY(held.rows > 0 && held.bytes > 0 && held.compute_us > 0 && held.network_us > 0 && held.latency_us > 0);
        const auto snapshot = m_engine->snapshot();
        QVERIFY(snapshot->machine_tokens > 0 && snapshot->machine_token_us > held.waiting_us);
        QVERIFY(std::all_of(snapshot->elsewhere.begin(), snapshot->elsewhere.end(), [](auto on) { return on == 1; }));
        QCOMPARE(snapshot->elsewhere.size(), std::size_t{64});
        m_panel->choose(QStringLiteral("cupboard"));
        QTRY_VERIFY2(m_panel->details().contains(QStringLiteral("Holds 64 of 64 experts")) &&
                         m_panel->details().contains(QStringLiteral("ms on the network")),
                     qPrintable(m_panel->details()));
        QTRY_VERIFY(hasSaid("cupboard is connected: it holds 64 of 64 experts"));
    }

    // With both forecasts, and the present choice; with either choice, the answer is the
    // same.
    void everyMachine_makesTheSteps_andForecastsAreShown() {
        m_machines->setUsed(QStringLiteral("cupboard"), false);
        const auto alone = answer(40);
        m_machines->setUse({false, false, engine::NodeShape::kDecentralised});
        m_machines->setUsed(QStringLiteral("cupboard"), true);
        QTRY_VERIFY_WITH_TIMEOUT(figures().state == engine::MachineState::kUp && figures().n_held == 64, 60'000);
        m_engine->resetConversation();  // otherwise it would have to catch up with it first
        QVERIFY(answer(40) == alone);
        auto snapshot = m_engine->snapshot();
        QVERIFY(snapshot->machine_shape.decentralised);
        QVERIFY(snapshot->machine_shape.in_force().us() > 0);
        // How many it is dealt depends on what was measured.
        QCOMPARE(snapshot->expert_owners.size(), std::size_t{64});
        QCOMPARE(std::count(snapshot->expert_owners.begin(), snapshot->expert_owners.end(), 1), figures().n_owned);
        m_panel->choose(QStringLiteral("cupboard"));
        QTRY_VERIFY2(m_panel->details().contains(QStringLiteral("Makes each step as well")),
                     qPrintable(m_panel->details()));
        m_machines->setUse({false, false, engine::NodeShape::kAuto});
        QTRY_VERIFY_WITH_TIMEOUT(m_engine->snapshot()->machine_shape.automatic, 60'000);
        QTRY_VERIFY_WITH_TIMEOUT(figures().state == engine::MachineState::kUp && figures().n_held == 64, 60'000);
        QVERIFY(answer(40) == alone);
        // At the latest with the first tokens that both have decoded.
        QTRY_VERIFY_WITH_TIMEOUT(m_engine->snapshot()->machine_shape.helpers.us() > 0, 60'000);
        QVERIFY(m_engine->snapshot()->machine_shape.peers.us() > 0);
        QTRY_VERIFY2(test::textOf(*m_panel, QStringLiteral("Who makes the steps now"))
                         .contains(QStringLiteral("ms a token, the other way")),
                     qPrintable(test::textOf(*m_panel, QStringLiteral("Who makes the steps now"))));
        m_machines->setUse({true, false});
    }

    void endedInMidAnswer_theAnswerGoesOn_andASentenceSaysSo() {
        m_machines->setUsed(QStringLiteral("cupboard"), false);
        const auto alone = answer(240);
        m_machines->setUsed(QStringLiteral("cupboard"), true);
        QTRY_VERIFY_WITH_TIMEOUT(figures().state == engine::MachineState::kUp && figures().n_held == 64, 60'000);
        const auto helped = answer(240, [this] { ::kill(static_cast<pid_t>(m_node.processId()), SIGKILL); });
        QVERIFY(helped == alone);
        QCOMPARE(helped.size(), std::size_t{240});
        QCOMPARE(figures().n_losses, std::uint64_t{1});
        QTRY_VERIFY2(hasSaid("cupboard is gone ("), qPrintable(m_said.join(u'\n')));
        QTRY_VERIFY2(hasSaid("Without cupboard a token takes "), qPrintable(m_said.join(u'\n')));
        QTRY_VERIFY(m_panel->list().topLevelItem(1)->text(1).contains(QStringLiteral("not reached")) ||
                    m_panel->list().topLevelItem(1)->text(1).contains(QStringLiteral("connecting")));
        // It is back, and used again.
        m_node.waitForFinished();
        startNode(m_port);
        QTRY_VERIFY_WITH_TIMEOUT(hasSaid("cupboard is back and is used again") && figures().n_held == 64, 60'000);
        QVERIFY(answer(20).size() == 20);
        QVERIFY2(figures().rows > 0, qPrintable(m_said.join(u'\n')));
    }

    void drained_itsExpertsRunHereAgain() {
        m_machines->setUsed(QStringLiteral("cupboard"), false);
        QTRY_VERIFY(m_engine->snapshot()->machines.empty());
        const int connections = m_log.connections();
        openModel();
        QVERIFY(m_engine->snapshot()->machines.empty());
        QCOMPARE(m_log.connections(), connections);
        QCOMPARE(m_machines->all().size(), 1);
    }
};

OFFSTAGE_UI_TEST_MAIN(TestMachinesJoined)
#include "tst_machines_joined.moc"
