// io_uring: the kernel reads on its own, and results come through shared memory. Threads
// that need a result take turns waiting for one.

#include "engine/files/direct_reads.h"

#ifdef OFFSTAGE_URING

#include <cassert>
#include <cerrno>
#include <liburing.h>
#include <mutex>
#include <vector>

namespace offstage::engine {
namespace {

constexpr int kWaitingThreads = 2;  // one waits while the other uses what came
constexpr std::uint64_t kStop = 0;
constexpr std::uint64_t kWake = ~std::uint64_t{0};

class UringReads final : public DirectReads {
  public:
    explicit UringReads(int depth) : reads_(static_cast<std::size_t>(depth)) {
        for (std::size_t i = reads_.size(); i > 0; --i) free_.push_back(i);
    }
    // False: there is none.
    bool open() { return opened_ = ::io_uring_queue_init(static_cast<unsigned>(reads_.size()) + 2, &ring_, 0) == 0; }
    ~UringReads() override {
        if (opened_) ::io_uring_queue_exit(&ring_);
    }

    int n_waiting() const override { return kWaitingThreads; }
    const char* name() const override { return "io_uring"; }

    void set_memory(std::span<std::byte> memory) override {
        const std::lock_guard lock(submitting_);
        if (!fixed_.empty()) ::io_uring_unregister_buffers(&ring_);
        fixed_ = {};
        if (memory.empty()) return;
        // The kernel looks the pages up once instead of at each read. If it refuses,
        // reads look them up as before.
        const iovec vector{memory.data(), memory.size()};
        if (::io_uring_register_buffers(&ring_, &vector, 1) == 0) fixed_ = memory;
    }

    void submit(std::span<const DirectRead> reads) override {
        const std::lock_guard lock(submitting_);
        for (const DirectRead& read : reads) {
            assert(!free_.empty());
            const std::size_t number = free_.back();
            free_.pop_back();
            reads_[number - 1] = ReadProgress(read);
            enter(number);
        }
        submit_all();
    }
    void wake() override { submit_nothing(kWake); }

    std::optional<DirectResult> wait() override {
        for (;;) {
            std::uint64_t number = kStop;
            std::int64_t returned = 0;
            {
                const std::lock_guard lock(reaping_);
                if (stopped_) return std::nullopt;
                io_uring_cqe* result = nullptr;
                if (::io_uring_wait_cqe(&ring_, &result) != 0) continue;  // a signal came
                number = ::io_uring_cqe_get_data64(result);
                returned = result->res;
                ::io_uring_cqe_seen(&ring_, result);
                if (number == kStop) {
                    stopped_ = true;
                    return std::nullopt;
                }
            }
            if (number == kWake) return DirectResult{kNoRead, {}};
            const std::lock_guard lock(submitting_);
            if (auto done = reads_[number - 1].advance(returned)) {
                free_.push_back(number);
                return done;
            }
            enter(number);
            submit_all();
        }
    }

    void stop() override { submit_nothing(kStop); }

  private:
    // With submitting_ locked; submit_all() follows.
    void enter(std::size_t number) {
        const ReadProgress& read = reads_[number - 1];
        io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);  // one is free: there is room for all
        const auto bytes = static_cast<unsigned>(read.bytes());
        if (read.to() >= fixed_.data() && read.to() + bytes <= fixed_.data() + fixed_.size()) {
            ::io_uring_prep_read_fixed(entry, read.descriptor(), read.to(), bytes, read.offset(), 0);
        } else {
            ::io_uring_prep_read(entry, read.descriptor(), read.to(), bytes, read.offset());
        }
        ::io_uring_sqe_set_data64(entry, number);
    }
    void submit_nothing(std::uint64_t data) {
        const std::lock_guard lock(submitting_);
        io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
        ::io_uring_prep_nop(entry);
        ::io_uring_sqe_set_data64(entry, data);
        submit_all();
    }
    void submit_all() {
        int code = 0;
        do {
            code = ::io_uring_submit(&ring_);
        } while (code == -EINTR || code == -EAGAIN || code == -EBUSY);
    }

    io_uring ring_{};
    bool opened_ = false;
    std::mutex submitting_;            // guards the ring's submissions, reads_, free_
    std::vector<ReadProgress> reads_;  // number - 1
    std::vector<std::size_t> free_;    // numbers
    std::span<std::byte> fixed_;       // registered with the kernel; empty: none
    std::mutex reaping_;               // guards the ring's results, stopped_
    bool stopped_ = false;
};

}  // namespace

std::unique_ptr<DirectReads> open_uring_reads(int depth) {
    auto reads = std::make_unique<UringReads>(depth);
    return reads->open() ? std::move(reads) : nullptr;
}

}  // namespace offstage::engine

#else

namespace offstage::engine {

std::unique_ptr<DirectReads> open_uring_reads(int /*depth*/) {
    return nullptr;
}

}  // namespace offstage::engine

#endif
