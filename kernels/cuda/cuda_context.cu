#include <algorithm>
#include <cuda_runtime.h>
#include <memory>
#include <utility>

#include "kernels/cuda/arrival_word.cuh"
#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/cuda_graphs.cuh"
#include "kernels/cuda/device_memory.cuh"
#include "kernels/cuda/event_ring.cuh"
#include "kernels/cuda/handles.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/cuda/quantizing_queue.cuh"
#include "kernels/cuda/segments.cuh"
#include "kernels/cuda/staged_keys.cuh"
#include "kernels/cuda/strip_copies.cuh"
#include "kernels/cuda_context.h"
#include "kernels/ops/operation.h"

namespace offstage::kernels {
namespace cuda {
namespace {

constexpr std::int64_t kMostRoutedExperts = 4096;  // as kernels/ops/route.cu serves

constexpr std::size_t kArrivalBytes = (kArrivals + 1) * sizeof(unsigned);  // and the count of stores with a number
constexpr std::chrono::nanoseconds kAnswerLimit = std::chrono::minutes(1);

class Context final : public CudaContext {
  public:
    explicit Context(int ordinal) { facts_.ordinal = ordinal; }
    ~Context() override;

    // False: `opening` has the reason.
    bool open(CudaOpening& opening);

    const CudaFacts& facts() const override { return facts_; }
    CudaFailure failure() const override { return own_failure_.none() ? worker_.failure.for_host() : own_failure_; }
    void fail(CudaFailure failure) override {
        if (!worker_.failure.none()) return;
        worker_.failure.set(failure.text.empty() ? std::string("A GPU failed.") : failure.text);
        own_failure_ = std::move(failure);
    }
    bool clear_failure() override;
    std::uint64_t free_bytes() noexcept override;
    void* allocate(std::size_t bytes) noexcept override;
    void release(void* device) noexcept override;
    void set_memory_limit(std::uint64_t bytes) noexcept override;
    std::uint64_t held_bytes() noexcept override;
    bool pin(void* host, std::size_t bytes) override;
    void unpin(void* host) override;
    void* mapped(void* pinned_host) override;

    void upload(void* device, const void* host, std::size_t bytes) override;
    void download(void* host, const void* device, std::size_t bytes) override;
    void store(void* mapped_host, const void* device, std::size_t bytes) override {
        if (n_stores_ == kMostStores) start_stores(false);
        stores_[n_stores_++] = {static_cast<const std::uint32_t*>(device), static_cast<std::uint32_t*>(mapped_host),
                                static_cast<std::int64_t>(bytes / sizeof(std::uint32_t))};
        if (worker_.kept == nullptr) start_stores(false);
    }
    void copy_within(void* to, const void* from, std::size_t bytes) override;
    std::uint64_t copy_weights(void* device, const void* host, std::size_t bytes,
                               std::uint64_t after_compute) override {
        return begin_copy(after_compute, [&](cudaStream_t copies) { return copy_pieces(device, host, bytes, copies); });
    }
    std::uint64_t copy_interleaved(void* to, const void* from, const ExpertLayout& on_host, bool back,
                                   std::uint64_t after_compute) override {
        return begin_copy(after_compute, [&](cudaStream_t copies) {
            return strip_copies_.copy(to, from, on_host, back, worker_.lays_out, copies);
        });
    }
    bool reorders(const ExpertLayout& on_host) const override { return cuda::reorders(on_host, worker_.lays_out); }
    using CudaContext::lay_out;
    void set_lays_out(bool on) override { worker_.lays_out = on; }
    void lay_out(const WeightView& rows) override {
        if (!worker_.lays_out) return;
        start_kept();
        if (begin_operation()) check(lay_out_rows(rows, false, compute_.get()), "Laying out rows");
    }
    std::uint64_t record(CudaQueue queue) override;
    void wait(CudaQueue queue, std::uint64_t ticket) override;
    void host_wait(CudaQueue queue, std::uint64_t ticket) override;
    bool has_happened(CudaQueue queue, std::uint64_t ticket) override;
    double elapsed_us(CudaQueue begin_queue, std::uint64_t begin, CudaQueue end_queue, std::uint64_t end) override;

    bool awaits_host() const override {
        return worker_.graphs && replay_.problem().empty() && worker_.answer.count != nullptr && may_wait_;
    }
    std::uint32_t hand_over() override {
        start_stores(true);
        return word_.announced();
    }
    bool host_wait_handed(std::uint32_t number) override;
    void answer(std::uint32_t number) override { word_.answer(number); }
    void give_up_answers() override { word_.give_up(); }
    void set_answer_limit(std::chrono::nanoseconds limit) override {
        answer_limit_ = limit;
        set_answer();
    }

    void begin_repeated(std::int64_t place) override;
    void end_repeated() override;
    bool start_again(std::int64_t place) override;
    void forget_repeated() override {
        start_kept();
        if (select_device()) replay_.forget();
    }
    void set_graphs(bool on) override;
    CudaReplays replays() const override { return replay_.counts(); }
    std::string graphs_problem() const override { return replay_.problem(); }
    void give_up_graphs(const std::string& why) override;
    std::uint64_t expected_graph_bytes(std::int64_t n_layers) const override {
        return cuda::expected_graph_bytes(n_layers);
    }

    std::uint64_t scratch_bytes(const CudaStep& step) const override;
    void set_scratch(void* data, std::size_t bytes) override;
    std::uint64_t staged_key_bytes(const CudaStep& step) const override { return StagedKeys::bytes_for(step); }
    void set_staged_keys(void* data, std::size_t bytes) override;
    std::uint64_t strip_bytes(const CudaStep& step) const override { return StripCopies::bytes_for(step); }
    void set_strips(void* data, std::size_t bytes) override { strip_copies_.set_memory(data, bytes); }

    void set_byte_inputs(const ByteInputTypes& types) override { worker_.byte_inputs = types; }

    void submit(const ops::Operation& operation) override {
        operation.visit([this](const auto& op) {
            if (begin(op)) compute(worker_, op);
        });
    }
    void fetch_keys(std::int64_t layer, const AttentionShape& shape, Span<AttentionSegment> segments,
                    const KvShape& kv) override {
        if (!stages_keys(segments)) return;
        start_kept();
        if (!begin_operation()) return;
        const std::vector<CudaSegment>& on_device = device_segments(worker_, segments);
        const auto first = std::find_if(on_device.begin(), on_device.end(), has_staged_keys);
        staged_keys_.fetch(worker_, shape.window, *first, layer_place(kv, layer));
    }
    void forget_keys() override {
        if (!staged_keys_.has_fetched()) return;
        start_kept();
        handed_.is_last = false;
        if (use_device()) staged_keys_.forget(worker_);  // after a failure, too
    }
    bool takes_chosen(const ExpertLayout& layout) const override { return cuda::takes_chosen(layout); }
    bool takes_grouped(const ExpertLayout& layout, std::int64_t n_tokens, std::int64_t n_active,
                       std::int64_t n_experts) const override {
        return cuda::takes_grouped(worker_, layout, n_tokens, n_active, n_experts);
    }
    std::unique_ptr<CudaQuantizer> open_quantizer() override;

  private:
    // CUDA's current device belongs to a thread, and the arena allocates on any.
    bool use_device() noexcept {
        if (cudaSetDevice(facts_.ordinal) == cudaSuccess) return true;
        (void)cudaGetLastError();
        return false;
    }
    // For operations whose success the caller relies on: failing to select the device
    // counts as a failure.
    bool select_device() {
        if (use_device()) return true;
        fail({CudaFault::kCannotBeSelected});
        return false;
    }
    // After a failure nothing more is started: its inputs would be garbage.
    bool begin_operation() {
        start_stores(false);
        handed_.is_last = false;
        if (!worker_.failure.none()) return false;
        if (worker_.kept != nullptr) return true;  // recording to a list calls no driver function
        replay_.forget_again();
        return select_device();
    }
    // Call it before other work goes to the compute queue or must follow it.
    void start_kept() {
        start_stores(false);
        replay_.forget_again();
        if (worker_.kept == nullptr) return;
        (void)select_device();
        worker_.start_kept();
    }
    static bool stages_keys(Span<AttentionSegment> segments) {
        return std::any_of(segments.begin(), segments.end(), [](const AttentionSegment& segment) {
            return segment.n_tokens > kFewTokens && has_keys_in_host(segment);
        });
    }
    // False: the operation is not computed; failure() says why.
    template <typename Op>
    bool begin(const Op&) {
        return begin_operation();
    }
    bool begin(const ops::Attend& op) {
        if (stages_keys(op.segments)) start_kept();  // two queues have a part in it
        if (!begin_operation()) return false;
        if (op.shape.key_dim <= kMostKeyDim && op.shape.value_dim <= kMostValueDim) return true;
        fail({CudaFault::kAttentionTooWide, {}, {}, op.shape.key_dim, op.shape.value_dim});
        return false;
    }
    bool begin(const ops::Route& op) {
        if (!begin_operation()) return false;
        if (op.spec.n_experts <= kMostRoutedExperts && op.spec.n_groups <= kMostExpertGroups) return true;
        fail({CudaFault::kRouterTooLarge});
        return false;
    }
    // A point of the compute queue that was not submitted yet.
    bool is_kept(CudaQueue queue, std::uint64_t ticket) const {
        return queue == CudaQueue::kCompute && worker_.kept != nullptr && ticket >= worker_.kept->first_ticket();
    }
    void clear_arrivals();
    // Those that wait for others of a sequence, by one kernel; numbered: a point follows.
    void start_stores(bool numbered);
    void set_answer() {
        const auto ns = static_cast<std::uint64_t>(answer_limit_.count());
        worker_.answer = worker_.arrivals == nullptr ? HostAnswer() : word_.answer_of(worker_.arrivals + kArrivals, ns);
    }
    // Behind a wait of the host.
    void check_answers() {
        if (!word_.any_unanswered()) return;
        may_wait_ = false;  // whatever kept the host may come again
        worker_.failure.set("The GPU waited too long for the processor's part of a layer.");
    }
    // Looks for the host's word for a point, since `begin`; false: wait for its event.
    bool has_arrived(std::uint64_t ticket, cudaEvent_t event, Clock::time_point begin);
    // copy(copies) begins copies on that stream. As a whole they are refused or done.
    template <typename Copy>
    std::uint64_t begin_copy(std::uint64_t after_compute, const Copy& copy);
    EventRing& ring(CudaQueue queue) { return queue == CudaQueue::kCompute ? compute_points_ : copy_points_; }
    bool check(cudaError_t status, const char* what) { return worker_.failure.check(status, what); }

    CudaFacts facts_;
    Worker worker_;
    CudaFailure own_failure_;  // the first failure where it is none of the operations' own
    Stream compute_;
    Stream copy_;
    DeviceMemory memory_;
    EventRing compute_points_;
    EventRing copy_points_;
    Replay replay_{compute_points_, memory_};
    HostStore stores_[kMostStores];  // submitted, not started
    std::size_t n_stores_ = 0;
    ArrivalWord word_;
    std::chrono::nanoseconds answer_limit_ = kAnswerLimit;
    bool may_wait_ = true;  // false: a kernel that takes long is ended, as on a GPU that drives a display
    // The last stores with a number, and the points right behind them.
    struct {
        std::uint32_t number = 0;
        std::uint64_t first = 0, last = 0;  // tickets; 0: none
        bool is_last = false;               // nothing but points has followed
    } handed_;
    std::uint64_t arrived_ = 0, known_ = 0;  // the last such point that has happened by its number, by the runtime
    StagedKeys staged_keys_;
    StripCopies strip_copies_;
    std::unique_ptr<Cublas> cublas_;
    std::size_t cublas_bytes_ = 0;
    bool is_open_ = false;
};

int attribute(cudaDeviceAttr which, int ordinal) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, ordinal) != cudaSuccess) (void)cudaGetLastError();
    return value;
}

bool Context::open(CudaOpening& opening) {
    const int ordinal = facts_.ordinal;
    const auto refused = [&](CudaOpenProblem problem, CudaFailure reason) {
        (void)cudaGetLastError();
        opening.problem = problem;
        opening.reason = std::move(reason);
        return false;
    };
    int n_devices = 0;
    cudaError_t status = cudaGetDeviceCount(&n_devices);
    if (status != cudaSuccess) {
        return refused(CudaOpenProblem::kUnsupported, {CudaFault::kDriverReports, cudaGetErrorString(status)});
    }
    if (ordinal < 0 || ordinal >= n_devices) {
        return refused(CudaOpenProblem::kUnsupported, {CudaFault::kNoSuchOrdinal, {}, {}, n_devices});
    }
    cudaDeviceProp properties{};
    status = cudaGetDeviceProperties(&properties, ordinal);
    if (status != cudaSuccess) {
        return refused(CudaOpenProblem::kUnsupported, {CudaFault::kGpuNotDescribed, cudaGetErrorString(status)});
    }
    facts_.name = properties.name;
    facts_.compute_major = properties.major;
    facts_.compute_minor = properties.minor;
    if (properties.major * 10 + properties.minor < 75) {
        return refused(CudaOpenProblem::kUnsupported,
                       {CudaFault::kGpuTooOld, facts_.name, {}, properties.major, properties.minor});
    }
    facts_.n_multiprocessors = properties.multiProcessorCount;
    may_wait_ = attribute(cudaDevAttrKernelExecTimeout, ordinal) == 0;
    facts_.clock_khz = attribute(cudaDevAttrClockRate, ordinal);
    facts_.memory_clock_khz = attribute(cudaDevAttrMemoryClockRate, ordinal);
    facts_.memory_bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, ordinal);
    if (cudaDriverGetVersion(&facts_.driver_version) != cudaSuccess) (void)cudaGetLastError();
    if (cudaRuntimeGetVersion(&facts_.runtime_version) != cudaSuccess) (void)cudaGetLastError();

    // Here the driver makes a context, which itself takes memory.
    status = cudaSetDevice(ordinal);
    if (status == cudaSuccess) status = create_stream(compute_, true);
    if (status == cudaSuccess) status = create_stream(copy_, true);
    if (status == cudaSuccess) status = compute_points_.open();
    if (status == cudaSuccess) status = copy_points_.open();
    if (status == cudaSuccess) status = staged_keys_.open();
    if (status == cudaSuccess) status = strip_copies_.open();
    is_open_ = status == cudaSuccess;
    if (is_open_) memory_.open(ordinal, compute_.get(), copy_.get());
    if (is_open_) word_.open();
    if (is_open_) cublas_ = Cublas::load();
    if (cublas_ != nullptr &&
        cublas_->functions().set_stream(cublas_->handle(), compute_.get()) != CUBLAS_STATUS_SUCCESS) {
        cublas_.reset();
    }
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    if (status == cudaSuccess) status = cudaMemGetInfo(&free_bytes, &total_bytes);
    if (status != cudaSuccess) {
        const auto problem =
            status == cudaErrorMemoryAllocation ? CudaOpenProblem::kOutOfMemory : CudaOpenProblem::kUnsupported;
        return refused(problem, {CudaFault::kGpuDoesNotOpen, facts_.name, cudaGetErrorString(status)});
    }
    facts_.free_bytes = free_bytes;
    facts_.total_bytes = total_bytes;
    worker_.stream = compute_.get();
    worker_.staged_keys = &staged_keys_;
    worker_.compute_major = facts_.compute_major;
    worker_.early_edges = takes_early_edges(facts_.compute_major, facts_.driver_version);
    worker_.unpacked_bytes = unpacked_bytes_for(facts_.total_bytes);
    if (cublas_ != nullptr) {
        facts_.cublas = cublas_->version();
        worker_.cublas = cublas_.get();
        cublas_bytes_ = std::size_t{facts_.compute_major >= 9 ? 32u : 4u} << 20;  // NVIDIA's recommended size
    }
    return true;
}

Context::~Context() {
    if (!use_device()) return;
    if (is_open_) {
        word_.give_up();
        (void)cudaStreamSynchronize(copy_.get());
        (void)cudaStreamSynchronize(compute_.get());
        (void)cudaGetLastError();
    }
}

std::unique_ptr<CudaQuantizer> Context::open_quantizer() {
    // allocate() does not order its stream against this queue.
    if (use_device()) memory_.wait_until_usable();
    return open_quantizing_queue(facts_.ordinal, facts_.compute_major);
}

bool Context::clear_failure() {
    start_kept();  // nothing but its events
    word_.give_up();
    (void)cudaGetLastError();
    cudaError_t status = cudaSetDevice(facts_.ordinal);
    if (status == cudaSuccess) status = cudaDeviceSynchronize();  // a lost context returns its error forever
    if (status != cudaSuccess) {
        (void)cudaGetLastError();
        fail({CudaFault::kAnswersNoMore, cudaGetErrorString(status)});
        return false;
    }
    staged_keys_.forget(worker_);
    worker_.failure.clear();
    own_failure_ = {};
    clear_arrivals();
    return worker_.failure.none();
}

std::uint64_t Context::free_bytes() noexcept {
    std::size_t free = 0, total = 0;
    if (use_device() && cudaMemGetInfo(&free, &total) == cudaSuccess) return free;
    (void)cudaGetLastError();
    return 0;
}

void* Context::allocate(std::size_t bytes) noexcept {
    return use_device() ? memory_.allocate(bytes) : nullptr;
}

void Context::release(void* device) noexcept {
    (void)use_device();                             // the address identifies the device
    if (replay_.is_of_this_thread()) start_kept();  // it may use the block
    memory_.release(device);
}

void Context::set_memory_limit(std::uint64_t bytes) noexcept {
    memory_.set_limit(static_cast<std::size_t>(bytes));  // the pool and its stream identify the device
}

std::uint64_t Context::held_bytes() noexcept {
    return use_device() ? memory_.held_bytes() : 0;
}

bool Context::pin(void* host, std::size_t bytes) {
    // Mapped: kernels read it too. If the device cannot map it, mapped() reports that,
    // not this function.
    constexpr unsigned kFlags = cudaHostRegisterPortable | cudaHostRegisterMapped;
    if (use_device() && cudaHostRegister(host, bytes, kFlags) == cudaSuccess) return true;
    (void)cudaGetLastError();
    return false;
}

void Context::unpin(void* host) {
    if (!use_device() || cudaHostUnregister(host) != cudaSuccess) (void)cudaGetLastError();
}

void* Context::mapped(void* pinned_host) {
    void* device = nullptr;
    if (use_device() && cudaHostGetDevicePointer(&device, pinned_host, 0) == cudaSuccess) return device;
    (void)cudaGetLastError();
    return nullptr;
}

void Context::upload(void* device, const void* host, std::size_t bytes) {
    if (bytes == 0) return;
    start_kept();
    if (!begin_operation()) return;
    check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, compute_.get()), "A copy to the GPU");
}

void Context::download(void* host, const void* device, std::size_t bytes) {
    if (bytes == 0) return;
    start_kept();
    if (!begin_operation()) return;
    check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, compute_.get()), "A copy from the GPU");
}

void Context::copy_within(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    start_kept();
    if (!begin_operation()) return;
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, compute_.get()), "A copy within the GPU");
}

template <typename Copy>
std::uint64_t Context::begin_copy(std::uint64_t after_compute, const Copy& copy) {
    if (is_kept(CudaQueue::kCompute, after_compute)) start_kept();
    if (!worker_.failure.none() || !select_device()) return 0;
    cudaError_t status = cudaSuccess;
    const cudaEvent_t after = compute_points_.find(after_compute);
    if (after != nullptr) status = cudaStreamWaitEvent(copy_.get(), after, 0);
    if (status == cudaSuccess) status = copy(copy_.get());
    if (status == cudaSuccess) return record(CudaQueue::kCopy);
    (void)cudaGetLastError();
    (void)cudaStreamSynchronize(copy_.get());  // refused as a whole: no piece may arrive later
    (void)cudaGetLastError();
    // The stream's state distinguishes one refused copy from the end of the context.
    status = cudaStreamQuery(copy_.get());
    if (status != cudaErrorNotReady) check(status, "Copying weights to the GPU");
    return 0;
}

void Context::start_stores(bool numbered) {
    const std::size_t n = std::exchange(n_stores_, 0);
    if (n == 0 || !begin_operation()) return;
    numbered = numbered && worker_.arrivals != nullptr && word_.mapped() != nullptr;
    store_for_host(worker_, stores_, n, numbered ? worker_.arrivals + kArrivals : nullptr,
                   numbered ? word_.mapped() : nullptr);
    if (numbered) handed_ = {word_.announce(), 0, 0, true};
}

bool Context::has_arrived(std::uint64_t ticket, cudaEvent_t event, Clock::time_point begin) {
    if (ticket <= arrived_) return true;
    const bool there = ticket >= handed_.first && ticket <= handed_.last && worker_.failure.none() &&
                       word_.wait_for(handed_.number, begin, false, [event] { return cudaEventQuery(event); });
    if (there) arrived_ = ticket;
    return there;
}

bool Context::host_wait_handed(std::uint32_t number) {
    start_kept();
    if (!worker_.failure.none() || !select_device()) return false;
    const auto stream = [this] { return cudaStreamQuery(compute_.get()); };
    if (!word_.wait_for(number, Clock::now(), true, stream) &&
        check(cudaStreamSynchronize(compute_.get()), "Waiting for the GPU")) {
        worker_.failure.set("The GPU did not hand over a layer's choice.");
    }
    check_answers();
    return worker_.failure.none();
}

std::uint64_t Context::record(CudaQueue queue) {
    // A ticket is given even after a failure, so that no waiter hangs.
    if (queue == CudaQueue::kCompute) start_stores(true);
    EventRing& points = ring(queue);
    const cudaEvent_t event = points.next();
    if (queue == CudaQueue::kCompute && handed_.is_last) {
        handed_.last = points.last();
        if (handed_.first == 0) handed_.first = handed_.last;
    }
    if (queue == CudaQueue::kCompute && worker_.kept != nullptr) {
        worker_.kept->add_point(event, points.last());
    } else if (select_device()) {
        check(cudaEventRecord(event, queue == CudaQueue::kCompute ? compute_.get() : copy_.get()),
              "Recording an event");
    }
    return points.last();
}

void Context::wait(CudaQueue queue, std::uint64_t ticket) {
    const cudaEvent_t event = ring(queue).find(ticket);
    if (event == nullptr || queue == CudaQueue::kCompute || !select_device()) return;  // its own queue is in order
    handed_.is_last = false;
    check(cudaStreamWaitEvent(compute_.get(), event, 0), "Waiting for a copy");
}

void Context::host_wait(CudaQueue queue, std::uint64_t ticket) {
    if (is_kept(queue, ticket)) start_kept();
    const cudaEvent_t event = ring(queue).find(ticket);
    if (event == nullptr || !select_device()) return;
    const auto begin = Clock::now();
    if (queue == CudaQueue::kCompute && has_arrived(ticket, event, begin)) return check_answers();
    // A layer's choice arrives sooner than a sleeping thread can be woken. A prompt's
    // step takes seconds, during which the processor has other work.
    while (cudaEventQuery(event) == cudaErrorNotReady && Clock::now() - begin < kAwakeForEvent) {
    }
    (void)cudaGetLastError();
    if (check(cudaEventSynchronize(event), "Waiting for the GPU")) check_answers();
}

bool Context::has_happened(CudaQueue queue, std::uint64_t ticket) {
    if (is_kept(queue, ticket)) return false;
    if (queue == CudaQueue::kCompute && ticket <= arrived_) return true;
    const cudaEvent_t event = ring(queue).find(ticket);
    if (event == nullptr || !select_device()) return true;  // after a failure no wait may last forever
    const cudaError_t status = cudaEventQuery(event);
    if (status == cudaErrorNotReady) {
        (void)cudaGetLastError();
        return false;
    }
    check(status, "Asking the GPU how far it is");
    return true;
}

double Context::elapsed_us(CudaQueue begin_queue, std::uint64_t begin, CudaQueue end_queue, std::uint64_t end) {
    const cudaEvent_t from = ring(begin_queue).timed(begin);
    const cudaEvent_t to = ring(end_queue).timed(end);
    if (from == nullptr || to == nullptr) return 0;
    if (is_kept(begin_queue, begin) || is_kept(end_queue, end) || !use_device()) return 0;
    // What the host knows by a word has happened; the runtime may not know it yet.
    const bool computed = begin_queue == CudaQueue::kCompute || end_queue == CudaQueue::kCompute;
    if (computed && known_ < arrived_) {
        if (cudaEventSynchronize(compute_points_.find(arrived_)) != cudaSuccess) (void)cudaGetLastError();
        known_ = arrived_;
    }
    float ms = 0.0f;
    if (cudaEventElapsedTime(&ms, from, to) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return 1000.0 * static_cast<double>(ms);
}

void Context::begin_repeated(std::int64_t place) {
    if (worker_.kept == nullptr && worker_.failure.none()) replay_.begin(worker_, place);
}

void Context::end_repeated() {
    start_stores(false);
    if (worker_.kept == nullptr) return;
    (void)select_device();
    replay_.end(worker_);
}

bool Context::start_again(std::int64_t place) {
    handed_.is_last = false;
    return worker_.kept == nullptr && select_device() && replay_.start_again(worker_, place);
}

void Context::set_graphs(bool on) {
    start_kept();
    worker_.graphs = on;
    if (select_device()) replay_.set_on(on);
}

void Context::give_up_graphs(const std::string& why) {
    start_kept();
    if (select_device()) replay_.give_up(why);
}

std::uint64_t Context::scratch_bytes(const CudaStep& step) const {
    std::uint64_t most = product_scratch_bytes(step, worker_.unpacked_bytes);
    for (const std::uint64_t bytes : {attention_scratch_bytes(step), router_scratch_bytes(step),
                                      choice_scratch_bytes(step), expert_scratch_bytes(worker_, step)}) {
        if (bytes > most) most = bytes;
    }
    return most + cublas_bytes_ + kArrivalBytes;
}

void Context::set_scratch(void* data, std::size_t bytes) {
    start_kept();
    (void)select_device();
    check(cudaStreamSynchronize(compute_.get()), "Waiting for the GPU");
    auto* place = static_cast<unsigned char*>(data);
    std::size_t left = bytes;
    // Otherwise cuBLAS would allocate its own memory outside the budget. set_stream()
    // resets the memory that was set before.
    if (cublas_ != nullptr) {
        if (cublas_->functions().set_stream(cublas_->handle(), compute_.get()) != CUBLAS_STATUS_SUCCESS) {
            worker_.failure.set("cuBLAS does not take the GPU's queue.");
        }
        if (left >= cublas_bytes_ &&
            cublas_->functions().set_workspace(cublas_->handle(), place, cublas_bytes_) == CUBLAS_STATUS_SUCCESS) {
            place += cublas_bytes_;
            left -= cublas_bytes_;
        }
    }
    worker_.arrivals = nullptr;
    if (left >= kArrivalBytes) {
        left -= kArrivalBytes;
        worker_.arrivals = reinterpret_cast<unsigned*>(place + left / sizeof(unsigned) * sizeof(unsigned));
    }
    worker_.scratch.set(place, left);
    set_answer();
    clear_arrivals();
}

// After a kernel that ended early some are not 0. The GPU has nothing to do.
void Context::clear_arrivals() {
    if (worker_.arrivals == nullptr || !begin_operation()) return;
    compute(worker_, ops::Clear{kArrivals + 1, reinterpret_cast<float*>(worker_.arrivals)});
    word_.restart();
    handed_ = {};
}

void Context::set_staged_keys(void* data, std::size_t bytes) {
    start_kept();
    (void)select_device();
    staged_keys_.forget(worker_);
    check(cudaStreamSynchronize(compute_.get()), "Waiting for the GPU");
    staged_keys_.set_memory(data, bytes);
}

}  // namespace
}  // namespace cuda

CudaOpening open_cuda_context(int ordinal) {
    CudaOpening opening;
    auto context = std::make_unique<cuda::Context>(ordinal);
    if (context->open(opening)) opening.context = std::move(context);
    return opening;
}

}  // namespace offstage::kernels
