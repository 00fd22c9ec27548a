#include "engine/files/direct_reads.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <fcntl.h>
#include <mutex>
#include <system_error>
#include <unistd.h>

#include "engine/files/files_messages.h"

namespace offstage::engine {
namespace {

constexpr int kMostThreads = 8;

class ThreadReads final : public DirectReads {
  public:
    explicit ThreadReads(int depth) : n_waiting_(std::clamp(depth, 1, kMostThreads)) {}

    int n_waiting() const override { return n_waiting_; }
    const char* name() const override { return "threads"; }

    void submit(std::span<const DirectRead> reads) override {
        {
            const std::lock_guard lock(mutex_);
            queue_.insert(queue_.end(), reads.begin(), reads.end());
        }
        if (reads.size() == 1) {
            changed_.notify_one();
        } else {
            changed_.notify_all();
        }
    }
    void wake() override {
        DirectRead nothing;
        nothing.id = kNoRead;
        submit({&nothing, 1});
    }

    std::optional<DirectResult> wait() override {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stopped_ || !queue_.empty(); });
        if (queue_.empty()) return std::nullopt;
        ReadProgress read(queue_.front());
        const bool woken = queue_.front().id == kNoRead;
        queue_.pop_front();
        if (woken) return DirectResult{kNoRead, {}};
        lock.unlock();
        for (;;) {
            const ssize_t got = ::pread(read.descriptor(), read.to(), read.bytes(), static_cast<off_t>(read.offset()));
            if (auto result = read.advance(got < 0 ? -static_cast<std::int64_t>(errno) : got)) return result;
        }
    }

    void stop() override {
        {
            const std::lock_guard lock(mutex_);
            stopped_ = true;
        }
        changed_.notify_all();
    }

  private:
    const int n_waiting_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<DirectRead> queue_;
    bool stopped_ = false;
};

}  // namespace

DirectFile::DirectFile(const RegularFile& file) : file_(file) {
#ifdef O_DIRECT
    // Reopens the same file, even if its path now names another one.
    const std::string own = "/proc/self/fd/" + std::to_string(file.descriptor());
    descriptor_ = ::open(own.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT);
    direct_ = descriptor_ >= 0;
#endif
}

DirectFile::~DirectFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<DirectResult> ReadProgress::advance(std::int64_t returned) {
    const RegularFile& file = read_.file->file();
    if (returned == -EINTR || returned == -EAGAIN) return std::nullopt;
    if ((returned == -EINVAL || returned == -EOPNOTSUPP) && read_.file->is_direct()) {
        read_.file->give_up_direct();
        return std::nullopt;
    }
    const auto failed = [&](int code) {
        return DirectResult{
            read_.id, messages::cannot_be_read_at_byte(file.path(), std::generic_category().message(code), offset())};
    };
    if (returned < 0) return failed(static_cast<int>(-returned));
    const std::size_t before = done_;
    done_ += static_cast<std::size_t>(returned);
    if (done_ >= read_.least) return DirectResult{read_.id, {}};
    // The next direct read begins where one may.
    if (read_.file->is_direct()) done_ = done_ / kDirectAlignment * kDirectAlignment;
    if (done_ > before) return std::nullopt;
    const std::uint64_t size = file.size_bytes_now();
    if (size < read_.offset + read_.least) {
        return DirectResult{read_.id, messages::file_changed_size(file.path(), size, file.size_bytes())};
    }
    // It is all there, but does not come this way; then it comes through the cache.
    if (read_.file->is_direct()) {
        read_.file->give_up_direct();
        return std::nullopt;
    }
    return failed(EIO);
}

std::unique_ptr<DirectReads> DirectReads::open(Kind kind, int depth) {
    if (kind == Kind::kBest) {
        if (auto reads = open_uring_reads(depth)) return reads;
    }
    return std::make_unique<ThreadReads>(depth);
}

}  // namespace offstage::engine
