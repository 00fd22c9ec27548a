#pragma once
// Regular files, opened with care: a folder, a pipe or a device in a file's place is an
// Error, never a hang.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "engine/files/lost_pages.h"

namespace offstage::engine {

// An open regular file, for reading. Closed by the destructor. Movable. After
// construction any thread.
class RegularFile {
  public:
    // Throws Error naming the path: kNotFound (no such file, or no permission),
    // kInvalidModel (not a regular file).
    explicit RegularFile(const std::filesystem::path& path);
    RegularFile(RegularFile&& other) noexcept;
    RegularFile& operator=(RegularFile&& other) noexcept;
    RegularFile(const RegularFile&) = delete;
    RegularFile& operator=(const RegularFile&) = delete;
    ~RegularFile();

    int descriptor() const { return descriptor_; }
    std::uint64_t size_bytes() const { return size_bytes_; }  // when it was opened
    std::uint64_t size_bytes_now() const;                     // 0 when the system cannot tell any more
    const std::string& path() const { return path_; }

    // The whole file; throws Error (kInvalidModel) when it is larger than `max_bytes`,
    // before anything is allocated.
    std::string read_all(std::uint64_t max_bytes) const;

  private:
    std::string path_;
    int descriptor_ = -1;
    std::uint64_t size_bytes_ = 0;
};

// A whole file mapped read-only; the pages are read when they are touched. Keeps the file
// open. Movable: the address stays. Any thread.
class MappedFile {
  public:
    // Throws Error as RegularFile does; kOutOfMemory when the address space or the
    // system's limit on maps is used up.
    explicit MappedFile(const std::filesystem::path& path);
    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    const RegularFile& file() const { return file_; }
    std::span<const std::byte> bytes() const { return {data_, size_}; }
    bool contains(std::span<const std::byte> bytes) const;

    // All take a part of bytes(). Advice only: failures are ignored.
    void drop_pages(std::span<const std::byte> part) const;  // whole pages inside `part`
    void read_ahead(std::span<const std::byte> part) const;  // every page that `part` touches
    // Whether accesses will be far apart: the system then reads no pages around them.
    void expect_scattered_reads(bool scattered) const;
    // drop_pages(), and out of the system's cache of files as well, where no other
    // program has them mapped.
    void drop_cached(std::span<const std::byte> part) const;

    // Reads the pages of `part` into memory now. A page that a read error or a truncated
    // file makes unavailable becomes an Error (kInvalidModel) with the file and the reason.
    // On a system without this function (Linux before 5.14) only the file's size is checked.
    void require_readable(std::span<const std::byte> part) const;
    // How often pages were lost while they were read, after that: they read as zeros.
    std::uint64_t n_lost() const { return lost_ == nullptr ? 0 : lost_->n_lost(); }
    // Throws Error (kInvalidModel) if n_lost() is another number than before: what was
    // read since then may be zeros.
    void require_nothing_lost(std::uint64_t before) const;

  private:
    RegularFile file_;
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    std::unique_ptr<LostPages> lost_;  // nullptr: an empty file
};

}  // namespace offstage::engine
