#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "engine/run/kv_cache.h"
#include "engine/run/loaded_model.h"
#include "engine/run/sampler.h"
#include "engine/run/session.h"
#include "engine/telemetry/routing_recorder.h"
#include "engine/telemetry/snapshot_board.h"

namespace offstage::engine {

// The engine on this machine: what Session::create() returns.
class LocalSession final : public Session {
  public:
    ModelSummary load(const LoadRequest& request, const LoadProgressFn& progress, std::stop_token stop) override;
    void unload() override;
    bool is_loaded() const override { return model_ != nullptr; }
    std::int64_t count_tokens(const std::vector<ChatMessage>& messages) const override;
    GenerationResult generate(const GenerationRequest& request, const TextDeltaFn& on_delta,
                              std::stop_token stop) override;
    void reset_conversation() override;
    Snapshot snapshot() const override { return board_.latest(); }

  private:
    LoadedModel& require_model() const;
    const Tokenizer& require_tokenizer() const;
    std::vector<TokenId> prompt_tokens(const GenerationRequest& request) const;
    std::vector<TokenId> render(const std::vector<ChatMessage>& messages) const;
    void check_fits(std::int64_t n_prompt) const;
    std::int64_t reuse_prefix(const std::vector<TokenId>& prompt);
    // Runs tokens through the model, logits of the last one wanted; false when stopped.
    bool feed(std::span<const TokenId> tokens, const std::stop_token& stop);
    bool is_end(TokenId token) const;
    // Puts what may be looked at on the board: at once, or when the last time was long enough ago for an eye to care.
    enum class Publish { kNow, kWhenDue };
    void publish(Publish when);

    std::unique_ptr<LoadedModel> model_;
    KvCache cache_;
    std::vector<TokenId> cached_tokens_;  // what cache_ holds, token by token
    RoutingRecorder recorder_;
    SnapshotBoard board_;
    std::chrono::steady_clock::time_point last_published_;
};

}  // namespace offstage::engine
