#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "engine/message.h"
#include "engine/run/plan_draft.h"
#include "engine/run/replan.h"

namespace offstage::engine {

// Plans beside the steps, one request after the other, on a thread with a lower priority
// than those that compute. All functions are called by one thread, the engine's.
class PlanningThread {
  public:
    PlanningThread() = default;
    ~PlanningThread();  // waits for the plan that is being made, and drops the others
    PlanningThread(const PlanningThread&) = delete;
    PlanningThread& operator=(const PlanningThread&) = delete;

    struct Job {
        std::uint64_t id = 0;  // of a re-plan
        PreviewFn preview;     // empty: a re-plan
        ReplanRequest request;
        PlanDraft draft;
    };
    struct Result {
        std::uint64_t id = 0;
        PreviewFn preview;
        std::optional<Plan> plan;                // of a re-plan
        std::optional<ReplanPreview> previewed;  // of a preview
        Message problem;                         // a sentence, where neither is there
    };
    void start(Job job);
    bool busy() const { return under_way_ > 0; }  // a result is not fetched yet
    std::optional<Result> poll();                 // in the order of the jobs
    void wait(const std::stop_token& stop);  // until poll() has something to give, or a stop; at once when not busy

  private:
    void work(const std::stop_token& ends);

    std::int64_t under_way_ = 0;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::deque<Job> jobs_;
    std::deque<Result> results_;
    std::jthread thread_;  // the last member: it uses the others
};

}  // namespace offstage::engine
