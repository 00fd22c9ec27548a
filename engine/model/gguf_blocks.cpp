// Blocks of a GGUF file: which are layers of the model and which predict further tokens,
// optional tensors of layers, and unused tensors.

#include <algorithm>
#include <charconv>
#include <set>
#include <span>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/model/gguf_config.h"
#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

constexpr std::string_view kGateUp = ".ffn_gate_up_exps.weight";

// "blk.12.attn_norm.weight": 12; -1: of no block.
std::int64_t block_of(std::string_view name) {
    constexpr std::string_view kBlocks = "blk.";
    std::int64_t block = -1;
    if (!name.starts_with(kBlocks)) return block;
    std::from_chars(name.data() + kBlocks.size(), name.data() + name.size(), block);
    return block;
}

bool predicts(std::string_view name) {
    return name.find(".nextn.") != std::string_view::npos;
}

// Blocks of the file; those for the prediction of further tokens have tensors nextn.*.
struct Blocks {
    std::set<std::int64_t> all;
    std::set<std::int64_t> predicting;
};

Blocks blocks_of(const GgufConfig& c) {
    Blocks blocks;
    for (const auto& [name, shape] : c.shapes()) {
        const std::int64_t block = block_of(name);
        if (block < 0) continue;
        blocks.all.insert(block);
        if (predicts(name)) blocks.predicting.insert(block);
    }
    return blocks;
}

// Ends where they are more than the file has.
std::set<std::string, std::less<>> read_tensors(const GgufConfig& c, const ModelSpec& spec) {
    const std::size_t most = c.shapes().size();
    std::set<std::string, std::less<>> read;
    const auto add = [&](const auto& part) {
        read.insert(part.name);
        if (c.has_tensor(part.scale)) read.insert(part.scale);
    };
    const auto add_dense = [&](const TensorPart& part) {
        if (!part.is_optional || c.has_tensor(part.name)) add(part);
    };
    for (const DenseTensor& tensor : dense_tensors(spec)) {
        if (read.size() > most) return read;
        std::ranges::for_each(spec.family->parts(spec, tensor), add_dense);
    }
    const std::int64_t n_apart = spec.gguf.separate_experts ? spec.experts.n_experts : 1;
    for (std::int64_t l = 0; l < spec.experts.n_layers; ++l) {
        for (std::int64_t e = 0; e < n_apart; ++e) {
            if (read.size() > most) return read;
            const ExpertParts parts = spec.family->expert(spec, spec.layer_of(l), e);
            const auto first = static_cast<std::size_t>(spec.experts.expert.first_matrix());
            std::ranges::for_each(std::span(parts.matrices).subspan(first), add);
            if (!spec.experts.expert.biases) continue;
            std::ranges::for_each(parts.biases, add);
        }
    }
    // For gpt-oss, whose experts have biases: for some weeks Ollama wrote gate and up
    // into one tensor, with alternating rows.
    if (spec.experts.expert.biases) std::erase_if(read, [](const auto& name) { return name.ends_with(kGateUp); });
    return read;
}

}  // namespace

bool is_redundant(std::string_view name, const ModelSpec& spec) {
    const auto has = [name](std::string_view word) { return name.find(word) != std::string_view::npos; };
    if (has("attn_rot_embd") || has("rotary_emb.inv_freq") || name.ends_with(".input_scale")) return true;
    if (has(".indexer.")) {  // of layers that attend to what another's indexer chose
        for (std::int64_t l = 0; l < spec.n_layers(); ++l) {
            const IndexerSpec* const indexer = spec.layers[static_cast<std::size_t>(l)].indexer();
            if (indexer != nullptr && indexer->shared && has("." + std::to_string(l) + ".")) return true;
        }
    }
    return spec.gguf.joined_kv_b && (name.ends_with(".attn_k_b.weight") || name.ends_with(".attn_v_b.weight"));
}

std::int64_t count_gguf_layers(const GgufConfig& c, std::vector<Message>* notes) {
    const std::int64_t n_blocks = c.metadata().integer(c.key("block_count"), 1, kMostLayers);
    const std::string key = c.key("nextn_predict_layers");
    const std::int64_t n_counted = c.metadata().integer(key, 0, n_blocks, 0);
    const Blocks blocks = blocks_of(c);
    std::int64_t n_layers = n_blocks;
    while (n_layers > 1 && (blocks.predicting.contains(n_layers - 1) ||
                            (n_layers > n_blocks - n_counted && !blocks.all.contains(n_layers - 1)))) {
        --n_layers;
    }
    const auto n_there = std::distance(blocks.predicting.lower_bound(n_layers), blocks.predicting.end());
    const auto apart = c.shapes().lower_bound("mtp.");  // with separate names
    const bool has_apart = apart != c.shapes().end() && apart->first.starts_with("mtp.");
    if (n_there == n_counted || has_apart || notes == nullptr) return n_layers;
    notes->push_back(c.metadata().has(key) ? messages::prediction_layers_miscounted(key, n_counted, n_there, n_layers)
                                           : messages::prediction_layers_uncounted(key, n_there, n_layers));
    return n_layers;
}

void take_optional_tensors(const GgufConfig& c, ModelSpec& spec) {
    for (std::int64_t l = 0; l < spec.n_layers(); ++l) {
        LayerSpec& layer = spec.layers[static_cast<std::size_t>(l)];
        const auto has_any = [&](std::initializer_list<const char*> names) {
            return std::ranges::any_of(names, [&](const char* name) { return c.layer_has(l, name); });
        };
        if (auto* const attention = std::get_if<GroupedQuerySpec>(&layer.attention)) {
            // A gate's bias would be in that of the queries; nobody publishes one.
            attention->qkv_bias =
                !attention->output_gate && has_any({"attn_qkv.bias", "attn_q.bias", "attn_k.bias", "attn_v.bias"});
            attention->output_bias = has_any({"attn_output.bias"});
        } else if (auto* const latent = std::get_if<LatentSpec>(&layer.attention)) {
            latent->bias = has_any({"attn_q_a.bias", "attn_kv_a_mqa.bias", "attn_output.bias"});
        }
        auto* const moe = std::get_if<MoeSpec>(&layer.ffn);
        if (moe != nullptr && !spec.experts.expert.biases) moe->expert_scale |= has_any({"ffn_down_exps.scale"});
    }
}

void refuse_unread_tensors(const GgufConfig& c, const ModelSpec& spec) {
    const auto read = read_tensors(c, spec);
    if (read.size() > c.shapes().size()) return;  // some are missing: open_weights() names the first
    const Blocks blocks = blocks_of(c);
    for (const auto& [name, shape] : c.shapes()) {
        const bool of_model = name.starts_with("blk.") || name.starts_with("output") || name.starts_with("token_embd");
        if (!of_model || read.contains(name) || predicts(name) || is_redundant(name, spec)) continue;
        const std::int64_t block = block_of(name);
        if (block >= spec.n_layers() && blocks.predicting.contains(block)) continue;
        throw Error(ErrorKind::kUnsupported,
                    messages::tensor_unread(c.metadata().source(), in_quotes(name),
                                            in_quotes(c.metadata().text("general.architecture"))));
    }
}

}  // namespace offstage::engine
