#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/mirror.h"
#include "engine/dispatch/routed_rows.h"
#include "engine/experts/expert_store.h"
#include "engine/model/model_spec.h"

namespace offstage::engine {

// Experts on the device in a layer of a single token, computed before the host knows the
// router's choice: the device looks their blocks up in a table. If the device holds all
// of a layer in one format, the host does not wait for the choice, and receives the
// choices of several layers together. In other layers the device computes its experts of
// the most frequent format, while the choice goes to the host, which handles the rest.
// One thread, the engine's.
class ResidentLayers {
  public:
    // Throws Error (kOutOfMemory). The referents must outlive this object.
    ResidentLayers(const ExpertGrid& grid, const ExpertStore& experts, Backend& device);
    static std::uint64_t device_bytes(const ExpertGrid& grid);

    // Whether all of the layer's experts can be looked up now, or some. Between two
    // layers experts may move.
    bool holds(std::int64_t layer) { return current(layer).held; }
    bool holds_some(std::int64_t layer) { return current(layer).some_held; }
    // Whether every expert of the layer that is on the device can be looked up.
    bool looks_up_all(std::int64_t layer) { return current(layer).all_looked_up; }
    // Whether the device has all of the layer's experts, in any formats.
    bool has_all(std::int64_t layer) { return current(layer).has_all; }
    // The format of the layer's experts that can be looked up. Precondition:
    // holds_some().
    kernels::WeightType format(std::int64_t layer) const { return layers_[static_cast<std::size_t>(layer)].format; }
    // Copies the layer's part of the table to the device if it has changed. Precondition:
    // holds_some(). At most once for each layer between two waits of the host for the
    // compute queue.
    void upload(std::int64_t layer);
    // Precondition: upload(), and no expert has moved since. Row r of `out` (n_active,
    // hidden_dim) gets the output of the expert chosen[r]; rows of experts that are not
    // looked up stay unchanged. chosen: on the device; input (hidden_dim).
    void compute(std::int64_t layer, const std::int32_t* chosen, const float* input, float* out);
    // Whether compute_tokens() takes a step of n tokens.
    bool takes_tokens(std::int64_t layer, std::int64_t n);
    // For several tokens, with RoutedRows::chosen(): their rows, grouped by expert as
    // RoutedRows::combine() reads them. input: (n_tokens, hidden_dim). Preconditions:
    // those of compute(), and takes_tokens().
    void compute_tokens(std::int64_t layer, const float* input, RoutedRows& rows);
    // compute() with norm, router and sum. Completes `op`: the experts, and the places of
    // their rows and of the choice. Precondition: holds() as well.
    void compute_layer(std::int64_t layer, ops::DecodeExperts& op);
    // Whether the last compute() of the layer looked the expert up, if it was chosen.
    bool looked_up(std::int64_t layer, std::int64_t expert) {
        return blocks_.host()[experts_.index(layer, expert)] != nullptr;
    }
    // 0 .. n_active - 1 on the device: the rows in the order of the choice.
    const std::int32_t* row_of() const { return rows_.device() + grid_.n_active; }

    // The layer's choice (n_active), best first. On the device: the router writes it
    // there; on the host: valid after fetch().
    std::int32_t* chosen(std::int64_t layer) const { return choices_.device() + layer * grid_.n_active; }
    std::span<const std::int32_t> choice(std::int64_t layer) {
        return {choices_.host() + layer * grid_.n_active, static_cast<std::size_t>(grid_.n_active)};
    }
    // Copies the choices of layers first .. first + n - 1 to the host, on the compute
    // queue. stores(): by an operation on this device.
    void fetch(std::int64_t first, std::int64_t n);
    bool stores() const { return choices_.mapped() != nullptr; }

    // Invalidates all uploads: after a step that was not finished, whose copies may have
    // failed.
    void forget();

  private:
    struct Layer {
        std::uint64_t seen_at = 0;  // ExpertTable::n_device_changes(), before which no expert is there; 0: never
        bool has_all = false, held = false, some_held = false, all_looked_up = false;
        bool uploaded = false;  // the device has the host's version of its part of the table
        kernels::WeightType format = kernels::WeightType::kBf16;
    };
    const Layer& current(std::int64_t layer);
    void look_at(std::int64_t layer);
    std::byte* block(std::int64_t layer, std::int64_t expert, kernels::WeightType format) const;

    const ExpertGrid& grid_;
    const ExpertStore& experts_;
    Backend& device_;
    std::vector<Layer> layers_;
    Mirror<std::byte*> blocks_;     // (n_layers, n_experts); nullptr: not to be looked up
    Mirror<std::int32_t> rows_;     // the token of each row, all 0 (n_active); row_of() (n_active)
    Mirror<std::int32_t> choices_;  // (n_layers, n_active)
    bool rows_uploaded_ = false;
};

}  // namespace offstage::engine
