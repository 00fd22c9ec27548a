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
#include "kernels/thread_pool.h"

namespace offstage::engine {
namespace {

void run_only_where_nobody_else_wants_to() {
#ifdef __linux__
    sched_param none{};
    pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);  // refused: it runs as others do
#endif
}

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
        job_ = Job{layer, expert, format, block, layout, pins};
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

void ExpertPacker::wait() {
    if (!started_) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return result_.has_value(); });
}

std::optional<ExpertPacker::Result> ExpertPacker::cancel() {
    if (!started_) return std::nullopt;
    give_up_.request_stop();
    wait();
    return poll();
}

void ExpertPacker::work(const std::stop_token& ends) {
    run_only_where_nobody_else_wants_to();
    kernels::ThreadPool pool(1);
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, ends, [&] { return job_.has_value(); })) {
        const Job job = *std::exchange(job_, std::nullopt);
        const std::stop_token give_up = give_up_.get_token();
        lock.unlock();
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
        lock.lock();
        result_ = std::move(result);
        changed_.notify_all();
    }
}

}  // namespace offstage::engine
