#include "engine/experts/expert_packer.h"

#include <cassert>
#include <exception>
#include <utility>
#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

#include "engine/error.h"
#include "engine/experts/interleave_expert.h"

namespace offstage::engine {
namespace {

#ifdef __linux__
// If refused, the thread continues as before. Leaving SCHED_IDLE needs rights that most
// users do not have.
void set_scheduling(pthread_t thread, int policy) {
    sched_param none{};
    pthread_setschedparam(thread, policy, &none);
}
#endif

}  // namespace

ExpertPacker::ExpertPacker(ExpertSource& source, bool dry) : source_(source), dry_(dry) {}

ExpertPacker::~ExpertPacker() {
    give_up_.request_stop();
    thread_.request_stop();
    changed_.notify_all();
}

void ExpertPacker::start(LayerIndex layer, ExpertIndex expert, kernels::WeightType format, std::span<std::byte> block,
                         const kernels::ExpertLayout& layout, Backend* pins) {
    assert(!started_);
    started_ = true;
    {
        const std::lock_guard lock(mutex_);
        give_up_ = std::stop_source();
        result_.reset();
        begins_ = false;
        job_ = Job{layer, expert, format, block, layout, pins};
    }
}

void ExpertPacker::begin() {
    if (!started_) return;
    {
        const std::lock_guard lock(mutex_);
        if (begins_ || !job_.has_value()) return;
        begins_ = true;
    }
    if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& ends) { work(ends); });
    changed_.notify_all();
}

std::optional<ExpertPacker::Result> ExpertPacker::poll() {
    if (!started_) return std::nullopt;
    const std::lock_guard lock(mutex_);
    if (!result_.has_value()) return std::nullopt;
    started_ = false;
    return std::exchange(result_, std::nullopt);
}

void ExpertPacker::wait(kernels::ThreadPool& pool) {
    if (!started_) return;
    std::unique_lock lock(mutex_);
    if (!job_.has_value()) return wait_for_thread(lock);
    const Job job = *std::exchange(job_, std::nullopt);
    lock.unlock();
    Result result = pack(job, pool, give_up_.get_token());
    lock.lock();
    result_ = std::move(result);
}

void ExpertPacker::wait_for_thread(std::unique_lock<std::mutex>& lock) {
    if (result_.has_value()) return;
#ifdef __linux__
    set_scheduling(thread_.native_handle(), SCHED_OTHER);
#endif
    changed_.wait(lock, [&] { return result_.has_value(); });
#ifdef __linux__
    set_scheduling(thread_.native_handle(), SCHED_IDLE);
#endif
}

std::optional<ExpertPacker::Result> ExpertPacker::cancel() {
    if (!started_) return std::nullopt;
    give_up_.request_stop();
    {
        std::unique_lock lock(mutex_);
        if (job_.has_value()) {  // not begun
            job_.reset();
            started_ = false;
            return Result{};
        }
        wait_for_thread(lock);
    }
    return poll();
}

void ExpertPacker::work(const std::stop_token& ends) {
#ifdef __linux__
    set_scheduling(pthread_self(), SCHED_IDLE);
#endif
    std::unique_lock lock(mutex_);
    kernels::ThreadPool pool(1);
    while (changed_.wait(lock, ends, [&] { return begins_ && job_.has_value(); })) {
        const Job job = *std::exchange(job_, std::nullopt);
        const std::stop_token give_up = give_up_.get_token();
        lock.unlock();
        Result result = pack(job, pool, give_up);
        lock.lock();
        result_ = std::move(result);
        changed_.notify_all();
    }
}

ExpertPacker::Result ExpertPacker::pack(const Job& job, kernels::ThreadPool& pool, const std::stop_token& give_up) {
    Result result;
    try {
        if (!dry_) {
            result.from_cache =
                source_.pack(job.layer, job.expert, job.format, job.block.data(), pool, give_up).from_cache;
            interleave_expert(job.layout, job.block.data(), pool);
        }
        if (job.pins != nullptr) {
            result.pinned = job.pins->pin(job.block) ? SlotHeap::Pinned::kYes : SlotHeap::Pinned::kRefused;
        }
        result.ok = true;
    } catch (const std::exception& error) {
        result.problem = message_of(error);
    }
    return result;
}

}  // namespace offstage::engine
