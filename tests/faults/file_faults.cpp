// A library for LD_PRELOAD: makes the n-th call that changes a file below a folder fail,
// as with a full disk, a read-only disk or folder, a removed folder, or SIGKILL. Settings
// in the environment:
//
//   OFFSTAGE_FAULTS_FOLDER   absolute, without links; calls for other files are not
//   counted
//   OFFSTAGE_FAULTS_KIND     see Kind; none: the calls are counted and work
//   OFFSTAGE_FAULTS_AT       from which call on, 1 is the first
//   OFFSTAGE_FAULTS_LOG      a file that gets a line per counted call: its name, its
//   file, "!" if it failed
//
// Read when the library is loaded, and by offstage_arm_faults(), which a forked process
// calls. Calls inside the C library do not pass through here, so fopen(), mkstemp() and
// the like are counted themselves.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

enum class Kind {
    kNone,
    kKilled,          // SIGKILL before the call
    kFullDisk,        // calls that need space fail; half of a write's bytes still fit
    kReadOnlyDisk,    // everything fails
    kReadOnlyFolder,  // making, removing or renaming a file fails
    kLostFolder,      // the folder has another name from now on, FOLDER.lost; all calls work
};

constexpr std::string_view kLost = ".lost";

// A call's effect on the disk.
enum class Effect { kEntry, kSpace, kEntryAndSpace, kSync, kClose, kAttributes, kRename };

struct Faults {
    std::string folder;
    std::string log;
    Kind kind = Kind::kNone;
    long at = 0;
    std::atomic<long> n_calls{0};
};

Faults& faults() {
    static Faults* const the = new Faults;  // until the last call of the process
    return *the;
}

std::string environment(const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr ? value : "";
}

// The C library's own function.
template <typename Result, typename... Arguments>
Result pass(const char* name, Arguments... arguments) {
    return reinterpret_cast<Result (*)(Arguments...)>(dlsym(RTLD_NEXT, name))(arguments...);
}

std::string descriptor_path(int descriptor) {
    char link[64];
    char path[4096];
    std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    const ssize_t n = readlink(link, path, sizeof path);
    return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : std::string();
}

std::string absolute(int folder, const char* path) {
    if (path[0] == '/') return path;
    char working[4096];
    const std::string base = folder != AT_FDCWD ? descriptor_path(folder) : getcwd(working, sizeof working);
    return base + "/" + path;
}

// Also under the name that a lost folder has.
bool is_below(std::string_view path) {
    const std::string& folder = faults().folder;
    if (folder.empty() || !path.starts_with(folder)) return false;
    path.remove_prefix(folder.size());
    if (path.starts_with(kLost)) path.remove_prefix(kLost.size());
    return path.empty() || path.front() == '/';
}

void log_call(const char* name, std::string_view path, bool fails) {
    const auto file =
        static_cast<int>(syscall(SYS_openat, AT_FDCWD, faults().log.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600));
    if (file < 0) return;
    std::string line =
        std::string(name) + " " + std::string(path.substr(std::min(path.size(), faults().folder.size())));
    line += fails ? " !\n" : "\n";
    syscall(SYS_write, file, line.data(), line.size());
    syscall(SYS_close, file);
}

bool goes_wrong(Kind kind, Effect effect, bool first) {
    const bool entry = effect == Effect::kEntry || effect == Effect::kEntryAndSpace || effect == Effect::kRename;
    switch (kind) {
        case Kind::kFullDisk:
            return effect == Effect::kSpace || effect == Effect::kEntryAndSpace ||
                   (first && (effect == Effect::kSync || effect == Effect::kClose || effect == Effect::kRename));
        case Kind::kReadOnlyDisk:
            return effect != Effect::kSync && effect != Effect::kClose;
        case Kind::kReadOnlyFolder:
            return entry;
        default:
            return false;
    }
}

struct Verdict {
    int error = 0;       // errno; 0: the call works
    bool first = false;  // the first failing one
};

// Counts a call for a file below the folder.
Verdict count(const char* name, Effect effect, const std::string& path) {
    Faults& f = faults();
    if (f.folder.empty() || !is_below(path)) return {};
    const int before = errno;
    const long n = ++f.n_calls;
    const bool first = n == f.at;
    const bool reached = f.kind != Kind::kNone && f.at > 0 && n >= f.at;
    const bool fails = reached && goes_wrong(f.kind, effect, first);
    log_call(name, path, fails || (first && (f.kind == Kind::kKilled || f.kind == Kind::kLostFolder)));
    if (first && f.kind == Kind::kKilled) kill(getpid(), SIGKILL);
    if (first && f.kind == Kind::kLostFolder) {
        syscall(SYS_renameat2, AT_FDCWD, f.folder.c_str(), AT_FDCWD, (f.folder + std::string(kLost)).c_str(), 0);
    }
    errno = before;
    if (!fails) return {};
    const int error = f.kind == Kind::kFullDisk ? ENOSPC : f.kind == Kind::kReadOnlyDisk ? EROFS : EACCES;
    return {error, first};
}

Verdict count(const char* name, Effect effect, int descriptor) {
    if (faults().folder.empty()) return {};
    struct stat status {};
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return {};
    return count(name, effect, descriptor_path(descriptor));
}

bool exists(const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0;
}

bool may_write(int flags) {
    return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
}

Verdict count_open(const char* name, int folder, const char* path, int flags) {
    if (faults().folder.empty() || !may_write(flags)) return {};
    const std::string file = absolute(folder, path);
    const bool creates = (flags & O_CREAT) != 0 && !exists(file);
    return count(name, creates ? Effect::kEntryAndSpace : Effect::kAttributes, file);
}

Verdict count_path(const char* name, Effect effect, const char* path, int folder = AT_FDCWD) {
    return faults().folder.empty() ? Verdict{} : count(name, effect, absolute(folder, path));
}

// A call for two names counts once.
Verdict count_two(const char* name, int from_folder, const char* from, int to_folder, const char* to) {
    if (faults().folder.empty()) return {};
    const std::string target = absolute(to_folder, to);
    return count(name, Effect::kRename, is_below(target) ? target : absolute(from_folder, from));
}

int failed(const Verdict& verdict) {
    errno = verdict.error;
    return -1;
}

// The C library's function, unless the call must fail.
template <typename... Arguments>
int pass_unless(const Verdict& verdict, const char* name, Arguments... arguments) {
    return verdict.error != 0 ? failed(verdict) : pass<int>(name, arguments...);
}

// Writes half of the bytes if the disk has just become full.
template <typename... Offset>
ssize_t write_unless(const Verdict& verdict, const char* name, int descriptor, const void* bytes, std::size_t size,
                     Offset... offset) {
    if (verdict.error != 0 && !(verdict.first && verdict.error == ENOSPC && size > 1)) return failed(verdict);
    return pass<ssize_t>(name, descriptor, bytes, verdict.error != 0 ? size / 2 : size, offset...);
}

FILE* open_stream(const char* path, const char* mode) {
    const bool creates = std::strchr(mode, 'w') != nullptr || std::strchr(mode, 'a') != nullptr;
    const bool writes = creates || std::strchr(mode, '+') != nullptr;
    const Verdict verdict = count_open("fopen", AT_FDCWD, path,
                                       creates  ? O_WRONLY | O_CREAT
                                       : writes ? O_RDWR
                                                : O_RDONLY);
    if (verdict.error == 0) return pass<FILE*>("fopen", path, mode);
    errno = verdict.error;
    return nullptr;
}

}  // namespace

extern "C" {

#pragma GCC visibility push(default)

void offstage_arm_faults() {
    Faults& f = faults();
    f.folder = environment("OFFSTAGE_FAULTS_FOLDER");
    f.log = environment("OFFSTAGE_FAULTS_LOG");
    f.at = std::atol(environment("OFFSTAGE_FAULTS_AT").c_str());
    const std::string kind = environment("OFFSTAGE_FAULTS_KIND");
    f.kind = kind == "killed"             ? Kind::kKilled
             : kind == "full disk"        ? Kind::kFullDisk
             : kind == "read-only disk"   ? Kind::kReadOnlyDisk
             : kind == "read-only folder" ? Kind::kReadOnlyFolder
             : kind == "lost folder"      ? Kind::kLostFolder
                                          : Kind::kNone;
    f.n_calls = 0;
}

__attribute__((constructor)) static void begin() {
    offstage_arm_faults();
}

// ---- files that are made or opened
int open(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = va_arg(arguments, mode_t);  // unused if no file is made
    va_end(arguments);
    return pass_unless(count_open("open", AT_FDCWD, path, flags), "open", path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = va_arg(arguments, mode_t);
    va_end(arguments);
    return pass_unless(count_open("open", folder, path, flags), "openat", folder, path, flags, mode);
}
int creat(const char* path, mode_t mode) {
    return pass_unless(count_path("open", Effect::kEntryAndSpace, path), "creat", path, mode);
}
int mkstemp(char* path) {
    return pass_unless(count_path("open", Effect::kEntryAndSpace, path), "mkstemp", path);
}
int mkostemp(char* path, int flags) {
    return pass_unless(count_path("open", Effect::kEntryAndSpace, path), "mkostemp", path, flags);
}
FILE* fopen(const char* path, const char* mode) {
    return open_stream(path, mode);
}
int mkdir(const char* path, mode_t mode) {
    return pass_unless(count_path("mkdir", Effect::kEntryAndSpace, path), "mkdir", path, mode);
}
int mkdirat(int folder, const char* path, mode_t mode) {
    return pass_unless(count_path("mkdir", Effect::kEntryAndSpace, path, folder), "mkdirat", folder, path, mode);
}
int symlink(const char* target, const char* path) {
    return pass_unless(count_path("symlink", Effect::kEntryAndSpace, path), "symlink", target, path);
}

// ---- their bytes
ssize_t write(int descriptor, const void* bytes, size_t size) {
    return write_unless(count("write", Effect::kSpace, descriptor), "write", descriptor, bytes, size);
}
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
    return write_unless(count("pwrite", Effect::kSpace, descriptor), "pwrite", descriptor, bytes, size, offset);
}
ssize_t writev(int descriptor, const struct iovec* parts, int n_parts) {
    const Verdict verdict = count("writev", Effect::kSpace, descriptor);
    return verdict.error != 0 ? failed(verdict) : pass<ssize_t>("writev", descriptor, parts, n_parts);
}
int truncate(const char* path, off_t size) {
    return pass_unless(count_path("truncate", Effect::kSpace, path), "truncate", path, size);
}
int ftruncate(int descriptor, off_t size) {
    return pass_unless(count("ftruncate", Effect::kSpace, descriptor), "ftruncate", descriptor, size);
}
int fallocate(int descriptor, int mode, off_t offset, off_t size) {
    return pass_unless(count("fallocate", Effect::kSpace, descriptor), "fallocate", descriptor, mode, offset, size);
}
int posix_fallocate(int descriptor, off_t offset, off_t size) {  // returns the error
    const Verdict verdict = count("fallocate", Effect::kSpace, descriptor);
    return verdict.error != 0 ? verdict.error : pass<int>("posix_fallocate", descriptor, offset, size);
}
int fsync(int descriptor) {
    return pass_unless(count("fsync", Effect::kSync, descriptor), "fsync", descriptor);
}
int fdatasync(int descriptor) {
    return pass_unless(count("fsync", Effect::kSync, descriptor), "fdatasync", descriptor);
}
int close(int descriptor) {  // the descriptor is closed with any result
    const bool writes = !faults().folder.empty() && may_write(fcntl(descriptor, F_GETFL));
    const Verdict verdict = writes ? count("close", Effect::kClose, descriptor) : Verdict{};
    const int status = pass<int>("close", descriptor);
    return verdict.error != 0 ? failed(verdict) : status;
}

// ---- their names and attributes
int rename(const char* from, const char* to) {
    return pass_unless(count_two("rename", AT_FDCWD, from, AT_FDCWD, to), "rename", from, to);
}
int renameat(int from_folder, const char* from, int to_folder, const char* to) {
    return pass_unless(count_two("rename", from_folder, from, to_folder, to), "renameat", from_folder, from, to_folder,
                       to);
}
int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
    return pass_unless(count_two("rename", from_folder, from, to_folder, to), "renameat2", from_folder, from, to_folder,
                       to, flags);
}
int link(const char* from, const char* to) {
    return pass_unless(count_two("link", AT_FDCWD, from, AT_FDCWD, to), "link", from, to);
}
int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
    return pass_unless(count_two("link", from_folder, from, to_folder, to), "linkat", from_folder, from, to_folder, to,
                       flags);
}
int unlink(const char* path) {
    return pass_unless(count_path("unlink", Effect::kEntry, path), "unlink", path);
}
int unlinkat(int folder, const char* path, int flags) {
    return pass_unless(count_path("unlink", Effect::kEntry, path, folder), "unlinkat", folder, path, flags);
}
int remove(const char* path) {
    return pass_unless(count_path("unlink", Effect::kEntry, path), "remove", path);
}
int rmdir(const char* path) {
    return pass_unless(count_path("rmdir", Effect::kEntry, path), "rmdir", path);
}
int chmod(const char* path, mode_t mode) {
    return pass_unless(count_path("chmod", Effect::kAttributes, path), "chmod", path, mode);
}
int fchmod(int descriptor, mode_t mode) {
    return pass_unless(count("chmod", Effect::kAttributes, descriptor), "fchmod", descriptor, mode);
}
int fchown(int descriptor, uid_t user, gid_t group) {
    return pass_unless(count("chown", Effect::kAttributes, descriptor), "fchown", descriptor, user, group);
}

// The same functions on systems whose file offsets always have 64 bits, as on all systems
// that Offstage supports.
static_assert(sizeof(off_t) == 8);
int open64(const char*, int, ...) __attribute__((alias("open")));
int openat64(int, const char*, int, ...) __attribute__((alias("openat")));
int creat64(const char*, mode_t) __attribute__((alias("creat")));
int mkstemp64(char*) __attribute__((alias("mkstemp")));
int mkostemp64(char*, int) __attribute__((alias("mkostemp")));
FILE* fopen64(const char*, const char*) __attribute__((alias("fopen")));
ssize_t pwrite64(int, const void*, size_t, off64_t) __attribute__((alias("pwrite")));
int truncate64(const char*, off64_t) __attribute__((alias("truncate")));
int ftruncate64(int, off64_t) __attribute__((alias("ftruncate")));
int fallocate64(int, int, off64_t, off64_t) __attribute__((alias("fallocate")));
int posix_fallocate64(int, off64_t, off64_t) __attribute__((alias("posix_fallocate")));

#pragma GCC visibility pop

}  // extern "C"
