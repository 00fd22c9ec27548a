#include "engine/run/planning_thread.h"

#include <utility>

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

}  // namespace

PlanningThread::~PlanningThread() {
    thread_.request_stop();
    changed_.notify_all();
}

void PlanningThread::start(Plan plan) {
    ++under_way_;
    {
        const std::lock_guard lock(mutex_);
        plans_.push_back(std::move(plan));
    }
    if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& ends) { work(ends); });
    changed_.notify_all();
}

bool PlanningThread::finish_next() {
    if (under_way_ == 0) return false;
    std::function<void()> finish;
    {
        const std::lock_guard lock(mutex_);
        if (made_.empty()) return false;
        finish = std::move(made_.front());
        made_.pop_front();
    }
    --under_way_;
    finish();
    return true;
}

void PlanningThread::wait(const std::stop_token& stop) {
    if (under_way_ == 0) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [&] { return !made_.empty(); });
}

void PlanningThread::work(const std::stop_token& ends) {
    give_way();
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, ends, [&] { return !plans_.empty(); })) {
        if (ends.stop_requested()) return;
        std::function<void()> finish;
        {
            const Plan plan = std::move(plans_.front());
            plans_.pop_front();
            lock.unlock();
            finish = plan();
        }
        lock.lock();
        made_.push_back(std::move(finish));
        changed_.notify_all();
    }
}

}  // namespace offstage::engine
