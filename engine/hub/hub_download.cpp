#include "engine/hub/hub_download.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "engine/error.h"
#include "engine/files/file_writer.h"
#include "engine/hub/hub_messages.h"
#include "engine/hub/hub_workers.h"
#include "engine/hub/partial_file.h"
#include "engine/model/model_finder.h"

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kHubMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kSpareBytes = 256 * kHubMiB;  // that stay free on the disk
constexpr std::uint64_t kLargestPart = 32 * kHubMiB;  // a larger one is a long way to go again
constexpr std::uint64_t kPartsOfFile = 64;

[[noreturn]] void cannot_write(const fs::path& path, const std::string& reason) {
    throw Error(ErrorKind::kInvalidInput, messages::cannot_write_model(path.string(), reason));
}

void make_folder(const fs::path& folder) {
    std::error_code failure;
    fs::create_directories(folder, failure);
    if (failure) cannot_write(folder, failure.message());
}

std::uint64_t part_bytes_of(const HubDownload& download, const HubFile& file) {
    if (download.part_bytes > 0) return download.part_bytes;
    return std::clamp(file.bytes / kPartsOfFile / kHubMiB * kHubMiB, kHubMiB, kLargestPart);
}

// The folders of one repository in the cache.
class RepositoryFolder {
  public:
    explicit RepositoryFolder(const HubDownload& download)
        : repository_(download.repository),
          snapshot_(snapshot_folder(download.cache, repository_)),
          root_(snapshot_.parent_path().parent_path()) {}
    fs::path blobs() const { return root_ / "blobs"; }
    const fs::path& snapshot() const { return snapshot_; }
    fs::path blob(const HubFile& file) const { return blobs() / file.blob(); }
    bool has(const HubFile& file) const {
        std::error_code failure;
        return fs::file_size(blob(file), failure) == file.bytes && !failure;
    }
    void link(const HubFile& file) const {
        const fs::path at = snapshot_ / file.path, folder = at.parent_path();
        const fs::path target = blob(file).lexically_relative(folder);
        std::error_code failure;
        if (fs::read_symlink(at, failure) == target && !failure) return;
        make_folder(folder);
        fs::remove(at, failure);
        fs::create_symlink(target, at, failure);
        if (failure) cannot_write(at, failure.message());
    }
    void write_revision() const {
        if (repository_.revision == repository_.commit) return;
        const fs::path at = root_ / "refs" / repository_.revision;
        const std::string failure = write_file(at, repository_.commit);
        if (!failure.empty()) cannot_write(at, failure);
    }

  private:
    const HubRepository& repository_;
    fs::path snapshot_, root_;
};

// How fast bytes have come in the last seconds.
class Speed {
  public:
    double at(std::chrono::steady_clock::time_point now, std::uint64_t bytes) {
        samples_.push_back({now, bytes});
        while (samples_.size() > 2 && now - samples_[1].time > std::chrono::seconds(5)) samples_.pop_front();
        const std::chrono::duration<double> s = now - samples_.front().time;
        return s.count() > 0 ? static_cast<double>(bytes - samples_.front().bytes) / s.count() : 0;
    }

  private:
    struct Sample {
        std::chrono::steady_clock::time_point time;
        std::uint64_t bytes;
    };
    std::deque<Sample> samples_;
};

// What has come of a model, for the progress: any thread.
class Counter {
  public:
    Counter(const HubDownload& download, std::uint64_t done) : download_(download), done_(done) {
        speed_.at(std::chrono::steady_clock::now(), done);
    }
    void add(const HubFile& file, std::uint64_t bytes) {
        const std::scoped_lock lock(mutex_);
        done_ += bytes;
        const auto now = std::chrono::steady_clock::now();
        if (now - last_call_ < std::chrono::milliseconds(100) && done_ < download_.model.bytes()) return;
        last_call_ = now;
        const double speed = speed_.at(now, done_);
        if (download_.progress) download_.progress({file.path, done_, download_.model.bytes(), speed, false});
    }

  private:
    const HubDownload& download_;
    std::mutex mutex_;
    std::uint64_t done_;
    Speed speed_;
    std::chrono::steady_clock::time_point last_call_;
};

struct Part {
    PartialFile* file;
    std::uint64_t number;
};

void get_parts(const HubDownload& download, const std::vector<Part>& parts, Counter& counter,
               const std::stop_token& stop) {
    std::mutex mutex;  // of the files' lists
    const auto get = [&](HubConnection& connection, std::size_t i, const std::stop_token& ends) {
        PartialFile& file = *parts[i].file;
        const ByteRange range = file.range(parts[i].number);
        std::uint64_t at = range.begin;
        const auto take = [&](std::string_view bytes) {
            file.write(at, bytes);
            at += bytes.size();
            counter.add(file.file(), bytes.size());
        };
        connection.get_part(path_on_hub(download.repository, file.file()), range, file.file().bytes, take, ends);
        file.sync();
        const std::scoped_lock lock(mutex);
        file.add(parts[i].number);
    };
    for_each_with_connection(download.access, download.connections, parts.size(), stop, get);
}

}  // namespace

fs::path hub_cache() {
    for (const ModelPlace& place : model_places()) {
        if (place.origin == ModelOrigin::kHuggingFace) return place.folder;
    }
    return {};
}

void discard_parts(const fs::path& cache, const std::string& repository) {
    const HubRepository of{repository, {}, "any", {}};
    const fs::path blobs = snapshot_folder(cache, of).parent_path().parent_path() / "blobs";
    std::error_code failure;
    for (const fs::directory_entry& entry : fs::directory_iterator(blobs, failure)) PartialFile::discard(entry.path());
}

fs::path snapshot_folder(const fs::path& cache, const HubRepository& repository) {
    std::string name = repository.name;
    name.replace(name.find('/'), 1, "--");
    return cache / ("models--" + name) / "snapshots" / repository.commit;
}

std::uint64_t bytes_without_room(const HubDownload& download) {
    const RepositoryFolder folder(download);
    std::uint64_t needed = kSpareBytes;
    for (const HubFile& file : download.model.files) {
        if (!folder.has(file))
            needed += file.bytes - std::min(file.bytes, PartialFile::bytes_on_disk(file, folder.blobs()));
    }
    fs::path there = folder.blobs();
    while (!fs::exists(there) && there.has_relative_path()) there = there.parent_path();
    std::error_code failure;
    const fs::space_info room = fs::space(there, failure);
    return failure ? 0 : needed - std::min<std::uint64_t>(needed, room.available);
}

fs::path get_model(const HubDownload& download, const std::stop_token& stop) {
    const RepositoryFolder folder(download);
    if (const std::uint64_t missing = bytes_without_room(download); missing > 0) {
        throw Error(ErrorKind::kOutOfMemory,
                    messages::no_room_for_model(download.repository.name, ByteSize{missing}, download.cache.string()));
    }
    make_folder(folder.blobs());
    std::vector<std::unique_ptr<PartialFile>> files;
    std::vector<Part> parts;
    std::set<std::string> seen;
    std::uint64_t done = 0;
    for (const HubFile& file : download.model.files) {
        const bool is_new = seen.insert(file.blob()).second;  // not the same bytes under another name
        if (folder.has(file) || !is_new) {
            done += file.bytes;
            continue;
        }
        PartialFile& partial =
            *files.emplace_back(std::make_unique<PartialFile>(file, folder.blobs(), part_bytes_of(download, file)));
        done += partial.bytes_there();
        for (std::uint64_t part = 0; part < partial.n_parts(); ++part) {
            if (!partial.has(part)) parts.push_back({&partial, part});
        }
    }
    Counter counter(download, done);
    get_parts(download, parts, counter, stop);
    const std::string host = HubConnection(download.access).host();
    for (const auto& file : files) {
        const auto checked = [&](std::uint64_t bytes) {
            if (download.progress) download.progress({file->file().path, bytes, file->file().bytes, 0, true});
        };
        file->finish(folder.blob(file->file()), host, checked, stop);
    }
    for (const HubFile& file : download.model.files) folder.link(file);
    folder.write_revision();
    return download.model.to_open(folder.snapshot());
}

}  // namespace offstage::engine
