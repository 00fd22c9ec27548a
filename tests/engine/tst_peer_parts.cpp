// The parts of steps that all machines make: shares, inbox, forecasts, times. No model
// computes.

#include <QtTest>

#include "engine/cluster/expert_shares.h"
#include "engine/cluster/peer_inbox.h"
#include "engine/cluster/peer_timeline.h"
#include "tests/engine/peer_nodes.h"

using namespace offstage::engine;
using namespace offstage::test;
namespace kernels = offstage::kernels;

class TestPeerParts : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void owners_areDealtByWhatTheyCost_amongThoseWhoHave() {
        ExpertGrid grid;
        grid.n_layers = 2;
        grid.n_experts = 6;
        grid.n_active = 2;
        const Popularity even = Popularity::uniform(2, 6, 2);
        const auto count = [](const std::string& owners, char machine) {
            return std::count(owners.begin(), owners.end(), machine);
        };
        std::string owners = deal_owners(grid, even, 3, [](std::uint32_t, std::size_t) { return 1.0; });
        QCOMPARE(owners.size(), std::size_t{12});
        for (char machine = 0; machine < 3; ++machine) {
            QCOMPARE(count(owners.substr(0, 6), machine), 2);
            QCOMPARE(count(owners.substr(6), machine), 2);
        }
        // Twice as slow: half as many.
        owners =
            deal_owners(grid, even, 2, [](std::uint32_t machine, std::size_t) { return machine == 0 ? 2.0 : 1.0; });
        QCOMPARE(count(owners, 0), 4);
        // The first one owns the experts that the second does not have.
        owners = deal_owners(grid, even, 2, [](std::uint32_t machine, std::size_t i) {
            return machine == 0 ? 100.0 : i == 3 ? -1.0 : 1.0;
        });
        QCOMPARE(owners, std::string("\1\1\1\0\1\1\1\1\1\1\1\1", 12));
    }

    void inbox_givesWhatIsOfTheStep_andIsBounded() {
        PeerInbox inbox(4096);
        inbox.begin_step(5);
        const auto soon = [] { return PeerInbox::Clock::now() + std::chrono::milliseconds(1); };
        QVERIFY(inbox.put(outputsOf(4, 0, 1, 100)));
        QCOMPARE(inbox.n_bytes(), std::size_t{0});
        QVERIFY(inbox.put(outputsOf(5, 1, 1, 100)));
        NodeOutputs second = outputsOf(5, 1, 1, 200);
        second.part = 1;
        QVERIFY(inbox.put(second));
        // The same again, on another way.
        const std::size_t held = inbox.n_bytes();
        QVERIFY(inbox.put(outputsOf(5, 1, 1, 100)) && inbox.put(second));
        QCOMPARE(inbox.n_bytes(), held);
        QVERIFY(inbox.put(outputsOf(6, 0, 1, 300)));
        QVERIFY(!inbox.put(outputsOf(6, 1, 1, 4096)));
        QVERIFY(!inbox.take(0, 1, soon()));
        QVERIFY(!inbox.take(1, 2, soon()));
        QCOMPARE(inbox.take(1, 1, soon())->outputs.outputs.size(), std::size_t{100});
        QCOMPARE(inbox.take(1, 1, soon())->outputs.outputs.size(), std::size_t{200});
        QVERIFY(inbox.put(second));
        QVERIFY(!inbox.take(1, 1, soon()));
        // Lost machines and steps are not waited for; earlier messages count.
        QVERIFY(inbox.put(outputsOf(5, 2, 1, 100)));
        inbox.lose(1);
        QVERIFY(inbox.take(2, 1, {}));
        QVERIFY(!inbox.take(3, 1, {}));
        inbox.begin_step(6);
        QCOMPARE(inbox.take(0, 1, {})->outputs.outputs.size(), std::size_t{300});
        QCOMPARE(inbox.n_bytes(), std::size_t{0});
        // For a step that has not begun yet; earlier messages count here as well.
        QVERIFY(inbox.put(outputsOf(7, 0, 2, 100)));
        NodeOutputs lost = outputsOf(7, 1, 2, 0);
        lost.lost = true;
        QVERIFY(inbox.put(lost));
        inbox.begin_step(7);
        QVERIFY(inbox.take(0, 2, {}) && !inbox.take(1, 2, {}) && !inbox.take(2, 2, {}));
        QVERIFY(!inbox.take(0, 1, soon()));
        inbox.abandon(7);
        QVERIFY(!inbox.take(3, 1, {}));
    }

    // Computed by hand: two layers with two of four experts each, 100 us for an expert
    // here and 60 us per step besides.
    void forecasts_addUpWhatWasMeasured() {
        ExpertGrid grid;
        grid.n_layers = 2;
        grid.n_experts = 4;
        grid.n_active = 2;
        grid.hidden_dim = 8;
        grid.ffn_dim = 16;
        const kernels::WeightType format = kernels::WeightType::kBf16;
        CostTable table;
        table.cpu_expert = {{1, 100.0}};
        table.dense.step = {{1, 60.0}};
        CostModel cost(table);
        cost.set_master(format);
        const Popularity even = Popularity::uniform(2, 4, 2);
        ForecastDesktop here{grid, even, cost, std::vector<Place>(8, Place::kRam), {8, format}};
        here.formats.assign(8, format);
        LinkCosts link, other;
        const auto measured = [&](double expert_us) {
            LinkCosts::Measured costs;
            costs.latency_us = 20;
            costs.expert = {{1, expert_us}};
            costs.expert_bytes = static_cast<double>(grid.expert_bytes(format));
            return costs;
        };
        const std::vector<std::uint8_t> all(8, 1);
        const auto compare = [](const ShapeForecast& is, double computing_us, double network_us, double waiting_us) {
            QCOMPARE(is.times.computing_us, computing_us);
            QCOMPARE(is.times.network_us, network_us);
            QCOMPARE(is.times.waiting_us, waiting_us);
        };
        const std::vector<ForecastNode> nodes = {{&link, all}};
        QCOMPARE(forecast_as_helpers(here, nodes).times.us(), 0.0);  // not measured yet
        link.set(measured(10));
        // A layer: 20 us there and back, 2 x 10 us there.
        here.insists = true;
        compare(forecast_as_helpers(here, nodes), 60, 40, 40);
        QVERIFY((forecast_as_helpers(here, nodes).calls == std::vector<double>{0, 4}));
        // 10 us a message: this machine's 30 us of a layer and the node's 20 overlap, and
        // it waits for one message.
        compare(forecast_as_peers(here, nodes), 60, 10, 0);
        QCOMPARE(forecast_as_peers(here, nodes).owners, std::string(8, '\1'));
        // Measured with one in each direction they take as long as that.
        LinkCosts::Measured both_ways = measured(10);
        both_ways.exchange_us = 25;
        link.set(both_ways);
        compare(forecast_as_peers(here, nodes), 60, 2 * 25 + 20 - 30, 0);
        compare(forecast_as_helpers(here, nodes), 60, 40, 40);
        link.set(measured(20));
        compare(forecast_as_peers(here, nodes), 60, 20, 2 * (40 - 30));
        // A layer takes longer after a wait; both ends are woken, while a ping wakes one;
        // the step is sent first.
        link.set(measured(10));
        here.pause_us = 5;
        compare(forecast_as_peers(here, nodes), 70, 5, 0);
        compare(forecast_as_helpers(here, nodes), 60 + 2 * 5, 40, 40);
        here.insists = false;  // if it is sooner here, there is nothing to wait for
        link.set(measured(1e5));
        compare(forecast_as_helpers(here, nodes), 60 + 4 * 100, 0, 0);
        here.insists = true;
        link.set(measured(10));
        here.pause_us = 0;
        here.wake_us = 10;
        compare(forecast_as_peers(here, nodes), 60, 20, 0);
        here.wake_us = 0;
        LinkCosts::Measured sending = measured(10);
        sending.send_us = 4;
        link.set(sending);
        compare(forecast_as_peers(here, nodes), 60, 10 + 4, 0);
        compare(forecast_as_helpers(here, nodes), 60, 40, 40);
        // A row for each of two: the second request leaves when the first is sent.
        const std::vector<ForecastNode> both = {{&link, all}, {&link, all}};
        compare(forecast_as_helpers(here, both), 60, 2 * (20 + 4), 2 * 10);
        // A slow one computes nothing, and experts that it does not have it cannot
        // compute.
        here.insists = false;
        link.set(measured(1e5));
        compare(forecast_as_helpers(here, nodes), 60 + 4 * 100, 0, 0);
        compare(forecast_as_peers(here, nodes), 60 + 4 * 100, 0, 0);
        link.set(measured(10));
        const std::vector<ForecastNode> empty = {{&link, std::vector<std::uint8_t>(8, 0)}};
        compare(forecast_as_helpers(here, empty), 60 + 4 * 100, 0, 0);
        // One that was not measured does not count.
        compare(forecast_as_peers(here, std::vector<ForecastNode>{{&other, all}, {&link, all}}), 60, 10, 0);
        // Two thirds of this machine's 30 us per layer are the head's, which the node
        // does not compute. The rest runs on the node faster by the same factor as an
        // expert.
        here.head_share = 2.0 / 3;
        here.on_processor = true;
        compare(forecast_as_peers(here, nodes), 60, 2 * 10, 2 * (1 + 20 - 10));
        // Except for the time added by a wait.
        here.pause_us = 5;
        compare(forecast_as_peers(here, nodes), 60 + 2 * 5, 2 * 10, 2 * (1 + 5 + 20 - 15));
        here.pause_us = 0;
        here.head_share = 0;
        here.on_processor = false;
        // Messages between two nodes are two messages of 10 us, or one over their own
        // link.
        link.set(measured(40));
        const std::vector<ForecastNode> two = {{&link, all}, {&link, all}};
        const ShapeForecast star = forecast_as_peers(here, two);
        const auto network_us = [&](double latency_us) {
            here.node_links = {{0, 1, latency_us / 2, 0}};
            const ShapeForecast direct = forecast_as_peers(here, two);
            here.node_links.clear();
            return direct.owners == star.owners && direct.times.computing_us == star.times.computing_us
                       ? direct.times.network_us
                       : -1.0;
        };
        QVERIFY(network_us(20) > 0 && network_us(20) < star.times.network_us);
        QCOMPARE(network_us(40), star.times.network_us);
        QVERIFY(network_us(400) > star.times.network_us);
        // A layer sends two messages; the second leaves later.
        LinkCosts::Measured sends = measured(1);
        link.set(sends);
        const double at_once_us = forecast_as_peers(here, two).times.us();
        sends.send_us = 4;
        link.set(sends);
        QCOMPARE(forecast_as_peers(here, two).times.us(), at_once_us + 2 * 4 + 2 * 4);
        cost = CostModel();
        QCOMPARE(forecast_as_peers(here, nodes).times.us(), 0.0);

        std::vector<NodeExpert> wanted;
        for (std::int32_t e = 0; e < 4; ++e) wanted.push_back({1, e, format});
        const std::uint64_t bytes = grid.expert_bytes(format);
        QCOMPARE(n_within(wanted, grid, 0), std::size_t{4});
        QCOMPARE(n_within(wanted, grid, 3 * bytes - 1), std::size_t{2});
        QVERIFY((held_within(wanted, grid, 2 * bytes) == std::vector<std::uint8_t>{0, 0, 0, 0, 1, 1, 0, 0}));
        QCOMPARE(room_beside_steps(100, 30, 20), std::uint64_t{50});
        QCOMPARE(n_within(wanted, grid, room_beside_steps(100, 90, 20)), std::size_t{0});
        QCOMPARE(room_beside_steps(0, 90, 20), std::uint64_t{0});
    }

    // Layers of 10 us on two machines whose messages take 3: every second layer the
    // desktop waits for a message. If one takes twice as long as the other, the messages
    // pass while it computes; longer ones delay by the rest.
    void timeline_countsMessagesThatAreWaitedFor() {
        const auto afterLayers = [](PeerTimeline timeline, int n_layers, const std::vector<double>& work,
                                    const std::vector<double>& bytes) {
            timeline.begin_step();
            for (int layer = 0; layer < n_layers; ++layer) timeline.add_layer(work, bytes);
            return timeline.desktop_us();
        };
        const PeerTimeline two({{}, {3, 0.5}});
        QCOMPARE(afterLayers(two, 1, {10, 10}, {0, 0}), 16.0);
        QCOMPARE(afterLayers(two, 4, {10, 10}, {0, 0}), 52.0);
        QCOMPARE(afterLayers(two, 4, {10, 10}, {0, 4}), 56.0);
        QCOMPARE(afterLayers(two, 4, {20, 10}, {0, 0}), 80.0);
        QCOMPARE(afterLayers(PeerTimeline({{}, {8, 0}}), 4, {20, 10}, {0, 0}), 92.0);
        // Between two nodes it is two messages, or one over their own link.
        QCOMPARE(afterLayers(PeerTimeline({{}, {3, 0}, {3, 0}}), 4, {10, 10, 10}, {0, 0, 0}), 64.0);
        QCOMPARE(afterLayers(PeerTimeline({{}, {3, 0}, {3, 0}}, {{1, 2, {3, 0}}}), 4, {10, 10, 10}, {0, 0, 0}), 55.0);
        QCOMPARE(afterLayers(PeerTimeline({{}, {3, 0}, {3, 0}}, {{2, 1, {3, 0.5}}}), 4, {10, 10, 10}, {0, 0, 4}), 59.0);
    }
};

QTEST_GUILESS_MAIN(TestPeerParts)
#include "tst_peer_parts.moc"
