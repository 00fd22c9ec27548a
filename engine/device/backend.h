#pragma once
// One interface for every device that can hold weights and compute with them. Three
// implementations: CpuBackend (the host itself), CudaBackend (an NVIDIA GPU),
// EmulatedAccelerator (a second memory on the host with a GPU's clock).

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "engine/device/arena.h"
#include "engine/device/row_quantizer.h"
#include "engine/indices.h"
#include "engine/message.h"
#include "kernels/byte_inputs.h"
#include "kernels/expert_layout.h"
#include "kernels/ops/operation.h"
#include "kernels/sum_order.h"

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

using kernels::AttentionSegment;
using kernels::ExpertCall;
using kernels::KvBlock;
using kernels::NormWeights;
using kernels::SumOrder;
namespace ops = kernels::ops;

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
    // (begin_repeated()); a point right behind it may be seen sooner. mapped: the address
    // that mapped() returns for `host`, or nullptr.
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
    // The same for an expert's block, between host memory (its layout there) and the
    // device, where its rows lie one after the other, each in the order of its own that
    // the device's kernels have (lay_out()).
    std::optional<DeviceEvent> copy_expert(void* device, const kernels::ExpertView& on_host, DeviceEvent after) {
        if (!reorders(on_host.layout)) return copy_weights(device, on_host.data, on_host.layout.bytes(), after);
        return copy_interleaved(device, on_host.data, on_host.layout, false, after);
    }
    std::optional<DeviceEvent> copy_expert_to_host(void* host, const kernels::ExpertLayout& on_host, const void* device,
                                                   DeviceEvent after) {
        if (!reorders(on_host)) return copy_to_host(host, device, on_host.bytes(), after);
        return copy_interleaved(host, device, on_host, true, after);
    }
    // On the compute queue: rows of files' blocks that were uploaded as they lie in files
    // are put into the order in which operations expect them on this device, where it has
    // another one. Nothing happens to other rows.
    virtual void lay_out(const kernels::WeightView& /*on_device*/) {}
    void lay_out(const kernels::ExpertView& on_device) {
        if (!on_device.layout.down_rows_are_outputs) return;
        on_device.for_matrices([this](const kernels::WeightView& rows) { lay_out(rows); });
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
    // Behind end_repeated() of a sequence at this place: starts it once more, with what
    // lies in the device's memory by then, if it was started with one call. If the same
    // sequence comes next, it has run already. If another one does, or other work comes
    // before it, it is computed as if this had not been called, so it must read nothing
    // that it changes. False: nothing was started.
    virtual bool start_again(std::int64_t /*place*/) { return false; }
    // Whether start_again() may be of use, so that tokens should be chosen by
    // ops::ChooseToken.
    virtual bool runs_ahead() const { return false; }
    // Other sequences come from now on: what was kept of the present ones may go.
    virtual void forget_repeated() {}
    // On at first, where the device has them.
    virtual void set_graphs(bool /*on*/) {}
    struct Replays {
        std::uint64_t n_graphs = 0;    // built so far
        std::uint64_t n_replayed = 0;  // sequences that were started with one call
        std::uint64_t bytes = 0;       // device memory for them, in memory().usage() as workspace
        std::uint64_t n_ahead = 0;     // sequences that had run before (start_again())
    };
    virtual Replays replays() const { return {}; }
    // A sentence for the user about features that the device has switched off since the
    // last call; empty: none.
    virtual Message take_note() { return {}; }

    // ---- the host's part within such a sequence
    // The device hands values to the host in the midst of a sequence, without a point, and
    // ops::Combine waits there for the host's rows (Combine::awaits_host), so that one
    // sequence may have many layers that the host has a part in. When the sequence has
    // been started, the host waits for each number in turn, writes rows and row_of to
    // their places in host memory, and answers. Until then it must not wait for the
    // compute queue. awaits_host(): whether the device can do so now.
    virtual bool awaits_host() const { return false; }
    // Hands over what store() was called for until now. Numbers count upwards.
    virtual std::uint32_t hand_over() { return 0; }
    // The calling thread waits for these values. False: the device failed.
    virtual bool host_wait_handed(std::uint32_t /*number*/) { return false; }
    virtual void answer(std::uint32_t /*number*/) {}
    // Instead of all answers that are missing: nothing waits any more, and what the
    // operations compute is worthless. An operation that waits for a minute ends so by
    // itself, and is a failure.
    virtual void give_up_answers() {}

    // The order of the operations from now on; kByNumber at first. Only for CpuBackend
    // and EmulatedAccelerator; others keep their order.
    virtual void set_sum_order(SumOrder /*order*/) {}
    virtual bool keeps_sum_order() const { return false; }  // whether it does as set_sum_order() says

    // On the compute queue: see the operations' headers in kernels/ops.
    virtual void submit(const ops::Operation& operation) = 0;
    // Ahead of ops::Attend: the layer's keys before `past` that lie in host memory may be
    // copied to the device from now on, while other work is computed. They must not
    // change until ops::Attend with the same segments or, if that does not follow,
    // forget_keys(), after which the compute queue continues behind such copies. No bit
    // of a result depends on it.
    virtual void fetch_keys(std::int64_t /*layer*/, const kernels::AttentionShape& /*shape*/,
                            kernels::Span<AttentionSegment> /*segments*/, const kernels::KvShape& /*kv*/) {}
    virtual void forget_keys() {}
    // Whether ops::Combine takes rows in pinned host memory.
    virtual bool combines_host_rows() const { return false; }
    // Whether submit() takes ops::ChosenExperts with such experts.
    virtual bool takes_chosen_experts(const kernels::ExpertLayout& /*layout*/) const { return false; }
    // Whether submit() takes ops::GroupedExperts with such experts and tokens, after
    // reserve().
    virtual bool takes_grouped_experts(const kernels::ExpertLayout& /*layout*/, std::int64_t /*n_tokens*/,
                                       std::int64_t /*n_active*/, std::int64_t /*n_experts*/) const {
        return false;
    }

    // Packs rows for the host, beside the two queues. Exists after reserve(), until the
    // next reserve() for larger rows. nullptr: this device cannot do it, or not for such
    // rows.
    virtual RowQuantizer* row_quantizer() { return nullptr; }

    // The types of files' blocks for which ops::Multiply and ops::Experts round the
    // inputs to 8 bits from now on; none at first. Part of info().fingerprint from then
    // on. False: this device cannot change it; it forms products as it was opened for.
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
        std::int64_t widest_row = 0;     // of a product's inputs, if it is wider than hidden_dim and heads
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

  private:
    // Whether copy_expert() changes the order of bytes.
    virtual bool reorders(const kernels::ExpertLayout& on_host) const { return on_host.has_strips(); }
    // copy_expert() (`back`: copy_expert_to_host()) where it does. Not where the host's
    // memory is the device's.
    virtual std::optional<DeviceEvent> copy_interleaved(void* to, const void* from,
                                                        const kernels::ExpertLayout& on_host, bool back,
                                                        DeviceEvent after) = 0;
};

}  // namespace offstage::engine
