#include <numeric>
#include <thread>

#include <QtTest>

#include "engine/telemetry/routing_recorder.h"
#include "engine/telemetry/snapshot_board.h"

using namespace offstage::engine;

namespace {

// Token t uses experts t % 4 and (t + 1) % 4 in layer 0, (t + 2) % 4 and (t + 3) % 4 in
// layer 1.
std::vector<std::int32_t> routing(int first, int n) {
    std::vector<std::int32_t> experts;
    for (int t = first; t < first + n; ++t) {
        for (int i = 0; i < 4; ++i) experts.push_back((t + i) % 4);
    }
    return experts;
}

Snapshot snapshotOf(const RoutingRecorder& recorder) {
    Snapshot snapshot;
    recorder.fill(snapshot);
    return snapshot;
}

template <typename Counts>
std::uint64_t sum(const Counts& counts) {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

}  // namespace

class TestRoutingRecorder : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void counts_fewTokens_areInWindowAndConversation() {
        RoutingRecorder recorder(2, 4, 2);
        recorder.record(routing(0, 3), 3);
        const Snapshot s = snapshotOf(recorder);
        QCOMPARE(s.window_counts, (std::vector<std::uint32_t>{1, 2, 2, 1, 2, 1, 1, 2}));
        QCOMPARE(s.conversation_counts, (std::vector<std::uint64_t>{1, 2, 2, 1, 2, 1, 1, 2}));
        QCOMPARE(s.window_tokens, 3);
        QCOMPARE(s.conversation_tokens, 3);
    }

    void window_forgetsTokensOlderThan64_inStepsOf_data() {
        QTest::addColumn<int>("step");
        for (const int step : {1, 5, 64, 200}) QTest::addRow("%d", step) << step;
    }
    void window_forgetsTokensOlderThan64_inStepsOf() {
        QFETCH(int, step);
        RoutingRecorder recorder(2, 4, 2);
        for (int t = 0; t < 200; t += step)
            recorder.record(routing(t, std::min(step, 200 - t)), std::min(step, 200 - t));
        RoutingRecorder last64(2, 4, 2);
        last64.record(routing(136, 64), 64);
        const Snapshot s = snapshotOf(recorder);
        QCOMPARE(s.window_counts, snapshotOf(last64).window_counts);
        QCOMPARE(s.window_tokens, kRoutingWindow);
        QCOMPARE(s.conversation_tokens, 200);
        QCOMPARE(sum(s.window_counts), std::uint64_t(64 * 2 * 2));
        QCOMPARE(sum(s.conversation_counts), std::uint64_t(200 * 2 * 2));
    }

    void reset_clearsCountsAndRaisesRevision() {
        RoutingRecorder recorder(2, 4, 2);
        recorder.record(routing(0, 70), 70);
        const Snapshot before = snapshotOf(recorder);
        recorder.reset();
        const Snapshot after = snapshotOf(recorder);
        QVERIFY(after.revision > before.revision);
        QCOMPARE(sum(after.window_counts) + sum(after.conversation_counts), std::uint64_t(0));
        recorder.record(routing(0, 1), 1);
        QCOMPARE(sum(snapshotOf(recorder).window_counts), std::uint64_t(4));
    }

    void board_whileRecording_showsWholeSnapshots() {
        SnapshotBoard board;
        QCOMPARE(board.latest().n_layers, 0);
        std::jthread writer([&](const std::stop_token& stop) {
            RoutingRecorder recorder(2, 4, 2);
            for (int t = 0; !stop.stop_requested(); ++t) {
                recorder.record(routing(t, 1), 1);
                board.publish(snapshotOf(recorder));
            }
        });
        std::uint64_t last = 0;
        for (int i = 0; i < 2000; ++i) {
            const Snapshot s = board.latest();
            QCOMPARE(sum(s.window_counts), static_cast<std::uint64_t>(s.window_tokens * 4));
            QCOMPARE(sum(s.conversation_counts), static_cast<std::uint64_t>(s.conversation_tokens * 4));
            QVERIFY(s.revision >= last);
            last = s.revision;
        }
    }
};

QTEST_GUILESS_MAIN(TestRoutingRecorder)
#include "tst_routing_recorder.moc"
