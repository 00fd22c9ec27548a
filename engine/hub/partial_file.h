#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>

#include "engine/hub/hub_repository.h"

namespace offstage::engine {

class OpenedFile {
  public:
    OpenedFile(const std::filesystem::path& path, int flags);  // throws Error (kInvalidInput)
    ~OpenedFile();
    OpenedFile(const OpenedFile&) = delete;
    OpenedFile& operator=(const OpenedFile&) = delete;
    int descriptor() const { return descriptor_; }
    const std::filesystem::path& path() const { return path_; }
    void write(std::uint64_t at, std::string_view bytes) const;  // throws Error (kInvalidInput)
    void set_size(std::uint64_t bytes) const;

  private:
    std::filesystem::path path_;
    int descriptor_;
};

// A file that is being got in parts, which come in any order. BLOB.offstage has the bytes
// at their places; BLOB.offstage.parts has the size of a part in its first line, then a
// line for each part that is there. (BLOB.incomplete would be taken by other programs for
// the beginning of the file, as long as it is.) A part counts once its bytes are on the
// disk, so that a program that is killed, or a computer without power, loses no more than
// the parts on their way. write() may be called by several threads, everything else by
// one at a time.
class PartialFile {
  public:
    // Goes on with the parts that are there. Throws Error (kInvalidInput): it cannot be
    // written, or another program gets the same file.
    PartialFile(const HubFile& file, const std::filesystem::path& blobs, std::uint64_t part_bytes);

    // What of the disk it takes already, a finished one not.
    static std::uint64_t bytes_on_disk(const HubFile& file, const std::filesystem::path& blobs);

    // Removes the file's parts where `list` is their list and no program has it locked.
    static void discard(const std::filesystem::path& list);

    const HubFile& file() const { return file_; }
    std::uint64_t n_parts() const;
    bool has(std::uint64_t part) const { return parts_.contains(part); }
    ByteRange range(std::uint64_t part) const;
    std::uint64_t bytes_there() const;
    void write(std::uint64_t at, std::string_view bytes) const { data_.write(at, bytes); }
    void sync() const;             // what was written is on the disk
    void add(std::uint64_t part);  // which was written and synced
    // Checks size and checksum, and makes it the blob. A file that is another one than
    // was announced is removed: throws Error (kInvalidModel); kCancelled.
    void finish(const std::filesystem::path& blob, const std::string& host,
                const std::function<void(std::uint64_t)>& progress, const std::stop_token& stop);

  private:
    void read_list();
    std::string checksum(const std::function<void(std::uint64_t)>& progress, const std::stop_token& stop) const;

    HubFile file_;
    std::uint64_t part_bytes_;
    OpenedFile list_;  // opened and locked before the other: that one may be finished meanwhile
    bool is_locked_;
    OpenedFile data_;
    std::uint64_t list_bytes_ = 0;
    std::set<std::uint64_t> parts_;
};

}  // namespace offstage::engine
