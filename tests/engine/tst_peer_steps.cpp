// Machines that all make every step and each compute a share of the experts, without a
// network: every bit equals one machine's. Faults: tst_peer_faults.cpp.

#include <QtTest>

#include "engine/cluster/node_peers.h"
#include "engine/run/local_session.h"
#include "kernels/cpu_kernels.h"
#include "tests/engine/peer_nodes.h"
#include "tests/engine/replan_play.h"

using namespace offstage::engine;
using namespace offstage::test;
namespace kernels = offstage::kernels;

class TestPeerSteps : public QObject {
    Q_OBJECT

    QTemporaryDir m_cache;
    std::vector<float> m_expected;  // of one machine

    LoadRequest request() const { return nodeRequest(demoModel(), m_cache.path().toStdString()); }

  private Q_SLOTS:
    void initTestCase() {
        m_expected = nodeLogits(*openModel(request()));
        QVERIFY(!m_expected.empty());
    }

    // -------------------------------------------------- links between nodes, their parts
    // A node gets nothing if it was not named, shows another key, connects twice, or the
    // desktop is gone.
    void links_areForThoseWhomTheDesktopNames() {
        std::vector<FromNode> reports, said;
        std::vector<NodeOutputs> received;
        const auto last = [&] { return std::get<NodePeerReport>(reports.back()); };
        NodePeers peers([](const NodePeer&, NodeChannelEvents) { return std::unique_ptr<NodeChannel>(); },
                        [&](FromNode message) { reports.push_back(std::move(message)); },
                        [&](NodeOutputs outputs) {
                            received.push_back(std::move(outputs));
                            return Message();
                        },
                        {}, {});
        int n_closed = 0;
        const NodePeers::Port port{[&](FromNode message) { said.push_back(std::move(message)); }, [&] { ++n_closed; }};
        const std::string key = NodeNetwork::key_of(0), other = NodeNetwork::key_of(1);
        NodePeerHello hello{kNodeProtocol, 7, 1};
        QVERIFY(!peers.expects(key) && !peers.expects(""));
        QVERIFY(!peers.open(key, hello, port).empty());
        // Machine 1 is to connect to this one, which is machine 2.
        NodePeer peer{7, 2, 1, "attic", key, ""};
        QVERIFY(peers.take(peer).empty());
        QVERIFY(last().state == NodePeerReport::State::kExpected && last().link == 7 && last().machine == 1);
        QVERIFY(peers.expects(key) && !peers.expects(other));
        QVERIFY(!peers.open(other, hello, port).empty());
        QVERIFY(!peers.open(key, {kNodeProtocol, 6, 1}, port).empty());
        QVERIFY(!peers.open(key, {kNodeProtocol, 7, 3}, port).empty());
        const Message version = peers.open(key, {kNodeProtocol + 1, 7, 1}, port);
        QVERIFY(version.english().find("version") != std::string::npos);
        QVERIFY(said.empty());
        QCOMPARE(peers.send(outputsOf(1, 0, 2, 8), ~0u), 0u);
        QVERIFY(peers.open(key, hello, port).empty());
        QVERIFY(std::get<NodePeerWelcome>(said.back()).link == 7);
        // Once.
        QVERIFY(!peers.expects(key));
        QVERIFY(!peers.open(key, hello, port).empty());
        QCOMPARE(peers.send(outputsOf(1, 0, 2, 8), 1u << 1 | 1u << 3), 1u << 1);
        QCOMPARE(std::get<NodeOutputs>(said.back()).outputs.size(), std::size_t{8});
        // Its own shares, and pings; nothing that only a desktop may send.
        QVERIFY(peers.receive(7, outputsOf(1, 0, 1, 8)).empty());
        QCOMPARE(received.size(), std::size_t{1});
        QVERIFY(peers.receive(7, NodePing{3, "there"}).empty());
        QCOMPARE(std::get<NodePong>(said.back()).payload, std::string("there"));
        NodeOutputs lost = outputsOf(1, 0, 1, 0);
        lost.lost = true;
        for (const ToNode& message : {ToNode(outputsOf(1, 0, 3, 8)), ToNode(outputsOf(1, 0, 0, 8)), ToNode(lost),
                                      ToNode(NodeStep{1, 3, 0, 0, 0, {1}}), ToNode(NodeAbandon{1}), ToNode(NodeHello()),
                                      ToNode(NodeWant()), ToNode(peer), ToNode(NodeCompute())}) {
            QVERIFY(!peers.receive(7, message).empty());
        }
        QCOMPARE(received.size(), std::size_t{1});
        QVERIFY(!peers.receive(8, outputsOf(1, 0, 1, 8)).empty());
        // The end of a link is reported, and it stays ended until the desktop names it
        // anew.
        peers.close(7);
        QVERIFY(last().state == NodePeerReport::State::kEnded && last().link == 7 && !last().why.empty());
        QVERIFY(!peers.open(key, hello, port).empty());
        QCOMPARE(peers.send(outputsOf(1, 0, 2, 8), ~0u), 0u);
        peer.link = 9;
        QVERIFY(peers.take(peer).empty());
        QVERIFY(peers.open(key, {kNodeProtocol, 9, 1}, port).empty());
        peer.fingerprint.clear();
        QVERIFY(peers.take(peer).empty());
        QCOMPARE(n_closed, 1);
        QVERIFY(!peers.receive(9, outputsOf(1, 0, 1, 8)).empty());
        peer.fingerprint = key;
        peer.link = 10;
        QVERIFY(peers.take(peer).empty());
        QVERIFY(peers.open(key, {kNodeProtocol, 10, 1}, port).empty());
        // The desktop is gone.
        peers.end();
        QCOMPARE(n_closed, 2);
        QVERIFY(!peers.receive(10, outputsOf(1, 0, 1, 8)).empty());
        peer.link = 11;
        QVERIFY(peers.take(peer).empty() && !peers.expects(key));
        QVERIFY(!peers.open(key, {kNodeProtocol, 11, 1}, port).empty());
        QCOMPARE(received.size(), std::size_t{1});
    }

    // ---------------------------------------------------------------- answers
    // Answers stay the same. In the middle of one, only a machine that has become much
    // slower loses experts. This machine's experts always take 8 times their cost, the
    // most that is learnt, because they cost next to nothing.
    void experts_areDealtAnew_byWhatTheyTakeInUse() {
        constexpr double kNothing = 1e-3;
        PeerNode machine(request());
        machine.node.faults.computes_us = kNothing;
        std::atomic<double> in_use_us = kNothing;
        std::atomic<int> n_shares = 0;
        machine.node.faults.passes_back = [&](FromNode& message) {
            if (auto* outputs = std::get_if<NodeOutputs>(&message))
                outputs->compute_us = in_use_us * static_cast<double>(outputs->experts.size());
            return true;
        };
        machine.node.faults.sees = [&](const ToNode& message) {
            n_shares += std::holds_alternative<NodeShares>(message);
        };
        const auto model = openModel(request());
        setCosts(*model, kNothing);
        JoinSettings settings = decentralised();
        settings.patience.deal_anew_factor = 1.5;
        JoinedNodes joined(*model, {machine.node.address("cupboard")}, settings, {}, {});
        const auto nOwned = [&] {
            Snapshot now;
            joined.fill(now);
            return now.machines[0].n_owned;
        };
        in_use_us = kNothing / 1000;
        QVERIFY(nodeLogits(*model) == m_expected);
        QCOMPARE(n_shares.load(), 1);
        const std::int64_t first = nOwned();
        QVERIFY(first > 0 && first < 64);
        QVERIFY(nodeLogits(*model) == m_expected);
        const std::int64_t fast = nOwned();
        QVERIFY2(fast > first, qPrintable(QString::number(fast)));
        QCOMPARE(n_shares.load(), 2);
        const QString notes = textOf(joined.take_notes());
        const QString deal = QStringLiteral("cupboard now computes %1 of 64 experts in each step (before: %2).");
        QVERIFY2(notes.contains(deal.arg(fast).arg(first)), qPrintable(notes));
        in_use_us = kNothing * 1000;
        n_shares = 0;
        QVERIFY(nodeLogits(*model) == m_expected);
        QVERIFY(n_shares.load() > 0);
        const std::int64_t slow = nOwned();
        QVERIFY2(slow < first, qPrintable(QString::number(slow)));
        QVERIFY(textOf(joined.take_notes()).contains(QStringLiteral("cupboard now computes %1 of 64").arg(slow)));
    }

    void peers_changeNoBit_data() {
        QTest::addColumn<int>("nodes");
        QTest::addColumn<int>("room");  // experts that each has room for, beside the rest; of 64. -1: all
        QTest::addColumn<QString>("device");
        QTest::newRow("one, all experts") << 1 << -1 << QStringLiteral("cpu");
        QTest::newRow("three, all experts") << 3 << -1 << QStringLiteral("cpu");
        QTest::newRow("two, some experts") << 2 << 20 << QStringLiteral("cpu");
        QTest::newRow("beside an accelerator") << 1 << -1 << QStringLiteral("emulated:rtx-3060");
    }
    void peers_changeNoBit() {
        QFETCH(int, nodes);
        QFETCH(int, room);
        QFETCH(QString, device);
        LoadRequest model_request = request();
        model_request.device = device.toStdString();
        if (device != QStringLiteral("cpu")) model_request.vram_bytes = 12 << 20;
        const auto model = openCosted(model_request);
        LoadRequest node_request = request();
        if (room >= 0) {
            const std::uint64_t bytes = model->source().expert_bytes(model->plan_inputs().master);
            const std::uint64_t all = model->ram().usage().used_bytes;
            node_request.ram_bytes = all - static_cast<std::uint64_t>(64 - room) * (bytes + 256);
        }
        std::vector<std::unique_ptr<PeerNode>> machines;
        std::vector<NodeAddress> addresses;
        for (int i = 0; i < nodes; ++i) {
            machines.push_back(std::make_unique<PeerNode>(node_request));
            addresses.push_back(machines.back()->node.address("node " + std::to_string(i)));
        }
        JoinedNodes joined(*model, std::move(addresses), decentralised(), {}, {});
        QCOMPARE(joined.shape(), NodeShape::kDecentralised);
        for (int again = 0; again < 2; ++again) QVERIFY(nodeLogits(*model) == m_expected);
        std::uint64_t rows = 0;
        for (int i = 0; i < nodes; ++i) {
            const JoinedNodes::Figures node = joined.figures()[static_cast<std::size_t>(i)];
            QVERIFY2(node.up, qPrintable(textOf(joined.take_notes())));
            QVERIFY(node.n_held == 64 || room >= 0);
            QVERIFY(node.totals.rows > 0);
            QCOMPARE(node.totals.failed_rows, std::uint64_t{0});
            // One message of each for every layer of every step.
            QCOMPARE(node.totals.requests, std::uint64_t{2 * 12 * 8});
            rows += node.totals.rows;
        }
        QVERIFY(rows < 2 * nodeRows(*model));  // this machine has a share as well
    }

    // Pieces that need no logits, all of them, or the last ones: the last layer is made
    // for the desktop alone.
    void whateverLogitsAreWanted_noBitChanges() {
        const auto model = openCosted(request());
        const auto logits = [](LoadedModel& of) {
            KvSequence sequence = of.new_sequence();
            std::vector<TokenId> tokens;
            for (int i = 0; i < 40; ++i) tokens.push_back(static_cast<TokenId>((5 + i * 37) % 900));
            std::vector<float> made;
            std::span<const TokenId> left(tokens);
            for (const auto& [n, wanted] :
                 {std::pair(12, Forward::Logits::kNone), std::pair(9, Forward::Logits::kAll),
                  std::pair(18, Forward::Logits::kLast), std::pair(1, Forward::Logits::kLast)}) {
                const Segment segment{&sequence, left.first(static_cast<std::size_t>(n))};
                left = left.subspan(segment.tokens.size());
                if (of.forward().step({&segment, 1}, wanted, {}) != Forward::Outcome::kDone) return made;
                made.insert(made.end(), of.forward().logits().begin(), of.forward().logits().end());
            }
            return made;
        };
        const std::vector<float> expected = logits(*openModel(request()));
        QCOMPARE(expected.size(), static_cast<std::size_t>((9 + 1 + 1) * model->spec().vocab_size));
        PeerNode first(request()), second(request());
        std::atomic<std::size_t> last_rows = 0;  // of the last layer, sent by nodes
        const auto n_layers = static_cast<std::int32_t>(model->spec().experts.n_layers);
        for (PeerNode* machine : {&first, &second}) {
            machine->node.faults.passes_back = [&, n_layers](FromNode& message) {
                const auto* outputs = std::get_if<NodeOutputs>(&message);
                if (outputs != nullptr && outputs->layer == n_layers - 1) last_rows += outputs->row_token.size();
                return true;
            };
        }
        JoinedNodes joined(*model, {first.node.address("first"), second.node.address("second")}, decentralised(), {},
                           {});
        QVERIFY(logits(*model) == expected);
        for (const JoinedNodes::Figures& node : joined.figures()) {
            QVERIFY2(node.up, qPrintable(textOf(joined.take_notes())));
            QCOMPARE(node.totals.failed_rows, std::uint64_t{0});
            // In two steps no share of the last layer is awaited.
            QCOMPARE(node.totals.requests, static_cast<std::uint64_t>(4 * n_layers - 2));
        }
        // Each node has sent its experts' outputs for one token of each step.
        QVERIFY(becomesTrue([&] { return last_rows > 0; }));
        QVERIFY(last_rows <= static_cast<std::size_t>(4 * model->spec().experts.n_active));
    }

    // During an answer experts leave this machine and come back; those that nodes hold
    // change with that, also from one node to the other.
    void replansBetweenMachines_changeNoBit_data() {
        QTest::addColumn<bool>("decentralised");
        QTest::addColumn<QString>("device");
        for (const char* device : {"cpu", "emulated:rtx-3060"}) {
            QTest::addRow("helpers, %s", device) << false << QString::fromLatin1(device);
            QTest::addRow("all make the steps, %s", device) << true << QString::fromLatin1(device);
        }
    }
    void replansBetweenMachines_changeNoBit() {
        QFETCH(bool, decentralised);
        QFETCH(QString, device);
        constexpr int kPhase = 45;  // tokens; each step moves one expert
        const bool on_cpu = device == QStringLiteral("cpu");
        LoadRequest model_request = request();
        std::uint64_t bytes = 0, beside = 0;  // an expert's; everything else
        std::vector<float> expected;
        {
            const auto whole = openModel(model_request);
            bytes = whole->source().expert_bytes(whole->plan_inputs().master) + 256;
            beside = whole->ram().usage().used_bytes - 64 * bytes;
            expected = nodeLogits(*whole, 3 * kPhase);
        }
        // This many experts in RAM, or in the accelerator's memory.
        const auto room = [&](std::int64_t n) {
            return beside + static_cast<std::uint64_t>(n + (on_cpu ? 2 : 4)) * bytes;
        };
        model_request.device = device.toStdString();
        // Copied experts are computed here, not by a node: guessed copies, or another
        // policy, which may be the faster one where sanitizers slow the processor.
        model_request.dispatch = parse_dispatch("balanced");
        model_request.prefetch = PrefetchMode::kOff;
        (on_cpu ? model_request.ram_bytes : model_request.vram_bytes) = room(40);
        Play play(model_request);
        setCosts(play.model, kExpertUs);
        LoadRequest node_request = request();
        node_request.ram_bytes = (decentralised ? beside + 2 * bytes : 0) + 28 * bytes;
        PeerNode first(node_request), second(node_request);
        JoinSettings settings = offstage::test::decentralised();
        settings.use = NodeUse::kAlways;
        if (!decentralised) settings.shape = NodeShape::kHelpers;
        JoinedNodes joined(play.model, {first.node.address("first"), second.node.address("second")}, settings, {}, {});
        using Held = std::array<std::vector<bool>, 2>;
        const auto held = [&] {
            Held now;
            for (std::size_t n = 0; n < 2; ++n) {
                for (std::size_t i = 0; i < 64; ++i) now[n].push_back(joined.node(n).held_format(i).has_value());
            }
            return now;
        };
        const auto rows = [&] { return joined.figures()[0].totals.rows + joined.figures()[1].totals.rows; };
        std::vector<TokenId> next;
        for (std::int64_t i = 0; i < kNodePrompt; ++i) next.push_back(static_cast<TokenId>((5 + i * 37) % 900));
        const std::int64_t rooms[] = {40, 16, 40};
        Held before = held();
        std::vector<Place> places_before = play.model.plan().places;
        std::uint64_t rows_before = 0;
        const std::size_t vocabulary = expected.size() / (3 * kPhase);
        for (int token = 0; token < 3 * kPhase; ++token) {
            if (token > 0 && token % kPhase == 0) {
                ReplanRequest replan;
                (on_cpu ? replan.ram_bytes : replan.vram_bytes) = room(rooms[token / kPhase]);
                begin_replan(play.replanner, static_cast<std::uint64_t>(token), replan, token);
            }
            if (token % kPhase == kPhase / 2) play.replanner.finish({});  // reads that the disk has not finished by now
            const auto logits = play.step(next);
            QVERIFY2(std::equal(logits.begin(), logits.end(),
                                expected.begin() + static_cast<std::ptrdiff_t>(vocabulary) * token,
                                expected.begin() + static_cast<std::ptrdiff_t>(vocabulary) * (token + 1)),
                     qPrintable(QStringLiteral("token %1").arg(token)));
            next = {best(logits)};
            if (token % kPhase != kPhase - 1) continue;
            // The whole re-plan is in force, and something has moved.
            QVERIFY(!play.replanner.moving());
            QVERIFY(becomesTrue([&] { return joined.node(0).has_all() && joined.node(1).has_all(); }));
            QVERIFY2(rows() > rows_before, qPrintable(QStringLiteral("token %1: %2 rows").arg(token).arg(rows())));
            rows_before = rows();
            const Held now = held();
            const std::vector<Place> places = play.model.plan().places;
            if (token >= kPhase) {
                QVERIFY(play.replanner.reports().back().state == ReplanState::kDone);
                const auto moved = [&](std::size_t from, std::size_t to) {
                    for (std::size_t i = 0; i < 64; ++i) {
                        if (before[from][i] && !before[to][i] && !now[from][i] && now[to][i]) return true;
                    }
                    return false;
                };
                QVERIFY(moved(0, 1) || moved(1, 0));
                QVERIFY(places != places_before);
            }
            before = now;
            places_before = places;
        }
        for (const JoinedNodes::Figures& node : joined.figures()) {
            QVERIFY(node.up && node.totals.rows > 0);
            QCOMPARE(node.totals.failed_rows, std::uint64_t{0});
        }
        QCOMPARE(joined.node(0).n_losses() + joined.node(1).n_losses(), std::uint64_t{0});
    }

    // Shares go directly from one node to the other, once; if two cannot or may not be
    // connected, through the desktop.
    void linksBetweenNodes_changeNoBit_data() {
        QTest::addColumn<QList<int>>("without");  // nodes that take no links
        QTest::addColumn<bool>("answers");
        QTest::newRow("all") << QList<int>() << true;
        QTest::newRow("all but one pair") << QList<int>{2} << true;
        QTest::newRow("nobody answers") << QList<int>() << false;
    }
    void linksBetweenNodes_changeNoBit() {
        QFETCH(QList<int>, without);
        QFETCH(bool, answers);
        const bool all = without.isEmpty() && answers;
        LinkedNodes nodes(request(), 3, {without.begin(), without.end()});
        nodes.network.connects = [&] { return answers; };
        const auto model = openCosted(request());
        auto joined = std::make_unique<JoinedNodes>(*model, nodes.addresses(), decentralised(), LoadProgressFn{},
                                                    std::stop_token{});
        for (int again = 0; again < 2; ++again) QVERIFY(nodeLogits(*model) == m_expected);
        const QString notes = textOf(joined->take_notes());
        int n_direct = 0;
        for (std::size_t b = 1; b < 3; ++b) {
            for (std::size_t a = 0; a < b; ++a) {
                const NodeMesh::Link link = joined->link(a, b);
                QVERIFY(link.direct != link.by_way);
                n_direct += link.direct ? 1 : 0;
                QVERIFY(!link.direct || link.latency_us > 0);
                const QString pair = QStringLiteral("node %1 and node %2 are ").arg(a).arg(b);
                QVERIFY2(notes.contains(pair + (link.direct ? QStringLiteral("connected to each other: ")
                                                            : QStringLiteral("not connected to each other ("))),
                         qPrintable(notes));
            }
        }
        QCOMPARE(n_direct, all ? 3 : answers ? 1 : 0);
        Snapshot shown;
        joined->fill(shown);
        for (const MachineFigures& machine : shown.machines) QCOMPARE(machine.links.size(), std::size_t{2});
        QCOMPARE(shown.machines[0].links[0].to, std::string("node 1"));
        QCOMPARE(shown.machines[0].links[0].direct, answers);
        QCOMPARE(shown.machines[2].links[0].direct, all);
        QCOMPARE(shown.machines[2].links[0].why.empty(), all);
        // Two answers of 12 steps and 8 layers, with one share to each of the two nodes
        // of a pair; the last shares are still on their way.
        const int by_desktop = 2 * 12 * 8 * 2 * (3 - n_direct);
        becomesTrue([&] { return nodes.n_by_desktop >= by_desktop; });
        QCOMPARE(nodes.n_by_desktop.load(), by_desktop);
        QVERIFY(answers ? true : notes.contains(QStringLiteral("the connection ended")));
        QVERIFY(without.isEmpty() || notes.contains(QStringLiteral("(It exchanges nothing with other nodes")));
        for (const JoinedNodes::Figures& node : joined->figures()) {
            QVERIFY(node.totals.rows > 0);
            QCOMPARE(node.totals.failed_rows, std::uint64_t{0});
            QCOMPARE(node.totals.requests, std::uint64_t{2 * 12 * 8});
        }
        // With the desktop the links go.
        joined.reset();
        for (const auto& machine : nodes.machines) {
            QVERIFY(becomesTrue([&] { return machine->node.experts().state().n_desktops == 0; }));
            for (std::size_t i = 0; i < 3; ++i) QVERIFY(!machine->node.experts().expects_peer(NodeNetwork::key_of(i)));
        }
    }

    // Messages between the two take one message of their link instead of two of this
    // machine's, which are very slow. The link carries messages in both directions one
    // after the other: such a message takes as long as a ping and its answer, 2 ms or
    // more, and not the half.
    void linksBetweenNodes_areForecast() {
        LinkedNodes nodes(request(), 2);
        nodes.network.takes = std::chrono::milliseconds(2);
        for (const auto& machine : nodes.machines) {
            machine->node.faults.counts_as = [](LinkCosts::Measured& measured) {
                measured.latency_us = 2e6;
                measured.exchange_us = 1e6;
            };
        }
        const auto model = openModel(request());
        setCosts(*model, kExpertUs, 1000);
        JoinSettings settings = decentralised();
        settings.forecasts = true;
        settings.pauses.wake_us = 1;
        double longer_us = 0;
        const auto forecast = [&](bool linked) {
            std::vector<NodeAddress> addresses = nodes.addresses();
            for (NodeAddress& address : addresses) {
                if (!linked) address.for_nodes.clear();
            }
            JoinedNodes joined(*model, addresses, settings, {}, {});
            const NodeMesh::Link link = joined.link(0, 1);
            if (link.direct != linked) return 0.0;
            const std::vector<ForecastLink> counted = joined.forecast().here(70).node_links;
            if (linked != (link.message_us > 1300) || linked == counted.empty()) return 0.0;
            // The extra time between layers is counted.
            if (linked) longer_us = counted[0].message_us - link.message_us;
            return joined.forecast_tokens_per_s(70);
        };
        const double linked = forecast(true), by_desktop = forecast(false);
        QVERIFY2(by_desktop > 0 && linked > 1.3 * by_desktop,
                 qPrintable(QStringLiteral("%1 and %2 tokens/s").arg(linked).arg(by_desktop)));
        QVERIFY(longer_us != 0);
    }

    // A link that is slower between the layers of a step than by itself: the connecting
    // node measures that, and the forecast counts it. A node of an earlier version does
    // not report it: its links are forecast by pings.
    void linksBetweenNodes_areMeasuredBetweenLayers_data() {
        QTest::addColumn<bool>("of_before");
        QTest::newRow("measured") << false;
        QTest::newRow("an older node") << true;
    }
    void linksBetweenNodes_areMeasuredBetweenLayers() {
        QFETCH(bool, of_before);
        constexpr int kPings = 7 + 3 + 64 + 3 * 12 + 1;  // for a link by itself
        LinkedNodes nodes(request(), 2);
        nodes.network.pings_before_slow = kPings;
        nodes.network.slow_ping_takes = std::chrono::milliseconds(8);
        nodes.machines[0]->node.faults.is_of_before = of_before;
        std::atomic<int> n_asked = 0;
        nodes.machines[0]->node.faults.sees = [&](const ToNode& message) {
            const auto* peer = std::get_if<NodePeer>(&message);
            n_asked += peer != nullptr && peer->between_layers ? 1 : 0;
        };
        const auto model = openCosted(request());
        JoinSettings settings = decentralised();
        {
            const JoinedNodes plain(*model, nodes.addresses(), settings, {}, {});
            QVERIFY(plain.link(0, 1).direct);
            QCOMPARE(n_asked.load(), 0);  // no forecast is needed
        }
        settings.forecasts = true;
        const JoinedNodes joined(*model, nodes.addresses(), settings, {}, {});
        const NodeMesh::Link link = joined.link(0, 1);
        QVERIFY(link.direct && link.message_us > 0);
        QCOMPARE(n_asked.load(), of_before ? 0 : 1);
        const ForecastDesktop here = joined.forecast().here(70);
        QCOMPARE(here.node_links.size(), std::size_t{1});
        const double counted_us = here.node_links[0].message_us;
        if (of_before) {
            // Longer by as much as the desktop's own messages to these nodes.
            QVERIFY(!link.longer_us);
            QCOMPARE(nodes.network.n_slow_pings.load(), 0);
            QVERIFY(counted_us > 0);
            return;
        }
        // Half of 8 ms, one way, less what other programs delayed pings by themselves.
        QVERIFY(link.longer_us);
        QVERIFY2(*link.longer_us > 500, qPrintable(QString::number(*link.longer_us)));
        QCOMPARE(counted_us, LinkCosts::between_layers(link.message_us, *link.longer_us));
    }

    // The extra time of a link between layers is measured once: the chosen shape, the
    // other one, which has no links, and the first one again take it from those before
    // them.
    void linksBetweenNodes_areMeasuredOnce_whateverTheShape() {
        LinkedNodes nodes(request(), 2);
        std::atomic<int> n_links = 0, n_measured = 0;
        for (const auto& machine : nodes.machines) {
            NodeInProcess::Faults& faults = machine->node.faults;
            faults.computes_us = 1;
            faults.sees = [&](const ToNode& message) {
                const auto* peer = std::get_if<NodePeer>(&message);
                if (peer == nullptr || peer->address.empty()) return;
                ++n_links;
                n_measured += peer->between_layers ? 1 : 0;
            };
        }
        const auto model = openModel(request());
        setCosts(*model, 1e6, 1000);
        JoinSettings settings = decentralised();
        settings.forecasts = true;
        settings.shape = NodeShape::kAuto;
        settings.use = NodeUse::kMeasured;
        settings.choose_again_s = 1e-9;
        settings.deal_anew_s = 0;
        auto joined =
            std::make_unique<JoinedNodes>(*model, nodes.addresses(), settings, LoadProgressFn{}, std::stop_token{});
        QCOMPARE(n_measured.load(), 1);  // for the choice
        // By these costs the shape is chosen again.
        const auto joinAs = [&](NodeShape shape, double latency_us, double exchange_us) {
            for (std::size_t i = 0; i < 2; ++i) {
                LinkCosts::Measured measured = joined->node(i).costs().measured();
                measured.latency_us = latency_us;
                measured.exchange_us = exchange_us;
                joined->node(i).costs().set(measured);
            }
            const JoinMachinesFn again = joined->join_again({});
            if (!again) return false;
            joined.reset();
            std::unique_ptr<JoinedMachines> machines = again(*model, {});
            joined.reset(static_cast<JoinedNodes*>(machines.release()));
            const auto is_up = [&] {
                return joined->node(0).is_up() && joined->node(1).is_up() &&
                       joined->link(0, 1).direct == (shape == NodeShape::kDecentralised);
            };
            return joined->shape() == shape && becomesTrue(is_up);
        };
        const auto joinAsHelpers = [&] { return joinAs(NodeShape::kHelpers, 10, 1e6); };
        const auto joinDecentralised = [&] { return joinAs(NodeShape::kDecentralised, 1e6, 10); };
        // What was measured decides the first shape: on this machine either.
        if (joined->shape() == NodeShape::kHelpers) QVERIFY(joinDecentralised());
        QCOMPARE(n_links.load(), 2);  // for the choice, and in use
        QVERIFY(joined->link(0, 1).direct);
        const std::optional<double> longer_us = joined->link(0, 1).longer_us;
        QVERIFY(longer_us);
        QVERIFY(joinAsHelpers());
        QVERIFY(joinDecentralised());
        QCOMPARE(n_links.load(), 3);
        QCOMPARE(n_measured.load(), 1);
        QVERIFY(joined->link(0, 1).longer_us == longer_us);
    }

    // In mid-answer a share does not arrive: the desktop sends it instead, and no machine
    // is lost.
    void linkThatEnds_isReplacedByTheDesktop_data() {
        QTest::addColumn<bool>("ends");  // otherwise it drops its messages
        QTest::newRow("ends") << true;
        QTest::newRow("swallows") << false;
    }
    void linkThatEnds_isReplacedByTheDesktop() {
        QFETCH(bool, ends);
        LinkedNodes nodes(request(), 3);
        std::atomic<int> n_shares = 0;
        nodes.network.passes = [&](const NodeOutputs& outputs) {
            // Between the first two, from the middle of the third step on.
            if (outputs.machine > 2 || n_shares++ < 2 * 2 * 2 * 8 + 9) return true;
            if (ends) std::thread([&] { nodes.network.cut(); }).detach();
            return false;
        };
        const auto model = openCosted(request());
        JoinedNodes joined(*model, nodes.addresses(), decentralised(ends ? 10 : 2), {}, {});
        QVERIFY(joined.link(0, 1).direct && joined.link(0, 2).direct && joined.link(1, 2).direct);
        QVERIFY(nodeLogits(*model) == m_expected);
        QVERIFY(nodes.n_by_desktop > 0);
        QVERIFY(nodes.n_by_desktop < 12 * 8 * 2 * 3);
        const QString notes = textOf(joined.take_notes());
        QVERIFY(joined.link(0, 1).by_way);
        QVERIFY2(notes.contains(QStringLiteral("node 0 and node 1 are not connected to each other (")) &&
                     notes.contains(ends ? QStringLiteral("the connection ended") : QStringLiteral("no answer for")),
                 qPrintable(notes));
        for (std::size_t i = 0; i < 3; ++i) {
            QCOMPARE(joined.node(i).n_losses(), std::uint64_t{0});
            QCOMPARE(joined.figures()[i].totals.failed_rows, std::uint64_t{0});
            QCOMPARE(joined.figures()[i].totals.requests, std::uint64_t{12 * 8});
        }
        QVERIFY(nodeLogits(*model) == m_expected);
    }

    // A returning machine is named to the others again.
    void nodeThatComesBack_isConnectedToTheOthersAgain() {
        LinkedNodes nodes(request(), 2);
        const auto model = openCosted(request());
        JoinedNodes joined(*model, nodes.addresses(), decentralised(), {}, {});
        QVERIFY(joined.link(0, 1).direct);
        QVERIFY(nodeLogits(*model, 4, [&](int step) {
                    if (step == 2) nodes.machines[1]->node.cut();
                }) == std::vector<float>(m_expected.begin(), m_expected.begin() + m_expected.size() / 3));
        QVERIFY(becomesTrue([&] {
            return joined.node(1).n_losses() == 1 && joined.node(1).follows() && joined.node(1).n_held() == 64 &&
                   joined.link(0, 1).direct && nodes.network.n_connections() == 2;
        }));
        // A lost machine is reported by itself.
        const QString notes = textOf(joined.take_notes());
        QVERIFY2(!notes.contains(QStringLiteral("not connected to each other")), qPrintable(notes));
        QCOMPARE(notes.count(QStringLiteral("are connected to each other")), 2);
        const int before = nodes.n_by_desktop;
        QVERIFY(nodeLogits(*model) == m_expected);
        QCOMPARE(nodes.n_by_desktop.load(), before);
        QVERIFY(joined.figures()[1].totals.rows > 0);
    }

    void activationsInBf16_areTheSameOnAllMachines() {
        PeerNode first(request()), second(request());
        const auto model = openCosted(request());
        JoinSettings settings = decentralised();
        settings.activations = ActivationType::kBf16;
        JoinedNodes joined(*model, {first.node.address("first"), second.node.address("second")}, settings, {}, {});
        const std::vector<float> logits = nodeLogits(*model, 1);
        const double error = relativeError(logits, {m_expected.begin(), m_expected.begin() + logits.size()});
        QVERIFY2(error > 0 && error < 0.02, qPrintable(QString::number(error)));
        QVERIFY(!nodeLogits(*model).empty());
        // A machine with other rounding would choose other experts in the end: rows would
        // not match.
        for (const JoinedNodes::Figures& node : joined.figures()) {
            QVERIFY(node.totals.rows > 0);
            QCOMPARE(node.totals.failed_rows, std::uint64_t{0});
        }
    }

    void quantizedWeights_areTheSameThere_data() {
        QTest::addColumn<QString>("quant");
        QTest::addColumn<bool>("small_kv");
        QTest::newRow("experts") << QStringLiteral("experts=int8") << false;
        QTest::newRow("experts and dense") << QStringLiteral("experts=int8,dense=8") << false;
        QTest::newRow("keys and values") << QString() << true;
    }
    void quantizedWeights_areTheSameThere() {
        QFETCH(QString, quant);
        QFETCH(bool, small_kv);
        LoadRequest model_request = request();
        if (!quant.isEmpty()) model_request.quant = parse_quant(quant.toStdString());
        if (small_kv) model_request.kv = kernels::KvType::kInt8;
        QTemporaryDir kept;
        model_request.quant_cache_directory = kept.path().toStdString();
        const std::vector<float> expected = nodeLogits(*openModel(model_request), 4);
        LoadRequest node_request = request();
        node_request.quant_cache_directory = kept.path().toStdString();
        PeerNode machine(node_request);
        const auto model = openCosted(model_request);
        JoinedNodes joined(*model, {machine.node.address("node")}, decentralised(), {}, {});
        QVERIFY(nodeLogits(*model, 4) == expected);
        QVERIFY(joined.figures()[0].totals.rows > 0);
        QCOMPARE(joined.figures()[0].totals.failed_rows, std::uint64_t{0});
    }

    // ---------------------------------------------------------------- whole answers
    static GenerationResult answer(Session& session, const std::string& text, const TextDeltaFn& on_delta = {},
                                   const std::stop_token& stop = {}) {
        GenerationRequest ask;
        ask.messages = {{Role::kUser, text}};
        ask.sampler.temperature = 0;
        ask.max_tokens = 12;
        ask.ignore_end = true;
        return session.generate(ask, on_delta, stop);
    }

    void stopInMidStep_leavesAllMachinesReadyForTheNextPrompt() {
        PeerNode machine(request()), other(request());
        LocalSession session;
        session.load(request(), {}, {});
        const auto first = answer(session, "What is an expert?").tokens;
        const auto second = answer(session, "What is a router?").tokens;
        session.reset_conversation();
        std::stop_source stop;
        std::atomic<int> n_shares = 0;
        machine.node.faults.passes_back = [&](FromNode& message) {
            if (std::holds_alternative<NodeOutputs>(message) && n_shares++ == 3 * 8 + 4) stop.request_stop();
            return true;
        };
        std::uint64_t steps_before = 0;
        JoinedNodes* joined = nullptr;
        session.join(
            [&](LoadedModel& model, const std::stop_token& token) {
                setCosts(model, kExpertUs);
                auto made = std::make_unique<JoinedNodes>(
                    model, std::vector{machine.node.address("cupboard"), other.node.address("attic")}, decentralised(),
                    LoadProgressFn{}, token);
                joined = made.get();
                return made;
            },
            {});
        const GenerationResult stopped = answer(session, "What is an expert?", {}, stop.get_token());
        QCOMPARE(stopped.finish, FinishReason::kStopped);
        QVERIFY(stopped.tokens.size() < 12);
        QVERIFY(std::equal(stopped.tokens.begin(), stopped.tokens.end(), first.begin()));
        steps_before = joined->figures()[0].totals.requests;
        QVERIFY(answer(session, "What is an expert?").tokens == first);
        QVERIFY(answer(session, "What is a router?").tokens == second);
        QVERIFY(answer(session, "What is an expert?").tokens == first);
        for (const JoinedNodes::Figures& node : joined->figures()) {
            QVERIFY(node.up && node.totals.rows > 0);
            QCOMPARE(node.totals.failed_rows, std::uint64_t{0});
            QVERIFY(node.totals.requests > steps_before);
        }
        QCOMPARE(joined->node(0).n_losses() + joined->node(1).n_losses(), std::uint64_t{0});
        // This machine makes beams alone, and reports it.
        GenerationRequest beams;
        beams.messages = {{Role::kUser, "What is an expert?"}};
        beams.beam.width = 2;
        beams.max_tokens = 4;
        QVERIFY(!session.generate(beams, {}, {}).tokens.empty());
        QVERIFY(textOf(session.take_machine_notes()).contains(QStringLiteral("makes the steps alone")));
        QCOMPARE(session.snapshot().machine_shape.alone, StepsAlone::kAnswer);
        QVERIFY(answer(session, "What is a router?").tokens == second);
        QCOMPARE(session.snapshot().machine_shape.alone, StepsAlone::kNo);
        session.join({}, {});
        QVERIFY(answer(session, "What is a router?").tokens == second);
        QVERIFY(becomesTrue([&] { return machine.node.experts().state().n_desktops == 0; }));
    }

    // ---------------------------------------------------------------- who is refused
    void nodeThatCannotMakeTheSteps_saysWhy() {
        PeerNode machine(request());
        NodeExperts& experts = machine.node.experts();
        const auto model = openModel(request());
        std::mutex mutex;
        std::vector<std::string> said;
        Message refusal;
        const auto desktop = experts.open(
            hello_of(*model, "desk"),
            [&](const FromNode& message) {
                const std::scoped_lock lock(mutex);
                if (const auto* following = std::get_if<NodeFollowing>(&message)) said.push_back(following->refusal);
            },
            refusal);
        QVERIFY(desktop != 0);
        QVERIFY(!experts.follow(desktop, NodeAbandon{1}).empty());  // before it follows
        NodeFollow follow;
        follow.instruction_set = "another one";
        follow.context = 256;
        follow.max_step = 64;
        const auto asked = [&](const NodeFollow& how) {
            const std::size_t before = said.size();
            return experts.follow(desktop, how).empty() && said.size() == before + 1 ? said.back() : "nothing";
        };
        QVERIFY(QString::fromStdString(asked(follow)).contains(QStringLiteral("would choose other experts")));
        follow.instruction_set = kernels::name_of(kernels::cpu_kernels().instruction_set);
        follow.context = kMostFollowedContext;  // for which the KV cache has no room
        QVERIFY(!asked(follow).empty());
        follow.context = 0;
        QVERIFY(experts.follow(desktop, follow).english().find("the context is 0") != std::string::npos);
        follow.context = 256;
        QCOMPARE(asked(follow), std::string());
        // It works for that desktop only now.
        QCOMPARE(experts.open(
                     hello_of(*model, "another"), [](const FromNode&) {}, refusal),
                 NodeExperts::Desktop{0});
        QVERIFY(refusal.english().find("makes the steps of another desktop") != std::string::npos);
        // A token that is none, and steps that cannot be.
        NodeStep step;
        step.number = 1;
        step.tokens = {static_cast<TokenId>(model->spec().vocab_size)};
        QVERIFY(experts.follow(desktop, step).english().find("the token is") != std::string::npos);
        experts.close(desktop);
        QVERIFY(experts.open(
                    hello_of(*model, "another"), [](const FromNode&) {}, refusal) != 0);
    }

    // A machine that works for other desktops refuses to make steps. The desktop asks
    // again later: the others may have left, or they were this desktop's own last
    // connection, whose end the machine had not noticed.
    void machineOfOthers_makesStepsOnceTheyHaveLeft() {
        PeerNode machine(request());
        const auto of_others = openModel(request());
        JoinSettings helps = quickToReturn();
        helps.shape = NodeShape::kHelpers;
        auto others = std::make_unique<JoinedNodes>(*of_others, std::vector{machine.node.address("cupboard")}, helps,
                                                    nullptr, std::stop_token{});
        const auto model = openCosted(request());
        JoinedNodes joined(*model, {machine.node.address("cupboard")}, decentralised(), {}, {});
        QVERIFY(joined.node(0).is_up() && !joined.node(0).follows());
        QVERIFY(nodeLogits(*model) == m_expected);
        QCOMPARE(joined.figures()[0].totals.rows, std::uint64_t{0});
        // Not at once: after several refusals.
        QVERIFY(becomesTrue([&] { return joined.node(0).refuses_to_follow(); }));
        others.reset();
        QVERIFY(becomesTrue([&] { return joined.node(0).follows() && joined.node(0).n_held() > 0; }));
        QVERIFY(!joined.node(0).refuses_to_follow());
        QVERIFY(nodeLogits(*model) == m_expected);
        QVERIFY(joined.figures()[0].totals.rows > 0);
    }

    void anotherModel_isRefused() {
        LoadRequest fine = request();
        fine.model = "synthetic:fine?layers=2&seed=3";
        PeerNode machine(fine);
        const auto model = openModel(request());
        JoinedNodes joined(*model, {machine.node.address("cupboard")}, decentralised(), {}, {});
        QVERIFY(textOf(joined.take_notes()).contains(QStringLiteral("This machine has another model open")));
        QVERIFY(nodeLogits(*model, 2).size() == m_expected.size() / 6);
        QCOMPARE(joined.figures()[0].totals.requests, std::uint64_t{0});
    }

    // ----------------------------------------------------------- the choice of the shape
    // A network with expensive messages, and experts that this machine would have to read
    // from a slow disk.
    void shape_isChosenByForecast_data() {
        QTest::addColumn<double>("node_us");  // the reported time of its experts
        QTest::addColumn<bool>("decentralised");
        QTest::newRow("messages are dear") << 1.0 << true;
        QTest::newRow("the node is slow") << 2e6 << false;
    }
    void shape_isChosenByForecast() {
        QFETCH(double, node_us);
        QFETCH(bool, decentralised);
        LoadRequest small = request();
        {
            const auto whole = openModel(request());
            const std::uint64_t bytes = whole->source().expert_bytes(whole->plan_inputs().master);
            small.ram_bytes = whole->ram().usage().used_bytes - 50 * bytes;
        }
        small.disk_reads = DiskReads::kCached;
        const auto model = openModel(small);
        setCosts(*model, kExpertUs, 1000);
        model->cost().set_disk({1e6, 0, 0}, false);
        PeerNode machine(request());
        machine.node.faults.computes_us = node_us;
        machine.node.faults.counts_as = [](LinkCosts::Measured& measured) {
            measured.latency_us = 9000;
            measured.exchange_us = 4500;
        };
        JoinSettings settings = offstage::test::decentralised();
        settings.forecasts = true;
        settings.pauses.wake_us = 1;
        settings.shape = NodeShape::kAuto;
        JoinedNodes joined(*model, {machine.node.address("cupboard")}, settings, {}, {});
        const QString notes = textOf(joined.take_notes());
        Snapshot now;
        joined.fill(now);
        const ShapeTimes &helpers = now.machine_shape.helpers, &peers = now.machine_shape.peers;
        QVERIFY2(helpers.us() > 0 && peers.us() > 0, qPrintable(notes));
        QVERIFY2(decentralised == (peers.us() < helpers.us()), qPrintable(notes));
        QCOMPARE(joined.shape(), decentralised ? NodeShape::kDecentralised : NodeShape::kHelpers);
        QVERIFY2(notes.contains(decentralised ? QStringLiteral("Every machine makes each step itself")
                                              : QStringLiteral("The other machines compute experts for this one (")),
                 qPrintable(notes));
        QVERIFY(joined.forecast_tokens_per_s(70) > 0);
        QVERIFY(nodeLogits(*model) == m_expected);
    }
};

QTEST_GUILESS_MAIN(TestPeerSteps)
#include "tst_peer_steps.moc"
