#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/model/model_spec.h"
#include "engine/run/layers/step_context.h"

namespace offstage::engine {

// The rotary positions of a model's layers: cos and sin of a step's tokens, once for each
// kind of positions (RopeSpec) that its layers have. One thread.
class Positions {
  public:
    // context: the longest sequence (RopeSpec::is_long()). The spec must outlive this
    // object.
    Positions(const ModelSpec& spec, std::int64_t context);

    // A layer's kind: an index of StepContext::rotations.
    std::size_t kind_of(std::int64_t layer) const { return layers_[static_cast<std::size_t>(layer)]; }
    // That of its pooled keys (PooledSpec), if it has any.
    std::size_t pooled_kind_of(std::int64_t layer) const { return pooled_[static_cast<std::size_t>(layer)]; }
    // For all kinds, for one token.
    static std::int64_t floats_per_token(const ModelSpec& spec);

    // Tokens past .. past + n_tokens of a sequence are rows first_row, first_row + 1 ...
    // of n_rows; values: floats_per_token() for each row.
    void fill(std::int64_t past, std::int64_t n_tokens, std::int64_t first_row, std::int64_t n_rows,
              float* values) const;
    // The kinds' cos and sin in values that fill() wrote; until the next call.
    std::span<const Rotation> places(const float* values, std::int64_t n_rows);

  private:
    struct Kind {
        std::vector<float> inverse_frequencies;  // (rotary_dim / 2)
        float amplitude = 1;
        std::int64_t unit = 1;
        const RopeSpec* dynamic = nullptr;  // set where they depend on the step (RopeSpec::dynamic_context)
        std::int64_t half() const { return static_cast<std::int64_t>(inverse_frequencies.size()); }
    };
    std::vector<Kind> kinds_;
    std::vector<std::size_t> layers_, pooled_;
    std::vector<Rotation> places_;
};

}  // namespace offstage::engine
