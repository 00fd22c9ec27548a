#include "engine/model/synthetic.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "engine/error.h"
#include "engine/mix_bits.h"
#include "engine/model/families/family.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

constexpr std::string_view kPrefix = "synthetic:";

ModelSpec base_shape(std::int64_t n_layers, std::int64_t hidden_dim, std::int64_t vocab_size) {
    ModelSpec spec;
    spec.vocab_size = vocab_size;
    spec.hidden_dim = spec.experts.hidden_dim = hidden_dim;
    spec.max_context = 32768;
    spec.layers.resize(static_cast<std::size_t>(n_layers));
    return spec;
}

MoeSpec experts_shape(ModelSpec& spec, std::int64_t n_experts, std::int64_t n_active, std::int64_t ffn_dim) {
    spec.experts.n_experts = n_experts;
    spec.experts.n_active = n_active;
    spec.experts.ffn_dim = ffn_dim;
    MoeSpec moe;
    moe.router.n_experts = static_cast<std::int32_t>(n_experts);
    moe.router.n_active = static_cast<std::int32_t>(n_active);
    return moe;
}

// All layers alike.
void fill_layers(ModelSpec& spec, const AttentionSpec& attention, const MoeSpec& moe) {
    for (LayerSpec& layer : spec.layers) layer = {attention, moe};
}

GroupedQuerySpec grouped_query(std::int64_t n_heads, std::int64_t n_kv_heads, std::int64_t head_dim, double theta) {
    GroupedQuerySpec a;
    a.n_heads = n_heads;
    a.n_kv_heads = n_kv_heads;
    a.head_dim = head_dim;
    a.rope.dim = head_dim;
    a.rope.theta = theta;
    a.scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    return a;
}

ModelSpec mixtral_shape(std::int64_t n_layers, std::int64_t hidden_dim, std::int64_t ffn_dim, std::int64_t n_heads,
                        std::int64_t n_kv_heads, std::int64_t n_experts, std::int64_t n_active) {
    ModelSpec spec = base_shape(n_layers, hidden_dim, 32000);
    spec.architecture = kMixtral.architecture;
    fill_layers(spec, grouped_query(n_heads, n_kv_heads, hidden_dim / n_heads, 1e6),
                experts_shape(spec, n_experts, n_active, ffn_dim));
    return spec;
}

ModelSpec qwen3_30b_a3b() {
    ModelSpec spec = base_shape(48, 2048, 151936);
    spec.architecture = kQwen3Moe.architecture;
    spec.norm.eps = 1e-6f;
    GroupedQuerySpec attention = grouped_query(32, 4, 128, 1e6);
    attention.qk_norm = QkNorm::kPerHead;
    fill_layers(spec, attention, experts_shape(spec, 128, 8, 768));
    return spec;
}

ModelSpec deepseek_v2_lite() {
    ModelSpec spec = base_shape(27, 2048, 102400);
    spec.architecture = kDeepseekV2.architecture;
    spec.norm.eps = 1e-6f;
    LatentSpec a;
    a.n_heads = 16;
    a.latent_dim = 512;
    a.nope_dim = 128;
    a.value_dim = 128;
    a.rope.dim = 64;
    a.scale = 1.0f / std::sqrt(192.0f);
    MoeSpec moe = experts_shape(spec, 64, 6, 1408);
    moe.router.renormalise = false;
    moe.shared_dim = 2 * 1408;
    fill_layers(spec, a, moe);
    spec.layers.front().ffn = DenseFfnSpec{10944};
    return spec;
}

// DBRX's sizes, its layers as plain ones (no clipping of queries, keys and values, norms
// without a mean): for costs.
ModelSpec dbrx() {
    ModelSpec spec = base_shape(40, 6144, 100352);
    spec.architecture = "DbrxForCausalLM";
    fill_layers(spec, grouped_query(48, 8, 128, 5e5), experts_shape(spec, 16, 4, 10752));
    return spec;
}

struct Shape {
    std::string_view name;
    ModelSpec (*make)();
};

const std::array kShapes = {
    Shape{"mixtral-8x7b", [] { return mixtral_shape(32, 4096, 14336, 32, 8, 8, 2); }},
    Shape{"mixtral-mini", [] { return mixtral_shape(8, 2048, 7168, 16, 4, 8, 2); }},
    Shape{"fine", [] { return mixtral_shape(12, 1024, 512, 16, 4, 64, 8); }},
    Shape{"qwen3-30b-a3b", qwen3_30b_a3b},
    Shape{"deepseek-v2-lite", deepseek_v2_lite},
    Shape{"dbrx", dbrx},
};

std::uint64_t parse_number(std::string_view text, const std::string& field, std::uint64_t low, std::uint64_t high) {
    std::uint64_t value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc() || end != text.data() + text.size() || value < low || value > high) {
        throw Error(ErrorKind::kInvalidInput, "The synthetic model's " + field + " is \"" + std::string(text) +
                                                  "\"; expected a whole number from " + std::to_string(low) + " to " +
                                                  std::to_string(high) + ".");
    }
    return value;
}

// Four weights from each 64-bit draw: a signed 16-bit number times amplitude / 2^15, cut to bfloat16. The counter is
// the position, so that any thread may draw any part.
void draw(std::uint64_t seed, std::uint64_t tensor, float amplitude, std::int64_t begin, std::int64_t end,
          kernels::Bf16* out) {
    const std::uint64_t key = mix_bits(seed * kGoldenBits + tensor);
    const float scale = amplitude / 32768.0f;
    const auto weight = [scale](std::uint64_t bits) {
        const float value = static_cast<float>(static_cast<std::int16_t>(bits & 0xffffu)) * scale;
        return kernels::Bf16{static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16)};
    };
    std::int64_t i = begin;
    for (; i + 4 <= end && i % 4 == 0; i += 4) {
        const std::uint64_t bits = mix_bits(key + static_cast<std::uint64_t>(i / 4) * kGoldenBits);
        out[i] = weight(bits);
        out[i + 1] = weight(bits >> 16);
        out[i + 2] = weight(bits >> 32);
        out[i + 3] = weight(bits >> 48);
    }
    for (; i < end; ++i) {
        const std::uint64_t bits = mix_bits(key + static_cast<std::uint64_t>(i / 4) * kGoldenBits);
        out[i] = weight(bits >> (i % 4 * 16));
    }
}

class SyntheticWeights final : public WeightSource {
  public:
    SyntheticWeights(const SyntheticModel& model, kernels::ThreadPool& pool, bool dry)
        : spec_(model.spec), seed_(model.seed), pool_(pool), dry_(dry) {
        for (const DenseTensor& tensor : dense_tensors(spec_)) n_dense_drawn_ += is_drawn(tensor) ? 1 : 0;
    }

    kernels::WeightType expert_type() const override { return kSyntheticFormat; }

    std::uint64_t dense_bytes() const override {
        std::uint64_t bytes = 0;
        for (const DenseTensor& tensor : dense_tensors(spec_)) bytes += tensor.bytes(kSyntheticFormat);
        return bytes;
    }

    void watch(BytesProgressFn progress, std::stop_token stop) override {
        progress_ = std::move(progress);
        stop_ = std::move(stop);
        done_ = 0;
    }

    DenseWeights load_dense(Arena& host) override {
        DenseWeights weights;
        std::uint64_t next = 0;
        for (const DenseTensor& tensor : dense_tensors(spec_)) {
            DenseWeight weight;
            weight.what = tensor;
            const std::int64_t fan_in = tensor.role == TensorRole::kEmbedding ? 1 : tensor.n_cols;
            if (!is_drawn(tensor)) {
                const float value = tensor.role == TensorRole::kSelectionBias ? 0.0f : 1.0f;
                weight.values.assign(static_cast<std::size_t>(tensor.n_weights()), value);
            } else if (tensor.kind == DenseTensor::Kind::kVector) {
                weight.values = vector(next++, tensor.n_weights(), fan_in);
            } else {
                weight.matrix = Matrix(host, kSyntheticFormat, tensor.n_rows, tensor.n_cols, "dense weights");
                fill(next++, weight.matrix.memory.data(), tensor.n_weights(), fan_in, pool_);
                report(tensor.n_weights());
            }
            weights.tensors.push_back(std::move(weight));
        }
        return weights;
    }

    void advance() override { report(spec_.experts.expert_weights()); }

    void pack_expert(LayerIndex layer, ExpertIndex expert, std::byte* block, kernels::ThreadPool& pool) override {
        // Tensors are numbered: the drawn dense ones, then the experts. One variance for
        // the three parts of a neuron keeps the drawing a single pass; the down projection's wider input only scales
        // the residual.
        fill(tensor_of(layer, expert), block, spec_.experts.expert_weights(), spec_.hidden_dim, pool);
    }

    // All that the weights are drawn from.
    std::optional<Fingerprint> expert_fingerprint(LayerIndex layer, ExpertIndex expert, kernels::ThreadPool&) override {
        constexpr std::uint64_t kDrawing = 0x73796e7468310001u;  // to be changed when draw() is
        const std::array<Fingerprint, 2> parts = {Fingerprint{seed_, tensor_of(layer, expert)},
                                                  Fingerprint{static_cast<std::uint64_t>(spec_.hidden_dim),
                                                              static_cast<std::uint64_t>(spec_.experts.ffn_dim)}};
        return combine(parts, kDrawing);
    }

    std::optional<Fingerprint> model_fingerprint() override {
        const Fingerprint first = *expert_fingerprint(LayerIndex{0}, ExpertIndex{0}, pool_);
        const std::array<Fingerprint, 2> parts = {first,
                                                  Fingerprint{static_cast<std::uint64_t>(spec_.n_layers()),
                                                              static_cast<std::uint64_t>(spec_.experts.n_experts)}};
        return combine(parts, 1);
    }

  private:
    // Norms and biases are not.
    static bool is_drawn(const DenseTensor& tensor) {
        return tensor.kind != DenseTensor::Kind::kVector || tensor.role == TensorRole::kRouter;
    }

    std::uint64_t tensor_of(LayerIndex layer, ExpertIndex expert) const {
        return n_dense_drawn_ + static_cast<std::uint64_t>(layer.value * spec_.experts.n_experts + expert.value);
    }

    // n weights with variance 1 / fan_in.
    void fill(std::uint64_t tensor, std::byte* memory, std::int64_t n, std::int64_t fan_in,
              kernels::ThreadPool& pool) const {
        if (dry_) return;
        const float amplitude = std::sqrt(3.0f / static_cast<float>(fan_in));
        auto* out = reinterpret_cast<kernels::Bf16*>(memory);
        pool.parallel_for(n, 4096, [&](std::int64_t begin, std::int64_t end, int) {
            draw(seed_, tensor, amplitude, begin, end, out);
        });
    }

    void report(std::int64_t n) {
        if (dry_) return;
        done_ += static_cast<std::uint64_t>(n) * sizeof(kernels::Bf16);
        if (stop_.stop_requested()) throw Error(ErrorKind::kCancelled, "Loading was cancelled.");
        const auto total = static_cast<std::uint64_t>(spec_.total_weights()) * sizeof(kernels::Bf16);
        if (progress_) progress_(std::min(done_, total), total);
    }

    std::vector<float> vector(std::uint64_t tensor, std::int64_t n, std::int64_t fan_in) {
        std::vector<kernels::Bf16> drawn(static_cast<std::size_t>(n));
        fill(tensor, reinterpret_cast<std::byte*>(drawn.data()), n, fan_in, pool_);
        report(n);
        std::vector<float> values(drawn.size());
        std::transform(drawn.begin(), drawn.end(), values.begin(), [](kernels::Bf16 w) { return to_float(w); });
        return values;
    }

    ModelSpec spec_;
    std::uint64_t seed_;
    kernels::ThreadPool& pool_;
    bool dry_;
    BytesProgressFn progress_;
    std::stop_token stop_;
    std::uint64_t n_dense_drawn_ = 0;
    std::uint64_t done_ = 0;
};

}  // namespace

bool is_synthetic(std::string_view model) {
    return model.starts_with(kPrefix);
}

SyntheticModel parse_synthetic(std::string_view text) {
    std::string_view rest = text.substr(std::min(kPrefix.size(), text.size()));
    const std::size_t question = rest.find('?');
    SyntheticModel model;
    model.name = rest.substr(0, question);
    const auto shape =
        std::find_if(kShapes.begin(), kShapes.end(), [&](const Shape& s) { return s.name == model.name; });
    if (shape == kShapes.end()) {
        std::string names;
        for (const Shape& s : kShapes) names += (names.empty() ? "" : ", ") + std::string(s.name);
        throw Error(ErrorKind::kInvalidInput,
                    "There is no synthetic model \"" + model.name + "\"; expected one of " + names + ".");
    }
    model.spec = shape->make();
    std::int64_t window = 0;
    std::string_view options = question == std::string_view::npos ? std::string_view{} : rest.substr(question + 1);
    while (!options.empty()) {
        const std::string_view option = options.substr(0, options.find('&'));
        options.remove_prefix(std::min(options.size(), option.size() + 1));
        const std::size_t equals = option.find('=');
        const std::string_view key = option.substr(0, equals);
        const std::string_view value = equals == std::string_view::npos ? "" : option.substr(equals + 1);
        if (key == "layers") {
            // More than the shape has repeat its last.
            model.spec.layers.resize(static_cast<std::size_t>(parse_number(value, "layers", 1, kMostLayers)),
                                     LayerSpec(model.spec.layers.back()));
        } else if (key == "active") {
            const auto most = static_cast<std::uint64_t>(
                std::min<std::int64_t>(model.spec.experts.n_experts, kernels::kMostActiveExperts));
            model.spec.experts.n_active = static_cast<std::int64_t>(parse_number(value, "active", 1, most));
            for (LayerSpec& layer : model.spec.layers) {
                if (auto* const moe = std::get_if<MoeSpec>(&layer.ffn)) {
                    moe->router.n_active = static_cast<std::int32_t>(model.spec.experts.n_active);
                }
            }
        } else if (key == "window") {
            window = static_cast<std::int64_t>(parse_number(value, "window", 1, kLongestContext));
        } else if (key == "seed") {
            model.seed = parse_number(value, "seed", 0, std::numeric_limits<std::uint64_t>::max());
        } else {
            throw Error(ErrorKind::kInvalidInput, "A synthetic model has no option \"" + std::string(key) +
                                                      "\"; expected layers=N, active=A, window=W or seed=S.");
        }
    }
    for (std::size_t l = 0; window > 0 && l < model.spec.layers.size(); l += 2) {
        auto* const attention = std::get_if<GroupedQuerySpec>(&model.spec.layers[l].attention);
        if (attention == nullptr) {
            throw Error(
                ErrorKind::kInvalidInput,
                "Latent attention has no window; expected a synthetic model without it, not " + model.name + ".");
        }
        attention->window = window;
    }
    model.spec.number_moe_layers();
    return model;
}

std::unique_ptr<WeightSource> draw_weights(const SyntheticModel& model, kernels::ThreadPool& pool, bool dry) {
    return std::make_unique<SyntheticWeights>(model, pool, dry);
}

}  // namespace offstage::engine
