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
//   synthetic:NAME, a shape of synthetic_shapes.h, followed by
//   ?layers=N&active=A&window=W&vocab=V&seed=S, each optional; active: experts per token;
//   window: layers 0, 2, 4 ... see W tokens alone; vocab: a smaller vocabulary, to fit a
//   part of a model with the real widths.
struct SyntheticModel {
    std::string name;  // "mixtral-mini"
    ModelSpec spec;
    std::uint64_t seed = 1;
};

bool is_synthetic(std::string_view model);  // starts with "synthetic:"

// Throws Error (kInvalidInput) with the wrong part and the allowed values.
SyntheticModel parse_synthetic(std::string_view model);

// Uniform bfloat16 weights with the variance that keeps activations near one (1 /
// inputs), norms at one. The same seed gives the same weights on every machine, for every
// number of threads and order of drawing experts. `dry`: draws nothing and touches no
// memory, for runs without computation.
std::unique_ptr<WeightSource> draw_weights(const SyntheticModel& model, kernels::ThreadPool& pool, bool dry = false);

}  // namespace offstage::engine
