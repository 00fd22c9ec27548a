#include "engine/run/layers/attention.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>

#include "engine/run/layers/indexer.h"
#include "engine/run/layers/key_pooling.h"

namespace offstage::engine {
namespace {

void add_bias(const StepContext& step, const float* bias, std::int64_t width, float* x) {
    if (bias != nullptr) step.device.submit(ops::AddBias{bias, step.n_tokens, width, x});
}

// Of queries from token p on, and the first token behind it whose queries have another.
struct QueryFactor {
    float factor = 1;
    std::int64_t end = 0;
};
QueryFactor factor_at(const QueryGrowth& growth, std::int64_t p) {
    const std::int64_t contexts = (p + growth.ahead) / growth.context;
    return {static_cast<float>(1 + growth.beta * std::log1p(static_cast<double>(contexts))),
            (contexts + 1) * growth.context - growth.ahead};
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
                          std::int64_t layer, const KvLayout& layout, std::size_t rotation)
        : place_(layout.layers[static_cast<std::size_t>(layer)]),
          rotation_(rotation),
          turns_first_(attention.qk_norm == QkNorm::kTurnedHead),
          growth_(attention.growth) {
        const auto norm_of = [&](const float* weight, std::int64_t dim) {
            return NormWeights{kernels::NormKind::kRms, weight, nullptr, dim, attention.qk_norm_eps};
        };
        op_.shape = spec.attention_shape(layer);
        op_.shape.sinks = weights.vector(TensorRole::kSinks, layer);
        op_.layer = place_.layer;
        if (attention.indexer.is_own()) indexer_.emplace(spec, weights, layer, layout, rotation, rotation);
        op_.projections[0] = weights.matrix(TensorRole::kQkv, layer);
        if (op_.projections[0].data == nullptr) {
            op_.projections[0] = weights.matrix(TensorRole::kQuery, layer);
            op_.projections[1] = weights.matrix(TensorRole::kKey, layer);
            op_.projections[2] = weights.matrix(TensorRole::kValue, layer);
        }
        op_.bias = weights.vector(TensorRole::kQkvBias, layer);
        if (attention.qk_norm != QkNorm::kNone) {
            const bool per_head = attention.qk_norm != QkNorm::kFullWidth;
            const auto dim = [&](std::int64_t n_heads) { return (per_head ? 1 : n_heads) * attention.head_dim; };
            op_.query_norm = norm_of(weights.vector(TensorRole::kQueryNorm, layer), dim(attention.n_heads));
            op_.key_norm = norm_of(weights.vector(TensorRole::kKeyNorm, layer), dim(attention.n_kv_heads));
        }
        if (attention.value_norm) op_.value_norm = norm_of(nullptr, attention.head_dim);
        op_.clip = attention.clip;
        op_.output_gate = weights.matrix(TensorRole::kOutputGate, layer);
        op_.output = weights.matrix(TensorRole::kAttentionOutput, layer);
        op_.output_bias = weights.vector(TensorRole::kAttentionOutputBias, layer);
        const OutputRule rule = output_rule(spec, weights, layer);
        if (rule.norm.weight != nullptr) op_.output_norm = rule.norm;
        op_.factor = rule.factor * attention.value_scale;
    }

    static std::int64_t workspace(const ModelSpec& spec, std::int64_t layer) {
        const kernels::AttentionShape shape = spec.attention_shape(layer);
        const auto& gqa = std::get<GroupedQuerySpec>(spec.layers[static_cast<std::size_t>(layer)].attention);
        const std::int64_t n_gates = !gqa.output_gate ? 0 : gqa.head_gates ? shape.n_heads : shape.output_width();
        return Indexer::workspace(gqa.indexer) + WorkspacePieces::rounded(shape.qkv_width()) +
               WorkspacePieces::rounded(shape.output_width()) + WorkspacePieces::rounded(n_gates) +
               WorkspacePieces::rounded(spec.hidden_dim);
    }

    void fetch_keys(const StepContext& step) const override {
        const KvStep& kv = step.kv[place_.group];
        if (kernels::ops::any_row_chooses(kv.segments, op_.shape.top_k)) return;  // not all will be read
        step.device.fetch_keys(place_.layer, op_.shape, kv.segments, kv.shape);
    }

    void run(const StepContext& step, const NormWeights& norm) const override {
        ops::GroupedAttention op = op_;
        const KvStep& kv = step.kv[place_.group];
        const Rotation& rotation = step.rotations[rotation_];
        op.n = step.n_tokens;
        op.norm = norm;
        op.x = step.x;
        op.segments = kv.segments;
        op.cos = rotation.cos;
        op.sin = rotation.sin;
        op.kv = kv.shape;
        WorkspacePieces pieces(step);
        op.normalised = step.normalised;
        op.qkv = pieces.take(op.shape.qkv_width());
        op.attended = pieces.take(op.shape.output_width());
        op.projected = pieces.take(op.dim());
        if (op.output_gate.data != nullptr) op.gate = pieces.take(op.output_gate.n_rows);
        if (op.shape.top_k > 0) op.chosen = step.chosen;
        if (indexer_) {
            step.normalise(norm);
            indexer_->run(step, step.normalised, pieces);
        }
        if (turns_first_) {
            run_turning_first(step.device, op);
        } else if (growth_.beta != 0) {
            run_growing(step.device, op);
        } else {
            step.device.submit(op);
        }
    }

  private:
    // What is stored first is turned alone; normed, it is stored once more in its place.
    static void run_turning_first(Backend& device, ops::GroupedAttention op) {
        const auto submit = [&](const auto& part) { device.submit(part); };
        op.for_each_projection(submit);
        submit(ops::RotateAndStore{op.layer, op.shape, op.segments, op.cos, op.sin, op.qkv, op.kv});
        op.shape.rotary_dim = 0;
        op.for_each_attention(submit);
        op.for_each_output(submit);
    }

    // What multiplies queries may as well multiply the scores. Rows with different
    // factors attend one after the other.
    void run_growing(Backend& device, ops::GroupedAttention op) const {
        const AttentionSegment& first = op.segments[0];
        const QueryFactor common = factor_at(growth_, first.past);
        const bool is_common = std::all_of(op.segments.begin(), op.segments.end(), [&](const AttentionSegment& s) {
            const QueryFactor own = factor_at(growth_, s.past);
            return own.factor == common.factor && s.past + s.n_tokens <= own.end;
        });
        if (is_common) {
            op.shape.scale *= common.factor;
            device.submit(op);
            return;
        }
        const auto submit = [&](const auto& part) {
            if constexpr (std::is_same_v<std::decay_t<decltype(part)>, ops::Attend>) {
                attend_growing(device, part);
            } else {
                device.submit(part);
            }
        };
        op.for_each(submit);
    }
    void attend_growing(Backend& device, const ops::Attend& op) const {
        for (const AttentionSegment& segment : op.segments) {
            for (std::int64_t t = 0; t < segment.n_tokens;) {
                const auto [factor, behind] = factor_at(growth_, segment.past + t);
                AttentionSegment piece = segment;
                piece.first_row += t;
                piece.past += t;
                piece.n_tokens = std::min(segment.n_tokens, behind - segment.past) - t;
                piece.device_past = nullptr;  // the segment's
                ops::Attend attend = op;
                attend.shape.scale *= factor;
                attend.segments = {&piece, 1};
                device.submit(attend);
                t += piece.n_tokens;
            }
        }
    }

    const KvLayout::Place place_;
    const std::size_t rotation_;
    const bool turns_first_;
    const QueryGrowth growth_;
    ops::GroupedAttention op_;  // but for what a step has
    std::optional<Indexer> indexer_;
};

// ---------------------------------------------------------------- latent (DeepSeek-V2, section 2.1)

// The absorbed form: a head's query without positions, times its key projection, is a
// query against the latent itself. The attended latent, times the head's value
// projection, is the head's output.
class LatentAttention final : public AttentionModule {
  public:
    LatentAttention(const ModelSpec& spec, const LatentSpec& attention, const DeviceWeights& weights,
                    std::int64_t layer, const KvLayout& layout, std::size_t rotation)
        : place_(layout.layers[static_cast<std::size_t>(layer)]),
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
          output_bias_(weights.vector(TensorRole::kAttentionOutputBias, layer)) {
        if (attention.indexer.is_own()) indexer_.emplace(spec, weights, layer, layout, rotation, rotation);
    }

    static std::int64_t workspace(const ModelSpec& spec, const LatentSpec& a) {
        std::int64_t floats = Indexer::workspace(a.indexer);
        for (const std::int64_t width : {a.query_rank, a.n_heads * a.query_dim(), a.key_dim(), a.n_heads * a.key_dim(),
                                         a.n_heads * a.latent_dim, a.n_heads * a.value_dim, spec.hidden_dim}) {
            floats += WorkspacePieces::rounded(width);
        }
        return floats;
    }

    void fetch_keys(const StepContext& step) const override {
        const KvStep& kv = step.kv[place_.group];
        if (kernels::ops::any_row_chooses(kv.segments, shape_.top_k)) return;  // not all will be read
        step.device.fetch_keys(place_.layer, shape_, kv.segments, kv.shape);
    }

    void run(const StepContext& step, const NormWeights& norm) const override {
        Backend& device = step.device;
        const std::int64_t n = step.n_tokens;
        step.normalise(norm);
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
        if (indexer_) indexer_->run(step, query_down, pieces);
        device.submit(ops::Multiply{query_up_, query_input, n, q});
        const KvStep& kv = step.kv[place_.group];
        grow_queries(device, kv, q);
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
                                  .out = attended,
                                  .chosen = step.chosen});
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

    void grow_queries(Backend& device, const KvStep& kv, float* q) const {
        if (spec_.growth.beta == 0) return;
        const std::int64_t width = spec_.n_heads * spec_.query_dim();
        for (const AttentionSegment& segment : kv.segments) {
            for (std::int64_t t = 0; t < segment.n_tokens;) {
                const auto [factor, behind] = factor_at(spec_.growth, segment.past + t);
                const std::int64_t end = std::min(segment.n_tokens, behind - segment.past);
                float* const first = q + (segment.first_row + t) * width;
                if (factor != 1) device.submit(ops::Scale{factor, (end - t) * width, first});
                t = end;
            }
        }
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
    std::optional<Indexer> indexer_;
};

// ---------------------------------------------------------------- pooled keys (DeepSeek-V4, section 2.3)

class PooledAttention final : public AttentionModule {
  public:
    PooledAttention(const ModelSpec& spec, const PooledSpec& attention, const DeviceWeights& weights,
                    std::int64_t layer, const KvLayout& layout, std::size_t rotation, std::size_t pooled_rotation)
        : place_(layout.layers[static_cast<std::size_t>(layer)]),
          pooled_(layout.pooled[static_cast<std::size_t>(layer)]),
          rotation_(rotation),
          spec_(attention),
          shape_(spec.attention_shape(layer)),
          hidden_dim_(spec.hidden_dim),
          rule_(output_rule(spec, weights, layer)),
          query_down_(weights.matrix(TensorRole::kQueryDown, layer)),
          query_down_norm_(norm_of(weights.vector(TensorRole::kQueryDownNorm, layer), attention.query_rank)),
          query_up_(weights.matrix(TensorRole::kQueryUp, layer)),
          key_(weights.matrix(TensorRole::kLatentDown, layer)),
          key_norm_(norm_of(weights.vector(TensorRole::kLatentNorm, layer), attention.head_dim)),
          output_down_(weights.matrix(TensorRole::kOutputDown, layer)),
          output_(weights.matrix(TensorRole::kAttentionOutput, layer)) {
        shape_.sinks = weights.vector(TensorRole::kSinks, layer);
        if (attention.key_tokens > 0) pooling_.emplace(spec, weights, layer, layout, pooled_rotation, false);
        if (attention.indexer.is_own()) indexer_.emplace(spec, weights, layer, layout, rotation, pooled_rotation);
    }

    static std::int64_t workspace(const ModelSpec& spec, const PooledSpec& a) {
        std::int64_t floats = Indexer::workspace(a.indexer) + KeyPooling::workspace(a, a.head_dim);
        if (a.indexer.is_own()) floats += KeyPooling::workspace(a, a.indexer.head_dim);
        for (const std::int64_t width : {a.query_rank, a.n_heads * a.head_dim, a.head_dim, a.n_heads * a.head_dim,
                                         a.n_output_groups * a.output_rank, spec.hidden_dim}) {
            floats += WorkspacePieces::rounded(width);
        }
        return floats;
    }

    void run(const StepContext& step, const NormWeights& norm) const override {
        Backend& device = step.device;
        const std::int64_t n = step.n_tokens;
        step.normalise(norm);
        WorkspacePieces pieces(step);
        float* const query_down = pieces.take(spec_.query_rank);
        float* const queries = pieces.take(shape_.query_width());
        float* const key = pieces.take(spec_.head_dim);
        float* const attended = pieces.take(shape_.output_width());
        float* const values = pieces.take(output_down_.n_rows);
        float* const projected = pieces.take(hidden_dim_);

        device.submit(ops::Multiply{query_down_, step.normalised, n, query_down});
        device.submit(ops::NormPieces{query_down_norm_, n, spec_.query_rank, 1, query_down});
        device.submit(ops::Multiply{query_up_, query_down, n, queries});
        device.submit(
            ops::NormPieces{norm_of(nullptr, spec_.head_dim), n, shape_.query_width(), spec_.n_heads, queries});
        device.submit(rotated(step, spec_.n_heads, queries, false));
        device.submit(ops::Multiply{key_, step.normalised, n, key});
        device.submit(ops::NormPieces{key_norm_, n, spec_.head_dim, 1, key});
        device.submit(rotated(step, 1, key, false));
        const KvStep& kv = step.kv[place_.group];
        kernels::AttentionShape stored = shape_;
        stored.n_heads = stored.rotary_dim = 0;  // as it is
        device.submit(ops::RotateAndStoreLatent{
            .layer = place_.layer, .shape = stored, .segments = kv.segments, .latent = key, .kv = kv.shape});
        if (pooling_) pooling_->run(step, pieces);
        if (indexer_) indexer_->run(step, query_down, pieces);
        attend(step, queries, attended);
        device.submit(rotated(step, spec_.n_heads, attended, true));
        const std::int64_t group_width = shape_.output_width() / spec_.n_output_groups;
        device.submit(ops::MultiplyHeads{.weight = output_down_,
                                         .n_heads = spec_.n_output_groups,
                                         .x = attended,
                                         .x_stride = shape_.output_width(),
                                         .x_head_stride = group_width,
                                         .n = n,
                                         .y = values,
                                         .y_stride = output_down_.n_rows,
                                         .y_head_stride = spec_.output_rank});
        add_output(step, output_, nullptr, values, projected, rule_);
    }

  private:
    NormWeights norm_of(const float* weight, std::int64_t dim) const {
        return {kernels::NormKind::kRms, weight, nullptr, dim, spec_.norm_eps};
    }

    ops::RotatePairs rotated(const StepContext& step, std::int64_t n_heads, float* x, bool back) const {
        const Rotation& rotation = step.rotations[rotation_];
        return {
            step.n_tokens, n_heads, spec_.head_dim, shape_.rotary_first, shape_.rotary_dim, rotation.cos, rotation.sin,
            back,          x};
    }

    void attend(const StepContext& step, const float* queries, float* attended) const {
        const KvStep& kv = step.kv[place_.group];
        if (!pooling_) {
            step.device.submit(ops::Attend{.layer = place_.layer,
                                           .shape = shape_,
                                           .segments = kv.segments,
                                           .queries = queries,
                                           .query_stride = shape_.query_width(),
                                           .kv = kv.shape,
                                           .out = attended});
            return;
        }
        const KvStep& pooled = step.kv[pooled_.group];
        step.device.submit(ops::AttendPooled{.layer = place_.layer,
                                             .shape = shape_,
                                             .segments = kv.segments,
                                             .kv = kv.shape,
                                             .pooled_layer = pooled_.layer,
                                             .pooled_segments = pooled.segments,
                                             .pooled = pooled.shape,
                                             .queries = queries,
                                             .out = attended,
                                             .chosen = step.chosen});
    }

    const KvLayout::Place place_;
    const KvLayout::Place pooled_;
    const std::size_t rotation_;
    const PooledSpec& spec_;
    kernels::AttentionShape shape_;
    const std::int64_t hidden_dim_;
    const OutputRule rule_;
    const kernels::WeightView query_down_;
    const NormWeights query_down_norm_;
    const kernels::WeightView query_up_;
    const kernels::WeightView key_;
    const NormWeights key_norm_;
    const kernels::WeightView output_down_;
    const kernels::WeightView output_;
    std::optional<KeyPooling> pooling_;
    std::optional<Indexer> indexer_;
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

    void run(const StepContext& step, const NormWeights& norm) const override {
        step.normalise(norm);
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

// ---------------------------------------------------------------- Mamba-2

class Mamba2 final : public AttentionModule {
  public:
    Mamba2(const ModelSpec& spec, const Mamba2Spec& layer_spec, const DeviceWeights& weights, std::int64_t layer,
           KvLayout::Place place)
        : place_(place),
          shape_(layer_spec.shape()),
          hidden_dim_(spec.hidden_dim),
          rule_(output_rule(spec, weights, layer)),
          xbc_(weights.matrix(TensorRole::kQkv, layer)),
          gate_(weights.matrix(TensorRole::kOutputGate, layer)),
          time_(weights.matrix(TensorRole::kTimeStep, layer)),
          output_(weights.matrix(TensorRole::kAttentionOutput, layer)) {
        shape_.convolution = weights.vector(TensorRole::kConvolution, layer);
        shape_.convolution_bias = weights.vector(TensorRole::kConvolutionBias, layer);
        shape_.decay_rate = weights.vector(TensorRole::kDecayRate, layer);
        shape_.time_bias = weights.vector(TensorRole::kTimeBias, layer);
        shape_.skip = weights.vector(TensorRole::kSkip, layer);
        shape_.norm = weights.vector(TensorRole::kStateNorm, layer);
        shape_.norm_eps = layer_spec.norm_eps;
    }

    static std::int64_t workspace(const ModelSpec& spec, const kernels::Mamba2Shape& shape) {
        std::int64_t floats = 0;
        for (const std::int64_t width : {shape.row_width(), shape.output_width(), shape.output_width(), shape.n_heads,
                                         shape.n_heads, spec.hidden_dim}) {
            floats += WorkspacePieces::rounded(width);
        }
        return floats;
    }

    void run(const StepContext& step, const NormWeights& norm) const override {
        step.normalise(norm);
        WorkspacePieces pieces(step);
        float* const xbc = pieces.take(shape_.row_width());
        float* const gate = pieces.take(shape_.output_width());
        float* const values = pieces.take(shape_.output_width());
        float* const time = pieces.take(shape_.n_heads);
        float* const decay = pieces.take(shape_.n_heads);
        float* const projected = pieces.take(hidden_dim_);
        step.device.submit(ops::Multiply{xbc_, step.normalised, step.n_tokens, xbc});
        step.device.submit(ops::Multiply{gate_, step.normalised, step.n_tokens, gate});
        step.device.submit(ops::Multiply{time_, step.normalised, step.n_tokens, time});
        const KvStep& kv = step.kv[place_.group];
        step.device.submit(ops::Mamba2{.layer = place_.layer,
                                       .shape = shape_,
                                       .segments = kv.segments,
                                       .xbc = xbc,
                                       .time = time,
                                       .decay = decay,
                                       .z = gate,
                                       .kv = kv.shape,
                                       .out = values});
        add_output(step, output_, nullptr, values, projected, rule_);
    }

  private:
    const KvLayout::Place place_;
    kernels::Mamba2Shape shape_;
    const std::int64_t hidden_dim_;
    const OutputRule rule_;
    const kernels::WeightView xbc_;
    const kernels::WeightView gate_;
    const kernels::WeightView time_;
    const kernels::WeightView output_;
};

// ---------------------------------------------------------------- gated short convolution

class ShortConvolution final : public AttentionModule {
  public:
    ShortConvolution(const ModelSpec& spec, const ShortConvolutionSpec& layer_spec, const DeviceWeights& weights,
                     std::int64_t layer, KvLayout::Place place)
        : place_(place),
          shape_(layer_spec.shape()),
          rule_(output_rule(spec, weights, layer)),
          input_(weights.matrix(TensorRole::kQkv, layer)),
          output_(weights.matrix(TensorRole::kAttentionOutput, layer)) {
        shape_.weights = weights.vector(TensorRole::kConvolution, layer);
    }

    static std::int64_t workspace(const ModelSpec& spec, const kernels::ConvolutionShape& shape) {
        return WorkspacePieces::rounded(3 * shape.n_channels) + WorkspacePieces::rounded(shape.n_channels) +
               WorkspacePieces::rounded(spec.hidden_dim);
    }

    void run(const StepContext& step, const NormWeights& norm) const override {
        step.normalise(norm);
        WorkspacePieces pieces(step);
        float* const bcx = pieces.take(3 * shape_.n_channels);
        float* const values = pieces.take(shape_.n_channels);
        float* const projected = pieces.take(output_.n_rows);
        step.device.submit(ops::Multiply{input_, step.normalised, step.n_tokens, bcx});
        const KvStep& kv = step.kv[place_.group];
        step.device.submit(ops::GatedConvolution{.layer = place_.layer,
                                                 .shape = shape_,
                                                 .segments = kv.segments,
                                                 .bcx = bcx,
                                                 .kv = kv.shape,
                                                 .out = values});
        add_output(step, output_, nullptr, values, projected, rule_);
    }

  private:
    const KvLayout::Place place_;
    kernels::ConvolutionShape shape_;
    const OutputRule rule_;
    const kernels::WeightView input_;
    const kernels::WeightView output_;
};

}  // namespace

std::unique_ptr<AttentionModule> make_attention(const ModelSpec& spec, const DeviceWeights& weights, std::int64_t layer,
                                                const KvLayout& layout, std::size_t rotation,
                                                std::size_t pooled_rotation) {
    const KvLayout::Place place = layout.layers[static_cast<std::size_t>(layer)];
    const AttentionSpec& attention = spec.layers[static_cast<std::size_t>(layer)].attention;
    if (std::holds_alternative<NoAttentionSpec>(attention)) return nullptr;
    if (const auto* const latent = std::get_if<LatentSpec>(&attention)) {
        return std::make_unique<LatentAttention>(spec, *latent, weights, layer, layout, rotation);
    }
    if (const auto* const pooled = std::get_if<PooledSpec>(&attention)) {
        return std::make_unique<PooledAttention>(spec, *pooled, weights, layer, layout, rotation, pooled_rotation);
    }
    if (const auto* const delta_net = std::get_if<DeltaNetSpec>(&attention)) {
        return std::make_unique<DeltaNet>(spec, *delta_net, weights, layer, place);
    }
    if (const auto* const mamba2 = std::get_if<Mamba2Spec>(&attention)) {
        return std::make_unique<Mamba2>(spec, *mamba2, weights, layer, place);
    }
    if (const auto* const convolution = std::get_if<ShortConvolutionSpec>(&attention)) {
        return std::make_unique<ShortConvolution>(spec, *convolution, weights, layer, place);
    }
    return std::make_unique<GroupedQueryAttention>(spec, std::get<GroupedQuerySpec>(attention), weights, layer, layout,
                                                   rotation);
}

std::int64_t attention_workspace(const ModelSpec& spec, std::int64_t layer) {
    const AttentionSpec& attention = spec.layers[static_cast<std::size_t>(layer)].attention;
    if (std::holds_alternative<NoAttentionSpec>(attention)) return 0;
    if (const auto* const latent = std::get_if<LatentSpec>(&attention)) {
        return LatentAttention::workspace(spec, *latent);
    }
    if (const auto* const pooled = std::get_if<PooledSpec>(&attention)) {
        return PooledAttention::workspace(spec, *pooled);
    }
    if (const auto* const delta_net = std::get_if<DeltaNetSpec>(&attention)) {
        return DeltaNet::workspace(spec, delta_net->shape());
    }
    if (const auto* const mamba2 = std::get_if<Mamba2Spec>(&attention)) {
        return Mamba2::workspace(spec, mamba2->shape());
    }
    if (const auto* const convolution = std::get_if<ShortConvolutionSpec>(&attention)) {
        return ShortConvolution::workspace(spec, convolution->shape());
    }
    return GroupedQueryAttention::workspace(spec, layer);
}

}  // namespace offstage::engine
