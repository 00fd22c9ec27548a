#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

#include "engine/hub/hub_repository.h"

namespace offstage::engine {

struct HubProgress {
    std::string file;  // that a part of has just come
    std::uint64_t bytes_done = 0;
    std::uint64_t bytes_total = 0;
    double bytes_per_s = 0;  // of the last seconds
    bool checking = false;   // the checksum, not the download
};

struct HubDownload {
    HubAccess access;
    HubRepository repository;
    HubModel model;
    std::filesystem::path cache;                       // hub_cache()
    int connections = 4;                               // parts that come at the same time
    std::uint64_t part_bytes = 0;                      // 0: by the size of the file, 1 to 32 MiB
    std::function<void(const HubProgress&)> progress;  // one call at a time; may be empty
};

// The Hugging Face cache of this user (model_places()).
std::filesystem::path hub_cache();

// "CACHE/models--OWNER--NAME/snapshots/COMMIT"
std::filesystem::path snapshot_folder(const std::filesystem::path& cache, const HubRepository& repository);

// What the disk lacks for the rest of a model, bytes, beside some room that stays free;
// 0: it has room.
std::uint64_t bytes_without_room(const HubDownload& download);

// Removes the parts of a repository's files that are not complete, but for those that a
// program gets now. The files that can be removed are; there is no failure.
void discard_parts(const std::filesystem::path& cache, const std::string& repository);

// Gets a model into the cache, as huggingface_hub lays it out (blobs, snapshots, refs),
// in several parts at a time. What is there already is not got again; a download that was
// stopped, cut off or killed goes on with the parts that it has. A file counts once its
// size and its checksum are those that the hub announced. Returns what to open. Throws
// Error: as HubConnection, kOutOfMemory without room on the disk, kInvalidModel for a
// file that is another one (which is removed), kInvalidInput where files cannot be
// written or another program gets the same.
//
//   models--OWNER--NAME/blobs/CHECKSUM           the file (PartialFile while it comes)
//   models--OWNER--NAME/snapshots/COMMIT/PATH    a link to it
//   models--OWNER--NAME/refs/REVISION            the commit
std::filesystem::path get_model(const HubDownload& download, const std::stop_token& stop);

}  // namespace offstage::engine
