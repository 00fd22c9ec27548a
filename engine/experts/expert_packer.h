#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>

#include "engine/device/backend.h"
#include "engine/experts/slot_heap.h"
#include "engine/indices.h"
#include "engine/message.h"
#include "engine/quant/expert_source.h"
#include "kernels/expert_layout.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

// Packs, and quantizes, one expert at a time: during a conversation on a separate thread
// that runs only when no other thread needs the core; while the caller waits for it, with
// all of the caller's threads. A job that the separate thread has begun by then continues
// there, with normal priority: on a computer whose cores are all busy it would otherwise
// get three thousandths of one. All functions are called by one thread, the engine's.
class ExpertPacker {
  public:
    // `dry`: blocks are not written. The source must outlive this object.
    ExpertPacker(ExpertSource& source, bool dry);
    ~ExpertPacker();  // cancels the current job
    ExpertPacker(const ExpertPacker&) = delete;
    ExpertPacker& operator=(const ExpertPacker&) = delete;

    // Precondition: !busy(). `block` must stay until the job is done. Its rows are
    // interleaved where the layout says so. pins: page-locks the block once it is filled;
    // nullptr: it is not locked. The job does not start before wait() or begin().
    void start(LayerIndex layer, ExpertIndex expert, kernels::WeightType format, std::span<std::byte> block,
               const kernels::ExpertLayout& layout, Backend* pins);
    bool busy() const { return started_; }
    void begin();  // on the own thread

    struct Result {
        bool ok = false;
        bool from_cache = false;
        SlotHeap::Pinned pinned = SlotHeap::Pinned::kNotTried;
        Message problem;  // a sentence; empty when ok
    };
    // The result once it is there; busy() is false then.
    std::optional<Result> poll();
    // Waits until the job has been cancelled or has ended; its block may be reused then.
    // Returns its outcome; nullopt: there was no job.
    std::optional<Result> cancel();
    // Until poll() has something to give; returns at once when nothing was started. pool:
    // the caller's, for a job that was not begun.
    void wait(kernels::ThreadPool& pool);

  private:
    struct Job {
        LayerIndex layer{0};
        ExpertIndex expert{0};
        kernels::WeightType format = kernels::WeightType::kBf16;
        std::span<std::byte> block;
        kernels::ExpertLayout layout;
        Backend* pins = nullptr;
    };
    void work(const std::stop_token& ends);
    Result pack(const Job& job, kernels::ThreadPool& pool, const std::stop_token& give_up);
    void wait_for_thread(std::unique_lock<std::mutex>& lock);

    ExpertSource& source_;
    const bool dry_;
    bool started_ = false;
    bool begins_ = false;  // the own thread may take the job
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::optional<Job> job_;
    std::optional<Result> result_;
    std::stop_source give_up_;
    std::jthread thread_;  // the last member: it uses the others
};

}  // namespace offstage::engine
