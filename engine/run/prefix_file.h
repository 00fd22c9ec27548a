#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "engine/message.h"
#include "engine/model/fingerprint.h"
#include "engine/run/kv_cache.h"
#include "engine/run/loaded_model.h"
#include "engine/run/prompt_reading.h"

namespace offstage::engine {

// What the files of a conversation hold.
struct KeptPrefix {
    struct Group {
        std::vector<Fingerprint> blocks;  // of their bytes
        // Their "numbers" are places in `blocks`.
        KvSequence::Table now, at_checkpoint;
    };
    std::vector<WrittenToken> written;  // steps are numbered from 1 on
    std::vector<KvSequence::CutStep> cut_steps;
    std::int64_t checkpoint = 0;  // tokens of the last one; 0: none
    std::vector<Group> groups;    // of the KV cache
};

// Conversations' keys and values on disk, a pair of files each:
//   NAME.kv   the i-th block of all groups that keep everything, one after the other, then
//             the i+1-th ...; behind the last of them those of windows and states. So a
//             conversation that grows writes its new blocks and the last one before.
//   NAME.end  a KeptPrefix in 64-bit words between the format's mark, a fingerprint of all
//             that results depend on, and a fingerprint of all words before. It is replaced
//             at once, when the blocks are written.
// Each block is compared with its fingerprint when it is read: a file that is cut,
// damaged or half written is removed and changes no answer; one of another program,
// model, device or type of keys is not read and is written anew. One thread, the
// engine's.
class PrefixFile {
  public:
    static constexpr std::uint64_t kPieceBytes = std::uint64_t{64} << 20;

    PrefixFile() = default;
    ~PrefixFile() { close(); }
    PrefixFile(const PrefixFile&) = delete;
    PrefixFile& operator=(const PrefixFile&) = delete;
    // `build`: of the program whose results these are. The model must outlive close().
    void open(LoadedModel& model, const std::string& build = program_build());
    // Of the conversation that is being written, what is complete is kept.
    void close();
    static std::string program_build();  // by the program's file
    // Makes NAME.kv, empty, where it is missing. Empty: done; otherwise the reason.
    static std::string prepare(const std::string& name);

    // Nothing unless the conversation has at least this many tokens in common with the
    // prompt, without its last.
    std::optional<KeptPrefix> find(const std::string& name, std::span<const TokenId> prompt, std::int64_t n_at_least);
    // Has an empty sequence hold what find() found, or of conversations whose groups keep
    // everything the common tokens alone. Blocks are taken as for a prompt. False:
    // stopped, no room, a shorter reach than n_at_least, damaged; the sequence is empty
    // then.
    bool read(const std::string& name, const KeptPrefix& prefix, std::span<const TokenId> prompt,
              std::int64_t n_at_least, KvSequence& sequence, PromptReading& reading, const std::stop_token& stop);

    // From now on write_piece() writes this sequence. Before, what is complete of the
    // last one is kept. most_bytes: of all files in the folder; the longest unused are
    // removed.
    void begin_write(const std::string& name, std::uint64_t most_bytes, const KvSequence& sequence);
    // Writes that many bytes, and at least a block. False: nothing is left to write.
    bool write_piece(std::uint64_t most_bytes = kPieceBytes);
    // Gives the blocks up that are still to be written. False: there are none.
    bool drop();
    // Files that were damaged or could not be written, since the last call.
    Message take_problem() { return std::exchange(problem_, {}); }

  private:
    struct Block {
        std::size_t group = 0, place = 0;  // in KeptPrefix::Group::blocks
        std::int32_t number = 0;           // in the pool
    };
    struct Writing {
        std::string name;
        std::uint64_t most_bytes = 0;
        KvSequence sequence;  // idle
        KeptPrefix prefix;
        std::vector<Block> blocks;
        std::size_t n_written = 0;  // of them
        std::fstream file;
        Fingerprint identity;
    };
    Fingerprint identity() const;
    std::uint64_t block_bytes(std::size_t group) const;
    std::uint64_t place_of(const KeptPrefix& prefix, std::size_t group, std::size_t place) const;
    std::uint64_t bytes_of(const KeptPrefix& prefix) const;
    bool take_blocks(const KeptPrefix& prefix, std::int64_t n_tokens, std::vector<std::vector<std::int32_t>>& blocks);
    std::optional<KeptPrefix> load(const std::string& name);
    void remove_damaged(const std::string& name, const std::string& where);
    void keep_complete();
    void finish();
    void fail(const std::string& file, const std::string& reason);

    LoadedModel* model_ = nullptr;
    Fingerprint identity_;  // of all that results depend on, but for what changes while a model is loaded
    bool is_known_ = false;
    std::uint32_t last_step_ = ~std::uint32_t{0};  // steps of sequences that are read are numbered downwards
    std::optional<Writing> writing_;
    std::vector<std::byte> bytes_;  // of a block
    Message problem_;
};

}  // namespace offstage::engine
