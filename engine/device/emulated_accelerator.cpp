#include "engine/device/emulated_accelerator.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "engine/device/device_messages.h"
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

// Copies an expert's block out of, or (`back`) into, memory where its rows are
// interleaved.
void copy_rows(std::byte* to, const std::byte* from, const kernels::ExpertLayout& interleaved, bool back) {
    kernels::for_parts(interleaved, [&](const kernels::ExpertPart& part) {
        const std::size_t step = part.is_interleaved() ? part.strip_bytes() : part.bytes;
        for (std::size_t at = part.begin; at < part.begin + part.bytes; at += step) {
            if (part.is_interleaved()) {
                kernels::interleave_rows(part.type, part.n_cols, from + at, to + at, !back);
            } else {
                std::memcpy(to + at, from + at, step);
            }
        }
    });
}

// Copies between host memory and "device" memory in order, on its own thread.
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
    void submit(std::uint64_t ticket, std::function<void()> copy) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return jobs_.size() < kQueuedCopies; });
        jobs_.push_back({ticket, std::move(copy)});
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
        std::function<void()> copy;
    };

    void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
            if (stopping_) return;           // no caller can wait for the remaining jobs
            const Job& job = jobs_.front();  // others are only added behind it
            lock.unlock();
            job.copy();
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

}  // namespace

DeviceInfo emulated_info(const HardwareProfile& profile) {
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

MessageArgument device_name(const DeviceInfo& info) {
    if (!info.name.ends_with(kEmulatedEnding)) return info.name;
    return messages::emulated_device(info.name.substr(0, info.name.size() - kEmulatedEnding.size()));
}

struct EmulatedAccelerator::State {
    const HardwareProfile profile;
    CpuOperations& operations;
    const DrawnRouting dry;
    std::int64_t dry_moe_layer = -1;            // the layer whose router ran last, counting only layers with experts
    int dry_routed = 0;                         // routers that have run since the last attention
    std::vector<std::int64_t> dry_positions{};  // positions of the step's rows
    std::map<const std::int32_t*, std::int64_t> dry_choices{};  // drawn choices, by where they lie: how many
    Timeline timeline{};
    CopyThread copies{};
    Clock::time_point last_left = Clock::now();  // when the host last continued its own work
    bool paced = false;
    Clock::time_point paced_since{};
    double paced_since_us = 0;

    void wait_for_copies(DeviceEvent event) {
        if (event.queue == Queue::kCopy) copies.wait(event.ticket);
    }

    // Accounts one kernel on the compute queue; the host's part is its launch.
    void account(const ops::Cost& cost) {
        timeline.advance_host(profile.launch_us);
        const double bus_us = cost.bus_bytes / (profile.bus_gbps * profile.bus_efficiency * 1e3);
        timeline.submit(Queue::kCompute,
                        std::max(profile.operation_us(cost.bytes, cost.flops), profile.launch_us + bus_us));
    }
    template <typename Op>
    void account_operation(const Op& op) {
        account(op.cost());
    }
    void account_operation(const ops::Experts& op) {
        for (const ExpertCall& call : op.calls) {
            if (call.n_rows > 0) account(ops::Experts::cost_of(call));
        }
    }

    // What of an operation happens in a dry run: which layer comes next, and the choice
    // of experts.
    template <typename Op>
    void run_dry(const Op&) {}
    void run_dry(const ops::Embed&) { dry_moe_layer = -1; }  // a step begins
    void run_dry(const ops::RotateAndStore& op) { begin_layer(op.segments); }
    void run_dry(const ops::RotateAndStoreLatent& op) { begin_layer(op.segments); }
    void run_dry(const ops::DeltaNet& op) { begin_layer(op.segments); }
    void run_dry(const ops::Mamba2& op) { begin_layer(op.segments); }
    void run_dry(const ops::GatedConvolution& op) { begin_layer(op.segments); }
    void run_dry(const ops::Route& op) { draw(op.n, op.spec.n_active, op.experts); }

    void begin_layer(kernels::Span<AttentionSegment> segments) {
        dry_routed = 0;
        dry_positions.clear();
        for (const AttentionSegment& segment : segments) {
            for (std::int64_t t = 0; t < segment.n_tokens; ++t) dry_positions.push_back(segment.past + t);
        }
    }

    // The first router after an attention chooses for its own layer; later ones guess for
    // the next layers.
    void draw(std::int64_t n, std::int64_t n_active, std::int32_t* experts) {
        std::int64_t& n_drawn = dry_choices[experts];
        n_drawn = std::max(n_drawn, n * n_active);
        if (dry_routed == 0) ++dry_moe_layer;
        for (std::int64_t row = 0; row < n; ++row) {
            dry(dry_moe_layer + dry_routed, dry_positions[static_cast<std::size_t>(row)], row, dry_routed > 0,
                experts + row * n_active);
        }
        ++dry_routed;
    }

    // Whether a dry run has written anything there.
    bool has_choices(const void* memory, std::size_t bytes) const {
        const auto* const begin = static_cast<const std::byte*>(memory);
        return std::any_of(dry_choices.begin(), dry_choices.end(), [&](const auto& choices) {
            const auto* const first = reinterpret_cast<const std::byte*>(choices.first);
            return first < begin + bytes && begin < first + choices.second * std::int64_t{sizeof(std::int32_t)};
        });
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
        if (state.profile.host) return;
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
    : HostBackend(emulated_info(profile), device_name(emulated_info(profile)), budget_bytes,
                  dry ? std::make_unique<AddressSpace>() : nullptr),
      state_(new State{profile, operations, std::move(dry)}) {
    assert(!state_->dry || profile.host.has_value());
}
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

// ---------------------------------------------------------------- queues, events, clocks

void EmulatedAccelerator::copy_now(void* to, const void* from, std::size_t bytes, bool real) {
    const InPlaceOfGpu guard(*state_);
    state_->timeline.advance_host(state_->profile.launch_us);
    state_->timeline.submit(Queue::kCompute, state_->profile.copy_us(static_cast<double>(bytes)));
    copy(to, from, bytes, real);
}

void EmulatedAccelerator::upload(void* device, const void* host, std::size_t bytes) {
    copy_now(device, host, bytes, !state_->dry);
}

void EmulatedAccelerator::download(void* host, const void* device, std::size_t bytes) {
    copy_now(host, device, bytes, !state_->dry || state_->has_choices(device, bytes));
}

void EmulatedAccelerator::copy_within(void* to, const void* from, std::size_t bytes) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) std::memcpy(to, from, bytes);
    state_->account({2 * static_cast<double>(bytes)});  // read and written
}

std::optional<DeviceEvent> EmulatedAccelerator::copy_weights(void* device, const void* host, std::size_t bytes,
                                                             DeviceEvent after) {
    return begin_copy(state_->profile.copy_us(static_cast<double>(bytes)), after, [=] {
        if (bytes > 0) std::memcpy(device, host, bytes);
    });
}

std::optional<DeviceEvent> EmulatedAccelerator::copy_interleaved(void* to, const void* from,
                                                                 const kernels::ExpertLayout& on_host, bool back,
                                                                 DeviceEvent after) {
    return begin_copy(state_->profile.strips_copy_us(static_cast<double>(on_host.bytes())), after, [=] {
        copy_rows(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), on_host, back);
    });
}

std::optional<DeviceEvent> EmulatedAccelerator::begin_copy(double us, DeviceEvent after, std::function<void()> copy) {
    const InPlaceOfGpu guard(*state_);
    state_->timeline.advance_host(state_->profile.launch_us);
    if (copy_fails()) return std::nullopt;
    // All earlier work of the compute queue is done already, and copies keep their order:
    // `after` only affects the clock.
    const DeviceEvent end = state_->timeline.submit_timed(Queue::kCopy, us, after);
    if (!state_->dry) state_->copies.submit(end.ticket, std::move(copy));
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
        if (state_->profile.host) state_->timeline.advance_host(kPollUs);
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

// ---------------------------------------------------------------- operations

void EmulatedAccelerator::set_sum_order(SumOrder order) {
    state_->operations.set_sum_order(order);
}

void EmulatedAccelerator::submit(const ops::Operation& operation) {
    const InPlaceOfGpu guard(*state_);
    if (!state_->dry) state_->operations.run(operation);
    operation.visit_parts([this](const auto& op) {
        if (state_->dry) state_->run_dry(op);
        state_->account_operation(op);
    });
}

}  // namespace offstage::engine
