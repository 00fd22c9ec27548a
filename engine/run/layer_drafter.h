#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/dispatch/dispatcher.h"
#include "engine/experts/expert_store.h"
#include "engine/model/weights.h"
#include "engine/quant/expert_source.h"
#include "engine/run/device_weights.h"
#include "engine/run/expert_host.h"
#include "engine/run/forward.h"
#include "engine/run/kv_cache.h"

namespace offstage::engine {

class ModelRuntime;

// Drafts by the model's own layer that predicts further tokens (PredictionLayer), for one
// conversation at a time. The layer has a Forward and a KV cache of its own on the
// model's device; its experts stay in RAM, in the file's format.
//
// An entry of its KV cache is of a token's state and the token behind it, made of the
// model's own states: after each step of a prompt, and of decode before the next draft.
// Those of a draft, of the layer's own states, are taken back when it ends. Tokens that
// no step of this model computed (a conversation read from a disk) have no entry, nor
// have those of prompts up to kSmallestStep, whose states the model's last layer does
// not compute: the layer then sees less, and guesses worse. A full cache begins anew.
//
// Nothing here changes a result of the model's. One thread, the engine's.
class LayerDrafter {
  public:
    // The referents must outlive this object. Throws Error as a load does.
    LayerDrafter(PredictionLayer& layer, ExpertHost& host, ModelRuntime& runtime);

    // The model's layer, if the request wants drafts and the files have one; one that
    // cannot be used is a note. source: outlives it.
    static std::unique_ptr<PredictionLayer> open(const LoadRequest& request, WeightSource& source,
                                                 kernels::ThreadPool& pool, std::vector<Message>& notes);
    // Adds what it takes to a model's demand.
    static void add_to(ModelDemand& demand, const PredictionLayer& layer, KvType kv);
    static std::uint64_t expert_bytes(const PredictionLayer& layer);

    // From now on the sequence's steps are seen; it holds these tokens. False: another
    // one's are, until leave().
    bool follow(const KvSequence& sequence, std::span<const TokenId> tokens);
    void leave(const KvSequence& sequence);
    // Around each step of the model's; n_prompt: Forward::step()'s.
    void begin_step(std::span<const Segment> segments, std::int64_t n_prompt);
    void end_step(Forward::Logits wanted, bool done);
    // A drafted token of the last step is the sequence's.
    void accept(const KvSequence& sequence, TokenId token);

    // The tokens that probably follow the sequence's and `next`, which no step has
    // computed yet. Returns how many there are: all, or none.
    std::size_t draft(TokenId next, std::span<TokenId> draft);

    // For tests: the layer's logits behind the last of these tokens, each with a state of
    // the model's, (tokens, hidden_dim), of an empty conversation.
    std::vector<float> logits_of(std::span<const TokenId> tokens, std::span<const float> states);
    std::int64_t n_entries() const { return sequence_.size(); }

  private:
    static constexpr std::int64_t kMostPending = 32;  // states without an entry, at most

    void cut(std::size_t n_tokens);
    bool feed(std::span<const std::int64_t> places, TokenId next, const Forward::States& states,
              Forward::Logits wanted);
    bool feed_pending(TokenId next, Forward::Logits wanted);
    float* pending_row(std::size_t i) { return states_.as<float>() + static_cast<std::int64_t>(i) * spec_.hidden_dim; }

    const ModelSpec& spec_;
    Backend& device_;
    Forward& model_;
    DeviceWeights weights_;
    ExpertSource source_;
    ExpertStore experts_;
    CostModel cost_;  // as the model's was: the layer's times are not the model's
    Dispatcher dispatcher_;
    KvCache kv_;
    Forward forward_;
    DeviceBlock states_;  // (kMostPending + a step's, hidden_dim): of the pending tokens
    KvSequence sequence_;

    const KvSequence* followed_ = nullptr;
    std::vector<TokenId> tokens_;        // that it holds
    std::vector<std::int64_t> entries_;  // of each the place of its token, ascending
    std::vector<std::int64_t> pending_;  // places of tokens whose states lie in states_
    // The step under way.
    std::span<const TokenId> step_;  // its certain tokens; empty: it is not seen
    bool is_prompt_ = false;
    bool is_whole_ = false;  // the last layer computes all of its tokens
};

}  // namespace offstage::engine
