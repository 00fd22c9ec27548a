#pragma once

#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "kernels/formats.h"
#include "tests/engine/gguf_writer.h"
#include "tests/kernels/packed_data.h"

namespace offstage::tests {

// ggml's number of a type.
inline std::uint32_t number_of(kernels::WeightType type) {
    switch (type) {
        case kernels::WeightType::kQ8_0:
            return 8;
        case kernels::WeightType::kQ3K:
            return 11;
        case kernels::WeightType::kQ4K:
            return 12;
        case kernels::WeightType::kQ5K:
            return 13;
        case kernels::WeightType::kQ6K:
            return 14;
        case kernels::WeightType::kIq4Xs:
            return 23;
        default:
            std::abort();  // no number for this type
    }
}

// Qwen3-MoE with random weights, mixed as by a quantizer: down, values and logits in more
// bits than the rest, layers of several kinds. `more` adds to the metadata.
inline void write_mixed_gguf(const std::string& path, const std::function<void(GgufWriter&)>& more = {}) {
    constexpr std::uint64_t kVocab = 48, kHidden = 256, kFfn = 256, kExperts = 6, kHeads = 4, kKvHeads = 2, kDim = 64;
    GgufWriter writer;
    const std::string a = "qwen3moe.";
    writer.add("general.architecture", "qwen3moe").add("general.name", "mixed");
    for (const auto& [key, value] :
         std::initializer_list<std::pair<const char*, std::uint32_t>>{{"block_count", 3},
                                                                      {"context_length", 128},
                                                                      {"embedding_length", kHidden},
                                                                      {"feed_forward_length", kFfn},
                                                                      {"attention.head_count", kHeads},
                                                                      {"attention.head_count_kv", kKvHeads},
                                                                      {"attention.key_length", kDim},
                                                                      {"attention.value_length", kDim},
                                                                      {"expert_count", kExperts},
                                                                      {"expert_used_count", 2},
                                                                      {"expert_feed_forward_length", kFfn}}) {
        writer.add(a + key, value);
    }
    writer.add(a + "rope.freq_base", 1e6f).add(a + "attention.layer_norm_rms_epsilon", 1e-6f);
    std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
    std::vector<std::int32_t> types = {2, 3, 3};
    for (std::uint64_t i = tokens.size(); i < kVocab; ++i) {
        tokens.push_back(std::string(1, static_cast<char>('0' + i)));
        types.push_back(1);
    }
    writer.add("tokenizer.ggml.model", "llama").add("tokenizer.ggml.tokens", tokens);
    writer.add("tokenizer.ggml.token_type", types).add("tokenizer.ggml.scores", std::vector<float>(kVocab, -1.0f));
    if (more) more(writer);
    std::mt19937 generator(11);
    const auto blocks = [&](const std::string& name, const std::vector<std::uint64_t>& shape,
                            kernels::WeightType type) {
        const auto n_cols = static_cast<std::int64_t>(shape.back());
        std::size_t n_rows = 1;
        for (std::size_t i = 0; i + 1 < shape.size(); ++i) n_rows *= shape[i];
        const std::size_t row_bytes = kernels::row_bytes(type, n_cols);
        std::vector<std::byte> bytes(n_rows * row_bytes);
        for (std::size_t r = 0; r < n_rows; ++r) {
            kernels::test::fill_block_row(type, n_cols, generator, 0.25f, bytes.data() + r * row_bytes);
        }
        writer.add_tensor(name, shape, number_of(type), bytes);
    };
    const auto floats = [&](const std::string& name, const std::vector<std::uint64_t>& shape, float middle) {
        std::uint64_t n = 1;
        for (const std::uint64_t dim : shape) n *= dim;
        std::uniform_real_distribution<float> uniform(middle - 0.3f, middle + 0.3f);
        std::vector<float> values(n);
        for (float& value : values) value = uniform(generator);
        writer.add_floats(name, shape, values);
    };
    blocks("token_embd.weight", {kVocab, kHidden}, kernels::WeightType::kQ4K);
    blocks("output.weight", {kVocab, kHidden}, kernels::WeightType::kQ6K);
    floats("output_norm.weight", {kHidden}, 1.0f);
    const kernels::WeightType kinds[3][3] = {
        {kernels::WeightType::kQ4K, kernels::WeightType::kQ4K, kernels::WeightType::kQ6K},
        {kernels::WeightType::kQ5K, kernels::WeightType::kQ3K, kernels::WeightType::kIq4Xs},
        {kernels::WeightType::kQ4K, kernels::WeightType::kQ4K, kernels::WeightType::kQ8_0}};
    for (int layer = 0; layer < 3; ++layer) {
        const std::string p = "blk." + std::to_string(layer) + ".";
        floats(p + "attn_norm.weight", {kHidden}, 1.0f);
        floats(p + "ffn_norm.weight", {kHidden}, 1.0f);
        floats(p + "attn_q_norm.weight", {kDim}, 1.0f);
        floats(p + "attn_k_norm.weight", {kDim}, 1.0f);
        floats(p + "ffn_gate_inp.weight", {kExperts, kHidden}, 0.0f);
        blocks(p + "attn_q.weight", {kHeads * kDim, kHidden}, kernels::WeightType::kQ4K);
        blocks(p + "attn_k.weight", {kKvHeads * kDim, kHidden}, kernels::WeightType::kQ4K);
        blocks(p + "attn_v.weight", {kKvHeads * kDim, kHidden},
               layer == 1 ? kernels::WeightType::kQ4K : kernels::WeightType::kQ6K);
        blocks(p + "attn_output.weight", {kHidden, kHeads * kDim}, kernels::WeightType::kQ5K);
        blocks(p + "ffn_gate_exps.weight", {kExperts, kFfn, kHidden}, kinds[layer][0]);
        blocks(p + "ffn_up_exps.weight", {kExperts, kFfn, kHidden}, kinds[layer][1]);
        blocks(p + "ffn_down_exps.weight", {kExperts, kHidden, kFfn}, kinds[layer][2]);
    }
    writer.write(path);
}

}  // namespace offstage::tests
