#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>

#include "engine/indices.h"
#include "engine/plan/load_request.h"
#include "engine/run/kv_cache.h"

namespace offstage::engine {

class LoadedModel;

// Drafts by a smaller model with the same tokens (Leviathan and others, 2023), greedily,
// on the CPU. Its KV cache follows the conversation: what the last draft and this
// conversation have in common stays. Its memory is its own: no budget of the model's
// counts it, and what it takes is no longer free when the model is planned. One thread,
// the engine's.
class ModelDrafter {
  public:
    // LoadRequest::draft_model, with the request's context and threads. Throws Error as a
    // load does.
    ModelDrafter(const LoadRequest& request, const LoadProgressFn& progress, const std::stop_token& stop);
    ~ModelDrafter();

    // Throws Error (kInvalidInput) naming the first token that the two models do not
    // share. Tokens beyond the smaller vocabulary may be missing in one of them.
    void require_tokens_of(const LoadedModel& model);

    // The tokens that probably follow these; returns how many: all or, where they exceed
    // its context or a stop is requested, none.
    std::size_t draft(std::span<const TokenId> tokens, std::span<TokenId> draft, const std::stop_token& stop);
    // Of weights, by draft(), for clocks that account.
    double bytes_read(std::span<const TokenId> tokens, std::size_t n_drafted);

    const LoadedModel& model() const { return *model_; }

  private:
    std::size_t n_common(std::span<const TokenId> tokens) const;
    bool step(std::span<const TokenId> tokens, bool with_logits, const std::stop_token& stop);

    std::unique_ptr<LoadedModel> model_;
    std::int64_t n_tokens_ = 0;  // that both models have
    KvSequence sequence_;
};

}  // namespace offstage::engine
