// Nodes as separate processes on this computer, over TLS: the same answers, after any
// fault, and nothing for unpaired machines.

#include <thread>

#include <QtTest>

#include "engine/nodes/link_test.h"
#include "engine/nodes/node_channel.h"
#include "engine/nodes/node_server.h"
#include "engine/nodes/pairing.h"
#include "tests/engine/loopback_relay.h"
#include "tests/engine/node_parts.h"
#include "tests/engine/node_process.h"

using namespace offstage::engine;
using namespace offstage::test;

namespace {

namespace fs = std::filesystem;

// Sets equal costs of experts on each machine, for the division into shares: measurements
// on a busy machine may give all to one side.
void makeAlikeInCost(LoadedModel& model, JoinedNodes& joined) {
    setCosts(model, 100);
    for (std::size_t i = 0; i < joined.size(); ++i) {
        LinkCosts& costs = joined.node(i).costs();
        LinkCosts::Measured same = costs.measured();
        same.expert = {{1, 100.0}};
        same.expert_bytes = static_cast<double>(model.spec().experts.expert_bytes(model.plan_inputs().master));
        costs.set(std::move(same));
    }
}

}  // namespace

class TestNodeLinks : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    std::map<std::string, std::vector<float>> m_expected;  // of one machine, by model

    fs::path desktop() const { return m_folder.filePath(QStringLiteral("desktop")).toStdString(); }
    std::string cache() const { return m_folder.filePath(QStringLiteral("cache")).toStdString(); }
    const std::vector<float>& expected(const std::string& model) {
        std::vector<float>& logits = m_expected[model];
        if (logits.empty()) logits = nodeLogits(*openModel(nodeRequest(model, cache())));
        return logits;
    }
    int m_nodes = 0;
    std::unique_ptr<NodeProcess> startNode(const QStringList& arguments = {QStringLiteral("--model"),
                                                                           QString::fromStdString(demoModel())}) {
        auto node = std::make_unique<NodeProcess>(m_folder.filePath(QStringLiteral("node%1").arg(++m_nodes)), desktop(),
                                                  arguments);
        return node->port() == 0 ? nullptr : std::move(node);
    }

  private Q_SLOTS:
    void initTestCase() {
        silence_grpc();
        qputenv("XDG_CACHE_HOME", m_folder.filePath(QStringLiteral("xdg")).toUtf8());
    }

    void processes_changeNoBit_data() {
        QTest::addColumn<QString>("model");
        QTest::addColumn<int>("nodes");
        QTest::addColumn<QString>("ram");
        QTest::addColumn<bool>("decentralised");
        const QString demo = QString::fromStdString(demoModel());
        const QString fine = QStringLiteral("synthetic:fine?layers=2&seed=3");
        QTest::newRow("two nodes, all") << demo << 2 << QString() << false;
        QTest::newRow("three nodes, some") << demo << 3 << QStringLiteral("4MiB") << false;
        QTest::newRow("fine-grained, two nodes") << fine << 2 << QString() << false;
        QTest::newRow("one that makes the steps") << demo << 1 << QString() << true;
        QTest::newRow("two that make the steps") << demo << 2 << QString() << true;
        QTest::newRow("fine-grained, two that make the steps") << fine << 2 << QString() << true;
        // The shapes of Mixtral and DBRX; bench_machines has them in their real widths.
        const auto tiny = [](const char* name) { return QString::fromStdString(tinyModel(QString::fromLatin1(name))); };
        QTest::newRow("Mixtral, four nodes") << tiny("grouped_bf16") << 4 << QString() << false;
        QTest::newRow("Mixtral, four that make the steps") << tiny("grouped_bf16") << 4 << QString() << true;
        QTest::newRow("DBRX, four nodes") << tiny("dbrx_bf16") << 4 << QString() << false;
        QTest::newRow("DBRX, four that make the steps") << tiny("dbrx_bf16") << 4 << QString() << true;
    }
    void processes_changeNoBit() {
        QFETCH(QString, model);
        QFETCH(int, nodes);
        QFETCH(QString, ram);
        QFETCH(bool, decentralised);
        QStringList arguments = {QStringLiteral("--model"), model};
        if (!ram.isEmpty()) arguments += {QStringLiteral("--ram"), ram};
        std::vector<std::unique_ptr<NodeProcess>> machines;
        std::vector<NodeAddress> addresses;
        for (int i = 0; i < nodes; ++i) {
            machines.push_back(startNode(arguments));
            QVERIFY(machines.back() != nullptr);
            addresses.push_back(machines.back()->address(desktop()));
        }
        const auto loaded = openModel(nodeRequest(model.toStdString(), cache()));
        JoinSettings settings = insisting();
        if (decentralised) settings.shape = NodeShape::kDecentralised;
        JoinedNodes joined(*loaded, std::move(addresses), settings, {}, {});
        const ExpertGrid& grid = loaded->spec().experts;
        if (decentralised) makeAlikeInCost(*loaded, joined);
        QVERIFY(nodeLogits(*loaded) == expected(model.toStdString()));
        std::uint64_t rows = 0;
        std::int64_t machine = 0;
        for (const JoinedNodes::Figures& node : joined.figures()) {
            rows += node.totals.rows;
            ++machine;
            if (decentralised) {
                // Its share, if there are enough experts; this machine comes first.
                QCOMPARE(node.totals.rows > 0, machine < grid.n_experts);
            } else {
                // Each machine has experts that no other has; if all had all, the fastest
                // could take them.
                QVERIFY(node.totals.rows > 0 || ram.isEmpty());
            }
            if (decentralised) QCOMPARE(node.totals.requests, static_cast<std::uint64_t>(12 * grid.n_layers));
            QCOMPARE(node.totals.failed_rows, std::uint64_t{0});
            QCOMPARE(node.n_held < grid.size(), !ram.isEmpty());
        }
        const auto all = nodeRows(*loaded);
        QVERIFY(rows <= all);
        QCOMPARE(rows == all, !decentralised && ram.isEmpty());  // if all make the steps, this machine has a share
    }

    void activationsInBf16_areHalfTheBytes_andNearly() {
        const auto node = startNode();
        QVERIFY(node != nullptr);
        std::uint64_t bytes[2] = {};
        std::vector<float> logits[2];
        for (const ActivationType type : {ActivationType::kF32, ActivationType::kBf16}) {
            const auto model = openModel(nodeRequest(demoModel(), cache()));
            JoinSettings settings = insisting();
            settings.activations = type;
            JoinedNodes joined(*model, {node->address(desktop())}, settings, {}, {});
            logits[static_cast<int>(type)] = nodeLogits(*model, 1);
            bytes[static_cast<int>(type)] = joined.figures()[0].totals.bytes;
        }
        QCOMPARE(bytes[1] * 2, bytes[0]);
        const double error = relativeError(logits[1], logits[0]);
        QVERIFY2(error > 0 && error < 0.02, qPrintable(QString::number(error)));
    }

    // Both report their link, and a node without links is served by the desktop as
    // before.
    void nodes_areConnectedToEachOther_whereBothTakeIt_data() {
        QTest::addColumn<bool>("takes");
        QTest::newRow("both") << true;
        QTest::newRow("--no-peers") << false;
    }
    void nodes_areConnectedToEachOther_whereBothTakeIt() {
        QFETCH(bool, takes);
        QStringList arguments = {QStringLiteral("--model"), QString::fromStdString(demoModel())};
        const auto first = startNode(arguments);
        if (!takes) arguments += QStringLiteral("--no-peers");
        const auto second = startNode(arguments);
        QVERIFY(first != nullptr && second != nullptr);
        const auto model = openModel(nodeRequest(demoModel(), cache()));
        JoinSettings settings = insisting();
        settings.shape = NodeShape::kDecentralised;
        JoinedNodes joined(*model, {first->address(desktop()), second->address(desktop())}, settings, {}, {});
        QVERIFY(nodeLogits(*model) == expected(demoModel()));
        const QString notes = textOf(joined.take_notes());
        QCOMPARE(joined.link(0, 1).direct, takes);
        QCOMPARE(joined.link(0, 1).by_way, !takes);
        QVERIFY2(notes.contains(takes ? QStringLiteral("node and node are connected to each other")
                                      : QStringLiteral("(It exchanges nothing with other nodes (--no-peers))")),
                 qPrintable(notes));
        const auto says = [&](NodeProcess& node, const std::string& text) {
            const auto said = [&] {
                node.process().waitForReadyRead(takes ? 20 : 300);
                return node.said().contains(text.c_str());
            };
            return takes ? becomesTrue(said) : said();
        };
        QCOMPARE(says(*first, "Connected to node at 127.0.0.1:" + std::to_string(second->port())), takes);
        QCOMPARE(says(*second, "node has connected, which a desktop has named"), takes);
    }

    // A key that a desktop has named passes the handshake once, for shares of layers and
    // pings, while that desktop is connected.
    void namedKey_isGoodForItsLinkAlone() {
        const auto node = startNode();
        QVERIFY(node != nullptr);
        const NodeIdentity other = read_or_make_identity(m_folder.filePath(QStringLiteral("other")).toStdString());
        // The messages of a connection.
        struct Conversation {
            std::mutex mutex;
            std::vector<FromNode> got;
            std::atomic<bool> ended = false;
            Message why;  // once it has ended
            std::unique_ptr<NodeChannel> channel;
            NodeChannelEvents events() {
                return {[this](FromNode what) {
                            const std::scoped_lock lock(mutex);
                            got.push_back(std::move(what));
                        },
                        [this](const Message& reason) {
                            why = reason;
                            ended = true;
                        }};
            }
            bool has(const std::function<bool(const FromNode&)>& is) {
                return becomesTrue([&] {
                    const std::scoped_lock lock(mutex);
                    return std::any_of(got.begin(), got.end(), is);
                });
            }
        };
        const NodePeer there{1, 1, 2, "node", node->peer().fingerprint, "127.0.0.1:" + std::to_string(node->port())};
        const auto connects = [&](Conversation& talk, const ToNode& first) {
            talk.channel = connecting_peers(other)(there, talk.events());
            talk.channel->send(first);
        };
        // Refused, and if a sentence came of it that was all.
        const auto isRefused = [&](const ToNode& first, bool with_sentence) {
            Conversation talk;
            connects(talk, first);
            const bool ended = becomesTrue([&] { return talk.ended.load(); });
            const std::scoped_lock lock(talk.mutex);
            return ended && talk.got.size() == (with_sentence ? 1 : 0) &&
                   (!with_sentence || std::holds_alternative<NodeRefusal>(talk.got[0]));
        };
        {
            // In the handshake already: a call that has begun would end without a reason.
            Conversation talk;
            connects(talk, NodePeerHello{kNodeProtocol, 7, 1});
            QVERIFY(becomesTrue([&] { return talk.ended.load(); }));
            QVERIFY(talk.got.empty() && !talk.why.is(messages::node_link_ended));
        }
        const auto model = openModel(nodeRequest(demoModel(), cache()));
        Conversation desk;
        desk.channel = node->address(desktop()).connect(desk.events());
        desk.channel->send(hello_of(*model, "desk"));
        const auto names = [&](std::uint64_t link) {
            desk.channel->send(NodePeer{link, 2, 1, "other", other.fingerprint, ""});
            return desk.has([&](const FromNode& what) {
                const auto* report = std::get_if<NodePeerReport>(&what);
                return report && report->link == link && report->state == NodePeerReport::State::kExpected;
            });
        };
        QVERIFY(names(7));
        // Nothing for a connection that begins with another message; an unknown link is
        // refused.
        QVERIFY(isRefused(NodePing{1, "?"}, false));
        QVERIFY(isRefused(hello_of(*model, "other"), false));
        QVERIFY(isRefused(NodePeerHello{kNodeProtocol, 6, 1}, true));
        QVERIFY(isRefused(NodePeerHello{kNodeProtocol - 1, 7, 1}, true));
        const auto isWelcome = [](const FromNode& what) { return std::holds_alternative<NodePeerWelcome>(what); };
        {
            Conversation talk;
            connects(talk, NodePeerHello{kNodeProtocol, 7, 1});
            QVERIFY(talk.has(isWelcome));
            // Once.
            QVERIFY(isRefused(NodePeerHello{kNodeProtocol, 7, 1}, false));
            talk.channel->send(NodeStep{1, 3, 0, 0, 0, {5}});
            QVERIFY(becomesTrue([&] { return talk.ended.load(); }));
            QVERIFY(talk.has([](const FromNode& what) { return std::holds_alternative<NodeRefusal>(what); }));
        }
        QVERIFY(isRefused(NodePeerHello{kNodeProtocol, 7, 1}, false));
        Conversation talk;
        QVERIFY(names(8));
        connects(talk, NodePeerHello{kNodeProtocol, 8, 1});
        QVERIFY(talk.has(isWelcome));
        // When the desktop leaves, all of it is removed.
        desk.channel.reset();
        QVERIFY(becomesTrue([&] { return talk.ended.load(); }));
        QVERIFY(isRefused(NodePeerHello{kNodeProtocol, 8, 1}, false));
    }

    // ---------------------------------------------------------------- faults
    void brokenNode_isReplaced_andUsedAgain_data() {
        QTest::addColumn<QString>("fault");
        QTest::addColumn<bool>("decentralised");
        for (const char* fault : {"kill", "stop", "cut"}) QTest::newRow(fault) << QString::fromLatin1(fault) << false;
        for (const char* fault : {"kill", "stop"}) {
            QTest::addRow("%s, it makes the steps", fault) << QString::fromLatin1(fault) << true;
        }
    }
    void brokenNode_isReplaced_andUsedAgain() {
        QFETCH(QString, fault);
        QFETCH(bool, decentralised);
        const auto node = startNode();
        QVERIFY(node != nullptr);
        LoopbackRelay relay(node->port());
        const auto model = openModel(nodeRequest(demoModel(), cache()));
        JoinSettings settings = insisting(0.4);
        if (decentralised) settings.shape = NodeShape::kDecentralised;
        JoinedNodes joined(*model, {node->address(desktop(), relay.port())}, settings, {}, {});
        // A share of every layer, even an empty one; or rows of requests.
        const auto taken = [&] {
            const RemoteTotals totals = joined.figures()[0].totals;
            return decentralised ? totals.requests : totals.rows;
        };
        std::uint64_t before = 0;
        bool back = false;
        std::thread later;
        QVERIFY(nodeLogits(*model, 12, [&](int step) {
                    if (step == 3) {
                        // At some moment of the next steps.
                        later = std::thread([&] {
                            if (fault == QStringLiteral("kill")) node->signal(SIGKILL);
                            if (fault == QStringLiteral("stop")) node->signal(SIGSTOP);
                            if (fault == QStringLiteral("cut")) relay.cut();
                        });
                    }
                    if (step == 6) later.join();  // two steps are left to notice it
                    if (step != 8) return;
                    if (fault == QStringLiteral("kill")) {
                        node->process().waitForFinished();
                        node->restart();
                    }
                    node->signal(SIGCONT);
                    back = becomesTrue([&] {
                        return joined.node(0).n_losses() > 0 && joined.node(0).is_up() && joined.node(0).n_held() == 64;
                    });
                    before = taken();
                }) == expected(demoModel()));
        const QString notes = textOf(joined.take_notes());
        QVERIFY2(back, qPrintable(notes));
        // A node that makes steps must make the earlier ones first; it takes part in this
        // answer or in one of the next.
        if (decentralised) {
            QVERIFY(becomesTrue([&] { return taken() > before || nodeLogits(*model) != expected(demoModel()); }));
            QVERIFY(nodeLogits(*model) == expected(demoModel()));
        }
        QVERIFY(taken() > before);
        QVERIFY2(notes.contains(QStringLiteral("node is gone (")) && notes.contains(QStringLiteral("node is back")),
                 qPrintable(notes));
    }

    void node_endsCleanly_andFreesWhatADesktopWanted() {
        const auto node = startNode();
        QVERIFY(node != nullptr);
        const auto held = [&] { return test_link(node->address(desktop())).state.n_held; };
        {
            const auto model = openModel(nodeRequest(demoModel(), cache()));
            const JoinedNodes joined(*model, {node->address(desktop())}, insisting(), {}, {});
            QCOMPARE(held(), std::uint64_t{64});
        }
        QVERIFY(becomesTrue([&] { return held() == 0; }));
        node->signal(SIGTERM);
        QVERIFY(node->process().waitForFinished(20'000));
        QCOMPARE(node->process().exitStatus(), QProcess::NormalExit);
        QCOMPARE(node->process().exitCode(), 0);
        const QByteArray said = node->said();
        QVERIFY2(said.contains("desk connected") && said.contains("desk disconnected") && said.contains("; ending"),
                 said.constData());
    }

    // ---------------------------------------------------------------- who is let in
    void unknownKey_getsNothing() {
        const auto node = startNode();
        QVERIFY(node != nullptr);
        const fs::path stranger = m_folder.filePath(QStringLiteral("stranger")).toStdString();
        // It has the node's certificate; the node does not have its own.
        QVERIFY_THROWS_EXCEPTION(Error, test_link(node->address(stranger)));
        // A desktop that expects another node.
        const auto other = startNode();
        QVERIFY(other != nullptr);
        QVERIFY_THROWS_EXCEPTION(Error, test_link(node->address(desktop(), other->port())));
        QVERIFY(test_link(node->address(desktop())).latency_us > 0);
        QVERIFY2(!node->said().contains("connected"), node->said().constData());
    }

    // While it is connected, and computes: no answer comes from there any more, and it
    // gets the reason.
    void removedDesktop_losesItsLinkAtOnce() {
        const auto node = startNode();
        QVERIFY(node != nullptr);
        const auto model = openModel(nodeRequest(demoModel(), cache()));
        JoinedNodes joined(*model, {node->address(desktop())}, insisting(), {}, {});
        QVERIFY(joined.node(0).is_up());
        QVERIFY(nodeLogits(*model, 12, [&](int step) {
                    if (step != 4) return;
                    const fs::path folder = node->state().toStdString();
                    PairedPeers(folder).remove("desk");
                    becomesTrue([&] { return !joined.node(0).is_up(); });
                }) == expected(demoModel()));
        QVERIFY(!joined.node(0).is_up());
        const QString notes = textOf(joined.take_notes());
        QVERIFY2(notes.contains(QStringLiteral("This computer has been removed from those that the machine works for")),
                 qPrintable(notes));
        QVERIFY2(becomesTrue([&] {
                     node->process().waitForReadyRead(10);
                     return node->said().contains("is no longer paired");
                 }),
                 node->said().constData());
    }

    // Both at once, on separate threads; the node's figures include both.
    void twoDesktops_getTheirOwnAnswers() {
        const auto node = startNode();
        QVERIFY(node != nullptr);
        const std::vector<float>& alone = expected(demoModel());
        std::array<std::uint64_t, 2> rows{}, all{};
        std::array<bool, 2> same{};
        {
            std::vector<std::jthread> desktops;
            for (std::size_t i = 0; i < 2; ++i) {
                desktops.emplace_back([&, i] {
                    const auto model = openModel(nodeRequest(demoModel(), cache()));
                    JoinedNodes joined(*model, {node->address(desktop())}, insisting(), {}, {});
                    same[i] = nodeLogits(*model) == alone;
                    rows[i] = joined.figures()[0].totals.rows;
                    all[i] = nodeRows(*model);
                });
            }
        }
        QVERIFY(same[0] && same[1]);
        QCOMPARE(rows[0], all[0]);
        QCOMPARE(rows[1], rows[0]);
    }

    void anotherModel_isRefusedWithASentence() {
        const auto node = startNode({QStringLiteral("--model"), QStringLiteral("synthetic:fine?layers=2&seed=3")});
        QVERIFY(node != nullptr);
        const auto model = openModel(nodeRequest(demoModel(), cache()));
        JoinedNodes joined(*model, {node->address(desktop())}, insisting(), {}, {});
        const QString notes = textOf(joined.take_notes());
        QVERIFY2(
            notes.contains(QStringLiteral("refuses to work for this computer: This machine has another model open")),
            qPrintable(notes));
        QVERIFY(nodeLogits(*model, 2).size() == expected(demoModel()).size() / 6);
    }

    void pairing_takesTheRightCodeOnce() {
        const fs::path node = m_folder.filePath(QStringLiteral("pairing-node")).toStdString();
        const fs::path desk = m_folder.filePath(QStringLiteral("pairing-desk")).toStdString();
        PairingOffer offer(node, "127.0.0.1:0", 4711, "cupboard");
        const std::string address = "127.0.0.1:" + std::to_string(offer.port());
        std::string other = offer.code();
        other[0] = other[0] == 'b' ? 'd' : 'b';
        QVERIFY_THROWS_EXCEPTION(Error, pair_with_node(desk, address, other, ""));
        QVERIFY(PairedPeers(desk).all().empty() && PairedPeers(node).all().empty());

        const PairedPeer peer = pair_with_node(desk, address, offer.code(), "");
        QCOMPARE(peer.name, std::string("cupboard"));
        QCOMPARE(peer.address, std::string("127.0.0.1:4711"));
        const PairedPeer desktop = offer.wait(std::chrono::seconds(1), {});
        QCOMPARE(desktop.fingerprint, read_or_make_identity(desk).fingerprint);
        QCOMPARE(peer.fingerprint, read_or_make_identity(node).fingerprint);
        QVERIFY(PairedPeers(node).trusts(desktop.fingerprint) && PairedPeers(desk).trusts(peer.fingerprint));
        const fs::path third = m_folder.filePath(QStringLiteral("third")).toStdString();
        QVERIFY_THROWS_EXCEPTION(Error, pair_with_node(third, address, offer.code(), ""));  // used
        QCOMPARE(fs::status(node / "key.pem").permissions(), fs::perms::owner_read | fs::perms::owner_write);
    }

    void pairing_isVoidAfterTries_andAfterItsTime() {
        const fs::path node = m_folder.filePath(QStringLiteral("void-node")).toStdString();
        const fs::path desk = m_folder.filePath(QStringLiteral("void-desk")).toStdString();
        {
            PairingOffer offer(node, "127.0.0.1:0", 4711, "cupboard");
            const std::string address = "127.0.0.1:" + std::to_string(offer.port());
            const std::string other = "bada bada bada bada bada bada bada bada";
            for (int i = 0; i < kMostPairingTries; ++i)
                QVERIFY_THROWS_EXCEPTION(Error, pair_with_node(desk, address, other, ""));
            QVERIFY_THROWS_EXCEPTION(Error, pair_with_node(desk, address, offer.code(), ""));
            QVERIFY_THROWS_EXCEPTION(Error, offer.wait(std::chrono::seconds(10), {}));
        }
        PairingOffer offer(node, "127.0.0.1:0", 4711, "cupboard");
        QVERIFY_THROWS_EXCEPTION(Error, offer.wait(std::chrono::seconds(0), {}));
        QVERIFY(PairedPeers(node).all().empty());
    }

    // ---------------------------------------------------------------- networks
    // Times are printed, never asserted.
    void slowNetwork_changesNoBit_andIsForecast_data() {
        QTest::addColumn<int>("delay_us");  // one direction
        QTest::addColumn<double>("gbit");
        QTest::addColumn<bool>("decentralised");
        QTest::newRow("0.05 ms, 10 Gbit/s") << 50 << 10.0 << false;
        QTest::newRow("0.5 ms, 1 Gbit/s") << 500 << 1.0 << false;
        QTest::newRow("0.5 ms, 0.1 Gbit/s, it makes the steps") << 500 << 0.1 << true;
    }
    void slowNetwork_changesNoBit_andIsForecast() {
        QFETCH(int, delay_us);
        QFETCH(double, gbit);
        QFETCH(bool, decentralised);
        const auto node = startNode();
        QVERIFY(node != nullptr);
        LoopbackRelay relay(node->port(), std::chrono::microseconds(delay_us), gbit * 1e9 / 8);
        const auto model = openModel(nodeRequest(demoModel(), cache()));
        JoinSettings settings = insisting();
        settings.forecasts = true;
        if (decentralised) settings.shape = NodeShape::kDecentralised;
        JoinedNodes joined(*model, {node->address(desktop(), relay.port())}, settings, {}, {});
        std::vector<LoopbackRelay::Clock::time_point> times;
        QVERIFY(nodeLogits(*model, 12, [&](int) { times.push_back(LoopbackRelay::Clock::now()); }) ==
                expected(demoModel()));
        const std::chrono::duration<double> took = times.back() - times[1];
        const JoinedNodes::Figures figures = joined.figures()[0];
        QVERIFY(figures.latency_us >= 2 * delay_us);
        QVERIFY(joined.node(0).costs().measured().exchange_us >= delay_us);
        // Half a megabyte takes less time at 10 Gbit/s than a busy computer delays a
        // ping.
        QVERIFY2(gbit > 1 || figures.mbps < 1.5 * 125 * gbit, qPrintable(QString::number(figures.mbps)));
        QVERIFY(decentralised ? figures.totals.requests > 0 : figures.totals.rows > 0);
        QVERIFY(joined.forecast_tokens_per_s(70) > 0);
        qInfo("%.1f tokens/s, forecast %.1f; %.2f ms there and back, %.0f MB/s",
              static_cast<double>(times.size() - 2) / took.count(), joined.forecast_tokens_per_s(70),
              figures.latency_us / 1e3, figures.mbps);
    }
};

QTEST_GUILESS_MAIN(TestNodeLinks)
#include "tst_node_links.moc"
