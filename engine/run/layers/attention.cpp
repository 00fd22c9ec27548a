#include "engine/run/layers/attention.h"

namespace offstage::engine {
namespace {

void add_bias(const StepContext& step, const float* bias, std::int64_t width, float* x) {
    if (bias != nullptr) step.device.submit(ops::AddBias{bias, step.n_tokens, width, x});
}

// Projects the heads' outputs and adds them to the residual stream.
void add_output(const StepContext& step, const kernels::WeightView& output, const float* bias, const float* values,
                float* projected, const OutputRule& rule) {
    step.device.submit(ops::Multiply{output, values, step.n_tokens, projected});
    add_bias(step, bias, output.n_rows, projected);
    rule.add(step, output.n_rows, projected);
}

OutputRule output_rule(const ModelSpec& spec, const DeviceWeights& weights, std::int64_t layer) {
    return {rms_norm_of(spec, weights, TensorRole::kAttentionOutputNorm, layer), spec.residual_scale};
}

// ---------------------------------------------------------------- grouped queries

class GroupedQueryAttention final : public AttentionModule {
  public:
    GroupedQueryAttention(const ModelSpec& spec, const GroupedQuerySpec& attention, const DeviceWeights& weights,
                          std::int64_t layer, KvLayout::Place place, std::size_t rotation)
        : place_(place),
          rotation_(rotation),
          spec_(attention),
          shape_(spec.attention_shape(layer)),
          hidden_dim_(spec.hidden_dim),
          rule_(output_rule(spec, weights, layer)),
          qkv_(weights.matrix(TensorRole::kQkv, layer)),
          split_{weights.matrix(TensorRole::kQuery, layer), weights.matrix(TensorRole::kKey, layer),
                 weights.matrix(TensorRole::kValue, layer)},
          output_gate_(weights.matrix(TensorRole::kOutputGate, layer)),
          qkv_bias_(weights.vector(TensorRole::kQkvBias, layer)),
          query_norm_(weights.vector(TensorRole::kQueryNorm, layer)),
          key_norm_(weights.vector(TensorRole::kKeyNorm, layer)),
          output_(weights.matrix(TensorRole::kAttentionOutput, layer)),
          output_bias_(weights.vector(TensorRole::kAttentionOutputBias, layer)) {
        shape_.sinks = weights.vector(TensorRole::kSinks, layer);
    }

    static std::int64_t workspace(const ModelSpec& spec, std::int64_t layer) {
        const kernels::AttentionShape shape = spec.attention_shape(layer);
        const bool gated =
            std::get<GroupedQuerySpec>(spec.layers[static_cast<std::size_t>(layer)].attention).output_gate;
        return WorkspacePieces::rounded(shape.qkv_width()) +
               (gated ? 2 : 1) * WorkspacePieces::rounded(shape.output_width()) +
               WorkspacePieces::rounded(spec.hidden_dim);
    }

    void fetch_keys(const StepContext& step) const override {
        const KvStep& kv = step.kv[place_.group];
        step.device.fetch_keys(place_.layer, shape_, kv.segments, kv.shape);
    }

    void run(const StepContext& step) const override {
        WorkspacePieces pieces(step);
        float* const qkv = pieces.take(shape_.qkv_width());
        float* const attended = pieces.take(shape_.output_width());
        float* const projected = pieces.take(hidden_dim_);
        project(step, qkv);
        add_bias(step, qkv_bias_, shape_.qkv_width(), qkv);
        if (spec_.qk_norm != QkNorm::kNone) normalise_heads(step, qkv);
        if (spec_.value_norm) {
            const NormWeights norm{kernels::NormKind::kRms, nullptr, nullptr, spec_.head_dim, spec_.qk_norm_eps};
            step.device.submit(ops::NormPieces{norm, step.n_tokens, shape_.qkv_width(), spec_.n_kv_heads,
                                               qkv + shape_.query_width() + spec_.n_kv_heads * spec_.head_dim});
        }
        if (spec_.clip > 0) step.device.submit(ops::Clamp{spec_.clip, step.n_tokens * shape_.qkv_width(), qkv});
        const KvStep& kv = step.kv[place_.group];
        const Rotation& rotation = step.rotations[rotation_];
        step.device.submit(ops::RotateAndStore{.layer = place_.layer,
                                               .shape = shape_,
                                               .segments = kv.segments,
                                               .cos = rotation.cos,
                                               .sin = rotation.sin,
                                               .qkv = qkv,
                                               .kv = kv.shape});
        step.device.submit(ops::Attend{.layer = place_.layer,
                                       .shape = shape_,
                                       .segments = kv.segments,
                                       .queries = qkv,
                                       .query_stride = shape_.qkv_width(),
                                       .kv = kv.shape,
                                       .out = attended});
        if (spec_.output_gate) {
            float* const gate = pieces.take(shape_.output_width());
            step.device.submit(ops::Multiply{output_gate_, step.normalised, step.n_tokens, gate});
            step.device.submit(ops::MultiplySigmoid{gate, step.n_tokens * shape_.output_width(), attended});
        }
        add_output(step, output_, output_bias_, attended, projected, rule_);
    }

  private:
    void project(const StepContext& step, float* qkv) const {
        if (qkv_.data != nullptr) {
            step.device.submit(ops::Multiply{qkv_, step.normalised, step.n_tokens, qkv});
            return;
        }
        for (const kernels::WeightView& part : split_) {
            step.device.submit(ops::MultiplyHeads{.weight = part,
                                                  .n_heads = 1,
                                                  .x = step.normalised,
                                                  .x_stride = hidden_dim_,
                                                  .n = step.n_tokens,
                                                  .y = qkv,
                                                  .y_stride = shape_.qkv_width()});
            qkv += part.n_rows;
        }
    }

    void normalise_heads(const StepContext& step, float* qkv) const {
        const bool per_head = spec_.qk_norm == QkNorm::kPerHead;
        const auto run = [&](const float* weight, std::int64_t n_heads, float* first) {
            const std::int64_t n_pieces = per_head ? n_heads : 1;
            const std::int64_t dim = per_head ? spec_.head_dim : n_heads * spec_.head_dim;
            step.device.submit(ops::NormPieces{{kernels::NormKind::kRms, weight, nullptr, dim, spec_.qk_norm_eps},
                                               step.n_tokens,
                                               shape_.qkv_width(),
                                               n_pieces,
                                               first});
        };
        run(query_norm_, spec_.n_heads, qkv);
        run(key_norm_, spec_.n_kv_heads, qkv + shape_.query_width());
    }

    const KvLayout::Place place_;
    const std::size_t rotation_;
    const GroupedQuerySpec& spec_;
    kernels::AttentionShape shape_;
    const std::int64_t hidden_dim_;
    const OutputRule rule_;
    const kernels::WeightView qkv_;       // without data: the three instead
    const kernels::WeightView split_[3];  // queries, keys, values
    const kernels::WeightView output_gate_;
    const float* const qkv_bias_;
    const float* const query_norm_;
    const float* const key_norm_;
    const kernels::WeightView output_;
    const float* const output_bias_;
};

// ---------------------------------------------------------------- latent (DeepSeek-V2, section 2.1)

// The absorbed form: a head's query without positions, times its key projection, is a
// query against the latent itself. The attended latent, times the head's value
// projection, is the head's output.
class LatentAttention final : public AttentionModule {
  public:
    LatentAttention(const ModelSpec& spec, const LatentSpec& attention, const DeviceWeights& weights,
                    std::int64_t layer, KvLayout::Place place, std::size_t rotation)
        : place_(place),
          rotation_(rotation),
          spec_(attention),
          shape_(spec.attention_shape(layer)),
          hidden_dim_(spec.hidden_dim),
          rule_(output_rule(spec, weights, layer)),
          query_down_(weights.matrix(TensorRole::kQueryDown, layer)),
          query_down_bias_(weights.vector(TensorRole::kQueryDownBias, layer)),
          query_down_norm_(weights.vector(TensorRole::kQueryDownNorm, layer)),
          query_up_(weights.matrix(TensorRole::kQueryUp, layer)),
          latent_down_(weights.matrix(TensorRole::kLatentDown, layer)),
          latent_down_bias_(weights.vector(TensorRole::kLatentDownBias, layer)),
          latent_norm_(weights.vector(TensorRole::kLatentNorm, layer)),
          key_up_(weights.matrix(TensorRole::kKeyUp, layer)),
          value_up_(weights.matrix(TensorRole::kValueUp, layer)),
          output_(weights.matrix(TensorRole::kAttentionOutput, layer)),
          output_bias_(weights.vector(TensorRole::kAttentionOutputBias, layer)) {}

    static std::int64_t workspace(const ModelSpec& spec, const LatentSpec& a) {
        std::int64_t floats = 0;
        for (const std::int64_t width : {a.query_rank, a.n_heads * a.query_dim(), a.key_dim(), a.n_heads * a.key_dim(),
                                         a.n_heads * a.latent_dim, a.n_heads * a.value_dim, spec.hidden_dim}) {
            floats += WorkspacePieces::rounded(width);
        }
        return floats;
    }

    void fetch_keys(const StepContext& step) const override {
        const KvStep& kv = step.kv[place_.group];
        step.device.fetch_keys(place_.layer, shape_, kv.segments, kv.shape);
    }

    void run(const StepContext& step) const override {
        Backend& device = step.device;
        const std::int64_t n = step.n_tokens;
        WorkspacePieces pieces(step);
        float* const query_down = pieces.take(spec_.query_rank);
        float* const q = pieces.take(spec_.n_heads * spec_.query_dim());
        float* const latent = pieces.take(spec_.key_dim());
        float* const queries = pieces.take(shape_.query_width());
        float* const attended = pieces.take(shape_.output_width());
        float* const values = pieces.take(spec_.n_heads * spec_.value_dim);
        float* const projected = pieces.take(hidden_dim_);

        const float* query_input = step.normalised;
        if (spec_.query_rank > 0) {
            device.submit(ops::Multiply{query_down_, step.normalised, n, query_down});
            add_bias(step, query_down_bias_, spec_.query_rank, query_down);
            device.submit(
                ops::NormPieces{norm_of(query_down_norm_, spec_.query_rank), n, spec_.query_rank, 1, query_down});
            query_input = query_down;
        }
        device.submit(ops::Multiply{query_up_, query_input, n, q});
        device.submit(ops::Multiply{latent_down_, step.normalised, n, latent});
        add_bias(step, latent_down_bias_, spec_.key_dim(), latent);
        device.submit(ops::NormPieces{norm_of(latent_norm_, spec_.latent_dim), n, spec_.key_dim(), 1, latent});
        device.submit(ops::MultiplyHeads{.weight = key_up_,
                                         .n_heads = spec_.n_heads,
                                         .x = q,
                                         .x_stride = spec_.n_heads * spec_.query_dim(),
                                         .x_head_stride = spec_.query_dim(),
                                         .n = n,
                                         .y = queries,
                                         .y_stride = shape_.query_width(),
                                         .y_head_stride = shape_.key_dim});
        const KvStep& kv = step.kv[place_.group];
        const Rotation& rotation = step.rotations[rotation_];
        device.submit(ops::RotateAndStoreLatent{.layer = place_.layer,
                                                .shape = shape_,
                                                .segments = kv.segments,
                                                .cos = rotation.cos,
                                                .sin = rotation.sin,
                                                .q = q,
                                                .nope_dim = spec_.nope_dim,
                                                .latent = latent,
                                                .queries = queries,
                                                .kv = kv.shape});
        device.submit(ops::Attend{.layer = place_.layer,
                                  .shape = shape_,
                                  .segments = kv.segments,
                                  .queries = queries,
                                  .query_stride = shape_.query_width(),
                                  .kv = kv.shape,
                                  .out = attended});
        device.submit(ops::MultiplyHeads{.weight = value_up_,
                                         .n_heads = spec_.n_heads,
                                         .x = attended,
                                         .x_stride = shape_.output_width(),
                                         .x_head_stride = spec_.latent_dim,
                                         .n = n,
                                         .y = values,
                                         .y_stride = spec_.n_heads * spec_.value_dim,
                                         .y_head_stride = spec_.value_dim});
        add_output(step, output_, output_bias_, values, projected, rule_);
    }

  private:
    NormWeights norm_of(const float* weight, std::int64_t dim) const {
        return {kernels::NormKind::kRms, weight, nullptr, dim, spec_.norm_eps};
    }

    const KvLayout::Place place_;
    const std::size_t rotation_;
    const LatentSpec& spec_;
    const kernels::AttentionShape shape_;
    const std::int64_t hidden_dim_;
    const OutputRule rule_;
    const kernels::WeightView query_down_;
    const float* const query_down_bias_;
    const float* const query_down_norm_;
    const kernels::WeightView query_up_;
    const kernels::WeightView latent_down_;
    const float* const latent_down_bias_;
    const float* const latent_norm_;
    const kernels::WeightView key_up_;
    const kernels::WeightView value_up_;
    const kernels::WeightView output_;
    const float* const output_bias_;
};

// ---------------------------------------------------------------- gated DeltaNet

class DeltaNet final : public AttentionModule {
  public:
    DeltaNet(const ModelSpec& spec, const DeltaNetSpec& layer_spec, const DeviceWeights& weights, std::int64_t layer,
             KvLayout::Place place)
        : place_(place),
          shape_(layer_spec.shape()),
          hidden_dim_(spec.hidden_dim),
          rule_(output_rule(spec, weights, layer)),
          qkv_(weights.matrix(TensorRole::kQkv, layer)),
          gate_(weights.matrix(TensorRole::kOutputGate, layer)),
          decay_beta_(weights.matrix(TensorRole::kDecayAndBeta, layer)),
          output_(weights.matrix(TensorRole::kAttentionOutput, layer)) {
        shape_.convolution = weights.vector(TensorRole::kConvolution, layer);
        shape_.decay_rate = weights.vector(TensorRole::kDecayRate, layer);
        shape_.time_bias = weights.vector(TensorRole::kTimeBias, layer);
        shape_.norm = weights.vector(TensorRole::kStateNorm, layer);
        shape_.norm_eps = layer_spec.norm_eps;
    }

    static std::int64_t workspace(const ModelSpec& spec, const kernels::DeltaNetShape& shape) {
        std::int64_t floats = 0;
        for (const std::int64_t width : {shape.qkv_width(), shape.output_width(), shape.output_width(),
                                         2 * shape.n_value_heads, spec.hidden_dim}) {
            floats += WorkspacePieces::rounded(width);
        }
        return floats;
    }

    void run(const StepContext& step) const override {
        WorkspacePieces pieces(step);
        float* const qkv = pieces.take(shape_.qkv_width());
        float* const gate = pieces.take(shape_.output_width());
        float* const values = pieces.take(shape_.output_width());
        float* const decay_beta = pieces.take(2 * shape_.n_value_heads);
        float* const projected = pieces.take(hidden_dim_);
        step.device.submit(ops::Multiply{qkv_, step.normalised, step.n_tokens, qkv});
        step.device.submit(ops::Multiply{gate_, step.normalised, step.n_tokens, gate});
        step.device.submit(ops::Multiply{decay_beta_, step.normalised, step.n_tokens, decay_beta});
        const KvStep& kv = step.kv[place_.group];
        step.device.submit(ops::DeltaNet{.layer = place_.layer,
                                         .shape = shape_,
                                         .segments = kv.segments,
                                         .qkv = qkv,
                                         .decay_beta = decay_beta,
                                         .z = gate,
                                         .kv = kv.shape,
                                         .out = values});
        add_output(step, output_, nullptr, values, projected, rule_);
    }

  private:
    const KvLayout::Place place_;
    kernels::DeltaNetShape shape_;
    const std::int64_t hidden_dim_;
    const OutputRule rule_;
    const kernels::WeightView qkv_;
    const kernels::WeightView gate_;
    const kernels::WeightView decay_beta_;
    const kernels::WeightView output_;
};

}  // namespace

std::unique_ptr<AttentionModule> make_attention(const ModelSpec& spec, const DeviceWeights& weights, std::int64_t layer,
                                                KvLayout::Place place, std::size_t rotation) {
    const AttentionSpec& attention = spec.layers[static_cast<std::size_t>(layer)].attention;
    if (const auto* const latent = std::get_if<LatentSpec>(&attention)) {
        return std::make_unique<LatentAttention>(spec, *latent, weights, layer, place, rotation);
    }
    if (const auto* const delta_net = std::get_if<DeltaNetSpec>(&attention)) {
        return std::make_unique<DeltaNet>(spec, *delta_net, weights, layer, place);
    }
    return std::make_unique<GroupedQueryAttention>(spec, std::get<GroupedQuerySpec>(attention), weights, layer, place,
                                                   rotation);
}

std::int64_t attention_workspace(const ModelSpec& spec, std::int64_t layer) {
    const AttentionSpec& attention = spec.layers[static_cast<std::size_t>(layer)].attention;
    if (const auto* const latent = std::get_if<LatentSpec>(&attention)) {
        return LatentAttention::workspace(spec, *latent);
    }
    if (const auto* const delta_net = std::get_if<DeltaNetSpec>(&attention)) {
        return DeltaNet::workspace(spec, delta_net->shape());
    }
    return GroupedQueryAttention::workspace(spec, layer);
}

}  // namespace offstage::engine
