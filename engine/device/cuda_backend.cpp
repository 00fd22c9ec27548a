#include "engine/device/cuda_backend.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>

#include "engine/device/cuda_messages.h"
#include "engine/device/cuda_row_quantizer.h"
#include "engine/device/device_messages.h"
#include "engine/device/host_buffer.h"
#include "engine/error.h"

namespace offstage::engine {
namespace {

using Clock = std::chrono::steady_clock;
using kernels::CudaContext;
using kernels::CudaQueue;

// The driver's own needs while kernels run, and the display's. On a small GPU an eighth.
constexpr std::uint64_t kReserveBytes = std::uint64_t{512} << 20;

class CudaMemory final : public MemorySource {
  public:
    explicit CudaMemory(CudaContext& context) : context_(context) {}
    void* allocate(std::size_t bytes) noexcept override { return context_.allocate(bytes); }
    void release(void* data, std::size_t) noexcept override { context_.release(data); }
    void set_limit(std::uint64_t bytes) noexcept override { context_.set_memory_limit(bytes); }

  private:
    CudaContext& context_;
};

std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

DeviceInfo info_of(const kernels::CudaFacts& facts) {
    DeviceInfo info;
    info.kind = DeviceKind::kCuda;
    info.id = "cuda:" + std::to_string(facts.ordinal);
    info.name = facts.name;
    info.memory_bytes = facts.total_bytes;
    info.available_bytes = facts.free_bytes;
    info.fingerprint = facts.name + " " + std::to_string(facts.compute_major) + "." +
                       std::to_string(facts.compute_minor) + " x" + std::to_string(facts.n_multiprocessors) + " " +
                       std::to_string(facts.clock_khz) + "/" + std::to_string(facts.memory_clock_khz) + " kHz " +
                       std::to_string(facts.memory_bus_bits) + " bit driver " + version_text(facts.driver_version) +
                       " runtime " + version_text(facts.runtime_version) +
                       (facts.cublas.empty() ? " without cuBLAS" : " cuBLAS " + facts.cublas);
    if (facts.cublas.empty()) {
        info.note = messages::cublas_missing(facts.name);
    }
    return info;
}

CudaQueue queue_of(DeviceEvent event) {
    return event.queue == DeviceEvent::Queue::kCompute ? CudaQueue::kCompute : CudaQueue::kCopy;
}

kernels::CudaStep step_of(const Backend::StepShape& shape) {
    kernels::CudaStep step;
    step.n_tokens = shape.n_tokens;
    step.hidden_dim = shape.hidden_dim;
    step.ffn_dim = shape.ffn_dim;
    step.n_experts = shape.n_experts;
    step.n_active = shape.n_active;
    step.context = shape.context;
    step.dense_ffn_dim = shape.dense_ffn_dim;
    step.widest_row = shape.widest_row;
    step.vocab_size = shape.vocab_size;
    step.attention = shape.attention;
    step.blocks = kernels::is_blocks(shape.weight_type) || kernels::traits_of(shape.weight_type).is_of_file();
    return step;
}

class CudaBackend final : public Backend {
  public:
    CudaBackend(std::unique_ptr<CudaContext> context, std::uint64_t budget_bytes)
        : context_(std::move(context)),
          info_(info_of(context_->facts())),
          source_(*context_),
          arena_(info_.name, source_, budget_bytes) {}
    ~CudaBackend() override {
        finish();
        arena_.count_beside(0, MemoryUse::kWorkspace);
    }

    const DeviceInfo& info() const override { return info_; }
    Arena& memory() override { return arena_; }
    bool shares_host_memory() const override { return false; }
    std::uint64_t others_bytes() override {
        const std::uint64_t taken = info_.memory_bytes - std::min(info_.memory_bytes, context_->free_bytes());
        return taken - std::min(taken, std::max(arena_.usage().used_bytes, context_->held_bytes() + graph_bytes_));
    }

    bool ok() const override { return context_->failure().none(); }
    Message failure() const override {
        return ok() ? Message() : messages::of_device(info_.name, message_of(context_->failure()));
    }
    void clear_failure() override { context_->clear_failure(); }

    bool pin(std::span<std::byte> host) override { return host.empty() || context_->pin(host.data(), host.size()); }
    void unpin(std::span<std::byte> host) override {
        if (!host.empty()) context_->unpin(host.data());
    }
    std::byte* mapped(std::byte* pinned_host) override {
        return static_cast<std::byte*>(context_->mapped(pinned_host));
    }

    void upload(void* device, const void* host, std::size_t bytes) override {
        if (copy_fails()) {
            context_->fail({kernels::CudaFault::kOther, "A copy to the GPU failed (injected for a test)."});
        } else {
            context_->upload(device, host, bytes);
        }
    }
    void download(void* host, const void* device, std::size_t bytes) override {
        if (copy_fails()) {
            context_->fail({kernels::CudaFault::kOther, "A copy from the GPU failed (injected for a test)."});
        } else {
            context_->download(host, device, bytes);
        }
    }
    void store(void* host, std::byte* mapped, const void* device, std::size_t bytes) override {
        if (mapped == nullptr) {
            download(host, device, bytes);
        } else if (copy_fails()) {
            context_->fail({kernels::CudaFault::kOther, "A copy from the GPU failed (injected for a test)."});
        } else {
            context_->store(mapped, device, bytes);
        }
    }
    void copy_within(void* to, const void* from, std::size_t bytes) override { context_->copy_within(to, from, bytes); }
    std::optional<DeviceEvent> copy_weights(void* device, const void* host, std::size_t bytes,
                                            DeviceEvent after) override {
        if (copy_fails()) return std::nullopt;
        return copied(context_->copy_weights(device, host, bytes, compute_ticket(after)));
    }
    using Backend::lay_out;
    void lay_out(const kernels::WeightView& on_device) override { context_->lay_out(on_device); }
    DeviceEvent record(DeviceEvent::Queue queue) override { return {queue, context_->record(queue_of({queue, 0}))}; }
    void wait(DeviceEvent event) override { context_->wait(queue_of(event), event.ticket); }
    void host_wait(DeviceEvent event) override { context_->host_wait(queue_of(event), event.ticket); }
    bool has_happened(DeviceEvent event) override { return context_->has_happened(queue_of(event), event.ticket); }

    double now_us() override { return std::chrono::duration<double, std::micro>(Clock::now() - opened_).count(); }
    double elapsed_us(DeviceEvent begin, DeviceEvent end) override {
        return context_->elapsed_us(queue_of(begin), begin.ticket, queue_of(end), end.ticket);
    }
    void begin_repeated(std::int64_t place) override { context_->begin_repeated(place); }
    void end_repeated() override {
        context_->end_repeated();
        count_graphs();
    }
    bool start_again(std::int64_t place) override { return context_->start_again(place); }
    bool runs_ahead() const override { return graphs_; }
    void forget_repeated() override { context_->forget_repeated(); }
    void set_graphs(bool on) override {
        context_->set_graphs(on);
        graphs_ = on;
        count_graphs();
    }
    bool awaits_host() const override { return context_->awaits_host(); }
    std::uint32_t hand_over() override { return unanswered_ = context_->hand_over(); }
    bool host_wait_handed(std::uint32_t number) override { return context_->host_wait_handed(number); }
    void answer(std::uint32_t number) override {
        context_->answer(number);
        if (number == unanswered_) all_are_answered();
    }
    void give_up_answers() override {
        context_->give_up_answers();
        all_are_answered();
    }
    Replays replays() const override {
        const kernels::CudaReplays counted = context_->replays();
        return {counted.n_graphs, counted.n_replayed, counted.bytes, counted.n_ahead};
    }
    Message take_note() override {
        const std::string problem = context_->graphs_problem();
        if (!graphs_ || problem.empty()) return {};
        graphs_ = false;
        return messages::graphs_given_up(info_.name, problem);
    }

    using Backend::run_on_host;
    double run_on_host(std::span<const HostWork>, const std::function<void()>& body) override {
        const double begin = now_us();
        body();
        return now_us() - begin;
    }

    void submit(const ops::Operation& operation) override { context_->submit(operation); }
    void fetch_keys(std::int64_t layer, const kernels::AttentionShape& shape, kernels::Span<AttentionSegment> segments,
                    const kernels::KvShape& kv) override {
        context_->fetch_keys(layer, shape, segments, kv);
    }
    void forget_keys() override { context_->forget_keys(); }
    bool combines_host_rows() const override { return true; }
    bool takes_chosen_experts(const kernels::ExpertLayout& layout) const override {
        return context_->takes_chosen(layout);
    }
    bool takes_grouped_experts(const kernels::ExpertLayout& layout, std::int64_t n_tokens, std::int64_t n_active,
                               std::int64_t n_experts) const override {
        return context_->takes_grouped(layout, n_tokens, n_active, n_experts);
    }
    bool set_byte_inputs(const kernels::ByteInputTypes& types) override;
    RowQuantizer* row_quantizer() override { return row_quantizer_.get(); }

    std::uint64_t scratch_bytes(const StepShape& shape) const override {
        return context_->scratch_bytes(step_of(shape)) + context_->staged_key_bytes(step_of(shape)) +
               context_->strip_bytes(step_of(shape)) + quantizer_bytes(shape) +
               context_->expected_graph_bytes(shape.n_layers);
    }
    void reserve(const StepShape& shape) override;
    void fail_copy(int n) override { fail_in_ = n; }

  private:
    bool reorders(const kernels::ExpertLayout& on_host) const override { return context_->reorders(on_host); }
    std::optional<DeviceEvent> copy_interleaved(void* to, const void* from, const kernels::ExpertLayout& on_host,
                                                bool back, DeviceEvent after) override {
        if (copy_fails()) return std::nullopt;
        return copied(context_->copy_interleaved(to, from, on_host, back, compute_ticket(after)));
    }
    // The copy queue's own events are in order anyway.
    static std::uint64_t compute_ticket(DeviceEvent after) {
        return after.queue == DeviceEvent::Queue::kCompute ? after.ticket : 0;
    }
    static std::optional<DeviceEvent> copied(std::uint64_t ticket) {
        if (ticket == 0) return std::nullopt;
        return DeviceEvent{DeviceEvent::Queue::kCopy, ticket};
    }
    bool copy_fails() { return fail_in_ > 0 && --fail_in_ == 0; }
    // An expert's rows are the longest and the most.
    static std::uint64_t quantizer_bytes(const StepShape& shape) {
        return CudaRowQuantizer::device_bytes(3 * shape.ffn_dim, shape.hidden_dim);
    }
    void all_are_answered() {
        unanswered_ = 0;
        count_graphs();
    }
    // Counts the memory of graphs against the share that scratch_bytes() reserved; more
    // if the budget has room. A graph that waits for the host cannot be given up.
    void count_graphs() {
        if (unanswered_ != 0) return;
        const std::uint64_t bytes = context_->replays().bytes;
        if (bytes == graph_bytes_) return;
        if (!arena_.count_beside(bytes, MemoryUse::kWorkspace)) {
            context_->give_up_graphs("The VRAM budget has no room for the " + std::to_string(bytes) +
                                     " bytes that they take.");
            arena_.count_beside(0, MemoryUse::kWorkspace);
        }
        graph_bytes_ = context_->replays().bytes;
    }
    // Memory of the operations.
    void resize(DeviceBlock& block, std::uint64_t bytes, const MessageArgument& purpose,
                const std::function<void(void* data, std::size_t bytes)>& use);
    // Memory is freed below: no work may still use it.
    void finish() {
        forget_keys();
        host_wait(record(DeviceEvent::Queue::kCompute));
        host_wait(record(DeviceEvent::Queue::kCopy));
    }

    std::unique_ptr<CudaContext> context_;
    DeviceInfo info_;
    CudaMemory source_;
    Arena arena_;
    DeviceBlock scratch_;
    DeviceBlock staged_keys_;
    DeviceBlock strips_;
    std::unique_ptr<CudaRowQuantizer> row_quantizer_;
    std::uint64_t quantizer_bytes_ = 0;  // of the last attempt to make it
    std::uint64_t graph_bytes_ = 0;      // counted in the arena
    std::uint32_t unanswered_ = 0;       // hand_over()'s last number, until that is answered
    int fail_in_ = 0;
    bool graphs_ = true;  // until they are switched off, or failed and the user was informed
    Clock::time_point opened_ = Clock::now();
};

bool CudaBackend::set_byte_inputs(const kernels::ByteInputTypes& types) {
    context_->set_byte_inputs(types);
    info_.fingerprint = info_of(context_->facts()).fingerprint;
    if (types == kernels::ByteInputTypes()) return true;
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "+int8:%llx/%llx/%llx", static_cast<unsigned long long>(types.few),
                  static_cast<unsigned long long>(types.many), static_cast<unsigned long long>(types.small_experts));
    info_.fingerprint += text.data();
    return true;
}

void CudaBackend::reserve(const StepShape& shape) {
    if (quantizer_bytes(shape) > quantizer_bytes_) {
        row_quantizer_.reset();
        quantizer_bytes_ = 0;  // tried again, should there be no room now
        row_quantizer_ = CudaRowQuantizer::open(
            *context_, arena_.allocate(quantizer_bytes(shape), MemoryUse::kWorkspace, messages::packing_experts));
        quantizer_bytes_ = quantizer_bytes(shape);
    }
    const bool gives_back = shape.n_tokens == 0;
    const kernels::CudaStep step = step_of(shape);
    resize(scratch_, gives_back ? 0 : std::max<std::uint64_t>(scratch_.size(), context_->scratch_bytes(step)),
           messages::step_scratch_memory, [&](void* data, std::size_t bytes) { context_->set_scratch(data, bytes); });
    resize(
        staged_keys_, gives_back ? 0 : std::max<std::uint64_t>(staged_keys_.size(), context_->staged_key_bytes(step)),
        messages::step_scratch_memory, [&](void* data, std::size_t bytes) { context_->set_staged_keys(data, bytes); });
    // Experts are copied between steps, too.
    resize(strips_, std::max<std::uint64_t>(strips_.size(), context_->strip_bytes(step)), messages::step_scratch_memory,
           [&](void* data, std::size_t bytes) { context_->set_strips(data, bytes); });
}

void CudaBackend::resize(DeviceBlock& block, std::uint64_t bytes, const MessageArgument& purpose,
                         const std::function<void(void* data, std::size_t bytes)>& use) {
    const std::size_t had = block.size();
    if (bytes == had) return;
    finish();
    // Frees the old one first: a budget rarely has room for both.
    const auto allocate = [&](std::size_t n) {
        if (n == 0) return;
        block = arena_.allocate(n, MemoryUse::kWorkspace, purpose);
        use(block.data(), block.size());
    };
    use(nullptr, 0);
    block = DeviceBlock();
    try {
        allocate(static_cast<std::size_t>(bytes));
    } catch (const Error&) {
        allocate(had);  // the memory that was just released
        throw;
    }
}

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(kernels::CudaOpening opening, int ordinal, std::uint64_t budget_bytes) {
    const std::string device = "cuda:" + std::to_string(ordinal);
    if (opening.context == nullptr) {
        const bool no_memory = opening.problem == kernels::CudaOpenProblem::kOutOfMemory;
        throw Error(no_memory ? ErrorKind::kOutOfMemory : ErrorKind::kUnsupported,
                    messages::device_cannot_be_opened(device, message_of(opening.reason)));
    }
    const kernels::CudaFacts& facts = opening.context->facts();
    const std::uint64_t free_bytes = facts.free_bytes;
    if (budget_bytes > facts.total_bytes) {
        throw Error(ErrorKind::kInvalidInput,
                    messages::device_memory_too_small(facts.name, ByteSize{facts.total_bytes}, ByteSize{budget_bytes}));
    }
    if (budget_bytes > free_bytes) {
        throw Error(ErrorKind::kOutOfMemory,
                    messages::device_memory_not_free(facts.name, ByteSize{free_bytes}, ByteSize{budget_bytes}));
    }
    if (budget_bytes == 0) budget_bytes = free_bytes - std::min(kReserveBytes, free_bytes / 8);
    return std::make_unique<CudaBackend>(std::move(opening.context), budget_bytes);
}

std::unique_ptr<Backend> open_cuda_backend(int ordinal, std::uint64_t budget_bytes) {
    return make_cuda_backend(kernels::open_cuda_context(ordinal), ordinal, budget_bytes);
}

}  // namespace offstage::engine
