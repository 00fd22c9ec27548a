#include "app/cli/interrupt.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iostream>

#include "engine/error.h"

namespace offstage::cli {
namespace {

// Set by a signal handler, which may change nothing else, and read by threads.
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void on_interrupt(int) {
    interrupted = true;
}

std::int64_t clock_ms() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1000 + time.tv_nsec / 1'000'000;
}

// The second one ends the program, unless it comes at once: programs like timeout(1) send
// a signal to the process and to its group.
void on_only_interrupt(int signal) {
    constexpr std::int64_t kSameMs = 1000;
    static std::atomic<std::int64_t> first_ms = 0;
    static_assert(std::atomic<std::int64_t>::is_always_lock_free);
    if (!interrupted.exchange(true)) {
        first_ms = clock_ms();
    } else if (clock_ms() - first_ms > kSameMs) {
        std::signal(signal, SIG_DFL);
        std::raise(signal);  // it is delivered when this handler returns
    }
}

// Gives the handler a separate stack, on the calling thread. oneDNN's float32 product
// uses the stack pointer for memory of the heap: a handler that runs on the thread's own
// stack at that moment overwrites the memory below, and the program ends later with
// "corrupted size vs. prev_size".
void set_handler_stack() {
    constexpr std::size_t kBytes = std::size_t{64} << 10;  // more than the registers of AVX-512 and AMX take
    alignas(16) static std::byte memory[kBytes];
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = kBytes;
    sigaltstack(&stack, nullptr);
}

struct sigaction interrupt_action(bool once) {
    set_handler_stack();
    struct sigaction action {};
    action.sa_handler = once ? on_only_interrupt : on_interrupt;
    action.sa_flags = static_cast<int>(SA_ONSTACK);
    return action;
}

}  // namespace

void catch_interrupts(bool once) {
    const struct sigaction action = interrupt_action(once);
    sigaction(SIGINT, &action, nullptr);  // no SA_RESTART: a waiting read() returns
}

void catch_terminations() {
    const struct sigaction action = interrupt_action(true);
    sigaction(SIGTERM, &action, nullptr);
}

bool is_interrupted() {
    return interrupted;
}

void clear_interrupt() {
    interrupted = false;
}

InterruptWatch::InterruptWatch(std::stop_source& answer)
    : thread_([&answer](const std::stop_token& end) {
          while (!end.stop_requested()) {
              if (is_interrupted()) answer.request_stop();
              std::this_thread::sleep_for(std::chrono::milliseconds(10));
          }
      }) {}

int run_until_interrupt(const std::function<int(const std::stop_token&)>& work, const char* stopped) {
    std::stop_source stop;
    const InterruptWatch watch(stop);
    catch_interrupts(true);
    try {
        return work(stop.get_token());
    } catch (const engine::Error& error) {
        if (error.kind() != engine::ErrorKind::kCancelled) throw;
        std::cerr << stopped << std::endl;
        return kStoppedStatus;
    }
}

}  // namespace offstage::cli
