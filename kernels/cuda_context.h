#pragma once
// An NVIDIA GPU: its memory, its two queues, and the operations that run on it. No CUDA
// types and only C++17: the device code includes this header.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/byte_inputs.h"
#include "kernels/cuda_failure.h"
#include "kernels/expert_layout.h"
#include "kernels/ops/segments.h"
#include "kernels/types.h"

namespace offstage::kernels {

namespace ops {
struct Operation;  // kernels/ops/operation.h
}

// The properties of an opened GPU, as of the moment when it was opened.
struct CudaFacts {
    int ordinal = 0;
    std::string name;
    int compute_major = 0;
    int compute_minor = 0;
    int n_multiprocessors = 0;
    int clock_khz = 0;
    int memory_clock_khz = 0;
    int memory_bus_bits = 0;
    int driver_version = 0;   // 13000: CUDA 13.0
    int runtime_version = 0;  // the same
    std::string cublas;       // "13.0"; empty where the library was not found: own kernels then form large products
    std::uint64_t total_bytes = 0;
    std::uint64_t free_bytes = 0;  // after the context was made
};

enum class CudaQueue : std::uint8_t { kCompute, kCopy };

// The largest step that scratch memory is sized for.
struct CudaStep {
    std::int64_t n_tokens = 1;
    std::int64_t hidden_dim = 0;
    std::int64_t ffn_dim = 0;
    std::int64_t n_experts = 0;
    std::int64_t n_active = 0;
    std::int64_t context = 0;
    std::int64_t dense_ffn_dim = 0;
    std::int64_t widest_row = 0;
    std::int64_t vocab_size = 0;
    bool blocks = false;       // experts are files' blocks
    AttentionShape attention;  // of keys up to 576 and values up to 512 floats
};

// Packs rows on a GPU beside the work of its context: a separate queue whose kernels have
// lower priority than the context's. One thread, which may be another than the context's.
// Its failures are separate; after one nothing more is started.
class CudaQuantizer {
  public:
    virtual ~CudaQuantizer() = default;  // waits for started work

    static constexpr int kSlots = 2;  // pieces on their way at once

    // Turns plain rows of pinned host memory, one after the other, into packed rows
    // (kernels/packed.h) in pinned host memory: the same bytes as the CPU's
    // kernels/quantize.h makes, HQQ or INT8. device_rows and device_out, 8-byte aligned,
    // and both places on the host belong to the slot until finish(). The weights must be
    // finite and within kLargestPackedWeight; this is not checked. False: not these rows
    // - packed already, n_cols not a multiple of kPackedBlock or beyond 96,000 or so,
    // device_out not aligned - or a failure; nothing is in the slot then.
    virtual bool start(int slot, const WeightView& host_rows, WeightType format, void* device_rows, void* device_out,
                       void* host_out) = 0;
    // Waits for the slot's piece. False: a failure; host_out is worthless.
    virtual bool finish(int slot) = 0;
    virtual CudaFailure failure() const = 0;
};

// Sequences of operations (CudaContext::begin_repeated) since the context was opened.
struct CudaReplays {
    std::uint64_t n_graphs = 0;    // built so far
    std::uint64_t n_replayed = 0;  // sequences that were started as graphs
    std::uint64_t n_ahead = 0;     // of these: ran before they were submitted (start_again())
    std::uint64_t bytes = 0;       // the most GPU memory that the driver took for the graphs existing at one time
};

// All functions are called from one thread, except those of memory, which any thread may
// call. Only std::bad_alloc is thrown. A failure persists until clear_failure(); results
// computed after it are worthless. Pointers are the device's unless named `host`.
// Activations are float32, rows contiguous.
class CudaContext {
  public:
    virtual ~CudaContext() = default;

    virtual const CudaFacts& facts() const = 0;

    // The first failure since the last clear_failure().
    virtual CudaFailure failure() const = 0;
    virtual void fail(CudaFailure failure) = 0;
    // False if the GPU no longer responds: the failure then stays.
    virtual bool clear_failure() = 0;

    // ---- memory
    // The GPU's free memory right now, by the driver; 0 if the driver does not report it.
    virtual std::uint64_t free_bytes() noexcept = 0;
    // 256-byte aligned; nullptr when there is none left (no failure). Where the driver
    // has memory pools neither waits for the GPU: work that the two queues received
    // before release() may still use the block.
    virtual void* allocate(std::size_t bytes) noexcept = 0;
    virtual void release(void* device) noexcept = 0;
    // Released memory is kept for later while all of held_bytes() stay within the limit
    // (at first there is no limit).
    virtual void set_memory_limit(std::uint64_t bytes) noexcept = 0;
    // Memory that allocate() has taken from the driver: blocks, their rounding to pages,
    // and blocks kept for later; 0 if the driver does not report it.
    virtual std::uint64_t held_bytes() noexcept = 0;
    // Page-locks host memory; false (no failure) when the system refuses.
    virtual bool pin(void* host, std::size_t bytes) = 0;
    virtual void unpin(void* host) = 0;
    // The address of pinned host memory for kernels; nullptr (no failure) where they
    // cannot use it.
    virtual void* mapped(void* pinned_host) = 0;

    // ---- queues. Tickets of a queue count from 1; ticket 0 is long past.
    virtual void upload(void* device, const void* host, std::size_t bytes) = 0;
    virtual void download(void* host, const void* device, std::size_t bytes) = 0;
    // The same by a kernel, which may be recorded; whole words, to the address from
    // mapped(). For a point right behind some of these host_wait() looks in the host's
    // memory first, which is sooner than the runtime knows.
    virtual void store(void* mapped_host, const void* device, std::size_t bytes) = 0;
    virtual void copy_within(void* to, const void* from, std::size_t bytes) = 0;  // on the compute queue
    // On the copy queue, after the ticket of the compute queue. The copy's ticket; 0:
    // this copy was refused (no failure).
    virtual std::uint64_t copy_weights(void* device, const void* host, std::size_t bytes,
                                       std::uint64_t after_compute) = 0;
    // The same for an expert's block that reorders(): rows may be interleaved in host
    // memory, and laid out in the GPU's; back: from there. Refused without set_strips().
    virtual bool reorders(const ExpertLayout& on_host) const = 0;
    virtual std::uint64_t copy_interleaved(void* to, const void* from, const ExpertLayout& on_host, bool back,
                                           std::uint64_t after_compute) = 0;
    virtual std::uint64_t record(CudaQueue queue) = 0;
    virtual void wait(CudaQueue queue, std::uint64_t ticket) = 0;  // the compute queue waits
    virtual void host_wait(CudaQueue queue, std::uint64_t ticket) = 0;
    // True after a failure as well.
    virtual bool has_happened(CudaQueue queue, std::uint64_t ticket) = 0;
    // The time between two tickets that have happened; 0 where one is no longer known
    // (only kTimedTickets of each queue are).
    static constexpr std::uint64_t kTimedTickets = 1024;
    virtual double elapsed_us(CudaQueue begin_queue, std::uint64_t begin, CudaQueue end_queue, std::uint64_t end) = 0;

    // ---- the host's part within a sequence: see engine's Backend
    virtual bool awaits_host() const = 0;
    virtual std::uint32_t hand_over() = 0;
    virtual bool host_wait_handed(std::uint32_t number) = 0;
    virtual void answer(std::uint32_t number) = 0;
    virtual void give_up_answers() = 0;
    // The most that an operation waits for the host; then this object has failed. A
    // minute at first.
    virtual void set_answer_limit(std::chrono::nanoseconds limit) = 0;

    // ---- sequences of operations that come again: see engine's Backend
    virtual void begin_repeated(std::int64_t place) = 0;
    virtual void end_repeated() = 0;
    // See engine's Backend.
    virtual bool start_again(std::int64_t place) = 0;
    virtual void forget_repeated() = 0;
    virtual void set_graphs(bool on) = 0;
    virtual CudaReplays replays() const = 0;
    // The reason why graphs are off although the caller did not turn them off; empty:
    // they are not off.
    virtual std::string graphs_problem() const = 0;
    // Off from now on, for this reason: a sentence for the log.
    virtual void give_up_graphs(const std::string& why) = 0;
    // Memory that a plan reserves for the graphs of a model of so many layers: an
    // estimate.
    virtual std::uint64_t expected_graph_bytes(std::int64_t n_layers) const = 0;

    // ---- scratch memory of the operations. scratch_bytes() grows with the step's tokens,
    // context and attention.
    virtual std::uint64_t scratch_bytes(const CudaStep& step) const = 0;
    // The device's memory, 256-byte aligned, until the next call. Waits for the queue.
    virtual void set_scratch(void* data, std::size_t bytes) = 0;
    // The same for copies of keys in host memory, which ops::Attend and fetch_keys()
    // make.
    virtual std::uint64_t staged_key_bytes(const CudaStep& step) const = 0;
    virtual void set_staged_keys(void* data, std::size_t bytes) = 0;
    // The same for copy_interleaved(); no copy may be on its way.
    virtual std::uint64_t strip_bytes(const CudaStep& step) const = 0;
    virtual void set_strips(void* data, std::size_t bytes) = 0;

    // Rows of files' blocks in the GPU's memory are laid out for its kernels
    // (kernels/cuda/row_layout.cuh) where they can be: by copy_interleaved(), and by
    // lay_out() on the compute queue where they were uploaded as files have them. No bit
    // of a result depends on it. On at first, and not changed while there are weights.
    virtual void set_lays_out(bool on) = 0;
    virtual void lay_out(const WeightView& rows) = 0;
    void lay_out(const ExpertView& expert) {
        if (!expert.layout.down_rows_are_outputs) return;
        expert.for_matrices([this](const WeightView& rows) { lay_out(rows); });
    }

    // For ops::Multiply and ops::Experts from now on; none at first. Experts with many
    // rows: only those with all three matrices of such types.
    virtual void set_byte_inputs(const ByteInputTypes& types) = 0;

    // ---- operations on the compute queue: see the headers of kernels/ops.
    // Products of up to kFewRows rows: one pass over the weight, float32 sums. More: a
    // matrix product; with 16-bit weights its inputs are rounded to the weight's type
    // (f16: within its range), sums in float32. Packed weights (8-byte aligned, their
    // inputs 16-byte aligned; so too in experts): the same, with the weights rounded as
    // well - to bf16 or, before compute capability 8.0, f16; there not at all without
    // cuBLAS. Blocks of files, which lie at any address: the same, and without cuBLAS
    // never rounded; of experts in these the rows of w2 are outputs.
    static constexpr std::int64_t kFewRows = 8;
    virtual void submit(const ops::Operation& operation) = 0;
    // See engine's Backend.
    virtual void fetch_keys(std::int64_t layer, const AttentionShape& shape, Span<AttentionSegment> segments,
                            const KvShape& kv) = 0;
    virtual void forget_keys() = 0;
    // Whether submit() takes ops::ChosenExperts of this layout: not if the rows of w2 are
    // outputs but not in blocks.
    virtual bool takes_chosen(const ExpertLayout& layout) const = 0;
    // Whether submit() takes ops::GroupedExperts, with the scratch memory that it has.
    virtual bool takes_grouped(const ExpertLayout& layout, std::int64_t n_tokens, std::int64_t n_active,
                               std::int64_t n_experts) const = 0;

    // Packs beside all other work: nullptr (no failure) if the driver refuses a third
    // queue. It must not outlive this object.
    virtual std::unique_ptr<CudaQuantizer> open_quantizer() = 0;
};

enum class CudaOpenProblem : std::uint8_t { kNone, kUnsupported, kOutOfMemory };

struct CudaOpening {
    std::unique_ptr<CudaContext> context;  // nullptr: see the rest
    CudaOpenProblem problem = CudaOpenProblem::kNone;
    CudaFailure reason;
};

// Opens a GPU of compute capability 7.5 or newer; without offstage-cuda.so
// (kernels/cuda_part.h) none.
CudaOpening open_cuda_context(int ordinal);

}  // namespace offstage::kernels
