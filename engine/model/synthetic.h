#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "engine/model/model_spec.h"
#include "engine/model/weights.h"
#include "kernels/formats.h"

namespace offstage::engine {

inline constexpr kernels::WeightType kSyntheticFormat = kernels::WeightType::kBf16;  // of their weights

// Models without files: the shapes of real ones, weights drawn in memory. For benchmarks.
//   synthetic:mixtral-8x7b   32 layers, hidden 4096, ffn 14336,  8 experts top 2, 32 heads /  8 KV heads, vocab 32000
//   synthetic:mixtral-mini    8 layers, hidden 2048, ffn  7168,  8 experts top 2, 16 heads /  4 KV heads, vocab 32000
//   synthetic:fine           12 layers, hidden 1024, ffn   512, 64 experts top 8, 16 heads /  4 KV heads, vocab 32000
//   synthetic:qwen3-30b-a3b  48 layers, hidden 2048, ffn 768, 128 experts top 8, 32 heads / 4 KV heads, vocab 151936
//   synthetic:deepseek-v2-lite 27 layers, hidden 2048, ffn 1408, 64 experts top 6, 2 shared, latent attention, first
//                            layer dense, vocab 102400
//   synthetic:dbrx           40 layers, hidden 6144, ffn 10752, 16 experts top 4, 48 heads / 8 KV heads, vocab 100352
// followed by ?layers=N&active=A&window=W&seed=S, each optional; active: experts per token; window: layers 0, 2, 4 ...
// see W tokens alone.
struct SyntheticModel {
    std::string name;  // "mixtral-mini"
    ModelSpec spec;
    std::uint64_t seed = 1;
};

bool is_synthetic(std::string_view model);  // starts with "synthetic:"

// Throws Error (kInvalidInput) naming the part that is wrong and what would be right.
SyntheticModel parse_synthetic(std::string_view model);

// Uniform bfloat16 weights with the variance that keeps activations near one (1 / inputs), norms at one. The same seed
// gives the same weights on every machine, for every number of threads and in whatever order experts are drawn.
// `dry`: draws nothing and touches no memory, for runs in which nothing is computed.
std::unique_ptr<WeightSource> draw_weights(const SyntheticModel& model, kernels::ThreadPool& pool, bool dry = false);

}  // namespace offstage::engine
