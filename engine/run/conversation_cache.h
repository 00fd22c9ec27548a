#pragma once

#include <cstdint>
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

// The running conversation in the KV cache, beside those of others that are kept there,
// and the routing of its tokens. One thread, the engine's.
class ConversationCache {
  public:
    // The model must outlive close().
    void open(LoadedModel& model);
    void close();

    // Another conversation begins; the present one is kept.
    void begin_anew();
    // Forgets all of them.
    void reset();
    // The conversation's sequence holds the longest known beginning of the prompt; see
    // PrefixStore::begin(). begin_empty(): it holds nothing.
    // kept_in: as in GenerationRequest; a longer beginning that is kept there is read.
    std::int64_t begin(std::span<const TokenId> prompt, const std::string& kept_in, PromptReading& reading,
                       const std::stop_token& stop);
    void begin_empty(std::int64_t n_prompt);
    // Takes the plan's context, unless the sequence is longer.
    void follow_context(std::int64_t context);
    // A step was made.
    void add_step(std::span<const Segment> segments, std::span<const std::int32_t> routing, std::int64_t n_tokens);

    // Files of conversations: write_piece() writes this one, see PrefixFile.
    void keep(const std::string& kept_in, std::uint64_t most_bytes) {
        file_.begin_write(kept_in, most_bytes, running_.sequence);
    }
    bool write_piece() { return file_.write_piece(); }
    Message take_file_problem() { return file_.take_problem(); }

    KvSequence& sequence() { return running_.sequence; }
    const std::vector<TokenId>& tokens() const { return running_.tokens; }  // in the sequence
    SnapshotPublisher::Conversation state(double overhead_us) const;

  private:
    LoadedModel* model_ = nullptr;
    PrefixStore kept_;
    CachedPrefix running_;
    PrefixFile file_;
    RoutingRecorder routing_;
};

}  // namespace offstage::engine
