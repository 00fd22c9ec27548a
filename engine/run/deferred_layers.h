#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/backend.h"
#include "engine/dispatch/resident_layers.h"
#include "engine/dispatch/routed_rows.h"
#include "engine/run/layer_recorder.h"
#include "engine/run/layers/moe_call.h"

namespace offstage::engine {

// Layers whose experts the device has all: it computes them without waiting for the host
// to see the router's choice. Of one token, the choices of several layers are copied to
// the host together; it reads them while the device computes the layers after these, the
// last few at the end of the step. Of several tokens, each layer's are copied at once.
// One thread, the engine's.
class DeferredLayers {
  public:
    struct Layer {
        std::int64_t layer = 0;
        kernels::WeightType format = kernels::WeightType::kBf16;  // of its experts
        std::vector<std::int32_t> expected;                       // the guesses for it
        std::int64_t n_tokens = 1;
        std::int32_t* routing = nullptr;  // the destination of the choice, as in MoeCall
        std::int64_t routing_stride = 0;
        LayerRecorder::Events events;
        LayerWork::Span experts;
    };

    // max_step: as RoutedRows has it. Throws Error (kOutOfMemory). The referents must
    // outlive this object.
    DeferredLayers(const ExpertGrid& grid, Backend& device, ResidentLayers& residents, RoutedRows& rows,
                   LayerRecorder& recorder, std::int64_t max_step);
    // Between two steps. Throws Error (kOutOfMemory).
    void set_max_step(std::int64_t max_step);

    // Forgets layers that were not read.
    void begin_step();
    // Submits router and experts of a layer that ResidentLayers holds. expected: the
    // guesses for it.
    void submit(const MoeCall& call, std::span<const std::int32_t> expected);
    bool fetch_is_due() const;
    // Copies the choices that the host does not have. Call it before any other layer is
    // submitted. awaited: wait_for_choices() can wait for them; otherwise they are there
    // after any later wait of the host for the compute queue.
    void fetch(bool awaited);
    // Waits for the oldest copy that can be awaited: read_next() then has its layers.
    // False: there is none, or the device failed.
    bool wait_for_choices();
    // The host has waited for all copies, or has those of the first n layers.
    void all_are_there() { are_there(n_fetched_); }
    void are_there(std::size_t n_layers);
    std::size_t n_fetched() const { return n_fetched_; }
    std::size_t n_unread() const { return n_unread_; }
    // The next layer whose choice is on the host, for recording. nullptr: there is none.
    // Valid until the next call.
    const Layer* read_next();
    // (n_tokens, n_active)
    std::span<const std::int32_t> choice(const Layer& layer);

  private:
    // Of the layers before n_layers the choice is on the host after `fetched`.
    struct Copy {
        std::size_t n_layers = 0;
        DeviceEvent fetched;
    };

    void compute_at_once(const MoeCall& call, Layer& layer);
    void compute_one_by_one(const MoeCall& call, Layer& layer);
    std::size_t first_choice(std::int64_t layer) const;

    const ExpertGrid& grid_;
    Backend& device_;
    ResidentLayers& residents_;
    RoutedRows& rows_;
    LayerRecorder& recorder_;
    std::int64_t max_step_ = 0;
    PinnedHost<std::int32_t> choices_;  // (n_layers, max_step, n_active), of steps of several tokens
    std::vector<Layer> layers_;         // (n_layers): room
    std::vector<Copy> copies_;          // that can be awaited; the host has waited for the first n_awaited_
    std::size_t n_awaited_ = 0;
    // The host has read the choices of the step's layers before n_read_; those before
    // n_there_ are on the host; those before n_fetched_ were fetched; n_unread_ were
    // submitted.
    std::size_t n_read_ = 0, n_there_ = 0, n_fetched_ = 0, n_unread_ = 0;
};

}  // namespace offstage::engine
