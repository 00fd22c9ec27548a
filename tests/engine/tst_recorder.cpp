// The rings of layer events: bounded, and right about their contents.

#include <QtTest>

#include "engine/telemetry/recorder.h"

using namespace offstage::engine;

class TestRecorder : public QObject {
    Q_OBJECT

  private Q_SLOTS:
    void totals_countTokensByWhereTheyRan() {
        Recorder recorder;
        recorder.reshape(1, 3);
        LayerEvent event;
        event.step = 4;
        event.bytes_copied = 100;
        event.gpu_us = 2;
        event.guessed_copies = 4;
        event.used_guesses = 3;
        event.admissions = 2;
        event.sparse_copies = 1;
        event.copy_bytes_saved = 60;
        event.loading = {40, 10, 8};
        const AssignmentEvent assignments[] = {{0, 0, 0, 0, 3}, {1, 1, 1, 0, 2}, {2, 2, 1, 0, 5}};
        LayerEvent prompt;
        prompt.is_prefill = 1;
        prompt.loading = {100, 100, 100};
        recorder.record(prompt, nullptr, 0);
        recorder.record(event, assignments, 3);
        recorder.add_step(12.5, true);
        recorder.add_step(7.5, false);
        const DispatchTotals& totals = recorder.totals();
        QCOMPARE(totals.expert_calls, std::uint64_t{3});
        QCOMPARE(totals.resident_calls, std::uint64_t{1});
        QCOMPARE(totals.copied_calls, std::uint64_t{1});
        QCOMPARE(totals.cpu_calls, std::uint64_t{1});
        QCOMPARE(totals.hit_rate(), 0.3);
        QCOMPARE(totals.bytes_copied, std::uint64_t{100});
        QCOMPARE(totals.guessed_copies, std::uint64_t{4});
        QCOMPARE(totals.used_guesses, std::uint64_t{3});
        QCOMPARE(totals.admissions, std::uint64_t{2});
        QCOMPARE(totals.sparse_copies, std::uint64_t{1});
        QCOMPARE(totals.copy_bytes_saved, std::uint64_t{60});
        QCOMPARE(totals.loading.hidden_computing(), 0.8);  // of what was decoded alone
        QCOMPARE(totals.loading.hidden_loading(), 0.2);
        QCOMPARE(LoadingTimes{}.hidden_computing(), 0.0);
        QCOMPARE(totals.steps, std::uint64_t{2});
        QCOMPARE(totals.decode_steps, std::uint64_t{1});
        QCOMPARE(totals.steps_us, 20.0);
        std::vector<ExpertUse> uses;
        QCOMPARE(recorder.uses(uses), std::uint64_t{4});
        QCOMPARE(uses.size(), std::size_t{3});
        QCOMPARE(uses[0].resident_tokens, std::uint64_t{3});
        QCOMPARE(uses[2].tokens, std::uint64_t{5});
        QCOMPARE(uses[2].resident_tokens, std::uint64_t{0});
        QCOMPARE(uses[2].last_step, std::uint64_t{4});
        recorder.reset_totals();
        QCOMPARE(recorder.all_totals().routed_tokens, std::uint64_t{10});
        QCOMPARE(recorder.all_totals().copy_bytes_saved, std::uint64_t{60});
        QCOMPARE(recorder.totals().expert_calls, std::uint64_t{0});
        QCOMPARE(recorder.totals().hit_rate(), 0.0);
        QCOMPARE(recorder.n_events(), std::uint64_t{2});
    }

    void rings_keepTheLast() {
        Recorder recorder;
        const std::uint64_t n = Recorder::kEvents + 1000;
        std::vector<AssignmentEvent> assignments(16);
        for (std::uint64_t i = 0; i < n; ++i) {
            LayerEvent event;
            event.step = i;
            for (std::size_t a = 0; a < assignments.size(); ++a) {
                assignments[a] = {static_cast<std::uint16_t>(a), 0, 0, 0, static_cast<std::uint32_t>(i)};
            }
            recorder.record(event, assignments.data(), assignments.size());
        }
        QCOMPARE(recorder.n_events(), n);
        QCOMPARE(recorder.event(n - 1).step, n - 1);
        QCOMPARE(recorder.event(n - Recorder::kEvents).step, n - Recorder::kEvents);
        // 16 assignments each: the ring of assignments is the shorter one.
        const std::uint64_t kept = Recorder::kAssignments / 16;
        QVERIFY(recorder.has_assignments(n - 1));
        QVERIFY(recorder.has_assignments(n - kept));
        QVERIFY(!recorder.has_assignments(n - kept - 1));
        QVERIFY(!recorder.has_assignments(n));
        QCOMPARE(recorder.assignment(n - kept, 15).n_tokens, static_cast<std::uint32_t>(n - kept));
        QCOMPARE(recorder.assignment(n - 1, 3).expert, std::uint16_t{3});
        const LayerEvents last = recorder.copy(n - 5);
        QCOMPARE(last.first, n - 5);
        QCOMPARE(last.events.size(), std::size_t{5});
        QCOMPARE(last.assignments.size(), std::size_t{5 * 16});
        QCOMPARE(last.assignments[last.events[4].first_assignment + 3].expert, std::uint16_t{3});
        QCOMPARE(last.events[4].step, recorder.last_step());
        // A request for older events than are stored begins at the oldest one; the older
        // assignments are gone.
        const LayerEvents oldest = recorder.copy(0);
        QCOMPARE(oldest.first, n - Recorder::kEvents);
        QCOMPARE(oldest.events.size(), Recorder::kCopiedAtOnce);
        QCOMPARE(oldest.events.front().step, n - Recorder::kEvents);
        QCOMPARE(oldest.events.front().n_assignments, std::uint16_t{0});
        QVERIFY(recorder.copy(n).events.empty());
        QVERIFY(recorder.copy(n + 7).events.empty());
    }
};

QTEST_GUILESS_MAIN(TestRecorder)
#include "tst_recorder.moc"
