#pragma once

#include <functional>
#include <stop_token>
#include <thread>

namespace offstage::cli {

// Ctrl+C as a request. After catch_interrupts() it no longer ends the program but is
// stored until it is cleared; a waiting read() returns with EINTR. `once`: another Ctrl+C
// a second later ends the program, as it does without this. Call it, and the next one, on
// the main thread, which gets the signals and, for their handler, a separate stack.
void catch_interrupts(bool once);
// The same, `once`, for the system's or `kill`'s request to end (SIGTERM).
void catch_terminations();
bool is_interrupted();
void clear_interrupt();

// Requests a stop as soon as Ctrl+C was pressed, while it exists.
class InterruptWatch {
  public:
    explicit InterruptWatch(std::stop_source& answer);

  private:
    std::jthread thread_;
};

inline constexpr int kStoppedStatus = 130;  // the status that shells show for a program ended by Ctrl+C
// Runs a measurement that Ctrl+C stops, and returns its exit status. For its Error
// (kCancelled), as while a model is loaded: prints the line `stopped`, and returns
// kStoppedStatus.
int run_until_interrupt(const std::function<int(const std::stop_token&)>& work,
                        const char* stopped = "Stopped by Ctrl+C before anything was measured.");

}  // namespace offstage::cli
