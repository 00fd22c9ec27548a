#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/run/forward.h"
#include "engine/run/loaded_model.h"
#include "engine/run/prefix_file.h"
#include "engine/run/prefix_store.h"
#include "engine/run/snapshot_publisher.h"
#include "engine/telemetry/routing_recorder.h"

namespace offstage::engine {

// The conversations of the answers that are made, or of the last one, in the KV cache,
// beside others that are kept there, and the routing of their tokens. One thread, the
// engine's.
class ConversationCache {
  public:
    // The model must outlive close().
    void open(LoadedModel& model);
    void close();

    // ---- while no answer is made
    // Another conversation begins; the present one is kept.
    void begin_anew();
    // Forgets all of them.
    void reset();

    // ---- answers
    struct End {
        ConversationCache* cache = nullptr;
        void operator()(CachedPrefix* prefix) const { cache->end(prefix); }
    };
    // An answer's conversation until it ends: then it stays, as the present one or,
    // beside others, as a kept one.
    using Running = std::unique_ptr<CachedPrefix, End>;
    Running run();
    std::int64_t n_running() const { return n_running_; }
    // The sequence holds the longest known beginning of the prompt; see
    // PrefixStore::begin(). begin_empty(): it holds nothing.
    // kept_in: as in GenerationRequest; a longer beginning that is kept there is read.
    std::int64_t begin(CachedPrefix& running, std::span<const TokenId> prompt, const std::string& kept_in,
                       PromptReading& reading, const std::stop_token& stop);
    void begin_empty(CachedPrefix& running, std::int64_t n_prompt);
    // Its blocks are free for others, until take_up() makes the sequence hold what is
    // left of these tokens.
    void set_aside(CachedPrefix& running) { kept_.set_aside(running); }
    void take_up(CachedPrefix& running, std::span<const TokenId> tokens) { kept_.take_up(running, tokens); }
    // Sets a running conversation aside where idle ones have no blocks left and the room
    // shrinks (KvCache::GiveUp::kRunning); false: it cannot.
    void set_last_resort(std::function<bool()> free) { last_resort_ = std::move(free); }
    // Takes the plan's context; sequences that are longer keep theirs.
    void follow_context(std::int64_t context);
    // A step was made. Its drafted tokens are left out.
    void add_step(std::span<const Segment> segments, std::span<const std::int32_t> routing);

    // Files of conversations: write_piece() writes this one, see PrefixFile.
    void keep(const KvSequence& sequence, const std::string& kept_in, std::uint64_t most_bytes) {
        file_.begin_write(kept_in, most_bytes, sequence);
    }
    bool write_piece() { return file_.write_piece(); }
    Message take_file_problem() { return file_.take_problem(); }

    std::int64_t most_tokens() const;  // of one answer, also while it is set aside
    SnapshotPublisher::Conversation state(double overhead_us) const;

  private:
    void end(CachedPrefix* prefix);

    LoadedModel* model_ = nullptr;
    PrefixStore kept_;
    std::list<CachedPrefix> running_;  // without an answer: the present one alone
    std::int64_t n_running_ = 0;       // answers
    std::function<bool()> last_resort_;
    PrefixFile file_;
    RoutingRecorder routing_;
};

}  // namespace offstage::engine
