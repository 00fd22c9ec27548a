#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/device/host_buffer.h"
#include "engine/experts/expert_store.h"
#include "engine/model/checkpoint.h"
#include "engine/model/model_config.h"
#include "kernels/thread_pool.h"
#include "kernels/types.h"

namespace offstage::engine {

// A weight matrix in memory of its own.
struct Matrix {
    HostBuffer memory;
    kernels::WeightType type = kernels::WeightType::kBf16;
    std::int64_t n_rows = 0;
    std::int64_t n_cols = 0;

    Matrix() = default;
    Matrix(kernels::WeightType weight_type, std::int64_t rows, std::int64_t cols, const std::string& purpose);
    kernels::WeightView view() const { return {memory.data(), type, n_rows, n_cols, n_cols}; }
    std::byte* row(std::int64_t index) {
        return memory.data() + static_cast<std::size_t>(index * n_cols) * kernels::bytes_per_weight(type);
    }
};

// The dense weights of one layer. Norms and the router's gate are small and kept in float32.
struct LayerWeights {
    std::vector<float> attention_norm;  // (hidden_dim)
    Matrix qkv;                         // ((n_heads + 2 n_kv_heads) * head_dim, hidden_dim): q rows, k rows, v rows
    Matrix output;                      // (hidden_dim, n_heads * head_dim)
    std::vector<float> moe_norm;        // (hidden_dim)
    std::vector<float> gate;            // (n_experts, hidden_dim)
};

// All weights of a model, in RAM, ready to compute with.
struct ModelWeights {
    Matrix embedding;  // (vocab_size, hidden_dim)
    std::vector<LayerWeights> layers;
    std::vector<float> final_norm;  // (hidden_dim)
    Matrix lm_head;                 // (vocab_size, hidden_dim); empty when tied
    ExpertStore experts;

    kernels::WeightView logits_weight() const { return lm_head.n_rows > 0 ? lm_head.view() : embedding.view(); }
    std::uint64_t total_bytes() const;
    // Bytes of weights that one decoded token reads: one embedding row, n_active experts of each layer, the rest whole.
    std::uint64_t active_bytes(const ModelConfig& config) const;
};

// Bytes done of bytes in all; called on the loading thread.
using BytesProgressFn = std::function<void(std::uint64_t done, std::uint64_t total)>;

// Copies a checkpoint into memory, the experts into the neuron-major layout (w2 transposed), in parallel on the pool;
// the file's pages are released as they are done, so that memory stays near the weights' size. 16-bit weights keep
// their type; float32 weights keep theirs unless `round_to_bf16`. Throws Error: a tensor that is missing, of a wrong
// shape or dtype; kOutOfMemory before anything is read; kCancelled.
ModelWeights load_weights(const Checkpoint& checkpoint, const ModelConfig& config, bool round_to_bf16,
                          kernels::ThreadPool& pool, const BytesProgressFn& progress, std::stop_token stop);

}  // namespace offstage::engine
