#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace offstage::engine {

struct FileOptions {
    bool make_folders = false;    // those of the path that are missing
    bool wait_for_reader = true;  // of a FIFO; otherwise a FIFO without a reader is a failure
};

// Writes one file. The path's target when the writer is made decides how:
// - nothing yet, or a regular file: the bytes go to a temporary file beside it, which
//   commit() syncs and renames. So
//   there is the whole new file or the old one, also when the program is killed in
//   between. A file that is
//   replaced keeps its permissions and, where the system allows it, its owner; one
//   without write permission stays.
// - a symbolic link, a chain of them, or one whose target is missing: the same for the
//   target; the links stay.
// - a device, a FIFO, a terminal: it is opened and written to, never replaced.
//   /dev/stdout, /dev/fd/N and
//   /proc/self/fd/N are this program's own descriptors: they are written at their present
//   position.
// - a folder or a socket: a failure.
// The first failure is kept, and later calls do nothing. Bytes are gathered; those for a
// device may wait until commit(). One thread at a time. Throws std::bad_alloc only.
class FileWriter {
  public:
    explicit FileWriter(const std::filesystem::path& file, const FileOptions& options = {});
    ~FileWriter();  // without commit(): the temporary file is removed
    FileWriter(const FileWriter&) = delete;
    FileWriter& operator=(const FileWriter&) = delete;

    void write(std::string_view bytes);
    // Call it once. Empty: the file is written; otherwise the reason, in the system's
    // words.
    std::string commit();
    const std::string& failure() const { return failure_; }  // the first so far; empty: none

  private:
    void open_temporary(bool replaces);
    void open_in_place(bool wait_for_reader);
    void flush();
    void fail(int code);
    void close();

    std::filesystem::path target_;
    std::string temporary_;  // empty: the target itself is open
    int descriptor_ = -1;
    std::string gathered_;
    std::string failure_;
};

// Writes a whole file at once. Empty: done; otherwise the reason, as
// FileWriter::commit().
std::string write_file(const std::filesystem::path& file, std::string_view bytes,
                       const FileOptions& options = {.make_folders = true});

}  // namespace offstage::engine
