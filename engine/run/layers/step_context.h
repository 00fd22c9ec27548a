#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/backend.h"
#include "kernels/types.h"

namespace offstage::engine {

// One step in the KV cache of a group of layers.
struct KvStep {
    kernels::KvShape shape;
    std::vector<AttentionSegment> segments;
};

// One step, as a layer module sees it. Addresses of the device's memory.
struct StepContext {
    Backend& device;
    std::int64_t n_tokens = 0;
    std::span<const KvStep> kv;  // by group of layers
    const float* cos = nullptr;  // (n_tokens, rotary_dim / 2), of the tokens' positions
    const float* sin = nullptr;
    const std::int32_t* identity = nullptr;  // 0, 1, 2 ...: rows of a network are the step's tokens
    float* x = nullptr;                      // (n_tokens, hidden_dim): the residual stream
    float* normalised = nullptr;             // (n_tokens, hidden_dim): a module's input
    float* workspace = nullptr;              // what the module asked for, for n_tokens tokens
};

// Pieces of a module's workspace, one after the other, each for all tokens of the step. A
// piece's width is rounded up, so that all begin at multiples of 16 bytes.
class WorkspacePieces {
  public:
    explicit WorkspacePieces(const StepContext& step) : next_(step.workspace), n_tokens_(step.n_tokens) {}
    float* take(std::int64_t width) {
        float* piece = next_;
        next_ += n_tokens_ * rounded(width);
        return piece;
    }
    static constexpr std::int64_t rounded(std::int64_t width) { return (width + 3) / 4 * 4; }

  private:
    float* next_;
    std::int64_t n_tokens_;
};

// Attention of one layer: x += output(attention(normalised)).
class AttentionModule {
  public:
    virtual ~AttentionModule() = default;
    virtual void run(const StepContext& step) const = 0;
};

}  // namespace offstage::engine
