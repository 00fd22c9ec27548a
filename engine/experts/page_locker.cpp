#include "engine/experts/page_locker.h"

#include <utility>

namespace offstage::engine {

PageLocker::PageLocker(Backend& device) : device_(device), thread_([this] { work(); }) {}

PageLocker::~PageLocker() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void PageLocker::lock(std::span<std::byte> memory) {
    if (!memory.empty()) add({memory, {}, false});
}

void PageLocker::release(DeviceBlock memory, bool locked) {
    if (memory) add({{}, std::move(memory), locked});
}

bool PageLocker::is_locked(const std::byte* memory) const {
    const std::lock_guard lock(mutex_);
    return locked_.count(memory) > 0;
}

bool PageLocker::busy() const {
    const std::lock_guard lock(mutex_);
    return !jobs_.empty();
}

bool PageLocker::wait() {
    std::unique_lock lock(mutex_);
    const bool was_busy = !jobs_.empty();
    changed_.wait(lock, [&] { return jobs_.empty(); });
    return was_busy;
}

void PageLocker::add(Job job) {
    {
        const std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
    }
    changed_.notify_all();
}

void PageLocker::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return ends_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        Job& job = jobs_.front();  // others are put behind it, which moves nothing
        lock.unlock();
        run(job);
        lock.lock();
        jobs_.pop_front();
        changed_.notify_all();
    }
}

void PageLocker::run(Job& job) {
    if (!job.to_lock.empty()) {
        if (!device_.pin(job.to_lock)) return;
        const std::lock_guard lock(mutex_);
        locked_.insert(job.to_lock.data());
        return;
    }
    const std::span memory(job.to_release.data(), job.to_release.size());
    const bool locked_here = [&] {
        const std::lock_guard lock(mutex_);
        return locked_.erase(memory.data()) > 0;
    }();
    if (locked_here || job.locked) device_.unpin(memory);
    job.to_release = DeviceBlock();
}

LockedBlock::LockedBlock(DeviceBlock memory, PageLocker* locker) : memory_(std::move(memory)), locker_(locker) {
    if (locker_ != nullptr) locker_->lock({memory_.data(), memory_.size()});
}

LockedBlock::LockedBlock(LockedBlock&& other) noexcept
    : memory_(std::move(other.memory_)), locker_(std::exchange(other.locker_, nullptr)) {}

LockedBlock& LockedBlock::operator=(LockedBlock&& other) noexcept {
    if (this == &other) return *this;
    reset();
    memory_ = std::move(other.memory_);
    locker_ = std::exchange(other.locker_, nullptr);
    return *this;
}

void LockedBlock::reset() {
    if (locker_ != nullptr) locker_->release(std::move(memory_));
    memory_ = DeviceBlock();
    locker_ = nullptr;
}

}  // namespace offstage::engine
