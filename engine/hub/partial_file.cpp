#include "engine/hub/partial_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "engine/error.h"
#include "engine/hub/hub_messages.h"

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDataSuffix = ".offstage";
constexpr const char* kListSuffix = ".offstage.parts";
constexpr std::size_t kMostListBytes = std::size_t{16} << 20;

[[noreturn]] void cannot_write(const fs::path& path, int code) {
    throw Error(ErrorKind::kInvalidInput, messages::cannot_write_model(path.string(), std::strerror(code)));
}

fs::path beside(const fs::path& blobs, const HubFile& file, const char* suffix) {
    return blobs / (file.blob() + suffix);
}

// False: another program has it, or just now was done with it.
bool lock(const OpenedFile& list) {
    struct stat found {};
    return ::flock(list.descriptor(), LOCK_EX | LOCK_NB) == 0 && ::fstat(list.descriptor(), &found) == 0 &&
           found.st_nlink > 0;
}

}  // namespace

OpenedFile::OpenedFile(const fs::path& path, int flags)
    : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {
    if (descriptor_ < 0) cannot_write(path, errno);
}

OpenedFile::~OpenedFile() {
    ::close(descriptor_);
}

void OpenedFile::write(std::uint64_t at, std::string_view bytes) const {
    while (!bytes.empty()) {
        const ssize_t n = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) cannot_write(path_, n < 0 ? errno : EIO);
        at += static_cast<std::uint64_t>(n);
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
}

void OpenedFile::set_size(std::uint64_t bytes) const {
    if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) cannot_write(path_, errno);
}

PartialFile::PartialFile(const HubFile& file, const fs::path& blobs, std::uint64_t part_bytes)
    : file_(file),
      part_bytes_(part_bytes),
      list_(beside(blobs, file, kListSuffix), O_RDWR | O_CREAT),
      is_locked_(lock(list_)),
      data_(beside(blobs, file, kDataSuffix), O_RDWR | O_CREAT) {
    if (!is_locked_) throw Error(ErrorKind::kInvalidInput, messages::download_goes_on_elsewhere(file.path));
    read_list();
    data_.set_size(file.bytes);
}

std::uint64_t PartialFile::bytes_on_disk(const HubFile& file, const fs::path& blobs) {
    struct stat found {};
    if (::stat(beside(blobs, file, kDataSuffix).c_str(), &found) != 0) return 0;
    return static_cast<std::uint64_t>(found.st_blocks) * 512;  // POSIX counts so
}

void PartialFile::discard(const fs::path& list) {
    const std::string name = list.string(), suffix = kListSuffix;
    if (name.size() <= suffix.size() || name.compare(name.size() - suffix.size(), suffix.size(), suffix) != 0) return;
    try {
        const OpenedFile opened(list, O_RDWR);
        if (!lock(opened)) return;
        std::error_code ignored;
        fs::remove(name.substr(0, name.size() - suffix.size()) + kDataSuffix, ignored);
        fs::remove(list, ignored);
    } catch (const Error&) {  // it is gone, or not ours
    }
}

std::uint64_t PartialFile::n_parts() const {
    return (file_.bytes + part_bytes_ - 1) / part_bytes_;
}

ByteRange PartialFile::range(std::uint64_t part) const {
    return {part * part_bytes_, std::min(file_.bytes, (part + 1) * part_bytes_)};
}

std::uint64_t PartialFile::bytes_there() const {
    std::uint64_t bytes = 0;
    for (const std::uint64_t part : parts_) bytes += range(part).size();
    return bytes;
}

void PartialFile::sync() const {
    if (::fdatasync(data_.descriptor()) != 0) cannot_write(data_.path(), errno);
}

void PartialFile::add(std::uint64_t part) {
    const std::string line = std::to_string(part) + "\n";
    list_.write(list_bytes_, line);
    list_bytes_ += line.size();
    parts_.insert(part);
}

void PartialFile::finish(const fs::path& blob, const std::string& host,
                         const std::function<void(std::uint64_t)>& progress, const std::stop_token& stop) {
    const std::string sum = checksum(progress, stop);
    if (sum != file_.blob()) {
        std::error_code ignored;
        fs::remove(data_.path(), ignored);
        fs::remove(list_.path(), ignored);
        throw Error(ErrorKind::kInvalidModel, messages::file_is_another(file_.path, host, sum, file_.blob()));
    }
    sync();
    if (::rename(data_.path().c_str(), blob.c_str()) != 0) cannot_write(blob, errno);
    std::error_code ignored;
    fs::remove(list_.path(), ignored);
}

// The parts count only with a first line that says their size, and beside a file of the
// right length. A last line without its end was cut off.
void PartialFile::read_list() {
    std::string text;
    std::array<char, 4096> some{};
    for (ssize_t n = 0; (n = ::read(list_.descriptor(), some.data(), some.size())) > 0;) {
        text.append(some.data(), static_cast<std::size_t>(n));
        if (text.size() > kMostListBytes) break;
    }
    std::string lines = std::to_string(part_bytes_) + " bytes a part\n";
    struct stat data {};
    const bool is_whole = ::fstat(data_.descriptor(), &data) == 0 && data.st_size == static_cast<off_t>(file_.bytes);
    if (is_whole && text.starts_with(lines)) {
        for (std::size_t at = lines.size(), end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
            const std::uint64_t part = std::strtoull(text.c_str() + at, nullptr, 10);
            if (part < n_parts()) parts_.insert(part);
        }
        lines.assign(text, 0, text.rfind('\n') + 1);
    }
    list_.set_size(0);
    list_.write(0, lines);
    list_bytes_ = lines.size();
}

// SHA-256 of a large file, or git's SHA-1 of a small one.
std::string PartialFile::checksum(const std::function<void(std::uint64_t)>& progress,
                                  const std::stop_token& stop) const {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> sum(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    if (EVP_DigestInit_ex(sum.get(), file_.sha256.empty() ? EVP_sha1() : EVP_sha256(), nullptr) != 1) {
        cannot_write(data_.path(), ENOTSUP);  // a system that forbids SHA-1, say
    }
    if (file_.sha256.empty()) {
        const std::string head = "blob " + std::to_string(file_.bytes);
        EVP_DigestUpdate(sum.get(), head.c_str(), head.size() + 1);
    }
    std::vector<char> some(std::size_t{4} << 20);
    for (std::uint64_t at = 0; at < file_.bytes;) {
        if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::download_cancelled);
        const ssize_t n = ::pread(data_.descriptor(), some.data(), some.size(), static_cast<off_t>(at));
        if (n <= 0) cannot_write(data_.path(), n < 0 ? errno : EIO);
        EVP_DigestUpdate(sum.get(), some.data(), static_cast<std::size_t>(n));
        at += static_cast<std::uint64_t>(n);
        progress(at);
    }
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned n_bytes = 0;
    EVP_DigestFinal_ex(sum.get(), digest.data(), &n_bytes);
    std::string text;
    for (unsigned i = 0; i < n_bytes; ++i) {
        constexpr const char* kDigits = "0123456789abcdef";
        text += {kDigits[digest[i] >> 4u], kDigits[digest[i] & 15u]};
    }
    return text;
}

}  // namespace offstage::engine
