#pragma once

#include <cstdint>
#include <stop_token>

#include "engine/device/arena.h"
#include "engine/message.h"
#include "engine/model/weights.h"
#include "kernels/thread_pool.h"
#include "kernels/types.h"

namespace offstage::engine {

// Bytes of a model's dense weights after quantize_dense(), from their bytes as `stored`
// (WeightSource::dense_bytes() and its type; the spec may have more exact formats): for
// plans, before anything is loaded.
std::uint64_t quantized_dense_bytes(const ModelSpec& spec, std::uint64_t dense_bytes, kernels::WeightType stored,
                                    kernels::WeightType format);

// The largest tensor in its packed format, which exists beside the original while it is
// packed.
std::uint64_t packing_bytes(const ModelSpec& spec, kernels::WeightType stored, kernels::WeightType format);

// The matrices that quantize_dense() does not change because their rows do not suit
// `format`, and the reason: sentences for the user. Empty: none.
Message dense_note(const ModelSpec& spec, kernels::WeightType stored, kernels::WeightType format);

// Quantizes attention's matrices and the networks that every token passes to `format`, in
// place, each original released as soon as it is done; embedding, output head, routers
// and norms stay (Mixtral-Offloading, section 4.2). Matrices whose rows are no multiple
// of 64 stay too. Allocates from `host`, at most one matrix more than before. Throws
// Error: kOutOfMemory (the weights are then still whole, some of them quantized),
// kCancelled, kInvalidModel, kUnsupported for a format that is not
// FormatTraits::for_dense.
void quantize_dense(DenseWeights& weights, kernels::WeightType format, Arena& host, kernels::ThreadPool& pool,
                    const std::stop_token& stop = {});

}  // namespace offstage::engine
