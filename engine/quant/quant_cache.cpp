#include "engine/quant/quant_cache.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "engine/device/host_buffer.h"
#include "engine/quant/quant_messages.h"

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::array<char, 8> kMagic = {'O', 'F', 'F', 'Q', 'U', 'A', 'N', 'T'};
constexpr std::uint32_t kQuantFileVersion = 1;
constexpr std::size_t kHeaderBytes = 128;
constexpr std::size_t kSealedBytes = 96;  // covered by the header's own fingerprint
constexpr std::string_view kSuffix = ".quant";
constexpr std::string_view kTemporary = ".writing-";
constexpr std::size_t kReadPiece = std::size_t{4} << 20;
constexpr auto kUnused = std::chrono::hours(24);    // without a use: may go for a new block
constexpr auto kAbandoned = std::chrono::hours(1);  // age at which a temporary file has no writer any more

static_assert(std::endian::native == std::endian::little, "the header is copied as it lies in memory");

struct Header {
    std::array<char, 8> magic = kMagic;
    std::uint32_t version = kQuantFileVersion;
    std::uint32_t quantizer = kQuantizerVersion;
    Fingerprint source;
    std::uint64_t format = 0;
    std::int64_t n_rows = 0;
    std::int64_t n_cols = 0;
    std::uint64_t block_bytes = 0;
    double squared = 0;
    double weights = 0;
    Fingerprint block;
    Fingerprint seal;
    std::array<std::uint64_t, 2> zero{};
};
static_assert(sizeof(Header) == kHeaderBytes && offsetof(Header, seal) == kSealedBytes, "as described");

Fingerprint seal_of(const Header& header) {
    return fingerprint_of(std::as_bytes(std::span(&header, 1)).first(kSealedBytes));
}

class Descriptor {
  public:
    explicit Descriptor(int value) : value_(value) {}
    ~Descriptor() {
        if (value_ >= 0) ::close(value_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return value_; }
    explicit operator bool() const { return value_ >= 0; }
    bool close() {
        const int value = std::exchange(value_, -1);
        return ::close(value) == 0;
    }

  private:
    int value_;
};

bool read_all(int file, std::byte* target, std::size_t size, std::size_t offset) {
    while (size > 0) {
        const ssize_t n = ::pread(file, target, size, static_cast<off_t>(offset));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        target += n;
        offset += static_cast<std::size_t>(n);
        size -= static_cast<std::size_t>(n);
    }
    return true;
}

bool write_all(int file, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(file, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return true;
}

struct Kept {
    fs::path path;
    std::uint64_t bytes = 0;
    fs::file_time_type used;
};

// The folder's blocks; removes abandoned temporary files. Files that disappear meanwhile
// are left out.
std::vector<Kept> list(const fs::path& directory) {
    std::vector<Kept> files;
    std::error_code error;
    for (fs::directory_iterator it(directory, error); !error && it != fs::directory_iterator(); it.increment(error)) {
        const std::string name = it->path().filename().string();
        std::error_code gone;
        const fs::file_time_type used = it->last_write_time(gone);
        if (gone) continue;
        if (name.starts_with(kTemporary)) {
            if (fs::file_time_type::clock::now() - used > kAbandoned) fs::remove(it->path(), gone);
        } else if (name.ends_with(kSuffix) && fs::is_regular_file(it->symlink_status(gone))) {
            const std::uint64_t bytes = it->file_size(gone);
            if (!gone) files.push_back({it->path(), bytes, used});
        }
    }
    return files;
}

// Waits for other programs that change the folder; its owner closes it. Below 0: the
// folder is not there or read-only.
int open_lock(const fs::path& directory) {
    const int lock = ::open((directory / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    while (lock >= 0 && flock(lock, LOCK_EX) != 0 && errno == EINTR) {
    }
    return lock;
}

// False: it stays, because it is being read or may not be removed.
bool remove_unread(const fs::path& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file && flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
    std::error_code failure;
    return fs::remove(path, failure);
}

// Removes the least recently used files until `bytes` are freed. Returns the freed bytes.
std::uint64_t remove_oldest(std::vector<Kept> files, std::uint64_t bytes) {
    std::sort(files.begin(), files.end(),
              [](const Kept& a, const Kept& b) { return a.used != b.used ? a.used < b.used : a.path < b.path; });
    std::uint64_t removed = 0;
    for (const Kept& file : files) {
        if (removed >= bytes) break;
        if (remove_unread(file.path)) removed += file.bytes;
    }
    return removed;
}

std::uint64_t bytes_of(const std::vector<Kept>& files) {
    std::uint64_t bytes = 0;
    for (const Kept& file : files) bytes += file.bytes;
    return bytes;
}

}  // namespace

std::string QuantKey::file_name() const {
    const std::array<Fingerprint, 3> parts = {
        source, Fingerprint{static_cast<std::uint64_t>(n_rows), static_cast<std::uint64_t>(n_cols)},
        Fingerprint{static_cast<std::uint64_t>(format), kQuantizerVersion}};
    return combine(parts, kQuantFileVersion).text() + std::string(kSuffix);
}

bool read_quant_header(std::span<const std::byte> bytes, std::uint64_t file_bytes, const QuantKey& key,
                       QuantError& error, Fingerprint& block) {
    if (bytes.size() < kHeaderBytes) return false;
    Header header;
    std::memcpy(static_cast<void*>(&header), bytes.data(), kHeaderBytes);
    if (header.magic != kMagic || header.version != kQuantFileVersion || header.quantizer != kQuantizerVersion)
        return false;
    if (header.seal != seal_of(header) || header.zero != std::array<std::uint64_t, 2>{}) return false;
    if (header.source != key.source || header.format != static_cast<std::uint64_t>(key.format) ||
        header.n_rows != key.n_rows || header.n_cols != key.n_cols || header.block_bytes != key.block_bytes()) {
        return false;
    }
    if (file_bytes != kHeaderBytes + header.block_bytes) return false;
    if (!std::isfinite(header.squared) || !std::isfinite(header.weights) || header.squared < 0 || header.weights < 0) {
        return false;
    }
    error = {header.squared, header.weights};
    block = header.block;
    return true;
}

QuantCache::QuantCache(fs::path directory, std::uint64_t budget_bytes, DiskSpaceFn space)
    : directory_(std::move(directory)), budget_bytes_(budget_bytes), space_(std::move(space)), unchecked_bytes_(0) {
    static_cast<void>(DiskSpace{}.reserve_bytes());  // reports a wrong OFFSTAGE_DISK_RESERVE now, not during an answer
}

bool QuantCache::load(const QuantKey& key, std::span<std::byte> block, QuantError& error, kernels::ThreadPool& pool) {
    if (directory_.empty() || block.size() != key.block_bytes()) return false;
    const fs::path path = directory_ / key.file_name();
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};
    if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
    // If it fails, another program is removing the file just now: the open file can still
    // be read.
    static_cast<void>(flock(file.get(), LOCK_SH | LOCK_NB));

    std::array<std::byte, kHeaderBytes> header{};
    Fingerprint expected;
    QuantError stored;
    bool whole = read_all(file.get(), header.data(), kHeaderBytes, 0) &&
                 read_quant_header(header, static_cast<std::uint64_t>(status.st_size), key, stored, expected);
    if (whole) {
        std::atomic<bool> failed{false};
        const std::size_t n_pieces = (block.size() + kReadPiece - 1) / kReadPiece;
        pool.parallel_dynamic(static_cast<std::int64_t>(n_pieces), [&](std::int64_t piece, int) {
            const std::size_t begin = static_cast<std::size_t>(piece) * kReadPiece;
            const std::size_t size = std::min(kReadPiece, block.size() - begin);
            if (!read_all(file.get(), block.data() + begin, size, kHeaderBytes + begin)) failed = true;
        });
        whole = !failed && fingerprint_of(block, pool) == expected;
    }
    std::error_code ignored;
    if (!whole) {
        fs::remove(path, ignored);
        return false;
    }
    futimens(file.get(), nullptr);  // its last use is now; not recorded in a read-only folder
    error = stored;
    give_way(0);
    return true;
}

bool QuantCache::store(const QuantKey& key, std::span<const std::byte> block, const QuantError& error,
                       kernels::ThreadPool& pool) {
    const std::uint64_t bytes = kHeaderBytes + block.size();
    if (directory_.empty() || block.size() != key.block_bytes()) return false;
    if (bytes > budget_bytes_) return not_kept(messages::larger_than_all_kept);
    std::error_code failure;
    fs::create_directories(directory_, failure);
    if (failure) return not_kept(failure.message());
    make_room(bytes);
    if (!give_way(bytes) || !write(key, block, error, pool)) return false;
    {
        const std::lock_guard guard(mutex_);
        refused_ = false;
    }
    give_way(0);  // others may have written meanwhile
    return true;
}

bool QuantCache::write(const QuantKey& key, std::span<const std::byte> block, const QuantError& error,
                       kernels::ThreadPool& pool) {
    std::error_code failure;
    Header header;
    header.source = key.source;
    header.format = static_cast<std::uint64_t>(key.format);
    header.n_rows = key.n_rows;
    header.n_cols = key.n_cols;
    header.block_bytes = block.size();
    header.squared = error.squared;
    header.weights = error.weights;
    header.block = fingerprint_of(block, pool);
    header.seal = seal_of(header);

    std::string temporary = (directory_ / (std::string(kTemporary) + "XXXXXX")).string();
    Descriptor file(mkostemp(temporary.data(), O_CLOEXEC));
    if (!file) return not_kept(std::generic_category().message(errno));
    errno = 0;
    const bool written = write_all(file.get(), std::as_bytes(std::span(&header, 1))) && write_all(file.get(), block) &&
                         fchmod(file.get(), 0644) == 0 && fdatasync(file.get()) == 0;
    const int code = errno;
    if (written && file.close()) {
        fs::rename(temporary, directory_ / key.file_name(), failure);
        if (!failure) return true;
    } else {
        failure = std::error_code(written ? errno : code, std::generic_category());
    }
    const std::string reason = failure.message();
    fs::remove(temporary, failure);
    return not_kept(reason);
}

bool QuantCache::not_kept(const MessageArgument& reason) {
    const std::lock_guard guard(mutex_);
    problem_ = messages::quantized_experts_not_kept(directory_.string(), reason);
    return false;
}

Message QuantCache::take_problem() {
    const std::lock_guard guard(mutex_);
    Message text;
    if (const std::uint64_t removed = std::exchange(removed_bytes_, 0); removed > 0) {
        text = messages::quantized_experts_removed(ByteSize{removed}, directory_.string(),
                                                   ByteSize{removed_at_.free_bytes},
                                                   ByteSize{removed_at_.reserve_bytes()});
    }
    return joined(std::move(text), std::exchange(problem_, {}));
}

// Listing every file before each write would take quadratic time. So each listing frees
// an eighth of the budget more than needed, and a sixteenth may be written before the
// next: two programs together stay within the budget.
void QuantCache::make_room(std::uint64_t bytes) {
    const std::lock_guard guard(mutex_);
    if (bytes <= unchecked_bytes_) {
        unchecked_bytes_ -= bytes;
        return;
    }
    const Descriptor lock(open_lock(directory_));
    std::vector<Kept> files = list(directory_);
    const std::uint64_t total = bytes_of(files);
    const std::uint64_t slack = budget_bytes_ / 8;
    const std::uint64_t wanted = bytes + slack <= budget_bytes_ ? budget_bytes_ - slack - bytes : 0;
    if (total > wanted) remove_oldest(std::move(files), total - wanted);
    unchecked_bytes_ = budget_bytes_ / 16;
}

bool QuantCache::give_way(std::uint64_t bytes) {
    if (directory_.empty()) return false;
    std::optional<DiskSpace> space = space_(directory_);
    if (!space || space->missing_bytes(bytes) == 0) return true;
    const std::lock_guard guard(mutex_);
    const Descriptor lock(open_lock(directory_));
    space = space_(directory_);  // another program may have made room meanwhile
    const std::uint64_t wanted = space ? space->missing_bytes(bytes) : 0;
    if (wanted == 0) return true;
    std::vector<Kept> files = list(directory_);
    // For the reserve any block can go. For a new block only blocks that were not used
    // for a while can go, and none if the new one would still not fit: a model whose
    // experts do not all fit would only replace its own blocks.
    std::vector<Kept> unused = files;
    std::erase_if(unused, [](const Kept& file) { return fs::file_time_type::clock::now() - file.used < kUnused; });
    // Counted rather than listed again: some file systems free removed space only after a
    // while.
    const std::uint64_t removed = bytes_of(unused) >= wanted ? remove_oldest(std::move(unused), wanted)
                                                             : remove_oldest(std::move(files), space->missing_bytes());
    if (removed > 0) {
        removed_bytes_ += removed;
        removed_at_ = *space;
    }
    if (removed >= wanted) return true;
    if (bytes > 0 && !std::exchange(refused_, true)) {
        problem_ = messages::quantized_experts_disk_full(directory_.string(), ByteSize{space->free_bytes},
                                                         ByteSize{space->reserve_bytes()});
    }
    return false;
}

std::uint64_t QuantCache::bytes() const {
    return directory_.empty() ? 0 : bytes_of(list(directory_));
}

}  // namespace offstage::engine
