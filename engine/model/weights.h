#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "engine/device/arena.h"
#include "engine/indices.h"
#include "engine/message.h"
#include "engine/model/checkpoint.h"
#include "engine/model/dense_tensors.h"
#include "engine/model/fingerprint.h"
#include "engine/model/model_spec.h"
#include "engine/model/tensor_types.h"
#include "kernels/thread_pool.h"
#include "kernels/types.h"

namespace offstage::engine {

// A weight matrix in its own host memory.
struct Matrix {
    DeviceBlock memory;
    kernels::WeightType type = kernels::WeightType::kBf16;
    std::int64_t n_rows = 0;
    std::int64_t n_cols = 0;
    // A network whose matrices differ; `type` is then no plain type.
    std::optional<kernels::ExpertLayout> network = {};
    bool interleaved = false;  // kernels/interleaved.h; row() is then that of a strip's first row

    Matrix() = default;
    // Throws Error (kOutOfMemory) naming `purpose`.
    Matrix(Arena& host, kernels::WeightType weight_type, std::int64_t rows, std::int64_t cols,
           const MessageArgument& purpose);
    Matrix(Arena& host, const kernels::ExpertLayout& layout, const MessageArgument& purpose);
    kernels::WeightView view() const { return {memory.data(), type, n_rows, n_cols, 0, interleaved}; }
    std::uint64_t bytes() const {
        return network ? network->bytes() : static_cast<std::uint64_t>(n_rows) * kernels::row_bytes(type, n_cols);
    }
    std::byte* row(std::int64_t index) {
        return memory.data() + static_cast<std::size_t>(index) * kernels::row_bytes(type, n_cols);
    }
};

// One dense tensor in host memory. Vectors (norms, biases, routers) are small and kept in
// float32.
struct DenseWeight {
    DenseTensor what;
    Matrix matrix;              // kMatrix, kNetwork; kVector where only its addresses count
    std::vector<float> values;  // kVector

    kernels::WeightView view() const;
    std::uint64_t bytes() const;
};

// All weights but the routed experts', in host memory, in the order of dense_tensors().
struct DenseWeights {
    std::vector<DenseWeight> tensors;

    std::uint64_t bytes() const;
    std::uint64_t decode_bytes() const;  // read for one token: of the embedding, unless it is the head too, one row
    const DenseWeight* find(TensorRole role, std::int64_t layer = -1) const;  // nullptr: not of this model
};

// Bytes done of bytes in all; called on the loading thread.
using BytesProgressFn = std::function<void(std::uint64_t done, std::uint64_t total)>;

struct PredictionLayer;

// The source of a model's weights: the master that every copy is made from. Packs experts
// into the neuron-major layout (kernels::ExpertLayout; w2 transposed), any of them at any
// time and any number of times. 16-bit weights keep their type; float32 weights keep
// theirs unless they are to be rounded. One thread, which loads, except for
// pack_expert().
class WeightSource {
  public:
    virtual ~WeightSource() = default;

    // The type of the first layer's experts, and of all others if they are plain: see
    // ExpertGrid::stored().
    virtual kernels::WeightType expert_type() const = 0;
    virtual std::uint64_t dense_bytes() const = 0;  // of load_dense()'s result

    // load_dense() and advance() report their progress from now on and check `stop`: a
    // request ends in Error (kCancelled). Empty arguments end this.
    virtual void watch(BytesProgressFn progress, std::stop_token stop) = 0;
    // Called for each expert that is packed while loading.
    virtual void advance() = 0;
    // Allocates from `host`. Throws Error (kOutOfMemory, kCancelled).
    virtual DenseWeights load_dense(Arena& host) = 0;
    // block: as the grid has the layer's experts, ExpertGrid::stored(). Throws Error
    // (kInvalidModel) with the file if it cannot be read any more. Any thread, several at
    // once, each with its own pool.
    virtual void pack_expert(LayerIndex layer, ExpertIndex expert, std::byte* block, kernels::ThreadPool& pool) = 0;
    // Identifies the block that pack_expert() would write, without writing it; nothing if
    // there is no cheaper way than to pack it. Threads as pack_expert().
    virtual std::optional<Fingerprint> expert_fingerprint(LayerIndex layer, ExpertIndex expert,
                                                          kernels::ThreadPool& pool);
    // Identifies the model cheaply: by shapes and the beginnings of all experts' tensors.
    // A change deep inside a tensor is not detected, so use this for measurements, never
    // for copies of weights. Nothing if it is not known.
    virtual std::optional<Fingerprint> model_fingerprint();
    // The formats of the weights in the files, by role.
    virtual std::vector<RoleTypes> types() const { return {}; }
    // Tensors of the files that are not part of the weights.
    virtual std::vector<UnusedTensors> unused() const { return {}; }
    // Other notes about the files for the user, a sentence each.
    virtual std::vector<Message> notes() const { return {}; }
    // The layer that predicts further tokens, where the files have one whose arithmetic
    // is known here; nullptr: none. Throws Error as open_weights(). This object and the
    // pool must outlive it.
    virtual std::unique_ptr<PredictionLayer> open_prediction_layer(kernels::ThreadPool& pool);
};

struct PredictionLayer {
    ModelSpec spec;  // of one layer, ModelSpec::predicts
    std::unique_ptr<WeightSource> weights;
};

// From a checkpoint, which stays mapped; pages of the file are released after use, so
// that memory stays near the weights' size. Completes `spec`: the formats of tensors in
// blocks, and tied embeddings become untied, with a note, if the file has a head of other
// values: places all over the two are compared, or every value if `tied` requests it.
// Throws Error for a tensor that is missing, of a wrong shape or dtype, before anything
// is read.
enum class TiedCheck : std::uint8_t { kPlaces, kEveryValue };
std::unique_ptr<WeightSource> open_weights(std::unique_ptr<Checkpoint> checkpoint, ModelSpec& spec, bool round_to_bf16,
                                           kernels::ThreadPool& pool, TiedCheck tied = TiedCheck::kPlaces);

// Bytes of a model's dense weights in their stored formats, in `type` where the spec has
// none, norms and gates in float32: before anything is loaded.
std::uint64_t dense_bytes_in(const ModelSpec& spec, kernels::WeightType type);
// The part of `dense_bytes` (the present or future DenseWeights::bytes()) that one
// decoded token reads: one row of the embedding, unless it is the output head too; all
// other weights whole.
std::uint64_t dense_bytes_read(const ModelSpec& spec, std::uint64_t dense_bytes, kernels::WeightType embedding);

}  // namespace offstage::engine
