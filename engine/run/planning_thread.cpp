#include "engine/run/planning_thread.h"

#include <exception>
#include <utility>

#include "engine/error.h"
#ifdef __linux__
#include <sys/resource.h>
#include <unistd.h>
#endif

namespace offstage::engine {
namespace {

void give_way() {
#ifdef __linux__
    // A third of a computing thread's share where both need one core: a plan is awaited,
    // but less urgent than a token.
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 5);  // refused: it runs as others do
#endif
}

PlanningThread::Result result_of(PlanningThread::Job job) {
    PlanningThread::Result result;
    result.id = job.id;
    try {
        if (job.preview) {
            result.previewed = job.draft.preview(job.request);
        } else {
            result.plan = job.draft.plan(job.request);
        }
    } catch (const std::exception& error) {
        result.problem = message_of(error);
    }
    result.preview = std::move(job.preview);
    return result;
}

}  // namespace

PlanningThread::~PlanningThread() {
    thread_.request_stop();
    changed_.notify_all();
}

void PlanningThread::start(Job job) {
    ++under_way_;
    {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
    }
    if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& ends) { work(ends); });
    changed_.notify_all();
}

std::optional<PlanningThread::Result> PlanningThread::poll() {
    if (under_way_ == 0) return std::nullopt;
    const std::lock_guard lock(mutex_);
    if (results_.empty()) return std::nullopt;
    Result result = std::move(results_.front());
    results_.pop_front();
    --under_way_;
    return result;
}

void PlanningThread::wait(const std::stop_token& stop) {
    if (under_way_ == 0) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return !results_.empty(); });
}

void PlanningThread::work(const std::stop_token& ends) {
    give_way();
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, ends, [&] { return !jobs_.empty(); })) {
        if (ends.stop_requested()) return;
        Job job = std::move(jobs_.front());
        jobs_.pop_front();
        lock.unlock();
        Result result = result_of(std::move(job));
        lock.lock();
        results_.push_back(std::move(result));
        changed_.notify_all();
    }
}

}  // namespace offstage::engine
