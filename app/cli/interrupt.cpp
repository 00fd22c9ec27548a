#include "app/cli/interrupt.h"

#include <chrono>
#include <csignal>

namespace offstage::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;  // the one thing that a signal handler may set

void on_interrupt(int) {
    interrupted = 1;
}

}  // namespace

void catch_interrupts(bool once) {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    if (once) action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);  // no SA_RESTART: a waiting read() returns
}

void catch_terminations() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGTERM, &action, nullptr);
}

bool is_interrupted() {
    return interrupted != 0;
}

void clear_interrupt() {
    interrupted = 0;
}

InterruptWatch::InterruptWatch(std::stop_source& answer)
    : thread_([&answer](const std::stop_token& end) {
          while (!end.stop_requested()) {
              if (is_interrupted()) answer.request_stop();
              std::this_thread::sleep_for(std::chrono::milliseconds(10));
          }
      }) {}

}  // namespace offstage::cli
