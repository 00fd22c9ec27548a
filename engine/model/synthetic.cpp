#include "engine/model/synthetic.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "engine/error.h"
#include "engine/mix_bits.h"
#include "engine/model/shape_limits.h"

namespace offstage::engine {
namespace {

constexpr std::string_view kPrefix = "synthetic:";

ModelConfig mixtral_shape(std::int64_t n_layers, std::int64_t hidden_dim, std::int64_t ffn_dim, std::int64_t n_heads,
                          std::int64_t n_kv_heads, std::int64_t n_experts, std::int64_t n_active) {
    ModelConfig config;
    config.architecture = "MixtralForCausalLM";
    config.vocab_size = 32000;
    config.hidden_dim = hidden_dim;
    config.ffn_dim = ffn_dim;
    config.n_layers = n_layers;
    config.n_heads = n_heads;
    config.n_kv_heads = n_kv_heads;
    config.head_dim = hidden_dim / n_heads;
    config.n_experts = n_experts;
    config.n_active = n_active;
    config.max_context = 32768;
    config.rope_theta = 1e6;
    config.rms_norm_eps = 1e-5;
    return config;
}

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
        : config_(model.config), seed_(model.seed), pool_(pool), dry_(dry) {}

    kernels::WeightType expert_type() const override { return kernels::WeightType::kBf16; }

    std::uint64_t dense_bytes() const override {
        const std::int64_t q_rows = config_.n_heads * config_.head_dim;
        const std::int64_t matrices = q_rows + (q_rows + 2 * config_.n_kv_heads * config_.head_dim);
        const std::int64_t layer =
            2 * matrices * config_.hidden_dim + 4 * (2 * config_.hidden_dim + config_.n_experts * config_.hidden_dim);
        return static_cast<std::uint64_t>(4 * config_.vocab_size * config_.hidden_dim + config_.n_layers * layer +
                                          4 * config_.hidden_dim);
    }

    void watch(BytesProgressFn progress, std::stop_token stop) override {
        progress_ = std::move(progress);
        stop_ = std::move(stop);
        done_ = 0;
    }

    DenseWeights load_dense(Arena& host) override {
        const ModelConfig& c = config_;
        next_tensor_ = 0;
        DenseWeights weights;
        weights.embedding = matrix(host, c.vocab_size, c.hidden_dim, 1, "the embedding");
        weights.lm_head = matrix(host, c.vocab_size, c.hidden_dim, c.hidden_dim, "the output head");
        weights.final_norm.assign(static_cast<std::size_t>(c.hidden_dim), 1.0f);
        const std::int64_t q_rows = c.n_heads * c.head_dim;
        for (std::int64_t l = 0; l < c.n_layers; ++l) {
            LayerWeights layer;
            layer.attention_norm.assign(static_cast<std::size_t>(c.hidden_dim), 1.0f);
            layer.moe_norm.assign(static_cast<std::size_t>(c.hidden_dim), 1.0f);
            layer.qkv = matrix(host, q_rows + 2 * c.n_kv_heads * c.head_dim, c.hidden_dim, c.hidden_dim, "attention");
            layer.output = matrix(host, c.hidden_dim, q_rows, q_rows, "attention");
            layer.gate = vector(c.n_experts * c.hidden_dim, c.hidden_dim);
            weights.layers.push_back(std::move(layer));
        }
        return weights;
    }

    void advance() override { report(config_.expert_weights()); }

    void pack_expert(LayerIndex layer, ExpertIndex expert, std::byte* block, kernels::ThreadPool& pool) override {
        // Tensors are numbered: two of the vocabulary, three drawn ones per layer, then the experts. One variance for
        // the three parts of a neuron keeps the drawing a single pass; the down projection's wider input only scales
        // the residual.
        fill(tensor_of(layer, expert), block, config_.expert_weights(), config_.hidden_dim, pool);
    }

    // All that the weights are drawn from.
    std::optional<Fingerprint> expert_fingerprint(LayerIndex layer, ExpertIndex expert, kernels::ThreadPool&) override {
        constexpr std::uint64_t kDrawing = 0x73796e7468310001u;  // to be changed when draw() is
        const std::array<Fingerprint, 2> parts = {
            Fingerprint{seed_, tensor_of(layer, expert)},
            Fingerprint{static_cast<std::uint64_t>(config_.hidden_dim), static_cast<std::uint64_t>(config_.ffn_dim)}};
        return combine(parts, kDrawing);
    }

    std::optional<Fingerprint> model_fingerprint() override {
        const Fingerprint first = *expert_fingerprint(LayerIndex{0}, ExpertIndex{0}, pool_);
        const std::array<Fingerprint, 2> parts = {first, Fingerprint{static_cast<std::uint64_t>(config_.n_layers),
                                                                     static_cast<std::uint64_t>(config_.n_experts)}};
        return combine(parts, 1);
    }

  private:
    std::uint64_t tensor_of(LayerIndex layer, ExpertIndex expert) const {
        return static_cast<std::uint64_t>(2 + 3 * config_.n_layers + layer.value * config_.n_experts + expert.value);
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
        const auto total = static_cast<std::uint64_t>(config_.total_weights()) * sizeof(kernels::Bf16);
        if (progress_) progress_(std::min(done_, total), total);
    }

    Matrix matrix(Arena& host, std::int64_t n_rows, std::int64_t n_cols, std::int64_t fan_in, const std::string& name) {
        Matrix result(host, kernels::WeightType::kBf16, n_rows, n_cols, name);
        fill(next_tensor_++, result.memory.data(), n_rows * n_cols, fan_in, pool_);
        report(n_rows * n_cols);
        return result;
    }

    std::vector<float> vector(std::int64_t n, std::int64_t fan_in) {
        std::vector<kernels::Bf16> drawn(static_cast<std::size_t>(n));
        fill(next_tensor_++, reinterpret_cast<std::byte*>(drawn.data()), n, fan_in, pool_);
        report(n);
        std::vector<float> values(drawn.size());
        std::transform(drawn.begin(), drawn.end(), values.begin(), [](kernels::Bf16 w) { return to_float(w); });
        return values;
    }

    ModelConfig config_;
    std::uint64_t seed_;
    kernels::ThreadPool& pool_;
    bool dry_;
    BytesProgressFn progress_;
    std::stop_token stop_;
    std::uint64_t next_tensor_ = 0;
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
    if (model.name == "mixtral-8x7b") {
        model.config = mixtral_shape(32, 4096, 14336, 32, 8, 8, 2);
    } else if (model.name == "mixtral-mini") {
        model.config = mixtral_shape(8, 2048, 7168, 16, 4, 8, 2);
    } else if (model.name == "fine") {
        model.config = mixtral_shape(12, 1024, 512, 16, 4, 64, 8);
    } else {
        throw Error(ErrorKind::kInvalidInput,
                    "There is no synthetic model \"" + model.name + "\"; expected mixtral-8x7b, mixtral-mini or fine.");
    }
    std::string_view options = question == std::string_view::npos ? std::string_view{} : rest.substr(question + 1);
    while (!options.empty()) {
        const std::string_view option = options.substr(0, options.find('&'));
        options.remove_prefix(std::min(options.size(), option.size() + 1));
        const std::size_t equals = option.find('=');
        const std::string_view key = option.substr(0, equals);
        const std::string_view value = equals == std::string_view::npos ? "" : option.substr(equals + 1);
        if (key == "layers") {
            model.config.n_layers = static_cast<std::int64_t>(parse_number(value, "layers", 1, kMostLayers));
        } else if (key == "active") {
            model.config.n_active = static_cast<std::int64_t>(
                parse_number(value, "active", 1, static_cast<std::uint64_t>(model.config.n_experts)));
        } else if (key == "seed") {
            model.seed = parse_number(value, "seed", 0, std::numeric_limits<std::uint64_t>::max());
        } else {
            throw Error(ErrorKind::kInvalidInput, "A synthetic model has no option \"" + std::string(key) +
                                                      "\"; expected layers=N, active=A or seed=S.");
        }
    }
    return model;
}

std::unique_ptr<WeightSource> draw_weights(const SyntheticModel& model, kernels::ThreadPool& pool, bool dry) {
    return std::make_unique<SyntheticWeights>(model, pool, dry);
}

}  // namespace offstage::engine
