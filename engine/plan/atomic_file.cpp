#include "engine/plan/atomic_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace offstage::engine {

std::string write_file_atomically(const std::filesystem::path& file, std::string_view text) {
    std::error_code error;
    if (file.has_parent_path()) {
        std::filesystem::create_directories(file.parent_path(), error);
        if (error) return error.message();
    }
    // A name that nobody else has: two programs may write the same file at once.
    std::string temporary = file.string() + ".XXXXXX";
    const int descriptor = mkstemp(temporary.data());
    if (descriptor < 0) return std::strerror(errno);

    std::string failure;
    while (!text.empty()) {
        const ssize_t written = ::write(descriptor, text.data(), text.size());
        if (written < 0) {
            if (errno == EINTR) continue;
            failure = std::strerror(errno);
            break;
        }
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    // mkstemp makes a file for its owner alone; the mask is what files here usually get.
    if (failure.empty() && fchmod(descriptor, 0644) != 0) failure = std::strerror(errno);
    if (failure.empty() && fsync(descriptor) != 0) failure = std::strerror(errno);
    if (close(descriptor) != 0 && failure.empty()) failure = std::strerror(errno);
    if (failure.empty()) {
        std::filesystem::rename(temporary, file, error);
        if (error) failure = error.message();
    }
    if (!failure.empty()) std::filesystem::remove(temporary, error);
    return failure;
}

}  // namespace offstage::engine
