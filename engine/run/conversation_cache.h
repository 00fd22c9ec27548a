#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/run/forward.h"
#include "engine/run/loaded_model.h"
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
    std::int64_t begin(std::span<const TokenId> prompt) { return kept_.begin(running_, prompt); }
    void begin_empty(std::int64_t n_prompt);
    // Takes the plan's context, unless the sequence is longer.
    void follow_context(std::int64_t context);
    // A step was made.
    void add_step(std::span<const Segment> segments, std::span<const std::int32_t> routing, std::int64_t n_tokens);

    KvSequence& sequence() { return running_.sequence; }
    const std::vector<TokenId>& tokens() const { return running_.tokens; }  // in the sequence
    SnapshotPublisher::Conversation state(double overhead_us) const;

  private:
    LoadedModel* model_ = nullptr;
    PrefixStore kept_;
    CachedPrefix running_;
    RoutingRecorder routing_;
};

}  // namespace offstage::engine
