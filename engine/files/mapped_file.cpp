#include "engine/files/mapped_file.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "engine/error.h"
#include "engine/files/files_messages.h"

namespace offstage::engine {
namespace {

[[noreturn]] void fail(const std::string& path, const MessageCode<2>& what, int code) {
    ErrorKind kind = ErrorKind::kInternal;
    if (code == ENOENT || code == ENOTDIR || code == EACCES || code == EPERM || code == ELOOP || code == ENAMETOOLONG) {
        kind = ErrorKind::kNotFound;
    } else if (code == ENOMEM) {
        kind = ErrorKind::kOutOfMemory;
    }
    std::string reason = std::generic_category().message(code);
    rlimit addresses{};
    if (code == ENOMEM && ::getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY) {
        reason += " (RLIMIT_AS: " + std::to_string(addresses.rlim_cur) + " bytes)";
    }
    throw Error(kind, what(path, reason));
}

std::uintptr_t address(const std::byte* at) {
    return reinterpret_cast<std::uintptr_t>(at);
}

std::uintptr_t page_bytes() {
    static const auto size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    return size;
}

}  // namespace

RegularFile::RegularFile(const std::filesystem::path& path) : path_(path.string()) {
    // O_NONBLOCK: opening a pipe without a writer would block forever. It has no effect
    // on regular files.
    descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) {
        const int code = errno;
        std::error_code ignored;
        const std::filesystem::path target = std::filesystem::read_symlink(path, ignored);
        if (code == ENOENT && !target.empty()) {  // as a cache has files that it has lost
            throw Error(ErrorKind::kNotFound, messages::link_to_nothing(path_, target.string()));
        }
        fail(path_, messages::cannot_be_opened, code);
    }
    struct stat status {};
    const int code = ::fstat(descriptor_, &status) == 0 ? 0 : errno;
    if (code != 0 || !S_ISREG(status.st_mode)) {
        ::close(descriptor_);
        if (code != 0) fail(path_, messages::cannot_be_examined, code);
        throw Error(ErrorKind::kInvalidModel,
                    S_ISDIR(status.st_mode) ? messages::is_a_folder(path_) : messages::no_regular_file(path_));
    }
    size_bytes_ = static_cast<std::uint64_t>(status.st_size);
}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_bytes_(other.size_bytes_) {}

RegularFile& RegularFile::operator=(RegularFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
}

RegularFile::~RegularFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

std::uint64_t RegularFile::size_bytes_now() const {
    struct stat status {};
    return ::fstat(descriptor_, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

std::string RegularFile::read_all(std::uint64_t max_bytes) const {
    if (size_bytes_ > max_bytes) {
        throw Error(ErrorKind::kInvalidModel, messages::file_too_large(path_, size_bytes_, max_bytes));
    }
    std::string text(static_cast<std::size_t>(size_bytes_), '\0');
    std::size_t at = 0;
    while (at < text.size()) {
        const ssize_t got = ::pread(descriptor_, text.data() + at, text.size() - at, static_cast<off_t>(at));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail(path_, messages::cannot_be_read, errno);
        if (got == 0) break;  // it became shorter since it was opened
        at += static_cast<std::size_t>(got);
    }
    text.resize(at);
    return text;
}

MappedFile::MappedFile(const std::filesystem::path& path) : file_(path) {
    if (file_.size_bytes() == 0) return;  // an empty map is not possible, and nothing can be read from it
    if (!std::in_range<std::size_t>(file_.size_bytes())) fail(file_.path(), messages::cannot_be_mapped, ENOMEM);
    size_ = static_cast<std::size_t>(file_.size_bytes());
    // The system's default read-ahead stays: an expert is read front to back, and the
    // next one is anywhere.
    void* map = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file_.descriptor(), 0);
    if (map == MAP_FAILED) fail(file_.path(), messages::cannot_be_mapped, errno);
    data_ = static_cast<const std::byte*>(map);
    lost_ = std::make_unique<LostPages>(data_, size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : file_(std::move(other.file_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      lost_(std::move(other.lost_)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(lost_, other.lost_);
    return *this;
}

MappedFile::~MappedFile() {
    lost_.reset();
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

bool MappedFile::contains(std::span<const std::byte> bytes) const {
    const std::uintptr_t begin = address(data_);
    const std::uintptr_t at = address(bytes.data());
    return data_ != nullptr && at >= begin && at - begin <= size_ && bytes.size() <= size_ - (at - begin);
}

void MappedFile::drop_pages(std::span<const std::byte> part) const {
    const std::uintptr_t begin = (address(part.data()) + page_bytes() - 1) / page_bytes() * page_bytes();
    std::uintptr_t end = address(part.data()) + part.size();
    // The map's last page reaches beyond the file's end, and has no other contents there.
    if (end != address(data_) + size_) end = end / page_bytes() * page_bytes();
    if (begin >= end) return;
    ::madvise(const_cast<std::byte*>(data_ + (begin - address(data_))), end - begin, MADV_DONTNEED);
}

void MappedFile::drop_cached(std::span<const std::byte> part) const {
    if (part.empty()) return;
    // Neighbouring data on the first and the last page are read again when needed.
    const std::uintptr_t begin = address(part.data()) / page_bytes() * page_bytes();
    const std::uintptr_t end = (address(part.data()) + part.size() + page_bytes() - 1) / page_bytes() * page_bytes();
    const std::uintptr_t offset = begin - address(data_);
    ::madvise(const_cast<std::byte*>(data_ + offset), end - begin, MADV_DONTNEED);
    ::posix_fadvise(file_.descriptor(), static_cast<off_t>(offset), static_cast<off_t>(end - begin),
                    POSIX_FADV_DONTNEED);
}

void MappedFile::read_ahead(std::span<const std::byte> part) const {
    if (part.empty()) return;
    const std::uintptr_t begin = address(part.data()) / page_bytes() * page_bytes();
    const std::uintptr_t end = address(part.data()) + part.size();
    ::madvise(const_cast<std::byte*>(data_ + (begin - address(data_))), end - begin, MADV_WILLNEED);
}

void MappedFile::expect_scattered_reads(bool scattered) const {
    if (size_ > 0) ::madvise(const_cast<std::byte*>(data_), size_, scattered ? MADV_RANDOM : MADV_NORMAL);
}

void MappedFile::require_readable(std::span<const std::byte> part) const {
    if (part.empty()) return;
    const std::uint64_t now = file_.size_bytes_now();
    if (now < size_) {
        throw Error(ErrorKind::kInvalidModel, messages::file_changed_size(file_.path(), now, size_));
    }
    lost_->map_again(file_.descriptor());
#ifdef MADV_POPULATE_READ
    const std::uintptr_t begin = address(part.data()) / page_bytes() * page_bytes();
    const std::uintptr_t end = address(part.data()) + part.size();
    int code = 0;
    do {
        code = ::madvise(const_cast<std::byte*>(data_ + (begin - address(data_))), end - begin, MADV_POPULATE_READ) == 0
                   ? 0
                   : errno;
    } while (code == EINTR || code == EAGAIN);
    if (code == EFAULT || code == EHWPOISON || code == EIO) {
        throw Error(ErrorKind::kInvalidModel,
                    messages::cannot_be_read_at_byte(file_.path(), std::generic_category().message(EIO),
                                                     address(part.data()) - address(data_)));
    }
#endif
}

void MappedFile::require_nothing_lost(std::uint64_t before) const {
    if (n_lost() == before) return;
    require_readable(bytes().last(1));  // of a file that is cut short still, this says so
    throw Error(ErrorKind::kInvalidModel, messages::changed_while_read(file_.path()));
}

}  // namespace offstage::engine
