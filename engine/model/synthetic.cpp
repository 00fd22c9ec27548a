#include "engine/model/synthetic.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "engine/error.h"
#include "engine/mix_bits.h"
#include "engine/model/catalogue.h"
#include "engine/model/model_files.h"
#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"
#include "kernels/blocks.h"
#include "kernels/scaled_weights.h"

namespace offstage::engine {
namespace {

constexpr std::string_view kPrefix = "synthetic:";

ModelSpec spec_of(const CatalogueShape& shape) {
    nlohmann::ordered_json config = nlohmann::ordered_json::parse(shape.config);
    config["max_position_embeddings"] = config["max_seq_len"] = 32768;  // a family reads one of them
    ModelSpec spec = parse_model_spec(config.dump(), shape.name);
    spec.family = nullptr;  // no checkpoint
    spec.bos_token = -1;
    spec.eos_tokens.clear();
    return spec;
}

std::uint64_t parse_number(std::string_view text, const std::string& field, std::uint64_t low, std::uint64_t high) {
    std::uint64_t value = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (status != std::errc() || end != text.data() + text.size() || value < low || value > high) {
        throw Error(ErrorKind::kInvalidInput, messages::synthetic_option_out_of_range(field, text, low, high));
    }
    return value;
}

// Takes four weights from each 64-bit draw: a signed 16-bit number times amplitude /
// 2^15, cut to bfloat16. The counter is the position, so that any thread may draw any
// part.
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

void write_half(float value, std::byte* out) {
    const auto bits = static_cast<std::uint16_t>(kernels::half_bits(value));
    std::memcpy(out, &bits, sizeof bits);
}

// Blocks of uniform codes whose weights have mean 0 (in formats with a minimum, and
// nearly in others) and a given variance. Scales within a block are drawn like codes.
class BlockDrawing {
  public:
    BlockDrawing(kernels::WeightType type, float variance) : traits_(&kernels::traits_of(type)) {
        // Scale 1 shows what the codes are worth, and minimum 1 what it takes from them.
        const int n_blocks = 65536 / traits_->group;
        double scaled = 0, lowered = 0;
        const std::vector<float> plain = sample(n_blocks, 1, 0);
        for (const float value : plain) scaled += static_cast<double>(value);
        if (traits_->minimum_at >= 0) {
            for (const float value : sample(n_blocks, 0, 1)) lowered -= static_cast<double>(value);
            minimum_ = static_cast<float>(scaled / lowered);
        }
        double squares = 0;
        for (const float value : sample(n_blocks, 1, minimum_))
            squares += static_cast<double>(value) * static_cast<double>(value);
        scale_ =
            static_cast<float>(std::sqrt(static_cast<double>(variance) * static_cast<double>(plain.size()) / squares));
        minimum_ *= scale_;
    }

    // Blocks begin .. end of a tensor, at `out`.
    void draw(std::uint64_t key, std::int64_t begin, std::int64_t end, std::byte* out) const {
        const auto bytes = static_cast<std::size_t>(traits_->block_bytes);
        for (std::int64_t block = begin; block < end; ++block, out += bytes) {
            std::uint64_t word = mix_bits(key + static_cast<std::uint64_t>(block) * kGoldenBits);
            for (std::size_t i = 0; i < bytes; i += sizeof word, word = mix_bits(word + kGoldenBits)) {
                std::memcpy(out + i, &word, std::min(sizeof word, bytes - i));
            }
            write_scales(out, scale_, minimum_);
        }
    }

  private:
    void write_scales(std::byte* block, float scale, float minimum) const {
        if (traits_->type == kernels::WeightType::kMxfp4) {
            block[0] = static_cast<std::byte>(127 + std::lrint(std::log2(scale)));
            return;
        }
        write_half(scale, block + traits_->scale_at);
        if (traits_->minimum_at >= 0) write_half(minimum, block + traits_->minimum_at);
    }

    std::vector<float> sample(int n_blocks, float scale, float minimum) {
        std::vector<std::byte> block(static_cast<std::size_t>(traits_->block_bytes));
        std::vector<float> values(static_cast<std::size_t>(n_blocks * traits_->group));
        for (int i = 0; i < n_blocks; ++i) {
            draw(0, i, i + 1, block.data());
            write_scales(block.data(), scale, minimum);
            kernels::unpack_blocks(traits_->type, block.data(), 0, traits_->group,
                                   values.data() + static_cast<std::ptrdiff_t>(i) * traits_->group);
        }
        return values;
    }

    const kernels::FormatTraits* traits_;
    float scale_ = 1;
    float minimum_ = 0;
};

// The type that GGUF files of `type` have for a matrix with rows of this length: where
// blocks of 256 do not fit, one with blocks of 32 (llama.cpp's llama-quant.cpp,
// tensor_type_fallback()). Nothing: no blocks fit.
std::optional<kernels::WeightType> type_for_rows(kernels::WeightType type, std::int64_t n_cols) {
    using enum kernels::WeightType;
    if (n_cols % kernels::traits_of(type).group == 0) return type;
    if (n_cols % 32 != 0 || kernels::traits_of(type).group <= 32) return std::nullopt;
    switch (type) {
        case kQ4K:
            return kQ5_0;
        case kQ5K:
            return kQ5_1;
        case kQ6K:
            return kQ8_0;
        default:
            return kIq4Nl;
    }
}

// Blocks in the layouts of a GGUF file: all experts, and dense matrices with rows of
// whole blocks.
void store_as(SyntheticModel& model, kernels::WeightType type) {
    ModelSpec& spec = model.spec;
    const auto type_of = [&](std::int64_t n_cols) { return type_for_rows(type, n_cols); };
    const auto fits = [&](std::int64_t n_cols) { return type_of(n_cols).has_value(); };
    const auto network = [&](std::int64_t hidden, std::int64_t ffn, const kernels::ExpertSpec& expert) {
        kernels::ExpertLayout layout = kernels::expert_layout(*type_of(hidden), hidden, ffn, expert);
        layout.down = *type_of(ffn);
        layout.down_rows_are_outputs = true;
        return layout;
    };
    ExpertGrid& grid = spec.experts;
    if (!fits(grid.hidden_dim) || !fits(grid.ffn_dim)) {
        throw Error(ErrorKind::kInvalidInput,
                    messages::synthetic_type_does_not_fit(kernels::name_of(type), kernels::traits_of(type).group,
                                                          model.name, grid.hidden_dim, grid.ffn_dim));
    }
    grid.file_layouts = {network(grid.hidden_dim, grid.ffn_dim, grid.expert)};
    grid.file_formats.assign(static_cast<std::size_t>(grid.n_layers), kernels::WeightType::kFile1);
    for (const DenseTensor& tensor : dense_tensors(spec)) {
        StoredTensor stored{model.type, {}};
        const bool is_network = tensor.kind == DenseTensor::Kind::kNetwork;
        if (tensor.kind == DenseTensor::Kind::kVector) {
            stored.type = kernels::WeightType::kF32;
        } else if (fits(tensor.n_cols) && (!is_network || fits(tensor.ffn_dim()))) {
            stored.type = *type_of(tensor.n_cols);
            if (is_network) stored.network = network(tensor.n_cols, tensor.ffn_dim(), tensor.network);
        }
        spec.stored.push_back(stored);
    }
}

class SyntheticWeights final : public WeightSource {
  public:
    SyntheticWeights(const SyntheticModel& model, kernels::ThreadPool& pool, bool dry)
        : spec_(model.spec),
          seed_(model.seed),
          type_(model.type),
          expert_type_(model.expert_type()),
          pool_(pool),
          dry_(dry) {
        for (const DenseTensor& tensor : dense_tensors(spec_)) n_dense_drawn_ += is_drawn(tensor) ? 1 : 0;
    }

    kernels::WeightType expert_type() const override { return expert_type_; }

    std::uint64_t dense_bytes() const override { return dense_bytes_in(spec_, type_); }

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
                const float value = is_norm(tensor.role) ? 1.0f : tensor.role == TensorRole::kDecayRate ? -1.0f : 0.0f;
                weight.values.assign(static_cast<std::size_t>(tensor.n_weights()), value);
                if (tensor.role == TensorRole::kExpertsByToken) spread_experts(weight.values);
            } else if (tensor.kind == DenseTensor::Kind::kVector) {
                weight.values = vector(next++, tensor.n_weights(), fan_in);
            } else {
                const bool is_network = tensor.kind == DenseTensor::Kind::kNetwork;
                weight.matrix = is_network ? Matrix(host, tensor.stored_network(type_), messages::dense_weights)
                                           : Matrix(host, tensor.stored_type(type_), tensor.n_rows, tensor.n_cols,
                                                    messages::dense_weights);
                if (is_network) {
                    fill_network(next++, weight.matrix.memory.data(), *weight.matrix.network, pool_);
                } else {
                    fill(next++, weight.matrix.memory.data(), weight.matrix.type, tensor.n_weights(), fan_in, pool_);
                }
                report(tensor.n_weights());
            }
            weights.tensors.push_back(std::move(weight));
        }
        return weights;
    }

    void advance() override { report(spec_.experts.expert_weights()); }

    void pack_expert(LayerIndex layer, ExpertIndex expert, std::byte* block, kernels::ThreadPool& pool) override {
        // Tensors are numbered: first the drawn dense ones, then the experts.
        const kernels::ExpertLayout layout = spec_.experts.layout(expert_type_);
        fill_network(tensor_of(layer, expert), block, layout, pool);
        if (spec_.experts.expert.biases && !dry_) {
            std::memset(block + layout.bias_offset(), 0, layout.bytes() - layout.bias_offset());
        }
    }

    // All that the weights are drawn from.
    std::optional<Fingerprint> expert_fingerprint(LayerIndex layer, ExpertIndex expert, kernels::ThreadPool&) override {
        constexpr std::uint64_t kDrawing = 0x73796e7468310001u;  // to be changed when draw() is
        const std::uint64_t type = type_ == kernels::WeightType::kBf16 ? 0 : static_cast<std::uint64_t>(type_) << 48u;
        const std::array<Fingerprint, 2> parts = {Fingerprint{seed_, tensor_of(layer, expert) ^ type},
                                                  Fingerprint{static_cast<std::uint64_t>(spec_.hidden_dim),
                                                              static_cast<std::uint64_t>(spec_.experts.ffn_dim)}};
        return combine(parts, kDrawing);
    }

    std::optional<Fingerprint> model_fingerprint() override {
        const Fingerprint first = *expert_fingerprint(LayerIndex{0}, ExpertIndex{0}, pool_);
        const std::array<Fingerprint, 3> parts = {first,
                                                  Fingerprint{static_cast<std::uint64_t>(spec_.n_layers()),
                                                              static_cast<std::uint64_t>(spec_.experts.n_experts)},
                                                  Fingerprint{static_cast<std::uint64_t>(spec_.vocab_size), 0}};
        return combine(parts, 1);
    }

  private:
    static bool is_norm(TensorRole role) {
        switch (role) {
            case TensorRole::kFinalNorm:
            case TensorRole::kAttentionStreamsNorm:
            case TensorRole::kFfnStreamsNorm:
            case TensorRole::kHeadStreamsNorm:
            case TensorRole::kAttentionNorm:
            case TensorRole::kQueryNorm:
            case TensorRole::kKeyNorm:
            case TensorRole::kQueryDownNorm:
            case TensorRole::kLatentNorm:
            case TensorRole::kIndexerQueryNorm:
            case TensorRole::kIndexerKeyNorm:
            case TensorRole::kPoolNorm:
            case TensorRole::kIndexerPoolNorm:
            case TensorRole::kStateNorm:
            case TensorRole::kSkip:
            case TensorRole::kFfnNorm:
            case TensorRole::kAttentionOutputNorm:
            case TensorRole::kFfnOutputNorm:
            case TensorRole::kNetworkOutputNorm:
            case TensorRole::kExpertNorm:
            case TensorRole::kExpertOutputNorm:
            case TensorRole::kRouterNorm:
            case TensorRole::kExpertScale:
            case TensorRole::kLayerScale:
                return true;
            default:
                return false;
        }
    }
    // Every token's follow each other.
    void spread_experts(std::vector<float>& table) const {
        for (std::size_t i = 0; i < table.size(); ++i) {
            table[i] = static_cast<float>(static_cast<std::int64_t>(i) % spec_.experts.n_experts);
        }
    }
    // Norms and biases are not.
    static bool is_drawn(const DenseTensor& tensor) {
        return tensor.kind != DenseTensor::Kind::kVector || tensor.role == TensorRole::kRouter ||
               tensor.role == TensorRole::kConvolution;
    }

    std::uint64_t tensor_of(LayerIndex layer, ExpertIndex expert) const {
        return n_dense_drawn_ + static_cast<std::uint64_t>(layer.value * spec_.experts.n_experts + expert.value);
    }

    // All parts of a neuron have one variance, so that a network is drawn in one
    // pass; the down projection's wider input only scales the residual.
    void fill_network(std::uint64_t tensor, std::byte* memory, const kernels::ExpertLayout& layout,
                      kernels::ThreadPool& pool) const {
        const std::int64_t up =
            (layout.down_rows_are_outputs ? layout.gate_and_up_rows() : layout.n_rows()) * layout.hidden_dim;
        fill(tensor, memory, layout.gate, up, layout.hidden_dim, pool);
        if (!layout.down_rows_are_outputs) return;
        fill(tensor, memory + layout.down_offset(), layout.down, layout.ffn_dim * layout.hidden_dim, layout.hidden_dim,
             pool, up);
    }

    // n weights with variance 1 / fan_in, the tensor's from weight `first` on.
    void fill(std::uint64_t tensor, std::byte* memory, kernels::WeightType type, std::int64_t n, std::int64_t fan_in,
              kernels::ThreadPool& pool, std::int64_t first = 0) const {
        if (dry_) return;
        if (kernels::is_blocks(type)) {
            const BlockDrawing blocks(type, 1.0f / static_cast<float>(fan_in));
            const kernels::FormatTraits& traits = kernels::traits_of(type);
            const std::uint64_t key = mix_bits(seed_ * kGoldenBits + tensor);
            pool.parallel_for(n / traits.group, 64, [&](std::int64_t begin, std::int64_t end, int) {
                const std::int64_t before = first / traits.group;
                blocks.draw(key, before + begin, before + end, memory + begin * traits.block_bytes);
            });
            return;
        }
        const float amplitude = std::sqrt(3.0f / static_cast<float>(fan_in));
        auto* out = reinterpret_cast<kernels::Bf16*>(memory);
        pool.parallel_for(n, 4096, [&](std::int64_t begin, std::int64_t end, int) {
            draw(seed_, tensor, amplitude, begin, end, out);
        });
    }

    void report(std::int64_t n) {
        if (dry_) return;
        done_ += static_cast<std::uint64_t>(n) * sizeof(kernels::Bf16);
        if (stop_.stop_requested()) throw Error(ErrorKind::kCancelled, messages::loading_cancelled);
        const auto total = static_cast<std::uint64_t>(spec_.total_weights()) * sizeof(kernels::Bf16);
        if (progress_) progress_(std::min(done_, total), total);
    }

    std::vector<float> vector(std::uint64_t tensor, std::int64_t n, std::int64_t fan_in) {
        std::vector<kernels::Bf16> drawn(static_cast<std::size_t>(n));
        fill(tensor, reinterpret_cast<std::byte*>(drawn.data()), kernels::WeightType::kBf16, n, fan_in, pool_);
        report(n);
        std::vector<float> values(drawn.size());
        std::transform(drawn.begin(), drawn.end(), values.begin(), [](kernels::Bf16 w) { return to_float(w); });
        return values;
    }

    ModelSpec spec_;
    std::uint64_t seed_;
    kernels::WeightType type_;
    kernels::WeightType expert_type_;
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
    const std::vector<CatalogueShape>& shapes = catalogue().shapes;
    const auto shape =
        std::find_if(shapes.begin(), shapes.end(), [&](const CatalogueShape& s) { return s.name == model.name; });
    if (shape == shapes.end()) {
        std::string names;
        for (const CatalogueShape& s : shapes) names += (names.empty() ? "" : ", ") + s.name;
        throw Error(ErrorKind::kInvalidInput, messages::no_such_synthetic_model(model.name, names));
    }
    model.spec = spec_of(*shape);
    std::int64_t window = 0;
    std::optional<kernels::WeightType> blocks;
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
        } else if (key == "vocab") {
            const auto most = static_cast<std::uint64_t>(model.spec.vocab_size);
            model.spec.vocab_size = static_cast<std::int64_t>(parse_number(value, "vocab", 1, most));
        } else if (key == "window") {
            window = static_cast<std::int64_t>(parse_number(value, "window", 1, kLongestContext));
        } else if (key == "seed") {
            model.seed = parse_number(value, "seed", 0, std::numeric_limits<std::uint64_t>::max());
        } else if (key == "type") {
            const kernels::FormatTraits* found = nullptr;
            std::string names;
            for (const kernels::FormatTraits& format : kernels::kFormats) {
                if (format.scale_at < 0) continue;
                if (format.option == value) found = &format;
                names += (names.empty() ? "" : ", ") + std::string(format.option);
            }
            if (found == nullptr) {
                throw Error(ErrorKind::kInvalidInput, messages::no_such_synthetic_type(value, names));
            }
            blocks = found->type;
        } else {
            throw Error(ErrorKind::kInvalidInput, messages::no_such_synthetic_option(key));
        }
    }
    for (std::size_t l = 0; window > 0 && l < model.spec.layers.size(); l += 2) {
        auto* const attention = std::get_if<GroupedQuerySpec>(&model.spec.layers[l].attention);
        if (attention == nullptr) {
            throw Error(ErrorKind::kInvalidInput, messages::no_window_with_latent_attention(model.name));
        }
        attention->window = window;
    }
    model.spec.number_moe_layers();
    if (blocks) {
        store_as(model, *blocks);
        model.type = *blocks;
    }
    return model;
}

std::unique_ptr<WeightSource> draw_weights(const SyntheticModel& model, kernels::ThreadPool& pool, bool dry) {
    return std::make_unique<SyntheticWeights>(model, pool, dry);
}

}  // namespace offstage::engine
