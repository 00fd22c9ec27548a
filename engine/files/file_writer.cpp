#include "engine/files/file_writer.h"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <optional>
#include <random>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kGathered = std::size_t{64} << 10;
constexpr int kMostLinks = 40;  // as many as the system itself follows
constexpr int kMostTries = 100;
constexpr std::size_t kLongestStem = 240;  // a temporary file's name, which may have 255 bytes

// "/proc/self/fd/1" and what leads there, as /dev/stdout does: the number of this
// program's own descriptor.
std::optional<int> own_descriptor(const fs::path& link) {
    std::error_code error;
    const fs::path folder = fs::canonical(link.has_parent_path() ? link.parent_path() : fs::path("."), error);
    const std::string process = "/proc/" + std::to_string(getpid());
    if (error || folder.filename() != "fd" || !(folder.string() + "/").starts_with(process + "/")) return {};
    const std::string name = link.filename().string();
    int number = 0;
    const auto end = std::from_chars(name.data(), name.data() + name.size(), number);
    if (end.ec != std::errc() || end.ptr != name.data() + name.size()) return {};
    return number;
}

bool lies_in_proc(const fs::path& link) {
    std::error_code error;
    const fs::path folder = fs::canonical(link.has_parent_path() ? link.parent_path() : fs::path("."), error);
    return !error && (folder.string() + "/").starts_with("/proc/");
}

struct Target {
    fs::path path;
    int error = 0;                  // errno; the path cannot be written
    std::optional<int> descriptor;  // this program's own, which the path names
    bool exists = false;
    bool in_place = false;  // written to, not replaced
};

Target find_target(const fs::path& file) {
    Target target{file, 0, {}, false, false};
    for (int n_links = 0;; ++n_links) {
        if (target.path.filename().empty()) return target.error = EISDIR, target;
        struct stat status {};
        if (::lstat(target.path.c_str(), &status) != 0) {
            if (errno != ENOENT) target.error = errno;
            return target;
        }
        target.exists = true;
        if (!S_ISLNK(status.st_mode)) {
            target.in_place = !S_ISREG(status.st_mode);
            if (!target.in_place && ::faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) != 0)
                target.error = errno;
            return target;
        }
        if (n_links == kMostLinks) return target.error = ELOOP, target;
        // Links in /proc name open files, which may have no path.
        target.descriptor = own_descriptor(target.path);
        if (target.descriptor || lies_in_proc(target.path)) return target.in_place = true, target;
        std::error_code error;
        const fs::path next = fs::read_symlink(target.path, error);
        if (error) return target.error = error.value(), target;
        target.path = target.path.parent_path() / next;
        target.exists = false;
    }
}

std::string temporary_name(const fs::path& target) {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789";
    std::random_device random;
    std::string name = target.filename().string().substr(0, kLongestStem) + ".";
    for (int i = 0; i < 6; ++i) name += kLetters[random() % kLetters.size()];
    return (target.parent_path() / name).string();
}

}  // namespace

FileWriter::FileWriter(const fs::path& file, const FileOptions& options) {
    Target target = find_target(file);
    target_ = std::move(target.path);
    if (target.error != 0) {
        fail(target.error);
    } else if (target.descriptor) {
        descriptor_ = ::fcntl(*target.descriptor, F_DUPFD_CLOEXEC, 0);
        if (descriptor_ < 0) fail(errno);
    } else if (target.in_place) {
        open_in_place(options.wait_for_reader);
    } else {
        std::error_code error;
        if (options.make_folders && !target.exists && target_.has_parent_path())
            fs::create_directories(target_.parent_path(), error);
        if (error) {
            fail(error.value());
        } else {
            open_temporary(target.exists);
        }
    }
}

FileWriter::~FileWriter() {
    close();
}

void FileWriter::open_in_place(bool wait_for_reader) {
    const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY;
    do {
        descriptor_ = ::open(target_.c_str(), wait_for_reader ? flags : flags | O_NONBLOCK);
    } while (descriptor_ < 0 && errno == EINTR);
    if (descriptor_ < 0) return fail(errno);
    // Only opening must not wait.
    if (!wait_for_reader && ::fcntl(descriptor_, F_SETFL, O_APPEND) != 0) fail(errno);
}

// A unique name: two programs may write the same file at once.
void FileWriter::open_temporary(bool replaces) {
    // While it is written, the new file is not readable by users who could not read the
    // old one.
    const mode_t mode = replaces ? 0600 : 0666;
    std::string name;
    for (int i = 0; i < kMostTries && descriptor_ < 0; ++i) {
        name = temporary_name(target_);
        descriptor_ = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (descriptor_ < 0 && errno != EEXIST && errno != EINTR) break;
    }
    if (descriptor_ < 0) return fail(errno);
    temporary_ = std::move(name);
    struct stat old {};
    struct stat now {};
    if (!replaces || ::stat(target_.c_str(), &old) != 0) return;
    if (::fstat(descriptor_, &now) != 0) return fail(errno);
    // Another owner's file stays theirs, where this program may do that; before the
    // permissions, which that may clear.
    if ((old.st_uid != now.st_uid || old.st_gid != now.st_gid) && ::fchown(descriptor_, old.st_uid, old.st_gid) != 0 &&
        ::fchown(descriptor_, -1, old.st_gid) != 0) {
        old.st_mode &= ~static_cast<mode_t>(S_IRWXG);  // they were meant for another group
    }
    if (::fchmod(descriptor_, old.st_mode & 0777) != 0) fail(errno);
}

void FileWriter::write(std::string_view bytes) {
    if (!failure_.empty()) return;
    gathered_ += bytes;
    if (gathered_.size() >= kGathered) flush();
}

void FileWriter::flush() {
    std::string_view left = gathered_;
    while (failure_.empty() && !left.empty()) {
        const ssize_t written = ::write(descriptor_, left.data(), left.size());
        if (written >= 0) {
            left.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno != EINTR) {
            fail(errno);
        }
    }
    gathered_.clear();
}

std::string FileWriter::commit() {
    flush();
    if (failure_.empty() && !temporary_.empty() && ::fsync(descriptor_) != 0) fail(errno);
    if (failure_.empty() && ::close(std::exchange(descriptor_, -1)) != 0) fail(errno);
    if (failure_.empty() && !temporary_.empty()) {
        if (::rename(temporary_.c_str(), target_.c_str()) == 0) {
            temporary_.clear();
        } else {
            fail(errno);
        }
    }
    close();
    return failure_;
}

void FileWriter::fail(int code) {
    if (failure_.empty()) failure_ = std::generic_category().message(code);
}

void FileWriter::close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
    if (!temporary_.empty()) ::unlink(std::exchange(temporary_, {}).c_str());
}

std::string write_file(const fs::path& file, std::string_view bytes, const FileOptions& options) {
    FileWriter writer(file, options);
    writer.write(bytes);
    return writer.commit();
}

}  // namespace offstage::engine
