#include "engine/run/deferred_layers.h"

#include <algorithm>

#include "engine/as_size.h"
#include "engine/dispatch/dispatch_messages.h"

namespace offstage::engine {

namespace {

// The choices of so many layers are copied together.
constexpr std::size_t kFetchedTogether = 8;
// The choices of the step's last layers are read after its end, when the device has
// nothing to do. A step of few layers has one copy.
constexpr std::int64_t kFetchedLast = 2;
constexpr std::size_t kLeastApart = 6;

}  // namespace

DeferredLayers::DeferredLayers(const ExpertGrid& grid, Backend& device, ResidentLayers& residents, RoutedRows& rows,
                               LayerRecorder& recorder, std::int64_t max_step)
    : grid_(grid),
      device_(device),
      residents_(residents),
      rows_(rows),
      recorder_(recorder),
      layers_(as_size(grid.n_layers)) {
    set_max_step(max_step);
}

void DeferredLayers::set_max_step(std::int64_t max_step) {
    choices_ = {};
    max_step_ = max_step;
    if (max_step > 1) {
        choices_ = PinnedHost<std::int32_t>(device_, first_choice(grid_.n_layers), messages::routing);
    }
}

std::size_t DeferredLayers::first_choice(std::int64_t layer) const {
    return as_size(layer * max_step_ * grid_.n_active);
}

void DeferredLayers::begin_step() {
    n_read_ = n_there_ = n_fetched_ = n_unread_ = n_awaited_ = 0;
    copies_.clear();
}

void DeferredLayers::submit(const MoeCall& call, std::span<const std::int32_t> expected) {
    Layer& layer = layers_[n_unread_];
    layer.layer = call.layer;
    layer.format = residents_.format(call.layer);
    layer.n_tokens = call.step.n_tokens;
    layer.routing = call.routing;
    layer.routing_stride = call.routing_stride;
    layer.expected.assign(expected.begin(), expected.end());
    layer.events.timed = recorder_.is_timed();
    layer.events.begin = recorder_.last_end();
    layer.events.shared_end = {};
    // Shared experts, too, would count as the chosen ones: where times are measured they
    // are computed by themselves.
    if (layer.n_tokens == 1 && call.is_plain() && !(call.shared && recorder_.is_timed())) {
        compute_at_once(call, layer);
    } else {
        compute_one_by_one(call, layer);
    }
    layer.events.end = recorder_.end_layer();
    ++n_unread_;
    if (layer.n_tokens == 1) return;
    n_fetched_ = n_unread_;
    copies_.push_back({n_fetched_, layer.events.end});
}

// No point lies between the router and the sum: it would divide what the device may
// compute in few kernels. The router's time counts as the experts'.
void DeferredLayers::compute_at_once(const MoeCall& call, Layer& layer) {
    residents_.upload(call.layer);
    layer.events.routed = layer.experts.begin = recorder_.point();
    ops::DecodeExperts op;
    op.norm = call.norm;
    op.x = call.sum;
    op.normalised = call.step.normalised;
    op.router = call.router.spec;
    op.arrays = call.router.arrays_in(call.step);
    op.weights = rows_.weights();
    op.rows = rows_.outputs().device();
    if (call.shared) call.shared.set_shared(call.step, op);
    residents_.compute_layer(call.layer, op);
    layer.experts.end = recorder_.point();
}

void DeferredLayers::compute_one_by_one(const MoeCall& call, Layer& layer) {
    const StepContext& step = call.step;
    const bool several = step.n_tokens > 1;
    if (several) rows_.begin(step.n_tokens, step.wanted);
    std::int32_t* const chosen = several ? rows_.chosen() : residents_.chosen(call.layer);
    call.normalise();
    device_.submit(ops::Route{call.router.spec, call.router.arrays_in(step), call.router.input(step), step.n_tokens,
                              step.hidden_dim, chosen, rows_.weights()});
    call.make_inputs(rows_.weights());
    if (several) {
        const std::size_t n = as_size(step.n_tokens * grid_.n_active);
        device_.download(choices_.host() + first_choice(call.layer), chosen, n * sizeof(std::int32_t));
    }
    layer.events.routed = recorder_.point();
    call.compute_shared();
    residents_.upload(call.layer);
    layer.experts.begin = recorder_.point();
    if (call.shared) layer.events.shared_end = layer.experts.begin;
    if (several) {
        residents_.compute_tokens(call.layer, call.expert_inputs(), rows_);
    } else {
        residents_.compute(call.layer, chosen, call.expert_inputs(), rows_.outputs().device());
    }
    layer.experts.end = recorder_.point();
    call.clear_sum();
    if (several) {
        rows_.combine(call.sum);
    } else {
        device_.submit(ops::Combine{rows_.outputs().device(), residents_.row_of(), rows_.weights(), 1, grid_.n_active,
                                    grid_.hidden_dim, call.sum});
    }
}

std::span<const std::int32_t> DeferredLayers::choice(const Layer& layer) {
    if (layer.n_tokens == 1) return residents_.choice(layer.layer);
    return {choices_.host() + first_choice(layer.layer), as_size(layer.n_tokens * grid_.n_active)};
}

bool DeferredLayers::fetch_is_due() const {
    if (n_unread_ - n_fetched_ >= kFetchedTogether) return true;
    return n_unread_ >= kLeastApart && layers_[n_unread_ - 1].layer == grid_.n_layers - 1 - kFetchedLast;
}

// Layers that were not fetched follow each other.
void DeferredLayers::fetch(bool awaited) {
    if (n_fetched_ == n_unread_) return;
    residents_.fetch(layers_[n_fetched_].layer, static_cast<std::int64_t>(n_unread_ - n_fetched_));
    n_fetched_ = n_unread_;
    if (awaited) copies_.push_back({n_fetched_, device_.record(DeviceEvent::Queue::kCompute)});
}

bool DeferredLayers::wait_for_choices() {
    if (n_awaited_ == copies_.size()) return false;
    const Copy& copy = copies_[n_awaited_++];
    device_.host_wait(copy.fetched);
    n_there_ = copy.n_layers;
    return device_.ok();
}

void DeferredLayers::are_there(std::size_t n_layers) {
    n_there_ = std::max(n_there_, std::min(n_layers, n_unread_));
    while (n_awaited_ < copies_.size() && copies_[n_awaited_].n_layers <= n_layers) ++n_awaited_;
}

const DeferredLayers::Layer* DeferredLayers::read_next() {
    if (n_read_ < n_there_) return &layers_[n_read_++];
    if (n_read_ == n_unread_) begin_step();
    return nullptr;
}

}  // namespace offstage::engine
