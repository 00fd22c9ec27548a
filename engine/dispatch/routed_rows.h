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
    bool looked_up = false;  // the device computes it already (ResidentLayers)
};

// Tokens first .. first + n of a step.
struct TokenRange {
    std::int64_t first = 0;
    std::int64_t n = 0;
};

// A layer's (token, chosen expert) pairs: from the router's result to rows grouped by
// expert, in the schedule's order, and back to the tokens. The router chooses for all
// tokens; rows exist only for the wanted tokens. One thread.
class RoutedRows {
  public:
    // For steps of up to max_step tokens. Throws Error (kOutOfMemory). The referents must
    // outlive this object.
    RoutedRows(const ExpertGrid& grid, Backend& device, std::int64_t max_step);
    // From the next step on; call it between two steps. 0: frees the memory, and no step
    // may follow. Throws Error (kOutOfMemory); the object is then useless until another
    // call succeeds.
    void set_max_step(std::int64_t max_step);
    // Bytes on the device for one more token of a step.
    static std::uint64_t bytes_per_token(const ExpertGrid& grid);

    // wanted: ascending, of the n_tokens; nothing else is computed or changed.
    void begin(std::int64_t n_tokens, std::span<const TokenRange> wanted);
    // Whether some tokens are left out. All wanted tokens lie in span(), which is empty
    // if there are none.
    bool leaves_out() const { return n_wanted_ < n_tokens_; }
    TokenRange span() const;
    std::int64_t n_wanted() const { return n_wanted_; }
    // The router writes its result here: (n_tokens, n_active) each. download() copies the
    // choice to the host; as_operation: by Backend::store().
    std::int32_t* chosen() const { return chosen_.device(); }
    float* weights() const { return weights_.as<float>(); }
    void download(bool as_operation);

    // ---- without the answer on the host, where all tokens are wanted
    // ops::GroupedExperts by the choice; combine() may follow.
    void compute(const kernels::ExpertLayout& layout, const std::byte* const* blocks, const float* input);

    // ---- with the answer on the host
    // (n_tokens, n_active) to to[t * stride + 0 .. n_active).
    void copy_choice(std::int32_t* to, std::int64_t stride);
    // The experts that the wanted tokens chose, ascending; the caller fills in their
    // places. loads() returns these from then on. count_all(): the same for all tokens.
    // count(chosen): for a choice that was read elsewhere.
    std::span<ExpertLoad> count();
    std::span<ExpertLoad> count_all();
    std::span<ExpertLoad> count(std::span<const std::int32_t> chosen);
    std::span<const ExpertLoad> loads() const { return loads_; }
    // Makes the i-th group from the i-th assignment. looked_up: for one token's
    // assignments, 1 for those that the device computes already, where room_behind().
    // Such a row lies at its place in the choice, and the rows of the others after
    // n_active rows.
    void group(std::span<const Assignment> assignments, std::span<const std::uint8_t> looked_up = {});
    bool room_behind() const { return max_step_ > 1; }
    std::span<const RowGroup> groups() const { return groups_; }

    // The token of each row: on the device, on the host.
    const std::int32_t* device_row_token() const { return row_map_.device(); }
    const std::int32_t* host_row_token() { return row_map_.host(); }
    // The experts' outputs, (n_rows, hidden_dim).
    Mirror<float>& outputs() { return outputs_; }
    // Rows that were computed on the host: combine() uses the host's. Copies them to the
    // device, neighbouring groups together, or, of one token, has the device read them
    // and the map where they lie, where it can.
    void upload(std::span<const std::size_t> groups);
    // x (n_tokens, hidden_dim) += the weighted sums of each wanted token's rows.
    void combine(float* x);

    // ---- before the answer is on the host (Backend::hand_over), of one token
    // Whether the device stores the choice and reads the host's rows and their places
    // where they lie.
    bool can_await() const;
    // Once before such a layer; on the compute queue.
    void prepare_await();
    // combine() when the host has answered; until then count(), group() and upload().
    void combine_awaited(float* x);

  private:
    std::int64_t n_rows() const { return n_wanted_ * grid_.n_active; }
    void add_counts(std::span<const std::int32_t> chosen);
    std::span<ExpertLoad> list_counted();
    std::int64_t place_in_choice(std::int32_t expert);
    void upload_map();
    bool combines_in_place() const;
    void submit_sums(float* x, bool awaits_host);

    const ExpertGrid& grid_;
    Backend& device_;
    std::int64_t max_step_ = 0;
    Mirror<std::int32_t> chosen_;   // (n_tokens, n_active)
    Mirror<std::int32_t> row_map_;  // row_token, from row_of_at_ on row_of (n_rows)
    DeviceBlock weights_;           // (n_tokens, n_active) float
    Mirror<float> outputs_;
    std::vector<ExpertLoad> loads_;
    std::vector<RowGroup> groups_;
    std::vector<std::int32_t> token_counts_;  // (n_experts)
    std::vector<std::int64_t> next_row_;      // (n_experts)
    std::int64_t n_tokens_ = 0;
    std::span<const TokenRange> wanted_;
    std::int64_t n_wanted_ = 0;  // tokens
    std::int64_t row_of_at_ = 0;
    bool in_place_ = false;   // the device reads row_of and the host's rows in host memory
    bool has_zeros_ = false;  // row_token on the device is that of any one token
};

}  // namespace offstage::engine
