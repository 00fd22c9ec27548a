#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/model/model_spec.h"
#include "engine/model/weights.h"
#include "kernels/formats.h"

namespace offstage::engine {

// Models without files: the shapes of real ones, weights drawn in memory. For benchmarks.
//   synthetic:NAME, a shape of resources/models/catalogue.json, followed by
//   ?layers=N&active=A&window=W&vocab=V&seed=S&type=T, each optional; active: experts per
//   token; window: layers 0, 2, 4 ... see W tokens alone; vocab: a smaller vocabulary, to
//   fit a part of a model with the real widths; type: one of the blocks of GGUF files,
//   "q4_k", for experts and for matrices with rows of whole blocks; rows into which
//   blocks of 256 weights do not fit have the type that GGUF files give them.
struct SyntheticModel {
    std::string name;  // "mixtral-mini"
    ModelSpec spec;
    std::uint64_t seed = 1;
    kernels::WeightType type = kernels::WeightType::kBf16;  // of the matrices; norms and routers are float32

    kernels::WeightType expert_type() const { return spec.experts.stored(type, 0); }
};

bool is_synthetic(std::string_view model);  // starts with "synthetic:"

// Throws Error (kInvalidInput) with the wrong part and the allowed values.
SyntheticModel parse_synthetic(std::string_view model);

// Weights with the variance that keeps activations near one (1 / inputs), norms at one:
// uniform bfloat16 numbers, or blocks of uniform codes with one scale. The same seed
// gives the same weights on every machine, for every number of threads and order of
// drawing experts. `dry`: draws nothing and touches no memory, for runs without
// computation.
std::unique_ptr<WeightSource> draw_weights(const SyntheticModel& model, kernels::ThreadPool& pool, bool dry = false);

}  // namespace offstage::engine
