#include "engine/device/emulated_accelerator.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "engine/device/device_messages.h"
#include "engine/device/host_memory.h"
#include "engine/device/timeline.h"

namespace offstage::engine {
namespace {

using Clock = std::chrono::steady_clock;
using Queue = DeviceEvent::Queue;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr std::size_t kQueuedCopies = 64;
// The accounted time of one query of an event where no real time counts: without it a
// loop that polls the event would never end.
constexpr double kPollUs = 1.0;

double as_double(std::int64_t n) {
    return static_cast<double>(n);
}

double matrix_bytes(const kernels::WeightView& weight, std::int64_t n_rows) {
    return as_double(n_rows) * static_cast<double>(kernels::row_bytes(weight.type, weight.n_cols));
}

// The keys from `first` on that are in host memory.
std::int64_t keys_in_host(const AttentionSegment& segment, std::int64_t first) {
    constexpr std::int64_t kTokens = kernels::kKvBlockTokens;
    if (segment.in_host.empty()) return 0;
    const std::int64_t end = segment.past + segment.n_tokens;
    std::int64_t n = 0;
    for (std::int64_t block = first / kTokens; block * kTokens < end; ++block) {
        if (segment.in_host[static_cast<std::size_t>(block)] == 0) continue;
        n += std::min(end, (block + 1) * kTokens) - std::max(first, block * kTokens);
    }
    return n;
}

// Copies bytes from host memory to "device" memory in order, on its own thread.
class CopyThread {
  public:
    CopyThread() : thread_([this] { work(); }) {}
    ~CopyThread() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    CopyThread(const CopyThread&) = delete;
    CopyThread& operator=(const CopyThread&) = delete;

    // Waits while the queue is full. Tickets ascend.
    void submit(std::uint64_t ticket, void* to, const void* from, std::size_t bytes) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return jobs_.size() < kQueuedCopies; });
        jobs_.push_back({ticket, to, from, bytes});
        lock.unlock();
        changed_.notify_all();
    }

    // Returns when the copies up to `ticket` are done.
    void wait(std::uint64_t ticket) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return jobs_.empty() || jobs_.front().ticket > ticket; });
    }

  private:
    struct Job {
        std::uint64_t ticket;
        void* to;
        const void* from;
        std::size_t bytes;
    };

    void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
            if (stopping_) return;  // no caller can wait for the remaining jobs
            const Job job = jobs_.front();
            lock.unlock();
            if (job.bytes > 0) std::memcpy(job.to, job.from, job.bytes);
            lock.lock();
            jobs_.pop_front();  // only now: wait() treats jobs in the queue as unfinished
            changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> jobs_;
    bool stopping_ = false;
    std::thread thread_;
};

constexpr std::string_view kEmulatedEnding = " (emulated)";

DeviceInfo info_of(const HardwareProfile& profile) {
    DeviceInfo info;
    info.kind = DeviceKind::kEmulated;
    info.id = "emulated:" + profile.id;
    info.name = profile.name + std::string(kEmulatedEnding);
    info.emulated = true;
    info.emulated_host = profile.host.has_value();
    info.memory_bytes = profile.memory_bytes;
    info.available_bytes = profile.memory_bytes - profile.reserved_bytes;
    info.fingerprint = "emulated " + profile.id;
    const HostProfile host = profile.host.value_or(HostProfile{});
    for (const double figure :
         {profile.memory_gbps, profile.memory_efficiency, profile.tflops, profile.compute_efficiency, profile.bus_gbps,
          profile.bus_efficiency, profile.launch_us, profile.sync_us, profile.copy_latency_us, host.read_gbps,
          host.dram_gbps, host.gflops, host.disk_gbps}) {
        std::array<char, 32> text{};
        std::snprintf(text.data(), text.size(), " %.9g", figure);
        info.fingerprint += text.data();
    }
    return info;
}

}  // namespace

MessageArgument device_name(const DeviceInfo& info) {
    if (!info.name.ends_with(kEmulatedEnding)) return info.name;
    return messages::emulated_device(info.name.substr(0, info.name.size() - kEmulatedEnding.size()));
}

struct EmulatedAccelerator::State {
    State(const HardwareProfile& the_profile, CpuOperations& host_operations, std::uint64_t budget_bytes,
          DrawnRouting drawn)
        : profile(the_profile),
          info(info_of(the_profile)),
          operations(host_operations),
          dry(std::move(drawn)),
          arena(device_name(info), dry ? static_cast<MemorySource&>(addresses) : source, budget_bytes) {
        assert(!dry || profile.host.has_value());
    }

    const HardwareProfile profile;
    const DeviceInfo info;
    CpuOperations& operations;
    HostMemory source;
    AddressSpace addresses;
    const DrawnRouting dry;
    std::int64_t dry_moe_layer = -1;          // the layer whose router ran last, counting only layers with experts
    int dry_routed = 0;                       // routers that have run since the last attention
    std::vector<std::int64_t> dry_positions;  // positions of the step's rows
    Arena arena;
    Timeline timeline;
    CopyThread copies;
    Message failure;
    int fail_in = 0;
    Clock::time_point last_left = Clock::now();  // when the host last continued its own work
    bool paced = false;
    Clock::time_point paced_since;
    double paced_since_us = 0;

    bool copy_fails() { return fail_in > 0 && --fail_in == 0; }

    void wait_for_copies(DeviceEvent event) {
        if (event.queue == Queue::kCopy) copies.wait(event.ticket);
    }

    // Accounts one operation on the compute queue; the host's part is its launch.
    // bus_bytes: bytes of host memory that the operation itself reads or writes, besides
    // its device memory and its arithmetic.
    void account(double bytes, double flops, double bus_bytes = 0) {
        timeline.advance_host(profile.launch_us);
        const double bus_us = bus_bytes / (profile.bus_gbps * profile.bus_efficiency * 1e3);
        timeline.submit(Queue::kCompute, std::max(profile.operation_us(bytes, flops), profile.launch_us + bus_us));
    }

    // Queries, keys and values of a step. values: float32 of each token that are read and
    // written; stored: the token's bytes in one layer of the cache.
    void account_store(std::span<const AttentionSegment> segments, std::int64_t values, std::int64_t stored) {
        if (dry) begin_layer(segments);
        double own_bytes = 0;
        double bus_bytes = 0;
        for (const AttentionSegment& segment : segments) {
            const std::int64_t in_host = keys_in_host(segment, segment.past);
            own_bytes += as_double(segment.n_tokens * values * 4 + (segment.n_tokens - in_host) * stored);
            bus_bytes += as_double(in_host * stored);
        }
        account(own_bytes, 0, bus_bytes);
    }

    void begin_layer(std::span<const AttentionSegment> segments) {
        dry_routed = 0;
        dry_positions.clear();
        for (const AttentionSegment& segment : segments) {
            for (std::int64_t t = 0; t < segment.n_tokens; ++t) dry_positions.push_back(segment.past + t);
        }
    }

    // The first router after an attention chooses for its own layer; later ones guess for
    // the next layers.
    void draw(std::int64_t n, std::int64_t n_active, std::int32_t* experts) {
        if (dry_routed == 0) ++dry_moe_layer;
        for (std::int64_t row = 0; row < n; ++row) {
            dry(dry_moe_layer + dry_routed, dry_positions[static_cast<std::size_t>(row)], row, dry_routed > 0,
                experts + row * n_active);
        }
        ++dry_routed;
    }

    // real: the caller needs the bytes, too.
    void copy_now(void* to, const void* from, std::size_t bytes, bool real) {
        timeline.advance_host(profile.launch_us);
        timeline.submit(Queue::kCompute, profile.copy_us(static_cast<double>(bytes)));
        if (copy_fails()) {
            failure = from_outside("A copy to or from " + info.name + " failed (injected for a test).");
        } else if (bytes > 0 && real) {
            std::memcpy(to, from, bytes);
        }
    }

    void keep_pace() {
        const auto due =
            paced_since + std::chrono::duration_cast<Clock::duration>(Microseconds(timeline.now_us() - paced_since_us));
        if (due > Clock::now()) {
            std::this_thread::sleep_until(due);
        } else {  // time lost once is not made up for by hurrying later
            paced_since = Clock::now();
            paced_since_us = timeline.now_us();
        }
    }
};

// While an object of this class exists, the host computes or copies in the GPU's place,
// and its real time does not count. The time before it counts, unless the host is
// emulated as well.
class EmulatedAccelerator::InPlaceOfGpu {
  public:
    explicit InPlaceOfGpu(State& state) : state_(state) {
        if (state.info.emulated_host) return;
        state.timeline.advance_host(Microseconds(Clock::now() - state.last_left).count());
    }
    ~InPlaceOfGpu() { state_.last_left = Clock::now(); }
    InPlaceOfGpu(const InPlaceOfGpu&) = delete;
    InPlaceOfGpu& operator=(const InPlaceOfGpu&) = delete;

  private:
    State& state_;
};

EmulatedAccelerator::EmulatedAccelerator(const HardwareProfile& profile, CpuOperations& operations,
                                         std::uint64_t budget_bytes, DrawnRouting dry)
    : state_(std::make_unique<State>(profile, operations, budget_bytes, std::move(dry))) {}
EmulatedAccelerator::~EmulatedAccelerator() = default;

const HardwareProfile& EmulatedAccelerator::profile() const {
    return state_->profile;
}

void EmulatedAccelerator::set_paced(bool paced) {
    const InPlaceOfGpu guard(*state_);
    state_->paced = paced;
    state_->paced_since = Clock::now();
    state_->paced_since_us = state_->timeline.now_us();
}

const DeviceInfo& EmulatedAccelerator::info() const {
    return state_->info;
}

Arena& EmulatedAccelerator::memory() {
    return state_->arena;
}

bool EmulatedAccelerator::ok() const {
    return state_->failure.empty();
}

Message EmulatedAccelerator::failure() const {
    return state_->failure;
}

void EmulatedAccelerator::clear_failure() {
    state_->failure = {};
}

// ---------------------------------------------------------------- queues, events, clocks

void EmulatedAccelerator::upload(void* device, const void* host, std::size_t bytes) {
    const InPlaceOfGpu guard(*state_);
    state_->copy_now(device, host, bytes, !state_->dry);
}

void EmulatedAccelerator::download(void* host, const void* device, std::size_t bytes) {
    const InPlaceOfGpu guard(*state_);
    state_->copy_now(host, device, bytes, true);
}

void EmulatedAccelerator::copy_within(void* to, const void* from, std::size_t bytes) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) std::memcpy(to, from, bytes);
    state_->account(2 * static_cast<double>(bytes), 0);  // read and written
}

std::optional<DeviceEvent> EmulatedAccelerator::copy_weights(void* device, const void* host, std::size_t bytes,
                                                             DeviceEvent after) {
    const InPlaceOfGpu guard(*state_);
    state_->timeline.advance_host(state_->profile.launch_us);
    if (state_->copy_fails()) return std::nullopt;
    // All earlier work of the compute queue is done already, and copies keep their order:
    // `after` only affects the clock.
    const DeviceEvent end =
        state_->timeline.submit_timed(Queue::kCopy, state_->profile.copy_us(static_cast<double>(bytes)), after);
    if (!state_->dry) state_->copies.submit(end.ticket, device, host, bytes);
    return end;
}

DeviceEvent EmulatedAccelerator::record(DeviceEvent::Queue queue) {
    const InPlaceOfGpu guard(*state_);
    return state_->timeline.submit_timed(queue, 0);
}

void EmulatedAccelerator::wait(DeviceEvent event) {
    const InPlaceOfGpu guard(*state_);
    if (event.queue == Queue::kCompute) return;
    state_->wait_for_copies(event);
    state_->timeline.wait_in(Queue::kCompute, event);
}

void EmulatedAccelerator::host_wait(DeviceEvent event) {
    const InPlaceOfGpu guard(*state_);
    if (event.ticket == 0) return;
    state_->wait_for_copies(event);
    state_->timeline.wait(event);
    state_->timeline.advance_host(state_->profile.sync_us);
    if (state_->paced) state_->keep_pace();
}

bool EmulatedAccelerator::has_happened(DeviceEvent event) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->timeline.has_happened(event)) {
        if (state_->info.emulated_host) state_->timeline.advance_host(kPollUs);
        return false;
    }
    state_->wait_for_copies(event);
    return true;
}

double EmulatedAccelerator::now_us() {
    const InPlaceOfGpu guard(*state_);
    return state_->timeline.now_us();
}

double EmulatedAccelerator::elapsed_us(DeviceEvent begin, DeviceEvent end) {
    const auto from = state_->timeline.time_of(begin);
    const auto to = state_->timeline.time_of(end);
    return from && to ? *to - *from : 0;
}

double EmulatedAccelerator::run_on_host(std::span<const HostWork> work, const std::function<void()>& body) {
    const double begin = now_us();
    if (!state_->profile.host) {
        {
            // On a GPU the copy engine makes these copies, without time of a core; so
            // they take no CPU time here either.
            const InPlaceOfGpu guard(*state_);
            state_->wait_for_copies(state_->timeline.submit(Queue::kCopy, 0));
        }
        body();
        return now_us() - begin;
    }
    if (!state_->dry) body();
    const InPlaceOfGpu guard(*state_);
    const HostProfile& host = *state_->profile.host;
    for (const HostWork& piece : work) {
        if (piece.disk_bytes > 0) state_->timeline.advance_host(host.disk_us(piece.disk_bytes));
        const double us = std::max(piece.bytes / (host.read_gbps * 1e3), piece.flops / (host.gflops * 1e3));
        const double wanted_gbps =
            state_->profile.bus_gbps * state_->profile.bus_efficiency + (us > 0 ? piece.bytes / us / 1e3 : 0);
        state_->timeline.host_work(us, std::min(1.0, host.dram_gbps / wanted_gbps));
    }
    return state_->timeline.now_us() - begin;
}

void EmulatedAccelerator::fail_copy(int n) {
    state_->fail_in = n;
}

// ---------------------------------------------------------------- operations

void EmulatedAccelerator::set_sum_order(SumOrder order) {
    state_->operations.set_sum_order(order);
}

void EmulatedAccelerator::embed(const kernels::WeightView& table, const TokenId* tokens, std::int64_t n, float* x) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.embed(table, tokens, n, x);
    state_->dry_moe_layer = -1;  // a step begins
    state_->account(matrix_bytes(table, n) + as_double(n * table.n_cols) * 4, 0);
}

void EmulatedAccelerator::norm(const NormWeights& norm, const float* x, std::int64_t n, float* out) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.norm(norm, x, n, out);
    state_->account(as_double(n * norm.dim) * 8, 0);
}

void EmulatedAccelerator::norm_pieces(const NormWeights& norm, std::int64_t n, std::int64_t stride,
                                      std::int64_t n_pieces, float* x) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.norm_pieces(norm, n, stride, n_pieces, x);
    state_->account(as_double(n * n_pieces * norm.dim) * 8, 0);
}

void EmulatedAccelerator::add_bias(const float* bias, std::int64_t n, std::int64_t dim, float* x) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.add_bias(bias, n, dim, x);
    state_->account(as_double((2 * n + 1) * dim) * 4, 0);
}

void EmulatedAccelerator::multiply(const kernels::WeightView& weight, const float* x, std::int64_t n, float* y) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.multiply(weight, x, n, y);
    const double n_weights = as_double(weight.n_rows * weight.n_cols);
    state_->account(matrix_bytes(weight, weight.n_rows) + as_double(n * (weight.n_rows + weight.n_cols)) * 4,
                    2 * as_double(n) * n_weights);
}

void EmulatedAccelerator::add(const float* y, std::int64_t n, float* x, float factor) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.add(y, n, x, factor);
    state_->account(as_double(n) * 12, 0);
}

void EmulatedAccelerator::add_gated(const float* gate, const float* input, const float* y, std::int64_t n,
                                    std::int64_t dim, float* x) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.add_gated(gate, input, y, n, dim, x);
    state_->account(as_double((4 * n + 1) * dim) * 4, 0);
}

void EmulatedAccelerator::scale(float factor, std::int64_t n, float* x) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.scale(factor, n, x);
    state_->account(as_double(n) * 8, 0);
}

void EmulatedAccelerator::multiply_sigmoid(const float* gate, std::int64_t n, float* x) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.multiply_sigmoid(gate, n, x);
    state_->account(as_double(n) * 12, 0);
}

void EmulatedAccelerator::clamp(float limit, std::int64_t n, float* x) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.clamp(limit, n, x);
    state_->account(as_double(n) * 8, 0);
}

void EmulatedAccelerator::soft_cap(float limit, std::int64_t n, float* x) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.soft_cap(limit, n, x);
    state_->account(as_double(n) * 8, 0);
}

void EmulatedAccelerator::clear(std::int64_t n, float* x) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.clear(n, x);
    state_->account(as_double(n) * 4, 0);
}

void EmulatedAccelerator::multiply_heads(const kernels::WeightView& weight, std::int64_t n_heads, const float* x,
                                         std::int64_t x_stride, std::int64_t x_head_stride, std::int64_t n, float* y,
                                         std::int64_t y_stride, std::int64_t y_head_stride) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) {
        state_->operations.multiply_heads(weight, n_heads, x, x_stride, x_head_stride, n, y, y_stride, y_head_stride);
    }
    state_->account(matrix_bytes(weight, weight.n_rows) + as_double(n * (weight.n_rows + n_heads * weight.n_cols)) * 4,
                    2 * as_double(n) * as_double(weight.n_rows * weight.n_cols));
}

void EmulatedAccelerator::rotate_and_store(std::int64_t layer, const kernels::AttentionShape& shape,
                                           std::span<const AttentionSegment> segments, const float* cos,
                                           const float* sin, float* qkv, const kernels::KvShape& kv) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.rotate_and_store(layer, shape, segments, cos, sin, qkv, kv);
    // Queries are read and written, keys and values as well.
    const std::int64_t kv_width = shape.n_kv_heads * (shape.key_dim + shape.value_dim);
    state_->account_store(segments, 2 * (shape.query_width() + kv_width), kv.layer_token_bytes());
}

void EmulatedAccelerator::rotate_and_store_latent(std::int64_t layer, const kernels::AttentionShape& shape,
                                                  std::span<const AttentionSegment> segments, const float* cos,
                                                  const float* sin, const float* q, std::int64_t nope_dim,
                                                  float* latent, float* queries, const kernels::KvShape& kv) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) {
        state_->operations.rotate_and_store_latent(layer, shape, segments, cos, sin, q, nope_dim, latent, queries, kv);
    }
    const std::int64_t rotated = (shape.n_heads + 1) * shape.rotary_dim;
    state_->account_store(segments, 2 * rotated + shape.key_dim, kv.layer_token_bytes());
}

void EmulatedAccelerator::attend(std::int64_t layer, const kernels::AttentionShape& shape,
                                 std::span<const AttentionSegment> segments, const float* queries,
                                 std::int64_t query_stride, const kernels::KvShape& kv, float* out) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.attend(layer, shape, segments, queries, query_stride, kv, out);
    // Keys and values are read once for each sequence: a GPU's blocks of queries share
    // them in its cache.
    const std::int64_t head_width = shape.key_dim + shape.value_dim;
    double own_bytes = 0;
    double bus_bytes = 0;
    double pairs = 0;  // of a query and a key
    for (const AttentionSegment& segment : segments) {
        const std::int64_t window = shape.window > 0 ? shape.window : segment.past + segment.n_tokens;
        const std::int64_t n_keys = std::min(segment.past + segment.n_tokens, window + segment.n_tokens - 1);
        const std::int64_t in_host = keys_in_host(segment, segment.past + segment.n_tokens - n_keys);
        own_bytes +=
            as_double((n_keys - in_host) * kv.layer_token_bytes() + segment.n_tokens * shape.n_heads * head_width * 4);
        bus_bytes += as_double(in_host * kv.layer_token_bytes());
        for (std::int64_t t = 0; t < segment.n_tokens; ++t) pairs += as_double(std::min(segment.past + t + 1, window));
    }
    state_->account(own_bytes, 2 * pairs * as_double(shape.n_heads * head_width), bus_bytes);
}

void EmulatedAccelerator::delta_net(std::int64_t layer, const kernels::DeltaNetShape& shape,
                                    std::span<const AttentionSegment> segments, float* qkv, float* decay_beta,
                                    const float* z, const kernels::KvShape& kv, float* out) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.delta_net(layer, shape, segments, qkv, decay_beta, z, kv, out);
    if (state_->dry) state_->begin_layer(segments);
    // A state is read and written once in a step: a GPU keeps it in registers between
    // tokens.
    double own_bytes = 0;
    double bus_bytes = 0;
    double n_tokens = 0;
    for (const AttentionSegment& segment : segments) {
        for (std::size_t i = 0; i < segment.blocks.size(); ++i) {
            const bool in_host = !segment.in_host.empty() && segment.in_host[i] != 0;
            (in_host ? bus_bytes : own_bytes) += as_double(shape.kept_size()) * 4;
        }
        n_tokens += as_double(segment.n_tokens);
    }
    own_bytes += n_tokens * as_double(2 * shape.qkv_width() + 2 * shape.output_width()) * 4;
    const std::int64_t flops = 7 * shape.states_size() + 2 * shape.kernel_size * shape.qkv_width();
    state_->account(own_bytes, n_tokens * as_double(flops), bus_bytes);
}

void EmulatedAccelerator::copy_kv_block(const kernels::KvShape& kv, KvBlock from, kernels::KvType type, KvBlock to,
                                        std::int64_t n_tokens) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.copy_kv_block(kv, from, type, to, n_tokens);
    kernels::KvShape target = kv;
    target.type = type;
    const double read = as_double(kv.token_bytes() * n_tokens);
    const double written = as_double(target.token_bytes() * n_tokens);
    state_->account((from.in_host ? 0 : read) + (to.in_host ? 0 : written), 0,
                    (from.in_host ? read : 0) + (to.in_host ? written : 0));
}

void EmulatedAccelerator::route(const kernels::RouterSpec& spec, const kernels::RouterArrays& arrays, const float* x,
                                std::int64_t n, std::int64_t hidden_dim, std::int32_t* experts, float* weights) {
    const InPlaceOfGpu guard(*state_);
    if (state_->dry) {
        state_->draw(n, spec.n_active, experts);
    } else {
        state_->operations.route(spec, arrays, x, n, hidden_dim, experts, weights);
    }
    const std::int64_t n_experts = spec.n_experts;
    state_->account(as_double((n + n_experts) * hidden_dim) * 4, 2 * as_double(n * n_experts * hidden_dim));
}

void EmulatedAccelerator::experts(std::span<const ExpertCall> calls, const float* inputs, const std::int32_t* row_token,
                                  float* out) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.experts(calls, inputs, row_token, out);
    for (const ExpertCall& call : calls) {
        if (call.n_rows == 0) continue;
        const kernels::ExpertLayout& expert = call.weights.layout;
        const double n_weights = 3 * as_double(expert.hidden_dim * expert.ffn_dim);
        state_->account(static_cast<double>(expert.bytes()) + as_double(call.n_rows * expert.hidden_dim) * 8,
                        2 * as_double(call.n_rows) * n_weights);
    }
}

void EmulatedAccelerator::combine(const float* rows, const std::int32_t* row_of, const float* weights, std::int64_t n,
                                  std::int64_t n_active, std::int64_t hidden_dim, float* x) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.combine(rows, row_of, weights, n, n_active, hidden_dim, x);
    state_->account(as_double(n * hidden_dim * (n_active + 2)) * 4, 0);
}

}  // namespace offstage::engine
