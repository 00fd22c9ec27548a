// A checkpoint as a WeightSource: dense tensors copied row by row, experts packed neuron by neuron.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

#include "engine/error.h"
#include "engine/model/cold_reads.h"
#include "engine/model/weights.h"
#include "kernels/cpu_kernels.h"

namespace offstage::engine {
namespace {

using kernels::Bf16;
using kernels::bytes_per_weight;
using kernels::WeightType;

constexpr std::int64_t kNeuronBlock = 64;  // neurons packed together: 128 bytes of each w2 row, two cache lines

// Copies n weights, changing their type when it has to: 16-bit to float32 exactly, anything to bfloat16 by rounding.
void convert(const std::byte* source, WeightType from, std::byte* target, WeightType to, std::int64_t n) {
    const kernels::CpuKernels& k = kernels::cpu_kernels();
    if (from == to) {
        std::memcpy(target, source, static_cast<std::size_t>(n) * bytes_per_weight(to));
    } else if (to == WeightType::kF32) {
        k.widen(source, from, n, reinterpret_cast<float*>(target));
    } else {
        std::array<float, 256> widened{};
        const auto step = static_cast<std::int64_t>(widened.size());
        for (std::int64_t i = 0; i < n; i += step) {
            const std::int64_t count = std::min(n - i, step);
            k.widen(source + static_cast<std::size_t>(i) * bytes_per_weight(from), from, count, widened.data());
            k.narrow_bf16(widened.data(), count, reinterpret_cast<Bf16*>(target) + i);
        }
    }
}

// target[j * target_stride + h] = source[h * n_cols + j] for h in [0, n_rows), j in [begin, end).
template <typename Word>
void transpose_columns(const std::byte* source, std::int64_t n_rows, std::int64_t n_cols, std::int64_t begin,
                       std::int64_t end, std::byte* target, std::int64_t target_stride) {
    const auto* in = reinterpret_cast<const Word*>(source);
    auto* out = reinterpret_cast<Word*>(target);
    constexpr std::int64_t kRows = 32;  // a 64 x 32 tile of words stays in the first-level cache
    for (std::int64_t row = 0; row < n_rows; row += kRows) {
        const std::int64_t last = std::min(n_rows, row + kRows);
        for (std::int64_t j = begin; j < end; ++j) {
            Word* neuron = out + (j - begin) * target_stride;
            for (std::int64_t h = row; h < last; ++h) std::memcpy(neuron + h, in + h * n_cols + j, sizeof(Word));
        }
    }
}

class CheckpointWeights final : public WeightSource, public ColdExperts {
  public:
    CheckpointWeights(std::unique_ptr<Checkpoint> checkpoint, const ModelConfig& config, bool round_to_bf16,
                      kernels::ThreadPool& pool)
        : owner_(std::move(checkpoint)),
          checkpoint_(*owner_),
          config_(config),
          round_to_bf16_(round_to_bf16),
          pool_(pool) {
        check_everything();
    }

    WeightType expert_type() const override { return expert_type_; }
    std::uint64_t dense_bytes() const override { return dense_bytes_; }

    void watch(BytesProgressFn progress, std::stop_token stop) override {
        progress_ = std::move(progress);
        stop_ = std::move(stop);
        bytes_done_ = 0;
    }

    DenseWeights load_dense(Arena& host) override {
        DenseWeights weights;
        weights.embedding = matrix(host, {"model.embed_tokens.weight"}, {{config_.vocab_size, config_.hidden_dim}});
        weights.final_norm = vector("model.norm.weight", {config_.hidden_dim});
        if (!config_.tied_embeddings) {
            weights.lm_head = matrix(host, {"lm_head.weight"}, {{config_.vocab_size, config_.hidden_dim}});
        }
        const std::int64_t q_rows = config_.n_heads * config_.head_dim;
        const std::int64_t kv_rows = config_.n_kv_heads * config_.head_dim;
        for (std::int64_t l = 0; l < config_.n_layers; ++l) {
            const std::string p = layer_prefix(l);
            const std::string a = p + "self_attn.";
            LayerWeights layer;
            layer.attention_norm = vector(p + "input_layernorm.weight", {config_.hidden_dim});
            layer.moe_norm = vector(p + "post_attention_layernorm.weight", {config_.hidden_dim});
            layer.qkv =
                matrix(host, {a + "q_proj.weight", a + "k_proj.weight", a + "v_proj.weight"},
                       {{q_rows, config_.hidden_dim}, {kv_rows, config_.hidden_dim}, {kv_rows, config_.hidden_dim}});
            layer.output = matrix(host, {a + "o_proj.weight"}, {{config_.hidden_dim, q_rows}});
            layer.gate = vector(p + "block_sparse_moe.gate.weight", {config_.n_experts, config_.hidden_dim});
            weights.layers.push_back(std::move(layer));
        }
        return weights;
    }

    void pack_expert(LayerIndex layer, ExpertIndex expert, std::byte* block, kernels::ThreadPool& pool) override {
        const std::int64_t hidden = config_.hidden_dim;
        const std::int64_t ffn = config_.ffn_dim;
        const TensorView& w1 = *checkpoint_.find(expert_name(layer.value, expert.value, "w1"));
        const TensorView& w3 = *checkpoint_.find(expert_name(layer.value, expert.value, "w3"));
        const TensorView& w2 = *checkpoint_.find(expert_name(layer.value, expert.value, "w2"));
        checkpoint_.prefetch(w1.bytes);
        checkpoint_.prefetch(w3.bytes);
        checkpoint_.prefetch(w2.bytes);
        for (const TensorView* tensor : {&w1, &w3, &w2}) checkpoint_.require_readable(tensor->bytes);

        const WeightType type = expert_type_;
        const std::size_t row_bytes = static_cast<std::size_t>(hidden) * bytes_per_weight(type);
        pool.parallel_for(ffn, kNeuronBlock, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t j = begin; j < end; ++j) {
                std::byte* neuron = block + static_cast<std::size_t>(j) * 3 * row_bytes;
                const std::size_t row = static_cast<std::size_t>(j * hidden);
                convert(w1.bytes.data() + row * bytes_per_weight(w1.type), w1.type, neuron, type, hidden);
                convert(w3.bytes.data() + row * bytes_per_weight(w3.type), w3.type, neuron + row_bytes, type, hidden);
            }
            for (std::int64_t j = begin; j < end; j += kNeuronBlock) {
                pack_w2(w2, j, std::min(end, j + kNeuronBlock), block, type);
            }
        });
        checkpoint_.release(w1.bytes);
        checkpoint_.release(w3.bytes);
        checkpoint_.release(w2.bytes);
    }

    bool make_cold(LayerIndex layer, ExpertIndex expert) override {
        const auto* const disk = dynamic_cast<const ColdBytes*>(&checkpoint_);
        if (disk == nullptr) return false;
        for (const char* part : {"w1", "w3", "w2"}) {
            disk->drop_cached(checkpoint_.find(expert_name(layer.value, expert.value, part))->bytes);
        }
        return true;
    }

    // Of the tensors as they lie in the file: a pass over them, but without transposing anything. Once: where experts
    // are read from a disk, whoever keeps copies of them in fewer bits reads no more than those from then on.
    std::optional<Fingerprint> expert_fingerprint(LayerIndex layer, ExpertIndex expert,
                                                  kernels::ThreadPool& pool) override {
        const auto index = static_cast<std::size_t>(layer.value * config_.n_experts + expert.value);
        {
            const std::lock_guard lock(fingerprint_mutex_);
            if (fingerprints_.empty()) {
                fingerprints_.resize(static_cast<std::size_t>(config_.n_layers * config_.n_experts));
            }
            if (fingerprints_[index] != Fingerprint{}) return fingerprints_[index];
        }
        std::array<Fingerprint, 6> parts{};
        for (std::size_t i = 0; const char* part : {"w1", "w3", "w2"}) {
            const TensorView& tensor = *checkpoint_.find(expert_name(layer.value, expert.value, part));
            checkpoint_.require_readable(tensor.bytes);
            parts[i++] = fingerprint_of(tensor.bytes, pool);
            parts[i++] = {static_cast<std::uint64_t>(tensor.type), static_cast<std::uint64_t>(tensor.shape[0])};
            checkpoint_.release(tensor.bytes);
        }
        const Fingerprint fingerprint = combine(parts, static_cast<std::uint64_t>(expert_type_));
        const std::lock_guard lock(fingerprint_mutex_);
        fingerprints_[index] = fingerprint;
        return fingerprint;
    }

    std::optional<Fingerprint> model_fingerprint() override {
        constexpr std::size_t kLook = 4096;
        std::vector<Fingerprint> parts;
        for (std::int64_t l = 0; l < config_.n_layers; ++l) {
            for (std::int64_t e = 0; e < config_.n_experts; ++e) {
                for (const char* part : {"w1", "w3", "w2"}) {
                    const TensorView& tensor = *checkpoint_.find(expert_name(l, e, part));
                    const auto look = tensor.bytes.first(std::min(kLook, tensor.bytes.size()));
                    checkpoint_.require_readable(look);
                    parts.push_back(fingerprint_of(look));
                    parts.push_back({static_cast<std::uint64_t>(tensor.type), tensor.bytes.size()});
                }
            }
        }
        return combine(parts, static_cast<std::uint64_t>(config_.hidden_dim));
    }

    void advance() override { report(3 * checkpoint_.find(expert_name(0, 0, "w1"))->bytes.size()); }

  private:
    using Shape = std::vector<std::int64_t>;

    static std::string layer_prefix(std::int64_t layer) { return "model.layers." + std::to_string(layer) + "."; }

    std::string expert_name(std::int64_t layer, std::int64_t expert, const char* part) const {
        return "model.layers." + std::to_string(layer) + ".block_sparse_moe.experts." + std::to_string(expert) + "." +
               part + ".weight";
    }

    // Finds what is wrong before the long work begins, and what memory the weights will take.
    void check_everything() {
        bool first = true;
        for (std::int64_t l = 0; l < config_.n_layers; ++l) {
            for (std::int64_t e = 0; e < config_.n_experts; ++e) {
                for (const char* part : {"w1", "w3", "w2"}) {
                    const bool down = part[1] == '2';
                    const Shape shape =
                        down ? Shape{config_.hidden_dim, config_.ffn_dim} : Shape{config_.ffn_dim, config_.hidden_dim};
                    const TensorView& tensor = checkpoint_.require(expert_name(l, e, part), shape);
                    const WeightType type = stored_type(tensor.type);
                    expert_type_ = first || type == expert_type_ ? type : WeightType::kF32;
                    first = false;
                }
            }
        }
        const auto count = [&](const std::vector<std::string>& names, const std::vector<Shape>& shapes) {
            std::uint64_t elements = 0;
            WeightType type = WeightType::kF32;
            for (std::size_t i = 0; i < names.size(); ++i) {
                const TensorView& tensor = checkpoint_.require(names[i], shapes[i]);
                const WeightType stored = stored_type(tensor.type);
                type = i == 0 || stored == type ? stored : WeightType::kF32;
                elements += static_cast<std::uint64_t>(tensor.n_elements());
            }
            dense_bytes_ += elements * bytes_per_weight(type);
        };
        const auto count_vector = [&](const std::string& name, const Shape& shape) {
            dense_bytes_ += static_cast<std::uint64_t>(checkpoint_.require(name, shape).n_elements()) * sizeof(float);
        };
        const std::int64_t hidden = config_.hidden_dim;
        const std::int64_t q_rows = config_.n_heads * config_.head_dim;
        const std::int64_t kv_rows = config_.n_kv_heads * config_.head_dim;
        count({"model.embed_tokens.weight"}, {{config_.vocab_size, hidden}});
        if (!config_.tied_embeddings) count({"lm_head.weight"}, {{config_.vocab_size, hidden}});
        count_vector("model.norm.weight", {hidden});
        for (std::int64_t l = 0; l < config_.n_layers; ++l) {
            const std::string p = layer_prefix(l);
            const std::string a = p + "self_attn.";
            count_vector(p + "input_layernorm.weight", {hidden});
            count_vector(p + "post_attention_layernorm.weight", {hidden});
            count({a + "q_proj.weight", a + "k_proj.weight", a + "v_proj.weight"},
                  {{q_rows, hidden}, {kv_rows, hidden}, {kv_rows, hidden}});
            count({a + "o_proj.weight"}, {{hidden, q_rows}});
            count_vector(p + "block_sparse_moe.gate.weight", {config_.n_experts, hidden});
        }
        bytes_total_ = checkpoint_.total_bytes();
    }

    WeightType stored_type(WeightType type) const { return round_to_bf16_ ? WeightType::kBf16 : type; }

    void done(std::span<const std::byte> bytes) {
        checkpoint_.release(bytes);
        report(bytes.size());
    }

    void report(std::uint64_t bytes) {
        bytes_done_ += bytes;
        if (stop_.stop_requested()) throw Error(ErrorKind::kCancelled, "Loading was cancelled.");
        if (progress_) progress_(std::min(bytes_done_, bytes_total_), bytes_total_);
    }

    std::vector<float> vector(const std::string& name, const Shape& shape) {
        const TensorView& tensor = checkpoint_.require(name, shape);
        std::vector<float> values(static_cast<std::size_t>(tensor.n_elements()));
        checkpoint_.require_readable(tensor.bytes);
        kernels::cpu_kernels().widen(tensor.bytes.data(), tensor.type, tensor.n_elements(), values.data());
        done(tensor.bytes);
        return values;
    }

    // Tensors of equal width, one above the other.
    Matrix matrix(Arena& host, const std::vector<std::string>& names, const std::vector<Shape>& shapes) {
        std::int64_t n_rows = 0;
        std::vector<const TensorView*> tensors;
        WeightType type = WeightType::kF32;
        for (std::size_t i = 0; i < names.size(); ++i) {
            tensors.push_back(&checkpoint_.require(names[i], shapes[i]));
            const WeightType stored = stored_type(tensors[i]->type);
            type = i == 0 || stored == type ? stored : WeightType::kF32;
            n_rows += shapes[i][0];
        }
        const std::int64_t n_cols = shapes[0][1];
        Matrix result(host, type, n_rows, n_cols, names[0]);
        std::int64_t first_row = 0;
        for (const TensorView* tensor : tensors) {
            checkpoint_.require_readable(tensor->bytes);
            const std::size_t row_bytes = static_cast<std::size_t>(n_cols) * bytes_per_weight(tensor->type);
            pool_.parallel_for(tensor->shape[0], 16, [&](std::int64_t begin, std::int64_t end, int) {
                convert(tensor->bytes.data() + static_cast<std::size_t>(begin) * row_bytes, tensor->type,
                        result.row(first_row + begin), type, (end - begin) * n_cols);
            });
            first_row += tensor->shape[0];
            done(tensor->bytes);
        }
        return result;
    }

    void pack_w2(const TensorView& w2, std::int64_t begin, std::int64_t end, std::byte* block, WeightType type) const {
        const std::int64_t hidden = config_.hidden_dim;
        const std::size_t weight_bytes = bytes_per_weight(type);
        std::byte* target = block + static_cast<std::size_t>(begin * 3 + 2) * hidden * weight_bytes;
        if (w2.type == type && weight_bytes == 2) {
            transpose_columns<std::uint16_t>(w2.bytes.data(), hidden, config_.ffn_dim, begin, end, target, 3 * hidden);
        } else if (w2.type == type) {
            transpose_columns<std::uint32_t>(w2.bytes.data(), hidden, config_.ffn_dim, begin, end, target, 3 * hidden);
        } else {
            const std::size_t source_bytes = bytes_per_weight(w2.type);
            for (std::int64_t h = 0; h < hidden; ++h) {
                for (std::int64_t j = begin; j < end; ++j) {
                    convert(w2.bytes.data() + static_cast<std::size_t>(h * config_.ffn_dim + j) * source_bytes, w2.type,
                            target + static_cast<std::size_t>((j - begin) * 3 * hidden + h) * weight_bytes, type, 1);
                }
            }
        }
    }

    std::unique_ptr<Checkpoint> owner_;
    const Checkpoint& checkpoint_;
    ModelConfig config_;
    bool round_to_bf16_;
    kernels::ThreadPool& pool_;
    BytesProgressFn progress_;
    std::stop_token stop_;
    WeightType expert_type_ = WeightType::kBf16;
    std::uint64_t dense_bytes_ = 0;
    std::uint64_t bytes_done_ = 0;
    std::uint64_t bytes_total_ = 0;
    std::mutex fingerprint_mutex_;
    std::vector<Fingerprint> fingerprints_;  // (n_layers, n_experts), zeros: not known yet; empty before the first
};

}  // namespace

std::unique_ptr<WeightSource> open_weights(std::unique_ptr<Checkpoint> checkpoint, const ModelConfig& config,
                                           bool round_to_bf16, kernels::ThreadPool& pool) {
    return std::make_unique<CheckpointWeights>(std::move(checkpoint), config, round_to_bf16, pool);
}

}  // namespace offstage::engine
