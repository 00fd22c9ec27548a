#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/mirror.h"
#include "engine/model/model_spec.h"
#include "engine/plan/dispatch_policy.h"

namespace offstage::engine {

// One expert's rows of a step.
struct RowGroup {
    std::int32_t expert = 0;
    std::int64_t first_row = 0;
    std::int64_t n_rows = 0;
};

// A layer's (token, chosen expert) pairs: from the router's answer to rows grouped by
// expert, in the schedule's order, and back to the tokens. One thread.
class RoutedRows {
  public:
    // For steps of up to max_step tokens. Throws Error (kOutOfMemory). The referents must
    // outlive this object.
    RoutedRows(const ExpertGrid& grid, Backend& device, std::int64_t max_step);
    // Bytes on the device for one more token of a step.
    static std::uint64_t bytes_per_token(const ExpertGrid& grid);

    void begin(std::int64_t n_tokens) { n_tokens_ = n_tokens; }
    // Where the router's answer goes: (n_tokens, n_active) each. download() brings the
    // choice to the host.
    std::int32_t* chosen() const { return chosen_.device(); }
    float* weights() const { return weights_.as<float>(); }
    void download();

    // ---- with the answer on the host
    // (n_tokens, n_active) to to[t * stride + 0 .. n_active).
    void copy_choice(std::int32_t* to, std::int64_t stride);
    // The experts that were chosen, ascending; where they are is the caller's to fill in. loads() are these then.
    std::span<ExpertLoad> count() { return count({chosen_.host(), static_cast<std::size_t>(n_rows())}); }
    std::span<ExpertLoad> count(std::span<const std::int32_t> chosen);
    std::span<const ExpertLoad> loads() const { return loads_; }
    // The i-th group is the i-th assignment's.
    void group(std::span<const Assignment> assignments);
    std::span<const RowGroup> groups() const { return groups_; }

    // The token of each row: on the device, on the host.
    const std::int32_t* device_row_token() const { return row_map_.device(); }
    const std::int32_t* host_row_token() { return row_map_.host(); }
    // The experts' outputs, (n_rows, hidden_dim).
    Mirror<float>& outputs() { return outputs_; }
    // Rows that were computed on the host go to the device. Neighbouring groups go
    // together.
    void upload(std::span<const std::size_t> groups);
    // x (n_tokens, hidden_dim) += the weighted sums of each token's rows.
    void combine(float* x);

  private:
    std::int64_t n_rows() const { return n_tokens_ * grid_.n_active; }

    const ExpertGrid& grid_;
    Backend& device_;
    Mirror<std::int32_t> chosen_;   // (n_tokens, n_active)
    Mirror<std::int32_t> row_map_;  // row_token (n_rows), then row_of (n_rows)
    DeviceBlock weights_;           // (n_tokens, n_active) float
    Mirror<float> outputs_;
    std::vector<ExpertLoad> loads_;
    std::vector<RowGroup> groups_;
    std::vector<std::int32_t> token_counts_;  // (n_experts)
    std::vector<std::int64_t> next_row_;      // (n_experts)
    std::int64_t n_tokens_ = 0;
};

}  // namespace offstage::engine
