#include "engine/model/model_spec.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/error.h"
#include "engine/model/dense_tensors.h"
#include "engine/model/model_messages.h"

namespace offstage::engine {
namespace {

std::int64_t dense_weights(const ModelSpec& spec, bool decode) {
    std::int64_t n = 0;
    for (const DenseTensor& tensor : dense_tensors(spec)) {
        n += decode && tensor.unused_in_decode ? tensor.n_cols : tensor.n_weights();
    }
    return n;
}

void set_choice(kernels::AttentionShape& shape, const IndexerSpec& indexer) {
    if (indexer.n_heads == 0) return;
    shape.top_k = indexer.top_k;
    shape.choice_block = indexer.block;
    shape.n_local_blocks = indexer.n_local;
    shape.n_choices = indexer.by_head ? indexer.n_heads : 1;
}

kernels::AttentionShape shape_of(const GroupedQuerySpec& a) {
    kernels::AttentionShape shape;
    shape.n_heads = a.n_heads;
    shape.n_kv_heads = a.n_kv_heads;
    shape.key_dim = a.head_dim;
    shape.value_dim = a.of_value();
    shape.rotary_dim = a.rope.dim;
    shape.window = a.window;
    shape.scale = a.scale;
    set_choice(shape, a.indexer);
    return shape;
}

kernels::AttentionShape shape_of(const LatentSpec& a) {
    kernels::AttentionShape shape;
    shape.n_heads = a.n_heads;
    shape.n_kv_heads = 1;
    shape.key_dim = a.key_dim();
    shape.value_dim = a.latent_dim;
    shape.values_in_keys = true;
    shape.rotary_dim = a.rope.dim;
    shape.rotary_first = a.latent_dim;
    shape.scale = a.scale;
    set_choice(shape, a.indexer);
    return shape;
}

kernels::AttentionShape shape_of(const PooledSpec& a) {
    kernels::AttentionShape shape;
    shape.n_heads = a.n_heads;
    shape.n_kv_heads = 1;
    shape.key_dim = shape.value_dim = a.head_dim;
    shape.values_in_keys = true;
    shape.rotary_dim = a.rope.dim;
    shape.rotary_first = a.head_dim - a.rope.dim;
    shape.window = a.window;
    shape.scale = a.scale;
    set_choice(shape, a.indexer);
    return shape;
}

template <typename WithoutKeys>
kernels::AttentionShape shape_of(const WithoutKeys&) {
    return {};
}

}  // namespace

std::int64_t LayerSpec::kept_size() const {
    return std::visit(
        [](const auto& layer) {
            if constexpr (requires { layer.shape(); }) return layer.shape().kept_size();
            return std::int64_t{0};
        },
        attention);
}

const IndexerSpec* LayerSpec::indexer() const {
    const IndexerSpec* found = nullptr;
    if (const auto* const grouped = std::get_if<GroupedQuerySpec>(&attention)) found = &grouped->indexer;
    if (const auto* const latent = std::get_if<LatentSpec>(&attention)) found = &latent->indexer;
    if (pooled() != nullptr) found = &pooled()->indexer;
    return found == nullptr || found->n_heads == 0 ? nullptr : found;
}

std::vector<double> yarn_frequency_scale(const Yarn& yarn, std::int64_t dim, double theta) {
    // The pair whose wavelength turns `rotations` times within the original context.
    const auto pair_of = [&](double rotations) {
        const double wavelength = static_cast<double>(yarn.original_context) / (rotations * 2 * std::numbers::pi);
        return static_cast<double>(dim) * std::log(wavelength) / (2 * std::log(theta));
    };
    const double low = std::max(0.0, yarn.truncated ? std::floor(pair_of(yarn.beta_fast)) : pair_of(yarn.beta_fast));
    double high = std::min(static_cast<double>(dim - 1),
                           yarn.truncated ? std::ceil(pair_of(yarn.beta_slow)) : pair_of(yarn.beta_slow));
    if (high == low) high += 0.001;
    std::vector<double> scale;
    for (std::int64_t i = 0; i < dim / 2; ++i) {
        const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
        scale.push_back(ramp / yarn.factor + (1 - ramp));
    }
    return scale;
}

void ModelSpec::number_moe_layers() {
    moe_layers_.clear();
    for (std::int64_t l = 0; l < n_layers(); ++l) {
        if (layers[static_cast<std::size_t>(l)].moe() != nullptr) moe_layers_.push_back(l);
    }
    if (moe_layers_.empty()) {
        throw Error(ErrorKind::kUnsupported, messages::no_layer_has_experts(architecture));
    }
    experts.n_layers = static_cast<std::int64_t>(moe_layers_.size());
}

const RopeSpec& ModelSpec::rope(std::int64_t layer) const {
    return std::visit([](const auto& attention) -> const RopeSpec& { return attention.rope; },
                      layers[static_cast<std::size_t>(layer)].attention);
}

kernels::AttentionShape ModelSpec::attention_shape(std::int64_t layer) const {
    return std::visit([](const auto& attention) { return shape_of(attention); },
                      layers[static_cast<std::size_t>(layer)].attention);
}

kernels::AttentionShape ModelSpec::indexer_shape(std::int64_t layer) const {
    kernels::AttentionShape shape;
    const IndexerSpec* const indexer = layers[static_cast<std::size_t>(layer)].indexer();
    if (indexer == nullptr || indexer->shared) return shape;
    set_choice(shape, *indexer);
    shape.n_heads = indexer->n_heads;
    shape.n_kv_heads = 1;
    shape.key_dim = indexer->head_dim;
    shape.values_in_keys = true;  // there are none
    shape.rotary_dim = rope(layer).dim;
    if (layers[static_cast<std::size_t>(layer)].pooled() != nullptr)
        shape.rotary_first = shape.key_dim - shape.rotary_dim;
    return shape;
}

kernels::AttentionShape ModelSpec::largest_attention() const {
    kernels::AttentionShape largest;
    for (std::int64_t l = 0; l < n_layers(); ++l) {
        const kernels::AttentionShape shape = attention_shape(l);
        if (shape.n_heads == 0) continue;
        if (largest.n_heads == 0) largest = shape;
        for (std::int64_t kernels::AttentionShape::*const field :
             {&kernels::AttentionShape::n_heads, &kernels::AttentionShape::n_kv_heads,
              &kernels::AttentionShape::key_dim, &kernels::AttentionShape::value_dim,
              &kernels::AttentionShape::rotary_dim, &kernels::AttentionShape::top_k,
              &kernels::AttentionShape::n_choices}) {
            largest.*field = std::max(largest.*field, shape.*field);
        }
        largest.window = largest.window == 0 || shape.window == 0 ? 0 : std::max(largest.window, shape.window);
        largest.values_in_keys = largest.values_in_keys || shape.values_in_keys;
    }
    return largest;
}

std::int64_t ModelSpec::dense_ffn_dim() const {
    std::int64_t largest = 0;
    for (const LayerSpec& layer : layers) largest = std::max(largest, layer.network_dim());
    return largest;
}

std::int64_t ModelSpec::total_weights() const {
    return dense_weights(*this, false) + experts.size() * experts.expert_weights();
}

std::int64_t ModelSpec::active_weights() const {
    return dense_weights(*this, true) + experts.n_layers * experts.n_active * experts.expert_weights();
}

}  // namespace offstage::engine
