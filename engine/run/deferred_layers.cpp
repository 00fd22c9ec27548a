#include "engine/run/deferred_layers.h"

#include "engine/as_size.h"

namespace offstage::engine {

using Queue = DeviceEvent::Queue;

namespace {

// Layers whose times have not been read: each has at most five of the events that the
// device remembers.
constexpr std::size_t kMostUnread = Backend::kTimedEvents / 8;

}  // namespace

DeferredLayers::DeferredLayers(const ExpertGrid& grid, Backend& device, ResidentLayers& residents, RoutedRows& rows,
                               LayerRecorder& recorder)
    : grid_(grid),
      device_(device),
      residents_(residents),
      rows_(rows),
      recorder_(recorder),
      layers_(as_size(grid.n_layers)) {}

void DeferredLayers::begin_step() {
    n_read_ = n_fetched_ = n_unread_ = 0;
}

void DeferredLayers::submit(const MoeCall& call, std::span<const std::int32_t> expected) {
    Layer& layer = layers_[n_unread_];
    layer.layer = call.layer;
    layer.format = residents_.format(call.layer);
    layer.routing = call.routing;
    layer.expected.assign(expected.begin(), expected.end());
    layer.events.begin = recorder_.last_end();
    layer.events.shared_end = {};
    if (call.is_plain()) {
        compute_at_once(call, layer);
    } else {
        compute_one_by_one(call, layer);
    }
    layer.events.end = recorder_.end_layer();
    ++n_unread_;
    if (n_unread_ - n_read_ >= kMostUnread) device_.host_wait(layer.events.end);
}

// No point lies between the router and the sum: it would divide what the device may
// compute in few kernels. The router's time counts as the experts'.
void DeferredLayers::compute_at_once(const MoeCall& call, Layer& layer) {
    residents_.upload(call.layer);
    layer.events.routed = layer.experts.begin = device_.record(Queue::kCompute);
    ops::DecodeExperts op;
    op.norm = call.norm;
    op.x = call.sum;
    op.normalised = call.step.normalised;
    op.router = call.router.spec;
    op.arrays = call.router.arrays;
    op.weights = rows_.weights();
    op.rows = rows_.outputs().device();
    residents_.compute_layer(call.layer, op);
    layer.experts.end = device_.record(Queue::kCompute);
}

void DeferredLayers::compute_one_by_one(const MoeCall& call, Layer& layer) {
    std::int32_t* const chosen = residents_.chosen(call.layer);
    call.normalise();
    device_.submit(ops::Route{call.router.spec, call.router.arrays, call.router.input(call.step), 1, grid_.hidden_dim,
                              chosen, rows_.weights()});
    layer.events.routed = device_.record(Queue::kCompute);
    call.compute_shared();
    residents_.upload(call.layer);
    layer.experts.begin = device_.record(Queue::kCompute);
    if (call.shared) layer.events.shared_end = layer.experts.begin;
    residents_.compute(call.layer, chosen, call.step.normalised, rows_.outputs().device());
    layer.experts.end = device_.record(Queue::kCompute);
    call.clear_sum();
    device_.submit(ops::Combine{rows_.outputs().device(), residents_.row_of(), rows_.weights(), 1, grid_.n_active,
                                grid_.hidden_dim, call.sum});
}

bool DeferredLayers::fetch_is_due() const {
    return n_unread_ - n_fetched_ >= as_size(ResidentLayers::kFetchedTogether);
}

// Layers that were not fetched follow each other.
void DeferredLayers::fetch() {
    if (n_fetched_ == n_unread_) return;
    const auto n = static_cast<std::int64_t>(n_unread_ - n_fetched_);
    const DeviceEvent fetched = residents_.fetch(layers_[n_fetched_].layer, n);
    while (n_fetched_ < n_unread_) layers_[n_fetched_++].fetched = fetched;
}

const DeferredLayers::Layer* DeferredLayers::read_next(bool waited) {
    const auto is_there = [&](const Layer& layer) {
        return waited || (device_.has_happened(layer.fetched) && device_.ok());
    };
    if (n_read_ < n_fetched_ && is_there(layers_[n_read_])) return &layers_[n_read_++];
    if (n_read_ == n_unread_) n_read_ = n_fetched_ = n_unread_ = 0;
    return nullptr;
}

}  // namespace offstage::engine
