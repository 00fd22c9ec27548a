#pragma once

#include <functional>
#include <stop_token>
#include <thread>

namespace offstage::cli {

// Ctrl+C as a request. After catch_interrupts() it no longer ends the program but is kept until it is cleared; a read()
// that waits returns with EINTR. `once`: the second Ctrl+C ends the program, as it does without this. Call it, and the
// next one, on the main thread, which gets the signals and, for their handler, a stack of its own.
void catch_interrupts(bool once);
// The same of the request to end that the system or `kill` sends (SIGTERM); the second one
// ends the program.
void catch_terminations();
bool is_interrupted();
void clear_interrupt();

// Asks for a stop as soon as Ctrl+C was pressed, for as long as it lives.
class InterruptWatch {
  public:
    explicit InterruptWatch(std::stop_source& answer);

  private:
    std::jthread thread_;
};

inline constexpr int kStoppedStatus = 130;  // what a shell shows for a program that Ctrl+C ended
// Runs a measurement that Ctrl+C stops, and returns its exit status. Error (kCancelled) of it, as while a model is
// loaded: a line that says so, and kStoppedStatus.
int run_until_interrupt(const std::function<int(const std::stop_token&)>& work);

}  // namespace offstage::cli
