#pragma once
// Reads parts of files directly from the disk (O_DIRECT), several at a time, without the
// system's file cache and without page faults: by io_uring (through liburing) if the
// kernel offers and permits it, otherwise by a few threads with pread.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "engine/files/mapped_file.h"
#include "engine/message.h"

namespace offstage::engine {

// Offsets, sizes and addresses of direct reads are multiples of this many bytes.
inline constexpr std::size_t kDirectAlignment = 4096;

// A file opened a second time, for reads past the system's cache. Where its file system
// does not support that (an old tmpfs, some network file systems), reads go through the
// cache. Any thread.
class DirectFile {
  public:
    // `file` must outlive this object. Throws nothing.
    explicit DirectFile(const RegularFile& file);
    DirectFile(const DirectFile&) = delete;
    DirectFile& operator=(const DirectFile&) = delete;
    ~DirectFile();

    const RegularFile& file() const { return file_; }
    bool is_direct() const { return direct_; }
    int descriptor() const { return direct_ ? descriptor_ : file_.descriptor(); }
    // For file systems that open a file directly but then refuse to read it.
    void give_up_direct() { direct_ = false; }

  private:
    const RegularFile& file_;
    int descriptor_ = -1;
    std::atomic<bool> direct_{false};
};

struct DirectRead {
    DirectFile* file = nullptr;
    std::uint64_t offset = 0;  // multiples of kDirectAlignment, as `bytes` and the address
    std::byte* to = nullptr;
    std::size_t bytes = 0;  // may reach beyond the file's end
    std::size_t least = 0;  // fewer than that is a file cut short
    std::uint64_t id = 0;
};

struct DirectResult {
    std::uint64_t id = 0;
    Message problem;  // a sentence with the file; empty: `least` bytes are there
};

inline constexpr std::uint64_t kNoRead = ~std::uint64_t{0};

// Reads under way. Nothing is cancelled: wait() returns every submitted read.
class DirectReads {
  public:
    enum class Kind : std::uint8_t { kBest, kThreads };
    // For at most `depth` reads at once. Throws only std::bad_alloc: without io_uring,
    // threads read.
    static std::unique_ptr<DirectReads> open(Kind kind, int depth);
    virtual ~DirectReads() = default;  // no read may be under way, and no thread in wait()

    // The number of threads that should call wait(); with Kind::kThreads these threads
    // read.
    virtual int n_waiting() const = 0;
    virtual const char* name() const = 0;  // "io_uring", "threads"
    // The memory that contains most destinations of reads, for implementations that can
    // register it. Until the next call; no read may be under way.
    virtual void set_memory(std::span<std::byte> /*memory*/) {}
    // Any thread. At most `depth` reads are between this and their result.
    virtual void submit(std::span<const DirectRead> reads) = 0;
    // The next read that is done; one of kNoRead after wake(); nullopt once stop() was
    // called.
    virtual std::optional<DirectResult> wait() = 0;
    // One wait() returns. Any thread; at most once before it has.
    virtual void wake() = 0;
    virtual void stop() = 0;
};

// The progress of one read through system calls that may return less than requested.
class ReadProgress {
  public:
    ReadProgress() = default;
    explicit ReadProgress(const DirectRead& read) : read_(read) {}

    int descriptor() const { return read_.file->descriptor(); }
    std::byte* to() const { return read_.to + done_; }
    std::size_t bytes() const { return read_.bytes - done_; }
    std::uint64_t offset() const { return read_.offset + done_; }

    // The result of a system call: bytes, or an error's number below zero. Nothing: read
    // the rest.
    std::optional<DirectResult> advance(std::int64_t returned);

  private:
    DirectRead read_;
    std::size_t done_ = 0;
};

// nullptr: this kernel or build has no io_uring, or does not let us.
std::unique_ptr<DirectReads> open_uring_reads(int depth);

}  // namespace offstage::engine
