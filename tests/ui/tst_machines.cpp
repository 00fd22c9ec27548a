// The Machines panel on a scripted network: its display of machines, its actions, and
// that nothing connects before a user has added a machine and switched it on.
#include <QComboBox>
#include <QDir>
#include <QDockWidget>
#include <QFile>
#include <QFileInfo>
#include <QFrame>
#include <QLabel>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QSignalSpy>
#include <QStatusBar>
#include <QTemporaryDir>
#include <QTreeWidget>

#include "engine/cluster/machine_network.h"
#include "engine/cluster/node_messages.h"
#include "engine/nodes/nodes_messages.h"
#include "tests/ui/find_widget.h"
#include "tests/ui/pictures.h"
#include "tests/ui/replan_session.h"
#include "tests/ui/window_fixture.h"
#include "ui/engine/machines.h"
#include "ui/panels/experts_panel.h"
#include "ui/panels/machines_panel.h"
#include "ui/panels/pair_dialog.h"
#include "ui/panels/what_if_panel.h"
#include "ui/plot/heat_map_legend.h"
#include "ui/window/panel_docks.h"

using namespace offstage;
using namespace offstage::test;
using namespace offstage::ui;

namespace {

// Set and read by the test; any thread.
struct Network {
    std::mutex mutex;
    std::vector<engine::PairedMachine> paired;
    std::vector<std::vector<std::string>> asked;  // names of each joining()
    std::vector<engine::MachineUse> uses;
    int pairs = 0, tests = 0, joins = 0, partings = 0;
    bool holdsPairing = false;  // until it is cancelled
    bool answersTests = true;
    std::vector<engine::MachineFigures> figures;
    std::vector<std::uint16_t> elsewhere;
    std::int64_t tokens = 0;
    double token_us = 0;
    engine::MachineShape shape;
    std::vector<std::uint8_t> owners;
    std::string listFile;
    std::vector<engine::Message> notes;
    std::uint64_t revision = 0;
};

class ScriptedNetwork final : public engine::MachineNetwork {
  public:
    explicit ScriptedNetwork(std::shared_ptr<Network> network) : m_network(std::move(network)) {}

    std::vector<engine::PairedMachine> machines() const override {
        const std::lock_guard lock(m_network->mutex);
        return m_network->paired;
    }
    std::string list_file() const override {
        const std::lock_guard lock(m_network->mutex);
        return m_network->listFile;
    }
    std::string pairing_address(const std::string& text) const override {
        if (text.find(' ') != text.npos) {
            throw engine::Error(engine::ErrorKind::kInvalidInput, engine::messages::node_address_invalid(text));
        }
        return text + ":7421";
    }
    engine::PairedMachine pair(const std::string& address, const std::string& words, const std::string& name,
                               const std::stop_token& stop) override {
        std::unique_lock lock(m_network->mutex);
        ++m_network->pairs;
        std::condition_variable_any never;
        if (m_network->holdsPairing) {
            never.wait(lock, stop, [] { return false; });
            throw engine::Error(engine::ErrorKind::kCancelled, engine::messages::pairing_cancelled);
        }
        if (words.find("wrong") != words.npos) {
            throw engine::Error(engine::ErrorKind::kInvalidInput, engine::messages::pairing_refused(address));
        }
        m_network->paired.push_back({name.empty() ? "cupboard" : name, "cupboard:7420", "0123456789abcdef"});
        return m_network->paired.back();
    }
    void remove(const std::string& name) override {
        const std::lock_guard lock(m_network->mutex);
        std::erase_if(m_network->paired, [&](const engine::PairedMachine& machine) { return machine.name == name; });
    }
    engine::MachineTest test(const std::string& name, const std::stop_token&) override {
        const std::lock_guard lock(m_network->mutex);
        ++m_network->tests;
        if (!m_network->answersTests) {
            throw engine::Error(engine::ErrorKind::kNotFound,
                                engine::messages::node_test_failed(name, engine::from_outside("refused")));
        }
        return {240, 940, {12 << 20, std::uint64_t{48} << 30, 64, 1}};
    }
    engine::JoinMachinesFn joining(const std::vector<std::string>& names,
                                   const engine::MachineUse& use) const override {
        const std::lock_guard lock(m_network->mutex);
        m_network->asked.push_back(names);
        m_network->uses.push_back(use);
        return [](engine::LoadedModel&, const std::stop_token&) -> std::unique_ptr<engine::JoinedMachines> {
            return nullptr;
        };
    }

  private:
    std::shared_ptr<Network> m_network;
};

// The scripted engine, joined by the test's machines.
class MachineSession : public ReplanSession {
  public:
    MachineSession(std::shared_ptr<Stage> stage, std::shared_ptr<Network> network)
        : ReplanSession(std::move(stage), std::make_shared<ReplanStage>()), m_network(std::move(network)) {}

    void join(const engine::JoinMachinesFn& join, const std::stop_token&) override {
        const std::lock_guard lock(m_network->mutex);
        ++(join ? m_network->joins : m_network->partings);
        m_joined = static_cast<bool>(join);
        ++m_network->revision;
    }
    std::vector<engine::Message> take_machine_notes() override {
        const std::lock_guard lock(m_network->mutex);
        return std::exchange(m_network->notes, {});
    }
    engine::Snapshot snapshot() const override {
        engine::Snapshot snapshot = ReplanSession::snapshot();
        const std::lock_guard lock(m_network->mutex);
        snapshot.revision += m_network->revision;
        if (m_joined) {
            snapshot.machines = m_network->figures;
            snapshot.elsewhere = m_network->elsewhere;
            snapshot.machine_tokens = m_network->tokens;
            snapshot.machine_token_us = m_network->token_us;
            snapshot.machine_shape = m_network->shape;
            snapshot.expert_owners = m_network->owners;
        }
        return snapshot;
    }

  private:
    std::shared_ptr<Network> m_network;
    bool m_joined = false;
};

engine::MachineFigures up(const std::string& name, std::int64_t held, double compute_us, double network_us,
                          double waiting_us) {
    engine::MachineFigures figures;
    figures.name = name;
    figures.state = engine::MachineState::kUp;
    figures.n_held = held;
    figures.held_bytes = static_cast<std::uint64_t>(held) * (112 << 20);
    figures.ram_bytes = std::uint64_t{48} << 30;
    figures.n_threads = 16;
    figures.instruction_set = "avx2";
    figures.latency_us = 210;
    figures.mbps = 938;
    figures.compute_us = compute_us;
    figures.network_us = network_us;
    figures.waiting_us = waiting_us;
    figures.bytes = 98'304;
    return figures;
}

engine::MachineFigures lost(const std::string& name) {
    engine::MachineFigures figures;
    figures.name = name;
    figures.state = engine::MachineState::kUnreachable;
    figures.why = engine::messages::node_link_ended;
    figures.n_losses = 1;
    return figures;
}

struct Fixture {
    std::shared_ptr<Stage> stage = std::make_shared<Stage>();
    std::shared_ptr<Network> network = std::make_shared<Network>();
    std::unique_ptr<MainWindow> window;

    explicit Fixture(std::vector<engine::PairedMachine> paired = {}, bool built = true, const QString& listFile = {}) {
        network->paired = std::move(paired);
        network->listFile = listFile.toStdString();
        MainWindow::Options options;
        options.theme = Theme::Light;
        if (built) {
            options.machines = std::make_shared<ScriptedNetwork>(network);
        }
        window = std::make_unique<MainWindow>(
            [s = stage, n = network] { return std::make_unique<MachineSession>(s, n); }, options);
        window->resize(1280, 800);
        window->show();
        part<PanelDocks>(*window).show(QStringLiteral("machines"));
        QTRY_VERIFY(panel().isVisible());
    }
    MachinesPanel& panel() const { return *window->findChild<MachinesPanel*>(); }
    void open() {
        window->opener().open(QStringLiteral("/models/fake-moe"));
        QTRY_COMPARE(window->core().engine.state(), EngineController::State::Ready);
    }
    template <typename What>
    auto locked(What&& what) const {
        const std::lock_guard lock(network->mutex);
        ++network->revision;
        return what(*network);
    }
    PairDialog& dialog() {
        panel().addButton().click();
        auto* dialog = panel().findChild<PairDialog*>();
        return *dialog;
    }
    void twoMachines() {
        locked([](Network& n) {
            n.figures = {up("cupboard", 40, 3'100, 900, 300), up("attic", 24, 5'200, 2'400, 1'900)};
            n.elsewhere.assign(64, 0);
            for (std::size_t i = 0; i < 64; ++i) {
                n.elsewhere[i] = i < 30 ? 1 : i < 50 ? 3 : i < 60 ? 2 : 0;
            }
            n.tokens = 32;
            n.token_us = 21'400;
            n.shape = {};
            n.shape.automatic = true;
            n.shape.helpers = {18'900, 2'100, 1'600};
            n.shape.peers = {24'300, 1'250, 4'000};
            n.owners.clear();
            return 0;
        });
    }
    // The same, where every machine makes each step.
    void twoPeers() {
        twoMachines();
        locked([](Network& n) {
            n.shape.decentralised = true;
            n.shape.helpers = {26'900, 12'100, 3'600};
            n.owners.assign(64, 0);
            for (std::size_t i = 0; i < 64; ++i) {
                n.owners[i] = i < 24 ? 1 : i < 40 ? 2 : 0;
            }
            n.figures[0].n_owned = 24;
            n.figures[1].n_owned = 16;
            n.figures[0].first_expert_us = 2'675;
            n.figures[0].expert_us = 892;
            n.figures[1].first_expert_us = 40;
            n.figures[1].expert_us = 700;
            n.figures[0].links = {{"attic", true, 412, 931, {}}};
            n.figures[1].links = {{"cupboard", false, 0, 0, engine::messages::node_link_ended}};
            return 0;
        });
    }
};

const std::vector<engine::PairedMachine> kTwo = {{"cupboard", "192.168.1.7:7420", "0123456789abcdef"},
                                                 {"attic", "attic:7420", "fedcba9876543210"}};

// Whether the panel explains what to do first.
bool isIntroduced(const MachinesPanel& panel) {
    const QList<QLabel*> labels = panel.findChildren<QLabel*>();
    return std::any_of(labels.begin(), labels.end(), [&](const QLabel* each) {
        return each->isVisibleTo(&panel) && each->text().contains(QStringLiteral("offstage-node pair"));
    });
}

bool isShown(const QPushButton& button) {
    return button.isVisible();
}

}  // namespace

class TestMachines : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void init() { QSettings().clear(); }

    void builtWithoutConnections_saysSo_andOffersNothing() {
        Fixture f({}, false);
        QVERIFY2(f.panel().emptyText().contains(QStringLiteral("built without")), qPrintable(f.panel().emptyText()));
        for (const QPushButton* button : f.panel().findChildren<QPushButton*>()) {
            QVERIFY(!isShown(*button));
        }
        f.open();
        QCOMPARE(f.locked([](const Network& n) { return n.joins + n.partings; }), 0);
        picture(*f.panel().parentWidget(), QStringLiteral("machines-not-built"));
    }

    void withoutMachines_explainsWhatToDo() {
        Fixture f;
        QVERIFY(isIntroduced(f.panel()));
        QVERIFY(f.panel().addButton().isEnabled() && isShown(f.panel().addButton()));
        for (const QPushButton* button : {&test::find<QPushButton>(f.panel(), "Test the link to the chosen machine"),
                                          &test::find<QPushButton>(f.panel(), "Use or drain the chosen machine"),
                                          &test::find<QPushButton>(f.panel(), "Remove the chosen machine")}) {
            QVERIFY(!button->isEnabled());
        }
        picture(f.panel(), QStringLiteral("machines-empty"));
    }

    void nothingConnects_untilAMachineIsSwitchedOn() {
        Fixture f(kTwo);
        f.open();
        QCOMPARE(f.locked([](const Network& n) { return n.joins + n.tests + n.pairs; }), 0);
        QCOMPARE(f.window->core().log.connections(), 0);

        f.panel().choose(QStringLiteral("attic"));
        test::find<QPushButton>(f.panel(), "Use or drain the chosen machine").click();
        QTRY_COMPARE(f.locked([](const Network& n) { return n.joins; }), 1);
        QCOMPARE(f.locked([](const Network& n) { return n.asked.back(); }), std::vector<std::string>{"attic"});
        QTRY_COMPARE(f.window->core().log.connections(), 1);
        QVERIFY(f.window->core().log.at(f.window->core().log.size() - 1).text.contains(QStringLiteral("attic:7420")));
        QCOMPARE(test::find<QPushButton>(f.panel(), "Use or drain the chosen machine").text(), QStringLiteral("Drain"));

        test::find<QPushButton>(f.panel(), "Use or drain the chosen machine").click();
        QTRY_COMPARE(f.locked([](const Network& n) { return n.partings; }), 1);
        QCOMPARE(test::find<QPushButton>(f.panel(), "Use or drain the chosen machine").text(), QStringLiteral("Use"));
        QCOMPARE(f.window->core().log.connections(), 1);
        QCOMPARE(f.window->core().machines.all().size(), 2);  // it stays paired
    }

    void switchedOn_isKept_andJoinsTheNextModelAsSoonAsItIsLoaded() {
        {
            Fixture f(kTwo);
            f.window->core().machines.setUsed(QStringLiteral("cupboard"), true);
            f.window->core().machines.setUse({true, false});
            QCOMPARE(f.locked([](const Network& n) { return n.joins; }), 0);  // no model, nothing to help with
            QCOMPARE(f.window->core().log.connections(), 0);
        }
        Fixture f(kTwo);
        QVERIFY(f.window->core().machines.find(QStringLiteral("cupboard"))->used);
        QVERIFY(!f.window->core().machines.find(QStringLiteral("attic"))->used);
        QVERIFY(f.window->core().machines.use().always);
        f.open();
        QTRY_COMPARE(f.locked([](const Network& n) { return n.joins; }), 1);
        QTRY_COMPARE(f.window->core().log.connections(), 1);
        f.open();  // another model
        QTRY_COMPARE(f.locked([](const Network& n) { return n.joins; }), 2);
    }

    // Enter pairs, or says what is missing: it is never Cancel.
    void pairing_enter_keepsWhatWasTyped() {
        Fixture f;
        f.panel().addButton().setFocus();
        PairDialog& dialog = f.dialog();
        QTRY_VERIFY(dialog.isVisible());
        dialog.address().setFocus();
        QTest::keyClicks(&dialog.address(), QStringLiteral("cupboard"));
        QTest::keyClick(&dialog.address(), Qt::Key_Return);
        QVERIFY(dialog.isVisible());
        QVERIFY2(dialog.problem().contains(QStringLiteral("eight words")), qPrintable(dialog.problem()));
        QTest::keyClick(&dialog.address(), Qt::Key_Tab);
        QTest::keyClicks(&dialog.words(), QStringLiteral("one two three four five six seven eight"));
        QTest::keyClick(&dialog.words(), Qt::Key_Return);
        QTRY_COMPARE(f.window->core().machines.all().size(), 1);
        QTRY_VERIFY(f.panel().findChild<PairDialog*>() == nullptr);
        QTRY_COMPARE(f.window->focusWidget(), &f.panel().addButton());  // Enter adds the next
    }

    // However narrow a person makes it.
    void pairing_inANarrowDialog_cutsNoText() {
        Fixture f;
        PairDialog& dialog = f.dialog();
        dialog.resize(200, 100);
        QCoreApplication::processEvents();
        for (const QLabel* label : dialog.findChildren<QLabel*>()) {
            const int needed = label->wordWrap() ? label->heightForWidth(label->width()) : label->sizeHint().height();
            QVERIFY2(label->height() >= needed && label->visibleRegion().boundingRect() == label->rect(),
                     qPrintable(label->text()));
        }
    }

    // Enter did nothing on a panel's button, and on Cancel it paired.
    void enter_pressesTheButtonWithTheFocus() {
        Fixture f;
        QPushButton& add = f.panel().addButton();
        add.setFocus();
        QTest::keyClick(&add, Qt::Key_Return);
        auto* dialog = f.panel().findChild<PairDialog*>();
        QVERIFY(dialog != nullptr && dialog->isVisible());
        QTest::keyClicks(&test::find<QLineEdit>(*dialog, "Address of the other machine"), QStringLiteral("cupboard"));
        QTest::keyClicks(&test::find<QLineEdit>(*dialog, "The eight words"), QStringLiteral("a b c d e f g h"));
        QVERIFY(test::find<QPushButton>(*dialog, "Pair").isEnabled());
        QPushButton& cancel = test::find<QPushButton>(*dialog, "Cancel");
        cancel.setFocus();
        QTest::keyClick(&cancel, Qt::Key_Enter, Qt::KeypadModifier);
        QTRY_VERIFY(f.panel().findChild<PairDialog*>() == nullptr);
        QCOMPARE(f.locked([](Network& network) { return network.pairs; }), 0);
    }

    void pairing_wrongWords_cancelled_andDone() {
        Fixture f;
        PairDialog& dialog = f.dialog();
        QVERIFY(!test::find<QPushButton>(dialog, "Pair").isEnabled());
        dialog.address().setText(QStringLiteral("cup board"));
        dialog.words().setText(QStringLiteral("one two three four five six seven"));
        QVERIFY(!test::find<QPushButton>(dialog, "Pair").isEnabled());
        dialog.words().setText(QStringLiteral("one two three four five six seven wrong"));
        QVERIFY(test::find<QPushButton>(dialog, "Pair").isEnabled());
        test::find<QPushButton>(dialog, "Pair").click();
        QTRY_VERIFY2(dialog.problem().contains(QStringLiteral("\"cup board\" is no address")),
                     qPrintable(dialog.problem()));
        QCOMPARE(f.window->core().log.connections(), 0);
        dialog.address().setText(QStringLiteral("cupboard"));
        picture(dialog, QStringLiteral("machines-pair"), {460}, dialog.height());
        test::find<QPushButton>(dialog, "Pair").click();
        QVERIFY(f.window->core().machines.isPairing());
        QTRY_VERIFY2(dialog.problem().contains(QStringLiteral("does not accept this code")),
                     qPrintable(dialog.problem()));
        QCOMPARE(f.window->core().log.connections(), 1);

        f.locked([](Network& n) { return n.holdsPairing = true; });
        dialog.words().setText(QStringLiteral("one two three four five six seven eight"));
        test::find<QPushButton>(dialog, "Pair").click();
        QTRY_COMPARE(f.locked([](const Network& n) { return n.pairs; }), 2);
        dialog.reject();
        QTRY_VERIFY2(dialog.problem().contains(QStringLiteral("Nothing was stored")), qPrintable(dialog.problem()));
        QVERIFY(dialog.isVisible());
        QVERIFY(f.window->core().machines.all().isEmpty());

        f.locked([](Network& n) { return n.holdsPairing = false; });
        test::find<QPushButton>(dialog, "Pair").click();
        QTRY_COMPARE(f.window->core().machines.all().size(), 1);
        QTRY_VERIFY(f.window->core().machines.all().first().used);  // as the dialog offers
        QTRY_COMPARE(f.panel().chosen(), QStringLiteral("cupboard"));
        QTRY_VERIFY2(f.panel().notice().contains(QStringLiteral("is paired")), qPrintable(f.panel().notice()));
        QVERIFY(!isIntroduced(f.panel()));
    }

    void link_tested_saysWhatItFound() {
        Fixture f(kTwo);
        f.panel().choose(QStringLiteral("cupboard"));
        test::find<QPushButton>(f.panel(), "Test the link to the chosen machine").click();
        QVERIFY(!test::find<QPushButton>(f.panel(), "Test the link to the chosen machine").isEnabled());
        QTRY_VERIFY2(f.panel().notice().contains(QStringLiteral("0.24 ms there and back, 940 MB/s")),
                     qPrintable(f.panel().notice()));
        f.locked([](Network& n) { return n.answersTests = false; });
        QTRY_VERIFY(test::find<QPushButton>(f.panel(), "Test the link to the chosen machine").isEnabled());
        test::find<QPushButton>(f.panel(), "Test the link to the chosen machine").click();
        QTRY_VERIFY2(f.panel().notice().contains(QStringLiteral("does not answer (refused)")),
                     qPrintable(f.panel().notice()));
        QCOMPARE(f.window->core().log.connections(), 2);
    }

    void twoMachines_figuresAndPictures() {
        Fixture f(kTwo);
        f.window->core().machines.setUsed(QStringLiteral("cupboard"), true);
        f.window->core().machines.setUsed(QStringLiteral("attic"), true);
        f.open();
        f.twoMachines();
        MachinesPanel& panel = f.panel();
        QTRY_COMPARE(panel.times().rows().size(), std::size_t{3});
        // This machine: the whole token less its waiting.
        QCOMPARE(panel.times().rows()[0].parts[0].size, 21'400.0 - 2'200.0);
        QCOMPARE(panel.times().rows()[0].parts[1].size, 2'200.0);
        QCOMPARE(panel.times().rows()[1].parts[0].size, 3'100.0);
        QCOMPARE(panel.times().rows()[1].parts[1].size, 900.0);
        QCOMPARE(panel.places().rows()[0].parts[0].size, 64.0);
        QCOMPARE(panel.places().rows()[2].parts[0].size, 24.0);
        panel.choose(QStringLiteral("cupboard"));
        const QString text = panel.details();
        QVERIFY2(!text.contains(QStringLiteral("Measured again")), qPrintable(text));
        for (const char* part :
             {"192.168.1.7:7420", "Holds 40 of 64 experts", "0.21 ms there and back, 938 MB/s", "16 threads",
              "A token: 3.10 ms computing there, 0.90 ms on the network, 0.30 ms waited", "96.0 KiB"}) {
            QVERIFY2(text.contains(QString::fromUtf8(part)), qPrintable(text));
        }
        QVERIFY(panel.list().topLevelItem(1)->text(1).contains(QStringLiteral("up")));
        picture(panel, QStringLiteral("machines-two"));
        f.locked([](Network& n) {
            n.figures[1] = lost("attic");
            return n.tokens = 0;
        });
        QTRY_VERIFY(panel.list().topLevelItem(2)->text(1).contains(QStringLiteral("not reached")));
        panel.choose(QStringLiteral("attic"));
        QVERIFY2(panel.details().contains(QStringLiteral("the connection ended")), qPrintable(panel.details()));
        picture(panel, QStringLiteral("machines-one-down"));
        QVERIFY(test::textOf(panel, QStringLiteral("Who makes the steps now")).contains(QStringLiteral("In force")));

        // Nothing is in force with machines that are all gone.
        f.locked([](Network& n) {
            n.figures[0] = lost("cupboard");
            return n.tokens = 32;
        });
        QTRY_COMPARE(test::textOf(panel, QStringLiteral("Who makes the steps now")),
                     QStringLiteral("No other machine is reached: this one makes every step alone."));
        QVERIFY(panel.forecasts().rows().empty());
        QVERIFY(panel.times().rows().empty());
        f.locked([](Network& n) {
            n.figures[0].state = engine::MachineState::kConnecting;
            return n.tokens = 0;
        });
        QTRY_VERIFY(test::textOf(panel, QStringLiteral("Who makes the steps now"))
                        .contains(QStringLiteral("Being connected to")));
        picture(panel, QStringLiteral("machines-all-down"));
    }

    void shape_isChosenByThePerson_andKept() {
        {
            Fixture f(kTwo);
            f.window->core().machines.setUsed(QStringLiteral("cupboard"), true);
            QCOMPARE(test::find<QComboBox>(f.panel(), "Who makes the steps").currentText(),
                     QStringLiteral("Automatic"));
            f.open();
            QTRY_COMPARE(f.locked([](const Network& n) { return n.joins; }), 1);
            QVERIFY(f.locked([](const Network& n) { return n.uses.back().shape == engine::NodeShape::kAuto; }));
            QComboBox& box = test::find<QComboBox>(f.panel(), "Who makes the steps");
            box.setFocus();
            QTest::keyClick(&box, Qt::Key_End);
            QCOMPARE(box.currentText(), QStringLiteral("Every machine makes each step"));
            QTRY_COMPARE(f.locked([](const Network& n) { return n.joins; }), 2);
            QVERIFY(
                f.locked([](const Network& n) { return n.uses.back().shape == engine::NodeShape::kDecentralised; }));
            QVERIFY(!test::find<QComboBox>(f.panel(), "What other machines compute").isEnabled());
            const EventLog& log = f.window->core().log;
            QTRY_VERIFY2(log.at(log.size() - 1).text.contains(QStringLiteral("steps of the model, made by cupboard")),
                         qPrintable(log.at(log.size() - 1).text));
        }
        Fixture f(kTwo);
        QCOMPARE(test::find<QComboBox>(f.panel(), "Who makes the steps").currentText(),
                 QStringLiteral("Every machine makes each step"));
        QVERIFY(f.locked([](const Network& n) { return n.uses.back().shape == engine::NodeShape::kDecentralised; }));
        QTest::keyClick(&test::find<QComboBox>(f.panel(), "Who makes the steps"), Qt::Key_Home);
        QVERIFY(f.window->core().machines.use().shape == engine::NodeShape::kAuto);
    }

    void shapeInForce_isShown_withBothForecasts() {
        Fixture f(kTwo);
        f.window->core().machines.setUsed(QStringLiteral("cupboard"), true);
        f.window->core().machines.setUsed(QStringLiteral("attic"), true);
        QVERIFY2(test::textOf(f.panel(), QStringLiteral("Who makes the steps now"))
                     .contains(QStringLiteral("Chosen when machines are connected to")),
                 qPrintable(test::textOf(f.panel(), QStringLiteral("Who makes the steps now"))));
        f.open();
        f.twoMachines();
        MachinesPanel& panel = f.panel();
        QTRY_COMPARE(
            test::textOf(panel, QStringLiteral("Who makes the steps now")),
            QStringLiteral("In force: desktop and helpers. Forecast: 22.60 ms a token, the other way 29.55 ms."));
        QCOMPARE(panel.forecasts().rows().size(), std::size_t{3});
        QVERIFY(panel.forecasts().rows()[0].predicted && panel.forecasts().rows()[1].predicted);
        QCOMPARE(panel.forecasts().rows()[1].parts[2].size, 4'000.0);
        QVERIFY(!panel.forecasts().rows()[2].predicted);
        QCOMPARE(panel.forecasts().rows()[2].parts[0].size, 21'400.0 - 2'200.0);

        f.twoPeers();
        QTRY_COMPARE(
            test::textOf(panel, QStringLiteral("Who makes the steps now")),
            QStringLiteral("In force: every machine makes each step. Forecast: 29.55 ms a token, the other way "
                           "42.60 ms."));
        QCOMPARE(panel.places().rows()[0].parts[0].size, 24.0);
        QCOMPARE(panel.places().rows()[1].parts[0].size, 24.0);
        QCOMPARE(panel.places().rows()[2].parts[0].size, 16.0);
        panel.choose(QStringLiteral("cupboard"));
        for (const char* part :
             {"Makes each step as well; computes 24 of the experts.", "A token: 3.10 ms computing its experts",
              "Measured again: 3.0 times faster than at first, so more is computed there.",
              "Connected to attic itself: 0.41 ms there and back, 931 MB/s."}) {
            QVERIFY2(panel.details().contains(QString::fromUtf8(part)), qPrintable(panel.details()));
        }
        panel.choose(QStringLiteral("attic"));
        QVERIFY2(
            panel.details().contains(QStringLiteral("Not connected to cupboard (the connection ended): what the two "
                                                    "send each other goes by this computer.")),
            qPrintable(panel.details()));
        QVERIFY2(panel.details().contains(
                     QStringLiteral("Measured again: 18 times slower than at first, so less is computed there.")),
                 qPrintable(panel.details()));
        panel.list().setCurrentItem(panel.list().topLevelItem(0));
        QVERIFY2(panel.details().contains(QStringLiteral("on every machine; 24 of the 64 experts here")),
                 qPrintable(panel.details()));
        panel.choose(QStringLiteral("cupboard"));
        picture(panel, QStringLiteral("machines-every-machine"), {360, 900}, 980);

        // Restrictions are shown where the user looks.
        f.locked([](Network& n) {
            n.shape.alone = engine::StepsAlone::kAnswer;
            n.notes = {engine::messages::node_steps_alone};
            return 0;
        });
        QTRY_VERIFY2(test::textOf(panel, QStringLiteral("Who makes the steps now"))
                         .contains(QStringLiteral("beams, several answers at once")),
                     qPrintable(test::textOf(panel, QStringLiteral("Who makes the steps now"))));
        QTRY_VERIFY2(panel.notice().contains(QStringLiteral("makes the steps alone")), qPrintable(panel.notice()));
        QVERIFY(f.window->statusBar()->currentMessage().contains(QStringLiteral("makes the steps alone")));
        picture(panel, QStringLiteral("machines-alone"), {360}, 980);
        // The What if panel shows the measurement of all the machines beside its own
        // forecast.
        part<PanelDocks>(*f.window).show(QStringLiteral("whatIf"));
        auto& whatIf = *f.window->findChild<WhatIfPanel*>();
        QTRY_VERIFY2(whatIf.hereText().contains(
                         QStringLiteral("with cupboard, attic (every machine makes each step): not measured yet")) &&
                         whatIf.hereText().contains(QStringLiteral("33.8 tokens/s (forecast)")),
                     qPrintable(whatIf.hereText()));
        // The heat map shows who computes, and a tool tip who holds.
        part<PanelDocks>(*f.window).show(QStringLiteral("experts"));
        ExpertsPanel& experts = part<ExpertsPanel>(*f.window);
        experts.setChannel(ExpertChannel::Machine);
        QTRY_COMPARE(experts.map().categories().size(), std::size_t{3});
        QCOMPARE(experts.map().valueAt({0, 0}), 1.0);
        QCOMPARE(experts.map().valueAt({4, 0}), 2.0);
        QCOMPARE(experts.map().valueAt({6, 0}), 0.0);
        for (const char* part : {"1: cupboard: 24", "2: attic: 16", "this machine: 24"}) {
            QVERIFY2(experts.legend().accessibleName().contains(QString::fromUtf8(part)),
                     qPrintable(experts.legend().accessibleName()));
        }
        const QString text = expertText(ExpertChannel::Machine, experts.snapshot(), {}, true, {4, 0}, 4);
        QVERIFY2(text.contains(QStringLiteral("Held by cupboard, attic, too")) &&
                     text.contains(QStringLiteral("Computed by attic in every step")),
                 qPrintable(text));
    }

    // Each once: otherwise a machine that never becomes ready would be connected to
    // without end.
    void joinedAgain_whereThatMakesBetterUseOfThem() {
        Fixture f(kTwo);
        f.window->core().machines.setUsed(QStringLiteral("cupboard"), true);
        f.open();
        f.twoPeers();
        const auto joins = [&] { return f.locked([](const Network& n) { return n.joins; }); };
        const auto lastShape = [&] { return f.locked([](const Network& n) { return n.uses.back().shape; }); };
        const auto settles = [&](int expected) {
            QTRY_COMPARE(joins(), expected);
            QTest::qWait(350);
            QCOMPARE(joins(), expected);
        };
        settles(1);
        f.locked([](Network& n) { return n.shape.late = true; });
        settles(2);
        QVERIFY(lastShape() == engine::NodeShape::kAuto);
        f.locked([](Network& n) {
            n.shape.late = false;
            n.shape.alone = engine::StepsAlone::kKvType;
            return 0;
        });
        settles(3);
        // One that refuses: the others are helpers until the user changes something.
        f.locked([](Network& n) {
            n.shape.alone = engine::StepsAlone::kNo;
            return n.shape.refuses = true;
        });
        settles(4);
        QVERIFY(lastShape() == engine::NodeShape::kHelpers);
        f.locked([](Network& n) {
            n.shape.automatic = n.shape.decentralised = n.shape.refuses = false;
            return 0;
        });
        QTRY_VERIFY2(test::textOf(f.panel(), QStringLiteral("Who makes the steps now"))
                         .contains(QStringLiteral("the choice fell on helpers")),
                     qPrintable(test::textOf(f.panel(), QStringLiteral("Who makes the steps now"))));
        f.window->core().machines.setUsed(QStringLiteral("attic"), true);
        QVERIFY(lastShape() == engine::NodeShape::kAuto);
    }

    // A choice by forecast connects once more than a user would expect: it is logged.
    void choiceOfEveryMachine_isAConnectionOfItsOwn() {
        Fixture f(kTwo);
        f.window->core().machines.setUsed(QStringLiteral("cupboard"), true);
        f.open();
        QTRY_COMPARE(f.window->core().log.connections(), 1);
        f.locked([](Network& n) {
            n.notes = {engine::messages::node_shape_decentralised(engine::Decimal{8.1, 2}, engine::Decimal{9.25, 2})};
            return 0;
        });
        QTRY_COMPARE(
            f.panel().notice(),
            QStringLiteral("Every machine makes each step itself and computes its share of the experts "
                           "(forecast: 8.10 ms a token; if the others computed experts for this one: 9.25 ms)."));
        QCOMPARE(f.window->core().log.connections(), 2);
    }

    void pairsOfAnotherProgram_areSeenAtOnce() {
        QTemporaryDir folder;
        const QString file = folder.filePath(QStringLiteral("machines/peers.json"));  // nor is its folder there yet
        Fixture f({}, true, file);
        QVERIFY(isIntroduced(f.panel()));
        const auto writeList = [&] {
            QVERIFY(QDir().mkpath(QFileInfo(file).path()));
            QFile written(file + QStringLiteral(".new"));
            QVERIFY(written.open(QIODevice::WriteOnly));
            written.write("{}");
            written.close();
            QFile::remove(file);
            QVERIFY(written.rename(file));
        };
        f.locked([](Network& n) {
            n.paired = kTwo;
            return 0;
        });
        writeList();
        QTRY_COMPARE(f.window->core().machines.all().size(), 2);
        QTRY_VERIFY(!isIntroduced(f.panel()));
        f.window->core().machines.setUsed(QStringLiteral("cupboard"), true);
        f.open();
        QTRY_COMPARE(f.locked([](const Network& n) { return n.joins; }), 1);
        // Again, because another file is in the place of the first; and the connection of
        // a used one ends.
        f.locked([](Network& n) {
            n.paired = {kTwo[1]};
            return 0;
        });
        writeList();
        QTRY_COMPARE(f.window->core().machines.all().size(), 1);
        QTRY_COMPARE(f.locked([](const Network& n) { return n.partings; }), 1);
        QCOMPARE(f.window->core().machines.all().first().name, QStringLiteral("attic"));
    }

    void lossAndReturn_areSaid_andWrittenDown() {
        Fixture f(kTwo);
        f.window->core().machines.setUsed(QStringLiteral("cupboard"), true);
        f.open();
        QTRY_COMPARE(f.window->core().log.connections(), 1);
        f.locked([](Network& n) {
            n.notes = {
                engine::messages::node_lost("cupboard", engine::messages::node_link_ended),
                engine::messages::node_loss_costs("cupboard", engine::Decimal{31.5, 1}, engine::Decimal{21.4, 1})};
            return 0;
        });
        const QString cost = QStringLiteral("Without cupboard a token takes 31.5 ms; with it, it took 21.4 ms.");
        QTRY_COMPARE(f.panel().notice(), cost);
        QCOMPARE(f.window->statusBar()->currentMessage(), cost);
        const EventLog& log = f.window->core().log;
        QCOMPARE(log.at(log.size() - 1).text, cost);
        QVERIFY(log.at(log.size() - 2).text.contains(QStringLiteral("cupboard is gone (the connection ended)")));
        QCOMPARE(log.at(log.size() - 2).kind, LogKind::Problem);
        f.locked([](Network& n) {
            n.notes = {engine::messages::node_is_back("cupboard")};
            return 0;
        });
        QTRY_COMPARE(f.panel().notice(), QStringLiteral("cupboard is back and is used again."));
        QCOMPARE(log.connections(), 2);
    }

    void removed_isForgotten() {
        Fixture f(kTwo);
        f.panel().choose(QStringLiteral("attic"));
        test::find<QPushButton>(f.panel(), "Remove the chosen machine").click();
        auto* question = f.panel().findChild<QMessageBox*>();
        QVERIFY(question != nullptr);
        QCOMPARE(f.window->core().machines.all().size(), 2);  // the dialog is only open
        for (QAbstractButton* button : question->buttons()) {
            if (question->buttonRole(button) == QMessageBox::AcceptRole) {
                button->click();
            }
        }
        QCOMPARE(f.window->core().machines.all().size(), 1);
        QCOMPARE(f.panel().notice(), QStringLiteral("attic was removed."));
    }

    void heatMap_showsWhichMachineHoldsAnExpert() {
        Fixture f(kTwo);
        f.window->core().machines.setUsed(QStringLiteral("cupboard"), true);
        f.open();
        part<PanelDocks>(*f.window).show(QStringLiteral("experts"));
        ExpertsPanel& experts = part<ExpertsPanel>(*f.window);
        experts.setChannel(ExpertChannel::Machine);
        f.twoMachines();
        QTRY_COMPARE(experts.map().categories().size(), std::size_t{4});
        QCOMPARE(experts.map().valueAt({0, 0}), 1.0);  // cupboard
        QCOMPARE(experts.map().valueAt({4, 0}), 3.0);  // both
        QCOMPARE(experts.map().valueAt({7, 0}), 2.0);  // attic
        QCOMPARE(experts.map().valueAt({7, 7}), 0.0);  // only this machine
        for (const char* part : {"1: cupboard: 30", "2: attic: 10", "several machines: 20", "this machine alone: 4"}) {
            QVERIFY2(experts.legend().accessibleName().contains(QString::fromUtf8(part)),
                     qPrintable(experts.legend().accessibleName()));
        }
        const QString text = expertText(ExpertChannel::Machine, experts.snapshot(), {}, true, {4, 0}, 4);
        QVERIFY2(text.contains(QStringLiteral("Held by cupboard, attic, too")), qPrintable(text));
        picture(experts, QStringLiteral("machines-experts"));
    }
};

OFFSTAGE_UI_TEST_MAIN(TestMachines)
#include "tst_machines.moc"
