#pragma once
// One interface for every device that can hold weights and compute with them. Three
// implementations: CpuBackend (the host itself), CudaBackend (an NVIDIA GPU),
// EmulatedAccelerator (a second memory on the host with a GPU's clock).

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/device/arena.h"
#include "engine/device/row_quantizer.h"
#include "engine/indices.h"
#include "engine/message.h"
#include "kernels/byte_inputs.h"
#include "kernels/cpu_kernels.h"
#include "kernels/kv_cache.h"
#include "kernels/types.h"

namespace offstage::engine {

enum class DeviceKind : std::uint8_t { kCpu, kCuda, kEmulated };

struct DeviceInfo {
    DeviceKind kind = DeviceKind::kCpu;
    std::string id;    // the value for --device: "cpu", "cuda:0", "emulated:rtx-3060"
    std::string name;  // "NVIDIA H200"; "Quadro RTX 6000 (emulated)"
    bool emulated = false;
    bool emulated_host = false;         // CPU work is accounted from a profile as well
    std::uint64_t memory_bytes = 0;     // of the whole device
    std::uint64_t available_bytes = 0;  // when it was opened: the upper limit of a budget
    // Key of calibrations: device, driver, clocks, and everything else whose change
    // invalidates old measurements.
    std::string fingerprint;
    Message note;  // a sentence for the user who loads a model on it; empty: none
};
// The device's name inside of messages: "(emulated)" is a word of the reader's language.
MessageArgument device_name(const DeviceInfo& info);

// A point in one of the device's two queues. Default: long past.
struct DeviceEvent {
    enum class Queue : std::uint8_t { kCompute, kCopy };
    Queue queue = Queue::kCompute;
    std::uint64_t ticket = 0;
};

// Tokens of one sequence in a step: rows [first_row, first_row + n_tokens) of the step's
// activations follow `past` tokens that the KV cache holds. Key k of the sequence lies in
// block k / kKvBlockTokens (kernels::KvShape); the table covers past + n_tokens keys.
// (DeltaNet layers: Backend::delta_net.) A block lies in the device's memory, or in host
// memory that mapped() gave the address of.
struct AttentionSegment {
    std::int64_t first_row = 0;
    std::int64_t n_tokens = 0;
    std::int64_t past = 0;
    std::span<std::byte* const> blocks;  // the device's addresses, in host memory, valid until the next host_wait
    std::byte* const* device_blocks = nullptr;  // the same table in the device's memory
    std::span<const std::uint8_t> in_host;      // 1 for each block in host memory; as long as blocks, or empty: none
    const std::int32_t* device_past = nullptr;  // `past` in the device's memory; nullptr: it is not there
};

// A block of a KV cache, by the device's address.
struct KvBlock {
    std::byte* data = nullptr;
    bool in_host = false;
};

// Weights of a norm, float32.
struct NormWeights {
    kernels::NormKind kind = kernels::NormKind::kRms;
    const float* weight = nullptr;  // (dim); nullptr: all 1. kRms only
    const float* bias = nullptr;    // (dim); nullptr: none. kLayer only
    std::int64_t dim = 0;
    float eps = 0;
};

// One expert's share of a step: rows [first_row, first_row + n_rows) of the row order
// (see Backend::experts).
struct ExpertCall {
    kernels::ExpertView weights;  // in the device's memory
    std::int64_t first_row = 0;
    std::int64_t n_rows = 0;
    // If only some neurons of an expert were copied: their places in the whole expert,
    // ascending, in host memory; its layout's ffn_dim is their number. The missing
    // neurons are those that ExpertSpec::theta leaves out for each of the rows. The
    // result is the whole expert's (CpuBackend and EmulatedAccelerator: bit by bit; there
    // for few rows only). Empty: the expert is whole.
    std::span<const std::int32_t> neurons = {};
    std::int64_t whole_ffn_dim = 0;  // if neurons are missing
};

// The order of the sums behind a row of activations. It decides their last bits.
enum class SumOrder : std::uint8_t {
    kByNumber,  // the fastest for the number of rows computed together: one, a few, or many
    // The order for many rows, even where they are few: a row's result then does not
    // depend on the others, so that a prompt may be read in steps of any length. Costs
    // time where rows are few.
    kMany,
};

// CPU work for a step, for clocks that account instead of measuring: pieces that are done
// one after the other, each limited by the slower of bytes and operations.
struct HostWork {
    double bytes = 0;  // weights read
    double flops = 0;
    double disk_bytes = 0;  // read from disk before
};

// A device. All work is submitted from one thread (the engine's), to two queues, each in
// order and side by side: `compute` and `copy`. Submission returns at once where the
// device works asynchronously. Once the device is open, only memory().allocate() throws.
// A failure makes ok() false and stays until clear_failure(); results computed since are
// then worthless. Pointers are the device's unless named `host`.
class Backend {
  public:
    virtual ~Backend() = default;

    virtual const DeviceInfo& info() const = 0;
    // The device's memory. The code that opened the device sets its budget.
    virtual Arena& memory() = 0;
    // True if device memory is the host's own (CpuBackend): nothing needs to be copied.
    virtual bool shares_host_memory() const = 0;
    // Device memory that other programs and the driver hold. Queries the driver where
    // there is one, so it is too slow for every step.
    virtual std::uint64_t others_bytes() { return info().memory_bytes - info().available_bytes; }

    virtual bool ok() const = 0;
    virtual Message failure() const = 0;  // a sentence; empty while ok()
    virtual void clear_failure() = 0;     // tries to recover; ok() is true if it worked

    // Page-locks host memory, so that copies run at the bus's speed beside other work.
    // False if the system refuses; copies then work, but slower. Does nothing and returns
    // true on devices without a bus. Call unpin() before the memory is freed.
    virtual bool pin(std::span<std::byte> host) = 0;
    virtual void unpin(std::span<std::byte> host) = 0;
    // The address of pinned host memory for the operations; nullptr where they cannot use
    // it.
    virtual std::byte* mapped(std::byte* pinned_host) = 0;

    // ---- queues and events
    // Compute queue. `host` must exist until a later host_wait; after that wait it has
    // download()'s bytes.
    virtual void upload(void* device, const void* host, std::size_t bytes) = 0;
    virtual void download(void* host, const void* device, std::size_t bytes) = 0;
    // download() of some thousand words as an operation that may be repeated
    // (begin_repeated()). mapped: the address that mapped() returns for `host`, or
    // nullptr.
    virtual void store(void* host, std::byte* /*mapped*/, const void* device, std::size_t bytes) {
        download(host, device, bytes);
    }
    // Compute queue; the places must not overlap.
    virtual void copy_within(void* to, const void* from, std::size_t bytes) = 0;
    // On the copy queue, not before `after` has happened. nullopt: the device refused
    // this copy; nothing else is affected. Also from the device to the host:
    // copy_to_host().
    virtual std::optional<DeviceEvent> copy_weights(void* device, const void* host, std::size_t bytes,
                                                    DeviceEvent after) = 0;
    std::optional<DeviceEvent> copy_to_host(void* host, const void* device, std::size_t bytes, DeviceEvent after) {
        return copy_weights(host, device, bytes, after);
    }
    virtual DeviceEvent record(DeviceEvent::Queue queue) = 0;  // all that was submitted to the queue until now
    virtual void wait(DeviceEvent event) = 0;                  // the compute queue goes on after it
    virtual void host_wait(DeviceEvent event) = 0;             // the calling thread does
    virtual bool has_happened(DeviceEvent event) = 0;

    // ---- clocks
    // Microseconds since some moment on the clock that this device's user sees: the
    // host's clock; for an emulated device the accounted time.
    virtual double now_us() = 0;
    // The time between two events of either queue that have happened; 0 unless both are
    // among the last kTimedEvents of their queues.
    static constexpr std::uint64_t kTimedEvents = 1024;
    virtual double elapsed_us(DeviceEvent begin, DeviceEvent end) = 0;
    // Runs CPU work of a step on the calling thread (and the compute pool). Returns its
    // microseconds by now_us().
    virtual double run_on_host(std::span<const HostWork> work, const std::function<void()>& body) = 0;
    double run_on_host(const HostWork& work, const std::function<void()>& body) {
        return run_on_host(std::span<const HostWork>(&work, 1), body);
    }

    // ---- repeated operations
    // Between these two calls, operations on the compute queue and records of it may be
    // kept back and started together: a sequence that is the same as the last two at this
    // place (the same operations with the same arguments, except for `past` where
    // device_past has it) with one call (CUDA graphs). Other work for the compute queue,
    // or a wait for a kept event, starts it. No bit of a result depends on it.
    // begin_repeated() changes nothing where operations are kept already.
    virtual void begin_repeated(std::int64_t /*place*/) {}
    virtual void end_repeated() {}
    // On at first, where the device has them.
    virtual void set_graphs(bool /*on*/) {}
    struct Replays {
        std::uint64_t n_graphs = 0;    // built so far
        std::uint64_t n_replayed = 0;  // sequences that were started with one call
        std::uint64_t bytes = 0;       // device memory for them, in memory().usage() as workspace
    };
    virtual Replays replays() const { return {}; }
    // A sentence for the user about features that the device has switched off since the
    // last call; empty: none.
    virtual Message take_note() { return {}; }

    // The order of the operations from now on; kByNumber at first. Only for CpuBackend
    // and EmulatedAccelerator; others keep their order.
    virtual void set_sum_order(SumOrder /*order*/) {}

    // ---- operations, compute queue. Activations are float32, rows contiguous.
    // x (n, hidden_dim) = rows tokens[i] of table (vocab_size, hidden_dim).
    virtual void embed(const kernels::WeightView& table, const TokenId* tokens, std::int64_t n, float* x) = 0;
    // Each of n rows of norm.dim values: see kernels::CpuKernels.
    virtual void norm(const NormWeights& norm, const float* x, std::int64_t n, float* out) = 0;
    // In-place RMS norm of pieces of rows. Each of n rows, `stride` floats apart, has
    // n_pieces consecutive pieces of norm.dim floats from x on. All have the same weight
    // (q/k norms, the latent's norm).
    virtual void norm_pieces(const NormWeights& norm, std::int64_t n, std::int64_t stride, std::int64_t n_pieces,
                             float* x) = 0;
    // Each of n rows of `dim` values += bias (dim).
    virtual void add_bias(const float* bias, std::int64_t n, std::int64_t dim, float* x) = 0;
    // y (n, weight rows) = x (n, weight columns) * weight^T.
    virtual void multiply(const kernels::WeightView& weight, const float* x, std::int64_t n, float* y) = 0;
    // x += factor y, n values.
    virtual void add(const float* y, std::int64_t n, float* x, float factor) = 0;
    // x[t] += sigmoid(gate . input[t]) y[t]; gate (dim); input, y, x: (n, dim).
    virtual void add_gated(const float* gate, const float* input, const float* y, std::int64_t n, std::int64_t dim,
                           float* x) = 0;
    // x *= factor, n values.
    virtual void scale(float factor, std::int64_t n, float* x) = 0;
    // x[i] *= sigmoid(gate[i]), n values.
    virtual void multiply_sigmoid(const float* gate, std::int64_t n, float* x) = 0;
    // n values into -limit .. limit.
    virtual void clamp(float limit, std::int64_t n, float* x) = 0;
    // x = limit tanh(x / limit), n values.
    virtual void soft_cap(float limit, std::int64_t n, float* x) = 0;
    // x = 0, n values.
    virtual void clear(std::int64_t n, float* x) = 0;
    // A product for each head: y[t][h][r] = sum_c weight[h * n_rows + r][c] * x[t][h][c]
    // with n_rows = weight rows / n_heads; x[t][h] begins at t * x_stride + h *
    // x_head_stride, y alike (in floats).
    virtual void multiply_heads(const kernels::WeightView& weight, std::int64_t n_heads, const float* x,
                                std::int64_t x_stride, std::int64_t x_head_stride, std::int64_t n, float* y,
                                std::int64_t y_stride, std::int64_t y_head_stride) = 0;
    // qkv: (rows, shape.qkv_width()): q heads, k heads, v heads. Rotates values
    // [rotary_first, rotary_first + rotary_dim) of each q and k head in place (half-split
    // pairing; cos, sin: (rows, rotary_dim / 2) of each row's position) and stores k and
    // v in the sequences' blocks.
    virtual void rotate_and_store(std::int64_t layer, const kernels::AttentionShape& shape,
                                  std::span<const AttentionSegment> segments, const float* cos, const float* sin,
                                  float* qkv, const kernels::KvShape& kv) = 0;
    // Latent attention: q (rows, n_heads, nope_dim + rotary_dim) holds the rotary part of
    // each head behind the nope_dim values that have none; latent (rows, key_dim) the
    // latent, normed, and behind it the key's rotary part. Rotates both, writes the
    // queries' part to queries (rows, n_heads, key_dim) from rotary_first on, and stores
    // the latent rows as keys.
    virtual void rotate_and_store_latent(std::int64_t layer, const kernels::AttentionShape& shape,
                                         std::span<const AttentionSegment> segments, const float* cos, const float* sin,
                                         const float* q, std::int64_t nope_dim, float* latent, float* queries,
                                         const kernels::KvShape& kv) = 0;
    // queries: rows of shape.query_width() floats, query_stride floats apart. out (rows,
    // shape.output_width()): causal attention of each row over its own sequence. The
    // addresses of the blocks never change the result, bit by bit.
    virtual void attend(std::int64_t layer, const kernels::AttentionShape& shape,
                        std::span<const AttentionSegment> segments, const float* queries, std::int64_t query_stride,
                        const kernels::KvShape& kv, float* out) = 0;
    // Ahead of attend(): the layer's keys before `past` that lie in host memory may be
    // copied to the device from now on, while other work is computed. They must not
    // change until attend() with the same segments or, if that does not follow,
    // forget_keys(), after which the compute queue continues behind such copies. No bit
    // of a result depends on it.
    virtual void fetch_keys(std::int64_t /*layer*/, const kernels::AttentionShape& /*shape*/,
                            std::span<const AttentionSegment> /*segments*/, const kernels::KvShape& /*kv*/) {}
    virtual void forget_keys() {}
    // Gated DeltaNet (kernels::DeltaNetShape) of the rows, each sequence's from its state
    // on. The layer's state lies in a segment's blocks at the place that kv gives:
    // blocks[0] is read (nullptr: zeros), blocks[1] is written. qkv (rows,
    // shape.qkv_width()); decay_beta (rows, 2 n_value_heads): a, then b; z (rows,
    // shape.output_width()). qkv and decay_beta are overwritten. out (rows,
    // shape.output_width()). A row's result does not depend on its step, bit by bit.
    virtual void delta_net(std::int64_t layer, const kernels::DeltaNetShape& shape,
                           std::span<const AttentionSegment> segments, float* qkv, float* decay_beta, const float* z,
                           const kernels::KvShape& kv, float* out) = 0;
    // Writes the first n_tokens tokens of a block to another one, of the given type, all
    // layers: a sequence parts from another inside a block, or the cache changes its
    // type.
    virtual void copy_kv_block(const kernels::KvShape& kv, KvBlock from, kernels::KvType type, KvBlock to,
                               std::int64_t n_tokens) = 0;
    // Router (kernels::route). experts, weights: (n, n_active), best first.
    virtual void route(const kernels::RouterSpec& spec, const kernels::RouterArrays& arrays, const float* x,
                       std::int64_t n, std::int64_t hidden_dim, std::int32_t* experts, float* weights) = 0;
    // The rows of a step are its (token, chosen expert) pairs, grouped by expert. For
    // each row r of each call: out[r] = w2^T activation(w1 x, w3 x) with x =
    // inputs[row_token[r]], and biases, as ExpertSpec defines; inputs (n, hidden_dim),
    // out (n_rows, hidden_dim). The result of a row depends only on its expert, its input
    // and, with SumOrder::kByNumber, the number of rows of its expert: never on the other
    // calls or on the device that computes it (CpuBackend and EmulatedAccelerator: bit by
    // bit).
    virtual void experts(std::span<const ExpertCall> calls, const float* inputs, const std::int32_t* row_token,
                         float* out) = 0;
    // experts() with experts that only the device knows: row r of out, r < n, is computed
    // by the expert whose block is at blocks[chosen[r]], each row as a separate call, bit
    // by bit; a row with nullptr stays unchanged. blocks and chosen are in the device's
    // memory; all blocks have this layout, and lie at multiples of 16 bytes. Only where
    // takes_chosen_experts().
    virtual bool takes_chosen_experts(const kernels::ExpertLayout& /*layout*/) const { return false; }
    virtual void chosen_experts(const kernels::ExpertLayout& /*layout*/, const std::byte* const* /*blocks*/,
                                const std::int32_t* /*chosen*/, std::int64_t /*n*/, const float* /*inputs*/,
                                const std::int32_t* /*row_token*/, float* /*out*/) {}
    // x[t] += sum over a = 0 .. n_active-1, in this order, of weights[t][a] *
    // rows[row_of[t * n_active + a]].
    virtual void combine(const float* rows, const std::int32_t* row_of, const float* weights, std::int64_t n,
                         std::int64_t n_active, std::int64_t hidden_dim, float* x) = 0;

    // Packs rows for the host, beside the two queues. Exists after reserve(), until the
    // next reserve() for larger rows. nullptr: this device cannot do it, or not for such
    // rows.
    virtual RowQuantizer* row_quantizer() { return nullptr; }

    // The types of files' blocks for which multiply() and experts() round the inputs to 8
    // bits from now on; none at first. Part of info().fingerprint from then on. False:
    // this device cannot change it; it forms products as it was opened for.
    virtual bool set_byte_inputs(const kernels::ByteInputTypes& /*types*/) { return false; }

    // Bytes of scratch memory (MemoryUse::kWorkspace) that the operations and
    // row_quantizer() need for steps of up to n tokens. reserve() allocates them; it
    // throws Error (kOutOfMemory), and then the old memory stays. Includes the expected
    // memory of begin_repeated(), which is counted when it is used: so many bytes must be
    // left then. A GPU releases scratch memory only in reserve() without tokens, so call
    // that before reserving less.
    struct StepShape {
        std::int64_t n_tokens = 1;
        std::int64_t hidden_dim = 0;
        std::int64_t ffn_dim = 0;        // an expert's
        std::int64_t dense_ffn_dim = 0;  // the largest network that every token passes; 0: none
        std::int64_t n_experts = 0;
        std::int64_t n_active = 0;
        std::int64_t n_layers = 0;
        kernels::AttentionShape attention;  // the largest of all layers, field by field
        std::int64_t vocab_size = 0;
        std::int64_t context = 0;
        kernels::WeightType weight_type = kernels::WeightType::kBf16;
    };
    virtual std::uint64_t scratch_bytes(const StepShape& shape) const = 0;
    virtual void reserve(const StepShape& shape) = 0;

    // Tests and drills: the n-th weight copy, upload or download from now fails; 0: none.
    virtual void fail_copy(int n) = 0;
};

}  // namespace offstage::engine
