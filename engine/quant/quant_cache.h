#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>

#include "engine/message.h"
#include "engine/model/fingerprint.h"
#include "engine/quant/disk_reserve.h"
#include "engine/quant/quantizer.h"
#include "kernels/expert_layout.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

// The source and the parameters of a quantized block. kQuantizerVersion is part of it
// without being a field.
struct QuantKey {
    Fingerprint source;  // of the weights
    kernels::WeightType format = kernels::WeightType::kHqq4;
    std::int64_t n_rows = 0;  // of the expert's matrices together
    std::int64_t n_cols = 0;
    kernels::ExpertSpec expert = {};  // not in the file: the bytes of the block tell

    std::uint64_t block_bytes() const {
        return kernels::expert_layout(format, n_cols, n_rows / expert.n_matrices(), expert).weight_bytes();
    }
    std::string file_name() const;
};

// Quantized blocks stored on disk, one file each, deletable at any time. Several programs
// may use one folder at once: files appear whole (written beside, synced, renamed) and
// are read whole or not at all; bound and reserve are kept under a lock on the file
// "lock". A reader of a block holds a shared flock() on its file: such a file is not
// removed to make room.
//
// DiskSpace::reserve_bytes() of the file system stay free. If they do not, the least
// recently used blocks go. If a new block would use the reserve, blocks go that were not
// used for a day; if that is not enough, the new one is not stored.
//
//   byte   0   8 bytes   "OFFQUANT"
//   byte   8   u32       version of this format (1); all numbers little-endian
//   byte  12   u32       version of the quantizer
//   byte  16   2 x u64   fingerprint of the weights: high, low
//   byte  32   u64       WeightType
//   byte  40   2 x i64   rows, columns
//   byte  56   u64       bytes of the block
//   byte  64   2 x f64   QuantError: squared, weights
//   byte  80   2 x u64   fingerprint of the block
//   byte  96   2 x u64   fingerprint of bytes 0 .. 95
//   byte 112   16 x 0
//   byte 128   the block
//
// Any thread. Throws only std::bad_alloc: a file that cannot be read counts as absent, a
// block that cannot be written (a full disk, no permission) is not stored.
class QuantCache {
  public:
    static constexpr std::uint64_t kDefaultBudget = std::uint64_t{16} << 30;

    // With an empty directory nothing is stored. budget_bytes bounds the folder's files;
    // the least recently used blocks go first (a file's modification time is its last
    // use). `space` returns the free space; tests replace it.
    explicit QuantCache(std::filesystem::path directory, std::uint64_t budget_bytes = kDefaultBudget,
                        DiskSpaceFn space = disk_space);

    // False if there is no such block. Removes a file that is damaged or whose header
    // contradicts the key. block: key.block_bytes(); its contents are lost if this
    // returns false.
    bool load(const QuantKey& key, std::span<std::byte> block, QuantError& error, kernels::ThreadPool& pool);
    // False when it was not kept. Throws nothing.
    bool store(const QuantKey& key, std::span<const std::byte> block, const QuantError& error,
               kernels::ThreadPool& pool);

    // Removes blocks where less than the reserve is free. Every load() and store() does
    // as well.
    void keep_reserve() { give_way(0); }

    // Notes for the user since the last call: blocks removed for other files, and the
    // reason why the last unstored block was not stored. Sentences; empty: nothing. That
    // a block was not stored because of the reserve is reported once until one is stored
    // again.
    Message take_problem();

    std::uint64_t bytes() const;  // of all files, listed now
    const std::filesystem::path& directory() const { return directory_; }

  private:
    bool write(const QuantKey& key, std::span<const std::byte> block, const QuantError& error,
               kernels::ThreadPool& pool);
    bool not_kept(const MessageArgument& reason);
    void make_room(std::uint64_t bytes);
    // Makes room for `bytes` more besides the reserve; false: impossible.
    bool give_way(std::uint64_t bytes);

    std::filesystem::path directory_;
    std::uint64_t budget_bytes_;
    DiskSpaceFn space_;
    std::mutex mutex_;               // for the members below
    std::uint64_t unchecked_bytes_;  // may still be written before the folder is looked at again
    Message problem_;
    std::uint64_t removed_bytes_ = 0;  // for the reserve, since take_problem()
    DiskSpace removed_at_;             // the free space at that time
    bool refused_ = false;             // the last block, for the reserve
};

// Reads a file's header and checks it against the key and the file's size. A separate
// function, so that it can be fuzzed. False: the header is damaged or has another key.
bool read_quant_header(std::span<const std::byte> header, std::uint64_t file_bytes, const QuantKey& key,
                       QuantError& error, Fingerprint& block);

}  // namespace offstage::engine
