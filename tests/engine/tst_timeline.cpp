// Cases small enough to be worked out by hand.

#include <QTest>

#include "engine/device/timeline.h"

using namespace offstage::engine;
using Queue = DeviceEvent::Queue;

class TestTimeline : public QObject {
    Q_OBJECT

  private slots:
    void queue_works_off_in_order();
    void queues_work_side_by_side();
    void host_goes_on_beside_queues();
    void compute_waits_for_copy();
    void copy_waits_for_compute();
    void wait_for_past_event_takes_no_time();
    void entry_begins_when_submitted();
    void double_buffered_stream();
    void host_work_and_copy_share_memory();
    void host_work_shares_only_while_copy_runs();
    void host_work_beside_waiting_copy_is_undisturbed();
    void several_copies_end_within_one_host_work();
    void device_compute_is_not_disturbed();
    void chain_of_zero_work_happens_at_once();
    void old_times_are_forgotten();
    void untimed_events_have_no_time();
};

void TestTimeline::queue_works_off_in_order() {
    Timeline timeline;
    const DeviceEvent a = timeline.submit_timed(Queue::kCompute, 10);
    const DeviceEvent b = timeline.submit_timed(Queue::kCompute, 5);
    QVERIFY(!timeline.has_happened(a));
    QVERIFY(!timeline.time_of(a).has_value());
    timeline.wait(b);
    QCOMPARE(timeline.now_us(), 15.0);
    QCOMPARE(timeline.time_of(a).value(), 10.0);
    QCOMPARE(timeline.time_of(b).value(), 15.0);
}

void TestTimeline::queues_work_side_by_side() {
    Timeline timeline;
    const DeviceEvent compute = timeline.submit_timed(Queue::kCompute, 10);
    const DeviceEvent copy = timeline.submit_timed(Queue::kCopy, 25);
    timeline.wait(compute);
    QCOMPARE(timeline.now_us(), 10.0);
    timeline.wait(copy);
    QCOMPARE(timeline.now_us(), 25.0);
}

void TestTimeline::host_goes_on_beside_queues() {
    Timeline timeline;
    const DeviceEvent compute = timeline.submit_timed(Queue::kCompute, 10);
    timeline.advance_host(4);
    QVERIFY(!timeline.has_happened(compute));
    timeline.advance_host(8);
    QVERIFY(timeline.has_happened(compute));
    QCOMPARE(timeline.time_of(compute).value(), 10.0);
    QCOMPARE(timeline.now_us(), 12.0);
}

void TestTimeline::compute_waits_for_copy() {
    Timeline timeline;
    const DeviceEvent copy = timeline.submit_timed(Queue::kCopy, 30);
    timeline.submit(Queue::kCompute, 10);
    timeline.wait_in(Queue::kCompute, copy);
    const DeviceEvent compute = timeline.submit_timed(Queue::kCompute, 5);
    timeline.wait(compute);
    QCOMPARE(timeline.now_us(), 35.0);
}

void TestTimeline::copy_waits_for_compute() {
    Timeline timeline;
    const DeviceEvent compute = timeline.submit_timed(Queue::kCompute, 12);
    const DeviceEvent copy = timeline.submit_timed(Queue::kCopy, 3, compute);
    timeline.wait(copy);
    QCOMPARE(timeline.now_us(), 15.0);
}

void TestTimeline::wait_for_past_event_takes_no_time() {
    Timeline timeline;
    timeline.wait({});
    QCOMPARE(timeline.now_us(), 0.0);
    const DeviceEvent compute = timeline.submit(Queue::kCompute, 3);
    timeline.advance_host(10);
    timeline.wait(compute);
    QCOMPARE(timeline.now_us(), 10.0);
}

void TestTimeline::entry_begins_when_submitted() {
    Timeline timeline;
    timeline.advance_host(100);
    const DeviceEvent late = timeline.submit_timed(Queue::kCompute, 5);
    timeline.wait(late);
    QCOMPARE(timeline.now_us(), 105.0);
}

// Two slots, copies of 10, products of 4: after the first, a product ends 4 after each
// copy; a copy never waits for one. With products of 15 instead, the third copy waits for
// the first product, and products follow each other.
void TestTimeline::double_buffered_stream() {
    for (const auto& [product_us, total_us] : {std::pair{4.0, 4 * 10.0 + 4}, {15.0, 10 + 4 * 15.0}}) {
        Timeline timeline;
        DeviceEvent used[2];
        DeviceEvent last;
        for (int w = 0; w < 4; ++w) {
            const DeviceEvent copied = timeline.submit(Queue::kCopy, 10, used[w % 2]);
            timeline.wait_in(Queue::kCompute, copied);
            last = used[w % 2] = timeline.submit(Queue::kCompute, product_us);
        }
        timeline.wait(last);
        QCOMPARE(timeline.now_us(), total_us);
    }
}

// Alone both take 100; together at half speed.
void TestTimeline::host_work_and_copy_share_memory() {
    Timeline timeline;
    const DeviceEvent copy = timeline.submit_timed(Queue::kCopy, 100);
    QCOMPARE(timeline.host_work(100, 0.5), 200.0);
    QVERIFY(timeline.has_happened(copy));
    QCOMPARE(timeline.time_of(copy).value(), 200.0);
}

// Copy of 40 at half speed: 80, in which the host does 40 of its 100; the other 60 alone.
void TestTimeline::host_work_shares_only_while_copy_runs() {
    Timeline timeline;
    timeline.submit(Queue::kCopy, 40);
    QCOMPARE(timeline.host_work(100, 0.5), 140.0);

    // The reverse: host work of 30 takes 60 and leaves 70 of the copy's 100, which then
    // continues alone.
    const DeviceEvent copy = timeline.submit_timed(Queue::kCopy, 100);
    QCOMPARE(timeline.host_work(30, 0.5), 60.0);
    timeline.wait(copy);
    QCOMPARE(timeline.time_of(copy).value(), 140.0 + 60 + 70);
}

void TestTimeline::host_work_beside_waiting_copy_is_undisturbed() {
    Timeline timeline;
    const DeviceEvent compute = timeline.submit(Queue::kCompute, 50);
    const DeviceEvent copy = timeline.submit_timed(Queue::kCopy, 10, compute);
    // 50 alone, then 10 of the copy at a quarter of the speed: 40, in which the host does
    // 10; then 5 alone.
    QCOMPARE(timeline.host_work(65, 0.25), 50.0 + 40 + 5);
    QCOMPARE(timeline.time_of(copy).value(), 90.0);
}

void TestTimeline::several_copies_end_within_one_host_work() {
    Timeline timeline;
    const DeviceEvent a = timeline.submit_timed(Queue::kCopy, 8);
    const DeviceEvent b = timeline.submit_timed(Queue::kCopy, 16);
    QCOMPARE(timeline.host_work(100, 0.8), 100 + (8 + 16) / 0.8 * 0.2);
    QCOMPARE(timeline.time_of(a).value(), 10.0);
    QCOMPARE(timeline.time_of(b).value(), 30.0);
}

void TestTimeline::device_compute_is_not_disturbed() {
    Timeline timeline;
    const DeviceEvent compute = timeline.submit_timed(Queue::kCompute, 40);
    timeline.submit(Queue::kCopy, 100);
    timeline.host_work(100, 0.5);
    QCOMPARE(timeline.time_of(compute).value(), 40.0);
}

void TestTimeline::chain_of_zero_work_happens_at_once() {
    Timeline timeline;
    timeline.advance_host(3);
    const DeviceEvent a = timeline.submit_timed(Queue::kCompute, 0);
    const DeviceEvent b = timeline.submit_timed(Queue::kCopy, 0, a);
    const DeviceEvent c = timeline.submit_timed(Queue::kCompute, 0, b);
    QVERIFY(timeline.has_happened(c));
    QCOMPARE(timeline.time_of(c).value(), 3.0);

    // And when something holds the chain up, as soon as that has ended.
    const DeviceEvent d = timeline.submit_timed(Queue::kCopy, 7);
    const DeviceEvent e = timeline.submit_timed(Queue::kCompute, 0, d);
    const DeviceEvent f = timeline.submit_timed(Queue::kCopy, 0, e);
    QVERIFY(!timeline.has_happened(f));
    timeline.advance_host(7);
    QCOMPARE(timeline.time_of(f).value(), 10.0);
}

void TestTimeline::old_times_are_forgotten() {
    Timeline timeline;
    const DeviceEvent first = timeline.submit_timed(Queue::kCompute, 1);
    timeline.wait(first);
    QVERIFY(timeline.time_of(first).has_value());
    DeviceEvent second;
    for (std::uint64_t i = 0; i < Backend::kTimedEvents; ++i) {
        const DeviceEvent event = timeline.submit_timed(Queue::kCompute, 1);
        if (i == 0) second = event;
        timeline.wait(event);
    }
    QVERIFY(!timeline.time_of(first).has_value());
    QCOMPARE(timeline.time_of(second).value(), 2.0);
}

void TestTimeline::untimed_events_have_no_time() {
    Timeline timeline;
    const DeviceEvent event = timeline.submit(Queue::kCompute, 1);
    timeline.wait(event);
    QVERIFY(timeline.has_happened(event));
    QVERIFY(!timeline.time_of(event).has_value());
}

QTEST_GUILESS_MAIN(TestTimeline)
#include "tst_timeline.moc"
