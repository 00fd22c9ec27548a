#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <QTest>

#include "kernels/short_turns.h"
#include "kernels/thread_pool.h"

using offstage::kernels::ask_for_short_turns;
using offstage::kernels::ThreadPool;
using offstage::kernels::turn_ns;

class TestThreadPool : public QObject {
    Q_OBJECT

  private slots:
    void n_threads_is_positive_when_not_given();
    void n_threads_not_given_areTheEnvironmentsWhereItSays();
    void runs_each_thread_once_in_many_rounds_data();
    void runs_each_thread_once_in_many_rounds();
    void results_are_visible_to_the_caller_after_run();
    void parallel_for_covers_the_range_once_data();
    void parallel_for_covers_the_range_once();
    void parallel_dynamic_takes_each_piece_once_data();
    void parallel_dynamic_takes_each_piece_once();
    void wakes_up_after_it_fell_asleep();
    void ends_while_idle_or_asleep_or_unused();
    void two_pools_work_side_by_side_on_the_same_cores();
    void stays_usable_when_cores_are_oversubscribed();
    void caller_may_change_between_runs();
    void workers_askForShortTurns_callersKeepTheirs();
    void shortTurns_leaveNice();
};

namespace {

void add_thread_rows() {
    QTest::addColumn<int>("n_threads");
    for (const int n : {1, 2, 3, 8}) QTest::addRow("%d threads", n) << n;
}

}  // namespace

void TestThreadPool::n_threads_is_positive_when_not_given() {
    QVERIFY(ThreadPool().n_threads() >= 1);
    QVERIFY(ThreadPool(-3).n_threads() >= 1);
    QCOMPARE(ThreadPool(3).n_threads(), 3);
}

void TestThreadPool::n_threads_not_given_areTheEnvironmentsWhereItSays() {
    const QByteArray before = qgetenv("OFFSTAGE_THREADS");
    qunsetenv("OFFSTAGE_THREADS");
    const int of_machine = ThreadPool::threads_for(0);
    qputenv("OFFSTAGE_THREADS", "5");
    const int of_environment = ThreadPool::threads_for(0);
    const int given = ThreadPool::threads_for(3);
    qputenv("OFFSTAGE_THREADS", "many");
    const int of_no_number = ThreadPool::threads_for(0);
    before.isNull() ? qunsetenv("OFFSTAGE_THREADS") : qputenv("OFFSTAGE_THREADS", before);
    QCOMPARE(of_environment, 5);
    QCOMPARE(given, 3);
    QCOMPARE(of_no_number, of_machine);
}

void TestThreadPool::runs_each_thread_once_in_many_rounds_data() {
    add_thread_rows();
}

void TestThreadPool::runs_each_thread_once_in_many_rounds() {
    QFETCH(int, n_threads);
    ThreadPool pool(n_threads);
    std::vector<int> calls(static_cast<std::size_t>(n_threads), 0);  // plain: a race would also be TSan's to find
    for (int round = 1; round <= 2000; ++round) {
        pool.run([&](int thread) { ++calls[static_cast<std::size_t>(thread)]; });
        QCOMPARE(std::count(calls.begin(), calls.end(), round), n_threads);
    }
}

void TestThreadPool::results_are_visible_to_the_caller_after_run() {
    ThreadPool pool(4);
    const auto caller = std::this_thread::get_id();
    std::vector<std::thread::id> ids(4);
    pool.run([&](int thread) { ids[static_cast<std::size_t>(thread)] = std::this_thread::get_id(); });
    QVERIFY2(ids[0] == caller, "the caller must be thread 0");
    std::sort(ids.begin(), ids.end());
    QVERIFY2(std::adjacent_find(ids.begin(), ids.end()) == ids.end(), "each piece must have a thread of its own");
}

void TestThreadPool::parallel_for_covers_the_range_once_data() {
    QTest::addColumn<int>("n_threads");
    QTest::addColumn<int>("n");
    QTest::addColumn<int>("grain");
    for (const int threads : {1, 2, 5}) {
        for (const int n : {0, 1, 7, 64, 1000}) {
            for (const int grain : {1, 3, 64}) QTest::addRow("%d/%d/%d", threads, n, grain) << threads << n << grain;
        }
    }
}

void TestThreadPool::parallel_for_covers_the_range_once() {
    QFETCH(int, n_threads);
    QFETCH(int, n);
    QFETCH(int, grain);
    ThreadPool pool(n_threads);
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(n));
    std::atomic<int> misplaced{0};
    pool.parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end, int thread) {
        if (thread < 0 || thread >= n_threads || begin % grain != 0 || (end % grain != 0 && end != n)) ++misplaced;
        for (std::int64_t i = begin; i < end; ++i) ++calls[static_cast<std::size_t>(i)];
    });
    QCOMPARE(misplaced.load(), 0);
    QVERIFY(std::all_of(calls.begin(), calls.end(), [](const auto& count) { return count == 1; }));
}

void TestThreadPool::parallel_dynamic_takes_each_piece_once_data() {
    add_thread_rows();
}

void TestThreadPool::parallel_dynamic_takes_each_piece_once() {
    QFETCH(int, n_threads);
    ThreadPool pool(n_threads);
    for (const int n : {0, 1, 2, 97}) {
        std::vector<std::atomic<int>> calls(static_cast<std::size_t>(n));
        pool.parallel_dynamic(n, [&](std::int64_t i, int) { ++calls[static_cast<std::size_t>(i)]; });
        QVERIFY(std::all_of(calls.begin(), calls.end(), [](const auto& count) { return count == 1; }));
    }
}

// Gaps around and beyond the spinning time: each kind of wait must find the next
// operation.
void TestThreadPool::wakes_up_after_it_fell_asleep() {
    ThreadPool pool(3);
    std::atomic<int> calls{0};
    int expected = 0;
    for (int round = 0; round < 60; ++round) {
        const auto gap = std::chrono::microseconds(round % 6 * 40);
        const auto start = std::chrono::steady_clock::now();
        while (std::chrono::steady_clock::now() - start < gap) std::this_thread::yield();
        pool.run([&](int thread) {
            if (thread == 2) std::this_thread::sleep_for(gap);  // so that the caller sleeps too
            ++calls;
        });
        expected += 3;
        QCOMPARE(calls.load(), expected);
    }
}

void TestThreadPool::ends_while_idle_or_asleep_or_unused() {
    for (int round = 0; round < 50; ++round) {
        ThreadPool unused(4);
        auto used = std::make_unique<ThreadPool>(4);
        std::atomic<int> calls{0};
        used->run([&](int) { ++calls; });
        if (round % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        used.reset();
        QCOMPARE(calls.load(), 4);
    }
}

void TestThreadPool::two_pools_work_side_by_side_on_the_same_cores() {
    std::atomic<int> calls{0};
    const auto work = [&] {
        ThreadPool pool(3);
        for (int round = 0; round < 500; ++round) pool.run([&](int) { ++calls; });
    };
    std::thread other(work);
    work();
    other.join();
    QCOMPARE(calls.load(), 2 * 500 * 3);
}

void TestThreadPool::stays_usable_when_cores_are_oversubscribed() {
    std::atomic<bool> stop{false};
    std::vector<std::thread> load;
    const unsigned n_load = 2 * std::max(1u, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < n_load; ++i) {
        load.emplace_back([&] {
            while (!stop.load(std::memory_order_relaxed)) {
            }
        });
    }
    std::atomic<int> calls{0};
    {
        ThreadPool pool(4);
        const auto start = std::chrono::steady_clock::now();
        for (int round = 0; round < 50; ++round) pool.run([&](int) { ++calls; });
        const auto taken = std::chrono::steady_clock::now() - start;
        // Reported, not judged. A scheduler's time slice is a few milliseconds; a pool
        // that spun without end would need one for each thread and round.
        qInfo("%.2f ms per operation", std::chrono::duration<double, std::milli>(taken).count() / 50);
    }
    stop = true;
    for (std::thread& thread : load) thread.join();
    QCOMPARE(calls.load(), 50 * 4);
}

void TestThreadPool::caller_may_change_between_runs() {
    ThreadPool pool(2);
    std::atomic<int> calls{0};
    pool.run([&](int) { ++calls; });
    std::thread([&] { pool.run([&](int) { ++calls; }); }).join();
    pool.run([&](int) { ++calls; });
    QCOMPARE(calls.load(), 6);
}

void TestThreadPool::workers_askForShortTurns_callersKeepTheirs() {
    const std::uint64_t before = turn_ns();
    if (before == 0) QSKIP("This system does not tell how long a thread's turns are (Linux before 6.12).");
    ThreadPool pool(3);
    std::vector<std::uint64_t> turns(3);
    pool.run([&](int thread) { turns[static_cast<std::size_t>(thread)] = turn_ns(); });
    QCOMPARE(turns[0], before);
    QCOMPARE(turns[1], 400'000u);
    QCOMPARE(turns[2], 400'000u);
}

void TestThreadPool::shortTurns_leaveNice() {
    int nice_then = 0;
    std::uint64_t turns = 0;
    std::thread([&] {
        const auto thread = static_cast<id_t>(gettid());  // on Linux a nice value is a thread's
        setpriority(PRIO_PROCESS, thread, 7);
        ask_for_short_turns();
        nice_then = getpriority(PRIO_PROCESS, thread);
        turns = turn_ns();
    }).join();
    if (turns == 0) QSKIP("This system does not tell how long a thread's turns are (Linux before 6.12).");
    QCOMPARE(nice_then, 7);
    QCOMPARE(turns, 400'000u);
}

QTEST_GUILESS_MAIN(TestThreadPool)
#include "tst_thread_pool.moc"
