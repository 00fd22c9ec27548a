#include "kernels/thread_pool.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdlib>
#include <pthread.h>
#include <sched.h>
#include <system_error>
#include <thread>
#include <vector>

#include "kernels/short_turns.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace offstage::kernels {

namespace {

using Clock = std::chrono::steady_clock;

// The time that a thread stays awake for the next operation. During the first part it
// keeps the core (a token's next operation usually follows within it). During the second
// part it yields the core on every turn, so that a machine with more runnable threads
// than cores loses no time slices to waiting threads.
constexpr auto kHoldCore = std::chrono::microseconds(20);
constexpr auto kOfferCore = std::chrono::microseconds(50);

void pause_core() {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

// Returns true as soon as done() does, false when the spinning time is over.
template <typename Condition>
bool spin_until(const Condition& done) {
    if (done()) return true;
    const auto start = Clock::now();
    for (;;) {
        for (int i = 0; i < 32; ++i) {
            if (done()) return true;
            pause_core();
        }
        const auto waited = Clock::now() - start;
        if (waited > kOfferCore) return done();
        if (waited > kHoldCore) std::this_thread::yield();
    }
}

std::vector<int> allowed_cores() {
    std::vector<int> cores;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        for (int core = 0; core < CPU_SETSIZE; ++core) {
            if (CPU_ISSET(core, &set)) cores.push_back(core);
        }
    }
    return cores;
}

// A refused pinning costs some speed, nothing else.
bool pin_to_core(std::thread& thread, int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    return pthread_setaffinity_np(thread.native_handle(), sizeof set, &set) == 0;
}

}  // namespace

// An operation is published by writing `piece` and `context` and then raising `epoch`
// (release); a worker that sees the new epoch (acquire) sees them too. Workers count
// `remaining` down (release); the caller that reads 0 (acquire) sees everything that the
// pieces wrote. It may then overwrite `piece`, because no worker reads it again before
// the next epoch. `epoch` and `remaining` are int, the type that std::atomic::wait passes
// directly to a futex. They lie on separate cache lines: some workers poll one while
// others count down the other.
struct ThreadPool::State {
    ErasedPiece piece = nullptr;
    const void* context = nullptr;
    bool stopping = false;  // published like `piece`
    alignas(64) std::atomic<int> epoch{0};
    alignas(64) std::atomic<int> remaining{0};
    alignas(64) std::vector<std::thread> workers;
    struct alignas(64) Counter {
        std::atomic<std::int64_t> value{0};
    };
    std::unique_ptr<Counter[]> next_pieces;  // one for each thread
    // The cores of pinned workers; empty: none is pinned. The caller's thread runs where
    // the system puts it. In a virtual machine that may be a worker's core for many
    // milliseconds, though others are idle.
    std::vector<int> core_of;      // by worker
    std::vector<int> spare_cores;  // without a pinned worker; at least one

    // A worker on the caller's core exchanges it for a spare one.
    void leave_callers_core() {
        if (core_of.empty()) return;
        const int core = sched_getcpu();
        const auto found = std::find(core_of.begin(), core_of.end(), core);
        if (found == core_of.end()) return;
        std::thread& worker = workers[static_cast<std::size_t>(found - core_of.begin())];
        if (pin_to_core(worker, spare_cores.front())) std::swap(*found, spare_cores.front());
    }

    void work(int thread) {
        int seen = 0;
        for (;;) {
            const auto called = [&] { return epoch.load(std::memory_order_acquire) != seen; };
            if (!spin_until(called)) {
                while (!called()) epoch.wait(seen, std::memory_order_acquire);
            }
            // One operation at a time. It ends only when every worker has counted down,
            // so no worker skips an epoch.
            seen = static_cast<int>(static_cast<unsigned>(seen) + 1u);  // wraps, as the atomic does
            if (stopping) return;
            piece(context, thread);
            if (remaining.fetch_sub(1, std::memory_order_acq_rel) == 1) remaining.notify_one();
        }
    }

    void publish() {
        epoch.fetch_add(1, std::memory_order_release);
        epoch.notify_all();
    }
};

int ThreadPool::threads_for(int n_threads) {
    if (n_threads > 0) return n_threads;
    if (const char* wanted = std::getenv("OFFSTAGE_THREADS")) {
        const int n = std::atoi(wanted);
        if (n > 0 && n <= 1024) return n;
    }
    const std::size_t n_cores = allowed_cores().size();
    return std::max(1, n_cores > 0 ? static_cast<int>(n_cores) : static_cast<int>(std::thread::hardware_concurrency()));
}

ThreadPool::ThreadPool(int n_threads) : state_(std::make_unique<State>()) {
    const std::vector<int> cores = allowed_cores();
    n_threads = threads_for(n_threads);
    state_->workers.reserve(static_cast<std::size_t>(n_threads - 1));
    state_->next_pieces = std::make_unique<State::Counter[]>(static_cast<std::size_t>(n_threads));
    for (int thread = 1; thread < n_threads; ++thread) {
        try {
            state_->workers.emplace_back([state = state_.get(), thread] {
                ask_for_short_turns();
                state->work(thread);
            });
        } catch (const std::system_error&) {
            break;  // the system refuses more threads: run on those that started
        }
    }
    // With more threads than cores, the scheduler places them better than we can.
    const std::size_t n_workers = state_->workers.size();
    if (n_workers == 0 || n_workers >= cores.size()) return;
    for (std::size_t worker = 0; worker < n_workers; ++worker) {
        if (!pin_to_core(state_->workers[worker], cores[worker + 1])) return;
    }
    state_->core_of.assign(cores.begin() + 1, cores.begin() + 1 + static_cast<std::ptrdiff_t>(n_workers));
    state_->spare_cores.assign(cores.begin() + 1 + static_cast<std::ptrdiff_t>(n_workers), cores.end());
    state_->spare_cores.push_back(cores.front());
}

ThreadPool::~ThreadPool() {
    state_->stopping = true;
    state_->publish();
    for (std::thread& worker : state_->workers) worker.join();
}

int ThreadPool::n_threads() const {
    return static_cast<int>(state_->workers.size()) + 1;
}

std::atomic<std::int64_t>& ThreadPool::next_piece(std::int64_t stretch) {
    return state_->next_pieces[static_cast<std::size_t>(stretch)].value;
}

void ThreadPool::run_erased(ErasedPiece piece, const void* context) {
    State& state = *state_;
    if (state.workers.empty()) {
        piece(context, 0);
        return;
    }
    assert(state.remaining.load(std::memory_order_relaxed) == 0 && "run() is neither reentrant nor concurrent");
    state.leave_callers_core();
    state.piece = piece;
    state.context = context;
    state.remaining.store(static_cast<int>(state.workers.size()), std::memory_order_relaxed);
    state.publish();
    piece(context, 0);
    if (spin_until([&] { return state.remaining.load(std::memory_order_acquire) == 0; })) return;
    int left = state.remaining.load(std::memory_order_acquire);
    while (left != 0) {
        state.remaining.wait(left, std::memory_order_acquire);
        left = state.remaining.load(std::memory_order_acquire);
    }
}

}  // namespace offstage::kernels
