#include "engine/dispatch/resident_layers.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>

#include "engine/as_size.h"
#include "engine/dispatch/dispatch_messages.h"

namespace offstage::engine {
namespace {

constexpr std::uintptr_t kChosenAlignment = 16;  // ops::ChosenExperts

std::byte* address_of(const kernels::ExpertView& expert) {
    return const_cast<std::byte*>(static_cast<const std::byte*>(expert.data));
}

}  // namespace

ResidentLayers::ResidentLayers(const ExpertGrid& grid, const ExpertStore& experts, Backend& device)
    : grid_(grid), experts_(experts), device_(device), layers_(as_size(grid.n_layers)) {
    const auto n_active = as_size(grid.n_active);
    blocks_ = Mirror<std::byte*>(device, as_size(grid.size()), MemoryUse::kWorkspace, messages::routing);
    rows_ = Mirror<std::int32_t>(device, 2 * n_active, MemoryUse::kWorkspace, messages::routing);
    choices_ =
        Mirror<std::int32_t>(device, as_size(grid.n_layers) * n_active, MemoryUse::kWorkspace, messages::routing);
    std::fill_n(rows_.host(), n_active, 0);
    std::iota(rows_.host() + n_active, rows_.host() + 2 * n_active, 0);
}

std::uint64_t ResidentLayers::device_bytes(const ExpertGrid& grid) {
    const auto rounded = [](std::uint64_t bytes) { return (bytes + 255) / 256 * 256; };
    const auto n_active = static_cast<std::uint64_t>(grid.n_active);
    return rounded(static_cast<std::uint64_t>(grid.size()) * sizeof(std::byte*)) +
           rounded(2 * n_active * sizeof(std::int32_t)) +
           rounded(static_cast<std::uint64_t>(grid.n_layers) * n_active * sizeof(std::int32_t));
}

const ResidentLayers::Layer& ResidentLayers::current(std::int64_t layer) {
    if (layers_[as_size(layer)].seen_at != experts_.n_device_changes(layer)) look_at(layer);
    return layers_[as_size(layer)];
}

void ResidentLayers::look_at(std::int64_t layer) {
    Layer& seen = layers_[as_size(layer)];
    seen.seen_at = experts_.n_device_changes(layer);
    std::array<std::int64_t, kernels::kWeightTypes> n_of{};  // by format
    for (std::int64_t e = 0; e < grid_.n_experts; ++e) {
        if (experts_.place(layer, e) == Place::kDevice) ++n_of[static_cast<std::size_t>(experts_.format(layer, e))];
    }
    const auto most = std::max_element(n_of.begin(), n_of.end());
    const std::int64_t n_there = std::accumulate(n_of.begin(), n_of.end(), std::int64_t{0});
    seen.has_all = n_there == grid_.n_experts;
    seen.format = static_cast<kernels::WeightType>(most - n_of.begin());
    std::int64_t n_held = 0;
    if (*most > 0 && device_.takes_chosen_experts(grid_.layout(seen.format))) {
        std::byte* const* const uploaded = blocks_.host() + experts_.index(layer, 0);
        for (std::int64_t e = 0; e < grid_.n_experts; ++e) {
            std::byte* const address = block(layer, e, seen.format);
            n_held += address != nullptr;
            seen.uploaded &= uploaded[e] == address;
        }
    }
    seen.held = n_held == grid_.n_experts;
    seen.some_held = n_held > 0;
    seen.all_looked_up = n_held == n_there;
}

// nullptr: it cannot be looked up.
std::byte* ResidentLayers::block(std::int64_t layer, std::int64_t expert, kernels::WeightType format) const {
    if (experts_.place(layer, expert) != Place::kDevice || experts_.format(layer, expert) != format) return nullptr;
    std::byte* const address = address_of(experts_.device_view(layer, expert));
    return reinterpret_cast<std::uintptr_t>(address) % kChosenAlignment == 0 ? address : nullptr;
}

void ResidentLayers::upload(std::int64_t layer) {
    Layer& held = layers_[as_size(layer)];
    assert(held.some_held && held.seen_at == experts_.n_device_changes(layer));
    if (!rows_uploaded_) rows_.upload(0, 2 * as_size(grid_.n_active));
    rows_uploaded_ = true;
    if (held.uploaded) return;
    const std::size_t first = experts_.index(layer, 0);
    for (std::int64_t e = 0; e < grid_.n_experts; ++e) {
        blocks_.host()[first + as_size(e)] = block(layer, e, held.format);
    }
    blocks_.upload(first, as_size(grid_.n_experts));
    held.uploaded = true;
}

void ResidentLayers::compute_layer(std::int64_t layer, ops::DecodeExperts& op) {
    const Layer& held = layers_[as_size(layer)];
    assert(held.held && held.uploaded && held.seen_at == experts_.n_device_changes(layer));
    op.layout = grid_.layout(held.format, layer);
    op.blocks = blocks_.device() + experts_.index(layer, 0);
    op.row_token = rows_.device();
    op.row_of = row_of();
    op.chosen = chosen(layer);
    device_.submit(op);
}

void ResidentLayers::compute(std::int64_t layer, const std::int32_t* chosen, const float* input, float* out) {
    const Layer& held = layers_[as_size(layer)];
    assert(held.uploaded && held.seen_at == experts_.n_device_changes(layer));
    device_.submit(ops::ChosenExperts{.layout = grid_.layout(held.format, layer),
                                      .blocks = blocks_.device() + experts_.index(layer, 0),
                                      .chosen = chosen,
                                      .n = grid_.n_active,
                                      .inputs = input,
                                      .row_token = rows_.device(),
                                      .out = out});
}

bool ResidentLayers::takes_tokens(std::int64_t layer, std::int64_t n) {
    const Layer& held = current(layer);
    return held.held && device_.takes_grouped_experts(grid_.layout(held.format), n, grid_.n_active, grid_.n_experts);
}

void ResidentLayers::compute_tokens(std::int64_t layer, const float* input, RoutedRows& rows) {
    const Layer& held = layers_[as_size(layer)];
    assert(held.held && held.uploaded && held.seen_at == experts_.n_device_changes(layer));
    rows.compute(grid_.layout(held.format, layer), blocks_.device() + experts_.index(layer, 0), input);
}

void ResidentLayers::fetch(std::int64_t first, std::int64_t n) {
    choices_.store(as_size(first * grid_.n_active), as_size(n * grid_.n_active));
}

void ResidentLayers::forget() {
    for (Layer& layer : layers_) layer.seen_at = 0, layer.uploaded = false;
    rows_uploaded_ = false;
}

}  // namespace offstage::engine
