#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace offstage::engine {

// Plans beside the steps, one after the other, on a thread with a lower priority than
// those that compute. All functions are called by one thread, the engine's.
class PlanningThread {
  public:
    PlanningThread() = default;
    ~PlanningThread();  // waits for the plan that is being made, and drops the others
    PlanningThread(const PlanningThread&) = delete;
    PlanningThread& operator=(const PlanningThread&) = delete;

    // Runs on the planning thread, and must not throw; what it returns is done with the
    // plan on the engine's thread.
    using Plan = std::function<std::function<void()>()>;
    void start(Plan plan);
    bool busy() const { return under_way_ > 0; }  // a plan is not finished yet
    // Does what the next plan that was made returned, in the order of start(); false:
    // there is none.
    bool finish_next();
    void wait(const std::stop_token& stop);  // until finish_next() has a plan, or a stop; at once when not busy

  private:
    void work(const std::stop_token& ends);

    std::int64_t under_way_ = 0;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Plan> plans_;
    std::deque<std::function<void()>> made_;
    std::jthread thread_;  // the last member: it uses the others
};

}  // namespace offstage::engine
