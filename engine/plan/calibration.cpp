#include "engine/plan/calibration.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "engine/device/mirror.h"
#include "engine/device/thread_time.h"
#include "engine/error.h"
#include "engine/model/file_formats.h"
#include "engine/plan/plan_messages.h"
#include "engine/plan/repeated_time.h"
#include "engine/statistics.h"

namespace offstage::engine {
namespace {

using Clock = std::chrono::steady_clock;
using Queue = DeviceEvent::Queue;

constexpr int kFewestSamples = 6;  // if time allows
constexpr int kMostRounds = 40;
constexpr std::int64_t kLayerWise = 64;  // up to this many tokens an expert is timed among a token's n_active
constexpr int kMostCopies = 32;
constexpr int kMostRepeats = 64;
constexpr double kSteadyCallUs = 5000;
constexpr double kLongCallUs = 500;
constexpr double kSteadyBesideDeviceUs = 1000;  // less depends on it there
constexpr int kMostSteadyCalls = 512;
constexpr int kMostMends = 4;  // for costs that fall where they should rise
constexpr int kSamplesOfMend = 4;
constexpr double kLongestMendS = 0.2;
constexpr double kCheckedS = 0.03, kLongestCheckS = 0.06;
constexpr std::size_t kMostChecks = 256;
// Shares of active neurons of an expert.
constexpr double kSparseShares[] = {0.15, 0.5, 0.85};
constexpr std::size_t kFewestSparse = 24, kMostSparse = 96;
constexpr double kLeastSparseS = 0.03;
constexpr std::int64_t kSomeNeurons = 64;  // on which a theta for such a share is looked for
constexpr std::int64_t kVariedRows = 128;  // of inputs, beside those of the largest count

// With two digits at least: a tiny model's times are below a microsecond.
Decimal in_ms(double us) {
    const int below = us > 0 && us < 10 ? static_cast<int>(std::floor(std::log10(us))) : 1;
    return {us / 1000, us < 10'000 ? 4 - below : 1};
}

// Compares the time spent with the time that a part of the calibration may take.
class Allowance {
  public:
    Allowance(double seconds, bool alone) : time_(alone), seconds_(seconds) {}
    bool covers(double seconds) const { return spent() + seconds <= seconds_; }
    double spent() const { return time_.seconds(); }

  private:
    MeasuringTime time_;
    double seconds_;
};

class Calibrator {
  public:
    Calibrator(Backend& device, CpuOperations& host, const CalibrationRequest& request,
               const std::function<void(double)>& progress, std::stop_token stop)
        : device_(device),
          host_(host),
          request_(request),
          progress_(progress),
          stop_(std::move(stop)),
          layout_(on_device(request.experts.front().layout)),
          n_active_(std::clamp<std::int64_t>(request.n_active, 1, static_cast<std::int64_t>(request.experts.size()))),
          has_device_(!request.device_slots.empty() && !device.shares_host_memory()),
          is_timed_(!request.timer && !device.info().emulated_host),
          alone_(is_timed_ && !has_device_ && host.pool().n_threads() == 1) {
        const double n_weights = 3.0 * static_cast<double>(layout_.hidden_dim) * static_cast<double>(layout_.ffn_dim);
        expert_flops_ = 2 * n_weights;
        table_.expert_bytes = layout_.bytes();
        table_.device = device.info().name;
        table_.weight_type = format_name(request.format, layout_);
        table_.hidden_dim = layout_.hidden_dim;
        table_.ffn_dim = layout_.ffn_dim;
        table_.n_matrices = layout_.spec.n_matrices();
        table_.pinned = request.pinned;
        table_.emulated = device.info().emulated;
        table_.measured_at = seconds_since_1970();
    }

    // No work may still use the scratch memory when it is freed.
    ~Calibrator() {
        device_.host_wait(device_.record(Queue::kCopy));
        device_.host_wait(device_.record(Queue::kCompute));
    }
    Calibrator(const Calibrator&) = delete;
    Calibrator& operator=(const Calibrator&) = delete;

    CostTable run() {
        allocate();
        if (has_device_) {
            for (std::size_t i = 0; i < request_.device_slots.size(); ++i) copy_weights({});
            time_weight_copy(0.15 * request_.budget_s);
            report(0.15);
            time_activation_copy(0.05 * request_.budget_s);
            time_hand_over();
            report(0.2);
            table_.gpu_expert =
                time_counts(0.3 * request_.budget_s, [this](std::int64_t n) { return gpu_expert_us(n); });
            report(0.5);
        }
        table_.cpu_expert = time_counts((has_device_ ? 0.4 : 1.0) * request_.budget_s,
                                        [this](std::int64_t n) { return steady_cpu_us(n); });
        report(0.9);
        if (has_device_) time_side_by_side(0.1 * request_.budget_s);
        time_thetas(0.1 * request_.budget_s);
        report(1);
        return std::move(table_);
    }

    std::optional<CostDrift> drift_from(CostTable& kept, bool& quiet) {
        allocate();
        std::optional<CostDrift> drift;
        quiet = true;
        // Returns the time of now; 0: not measured.
        const auto check_one = [&](const Message& what, double kept_us, const auto& time_us) {
            if (drift || !(kept_us > 0)) return 0.0;
            bool disturbed = false;
            const double now_us = repeated_us(time_us, disturbed);
            quiet = quiet && !disturbed;
            if (has_drifted(kept_us, now_us, disturbed)) drift = {what, kept_us, now_us};
            return now_us;
        };
        // An accounted host answers by its profile.
        if (!kept.cpu_expert.empty()) {
            const double now_us = check_one(messages::an_expert_on_the_cpu, kept.cpu_expert.front().us,
                                            [this] { return cpu_expert_us(1, 1); });
            if (quiet && !drift) retime(kept.cpu_expert, now_us);
        }
        if (has_device_ && !kept.gpu_expert.empty()) {
            for (std::size_t i = 0; i < request_.device_slots.size(); ++i) copy_weights({});
            check_one(messages::an_expert_on_the_device, kept.gpu_expert.front().us,
                      [this] { return gpu_expert_us(1); });
            check_one(messages::an_experts_copy, kept.weight_copy_us, [this] { return weight_copy_us(); });
        }
        return drift;
    }

  private:
    static kernels::ExpertLayout on_device(kernels::ExpertLayout in_ram) {
        in_ram.interleaved = false;
        return in_ram;
    }

    void report(double part) {
        check();
        if (progress_) progress_(part);
    }

    void check() const {
        if (stop_.stop_requested()) throw Error(ErrorKind::kCancelled, messages::calibration_cancelled);
        if (!device_.ok()) {
            throw Error(ErrorKind::kInternal,
                        messages::device_failed_in_calibration(device_name(device_.info()), device_.failure()));
        }
    }

    // Allocates as many rows as the device has room for; with fewer rows, larger counts
    // are extrapolated.
    void allocate() {
        largest_ = std::max<std::int64_t>(1, request_.largest);
        for (;; largest_ /= 2) {
            n_rows_ = std::max(largest_, std::min(largest_, kLayerWise) * n_active_);
            if (!has_device_) break;
            try {
                const auto bytes = static_cast<std::size_t>(n_rows_ * layout_.hidden_dim) * sizeof(float);
                device_inputs_ = device_.memory().allocate(bytes, MemoryUse::kWorkspace, messages::calibration);
                device_outputs_ = device_.memory().allocate(bytes, MemoryUse::kWorkspace, messages::calibration);
                device_row_token_ = device_.memory().allocate(static_cast<std::size_t>(n_rows_) * sizeof(std::int32_t),
                                                              MemoryUse::kWorkspace, messages::calibration);
                break;
            } catch (const Error& error) {
                device_inputs_ = {};
                device_outputs_ = {};
                if (error.kind() != ErrorKind::kOutOfMemory || largest_ == 1) throw;
            }
        }
        try {
            const auto n = static_cast<std::size_t>(n_rows_ * layout_.hidden_dim);
            const auto varied = static_cast<std::size_t>(kVariedRows * layout_.hidden_dim);
            inputs_ = PinnedHost<float>(device_, n + varied, messages::calibration);
            outputs_ = PinnedHost<float>(device_, n, messages::calibration);
            row_token_.resize(static_cast<std::size_t>(n_rows_));
        } catch (const std::bad_alloc&) {
            throw Error(ErrorKind::kOutOfMemory, messages::no_memory_for_calibration);
        }
        // Ordinary numbers: zeros or denormals could be faster or slower than the values
        // of real use.
        std::uint32_t state = 1;
        for (float& value : std::span(inputs_.host(), inputs_.size())) {
            state = state * 1664525u + 1013904223u;
            value = static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
        }
        std::fill_n(outputs_.host(), outputs_.size(), 0.0f);  // its pages are there
        for (std::size_t i = 0; i < row_token_.size(); ++i) row_token_[i] = static_cast<std::int32_t>(i);
        if (!has_device_) return;
        device_.upload(device_inputs_.data(), inputs_.host(), outputs_.size() * sizeof(float));
        device_.upload(device_row_token_.data(), row_token_.data(), row_token_.size() * sizeof(std::int32_t));
        device_.host_wait(device_.record(Queue::kCompute));
        check();
    }

    const kernels::ExpertView& next_expert() { return request_.experts[n_used_++ % request_.experts.size()]; }
    std::byte* next_slot() { return request_.device_slots[n_slots_used_++ % request_.device_slots.size()]; }

    // Experts computed in one call, so that a call's fixed cost is divided as in a layer.
    std::int64_t n_calls(std::int64_t n_tokens) const { return n_tokens <= kLayerWise ? n_active_ : 1; }

    // ---- one measurement each, in microseconds
    DeviceEvent copy_weights(DeviceEvent after) {
        const std::optional<DeviceEvent> end = device_.copy_expert(next_slot(), next_expert(), after);
        if (!end) {
            throw Error(ErrorKind::kInternal,
                        messages::device_refused_copy_in_calibration(device_name(device_.info())));
        }
        return *end;
    }

    // From the end of one copy to the end of the next: in real use copies follow each
    // other too.
    double weight_copy_us() {
        const DeviceEvent first = copy_weights(device_.record(Queue::kCompute));
        const DeviceEvent second = copy_weights({});
        device_.host_wait(second);
        return device_.elapsed_us(first, second);
    }

    template <typename Work>
    double on_device_us(const Work& work) {
        // An operation before it, so that the queue is not idle while the work is
        // submitted.
        device_.submit(ops::Add{device_inputs_.as<float>(), 1, device_outputs_.as<float>(), 1.0f});
        const DeviceEvent begin = device_.record(Queue::kCompute);
        work();
        const DeviceEvent end = device_.record(Queue::kCompute);
        device_.host_wait(end);
        return device_.elapsed_us(begin, end);
    }

    double activation_copy_us(std::int64_t n_tokens) {
        const auto bytes = static_cast<std::size_t>(n_tokens * layout_.hidden_dim) * sizeof(float);
        return on_device_us([&] {
            device_.download(outputs_.host(), device_inputs_.data(), bytes);
            device_.upload(device_outputs_.data(), inputs_.host(), bytes);
        });
    }

    // The cost for the device of a layer's detour over the host, without the copies: from
    // the end of the work before it to the end of the first kernel after it, less the
    // time of the same work submitted all at once. As in a layer, the queue is busy when
    // the host begins to wait, and the work after the host's wait is submitted only then.
    double hand_over_us() {
        const auto bytes = static_cast<std::size_t>(layout_.hidden_dim) * sizeof(float);
        const auto round_trip_us = [&](bool by_the_host) {
            calls_.clear();
            for (std::int64_t i = 0; i < n_active_; ++i) calls_.push_back({{next_slot(), layout_}, i, 1});
            device_.submit(ops::Experts{calls_, device_inputs_.as<float>(), device_row_token_.as<std::int32_t>(),
                                        device_outputs_.as<float>()});
            const DeviceEvent begin = device_.record(Queue::kCompute);
            device_.download(outputs_.host(), device_inputs_.data(), bytes);
            if (by_the_host) device_.host_wait(device_.record(Queue::kCompute));
            device_.upload(device_outputs_.data(), inputs_.host(), bytes);
            device_.submit(ops::Add{device_inputs_.as<float>(), 1, device_outputs_.as<float>(), 1.0f});
            const DeviceEvent end = device_.record(Queue::kCompute);
            device_.host_wait(end);
            return device_.elapsed_us(begin, end);
        };
        const double at_once_us = round_trip_us(false);
        return round_trip_us(true) - at_once_us;
    }

    double gpu_expert_us(std::int64_t n_tokens) {
        const std::int64_t n = n_calls(n_tokens);
        calls_.clear();
        for (std::int64_t i = 0; i < n; ++i) {
            calls_.push_back({{next_slot(), layout_}, i * n_tokens, n_tokens});
        }
        const double us = on_device_us([&] {
            device_.submit(ops::Experts{calls_, device_inputs_.as<float>(), device_row_token_.as<std::int32_t>(),
                                        device_outputs_.as<float>()});
        });
        return us / static_cast<double>(n);
    }

    double cpu_expert_us(std::int64_t n_tokens, int repeats, float theta = 0, std::int64_t first_row = 0) {
        if (request_.timer) return request_.timer(n_tokens);
        const std::int64_t n = n_calls(n_tokens);
        const HostWork work = {static_cast<double>(repeats * n) * static_cast<double>(table_.expert_bytes),
                               static_cast<double>(repeats * n * n_tokens) * expert_flops_};
        const float* const inputs = inputs_.host() + first_row * layout_.hidden_dim;
        const auto compute = [&] {
            for (int repeat = 0; repeat < repeats; ++repeat) {
                calls_.clear();
                for (std::int64_t i = 0; i < n; ++i) {
                    calls_.push_back({next_expert(), i * n_tokens, n_tokens});
                    calls_.back().weights.layout.spec.theta = theta;
                }
                host_.run(ops::Experts{calls_, inputs, row_token_.data(), outputs_.host()});
            }
        };
        const double before = alone_ ? thread_time_us() : 0;
        double us = device_.run_on_host(work, compute);
        if (alone_) us = thread_time_us() - before;
        return us / static_cast<double>(n * repeats);
    }

    // A single short call would be affected by the work before it: sleeping threads,
    // caches full of a larger count's rows. In use, calls of its kind follow one another.
    double steady_cpu_us(std::int64_t n_tokens) {
        const auto begin = Clock::now();
        const double one_us = cpu_expert_us(n_tokens, 1);
        if (device_.info().emulated_host) return one_us;                                                 // accounted
        const double call_us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();  // real time
        const double wanted_us = has_device_ ? kSteadyBesideDeviceUs : kSteadyCallUs;
        const double calls = std::min<double>(kMostSteadyCalls, std::ceil(wanted_us / std::max(call_us, 1.0)));
        if (calls <= 1) return one_us;
        RepeatedTime time;
        for (int i = 0; i < static_cast<int>(calls); ++i) time.add(cpu_expert_us(n_tokens, 1));
        return time.us();
    }

    // ---- series of measurements
    // Repeats a measurement until the results agree. disturbed: other work interrupted
    // it.
    template <typename Measure>
    double repeated_us(const Measure& measure, bool& disturbed) {
        const Allowance allowance(kLongestCheckS, alone_);
        const double waited_before = waited();
        RepeatedTime time;
        while (time.size() < kMostChecks &&
               (time.size() < 2 || (allowance.covers(0) && (!time.is_settled() || allowance.spent() < kCheckedS)))) {
            check();
            const double us = measure();
            if (!(us > 0)) break;
            time.add(us);
        }
        disturbed = is_disturbed(1e6 * allowance.spent(), waited() - waited_before);
        return is_timed_ && !disturbed ? time.quiet_us() : time.us();
    }

    // The wait of the computing threads for a core so far; accounted times contain none.
    double waited() const { return alone_ ? own_wait_us() : is_timed_ ? waited_us() : 0; }

    // Counts 1, 2, 4 ...: the first two always, larger ones while `seconds` last; then
    // all again, until repeats agree. Counts that take longer than larger ones do are
    // repeated once more.
    template <typename Measure>
    std::vector<CostPoint> time_counts(double seconds, const Measure& measure, std::int64_t factor = 2) {
        struct Count {
            std::int64_t n_tokens = 1;
            double wall_s = 0;
            RepeatedTime time{};
        };
        const Allowance allowance(seconds, alone_);
        const double waited_at_first = waited();
        std::vector<Count> counts;
        const auto sample = [&](Count& count) {
            check();
            const double begin = allowance.spent();
            const double waited_before = waited();
            const double us = measure(count.n_tokens);
            count.wall_s = allowance.spent() - begin;
            // With many short calls the disturbed ones are outliers that are left out
            // anyway.
            const bool is_long = us > kLongCallUs;
            count.time.add(us, is_long && !alone_ ? waited() - waited_before : 0);
        };
        for (std::int64_t n = 1; n <= largest_; n *= factor) {
            if (counts.size() >= 2 && !allowance.covers(counts.back().wall_s * static_cast<double>(factor))) break;
            counts.push_back({n});
            sample(counts.back());
        }
        // On the CPU alone small experts are repeated for a while: other work disturbs
        // the machine for tenths of a second.
        const double long_enough = has_device_ ? 0 : seconds / 8;
        for (int round = 1; round < kMostRounds; ++round) {
            const bool all = round < kFewestSamples || allowance.spent() < long_enough;
            for (Count& count : counts) {
                if ((all || !count.time.is_settled()) && allowance.covers(count.wall_s)) sample(count);
            }
        }
        check();
        std::erase_if(counts, [](const Count& count) { return count.time.us() == 0; });
        const auto points = [&] {
            const bool quiet = is_timed_ && !is_disturbed(1e6 * allowance.spent(), waited() - waited_at_first);
            std::vector<CostPoint> list;
            for (const Count& count : counts)
                list.push_back({count.n_tokens, quiet ? count.time.quiet_us() : count.time.us()});
            return list;
        };
        const Allowance mending(kLongestMendS, alone_);
        for (int mend = 0; mend < kMostMends; ++mend) {
            const std::optional<FallingCost> falls = falling_cost(points());
            if (!falls) break;
            for (int i = 0; i < kSamplesOfMend; ++i) {
                for (const std::size_t at : {falls->before, falls->after}) {
                    if (mending.covers(counts[at].wall_s)) sample(counts[at]);
                }
            }
        }
        for (const Count& count : counts) table_.disturbed = table_.disturbed || count.time.all_disturbed();
        std::vector<CostPoint> rising = points();
        make_rising(rising);
        return rising;
    }

    // The share of the neurons that a theta leaves in, by a few of them.
    double share_left_in(float theta) {
        const kernels::NeuronCounts before = host_.neurons();
        calls_.clear();
        for (std::int64_t i = 0; i < n_active_; ++i) {
            kernels::ExpertView some = next_expert();
            some.layout.ffn_dim = std::min(some.layout.ffn_dim, kSomeNeurons);
            some.layout.spec.theta = theta;
            calls_.push_back({some, i, 1});
        }
        host_.run(ops::Experts{calls_, inputs_.host(), row_token_.data(), outputs_.host()});
        const auto seen = static_cast<double>(host_.neurons().neurons - before.neurons);
        return seen > 0 ? static_cast<double>(host_.neurons().active - before.active) / seen : 1;
    }

    // The time that a theta saves for an expert of one token, including the search for
    // the neurons. Alternates with measurements without a theta, so that both see the
    // same state of the machine. Other inputs each time: a processor learns which neurons
    // the same ones choose, and foresees them.
    void time_thetas(double seconds) {
        kernels::ExpertLayout layout = layout_;
        layout.spec.theta = 1;
        if (request_.timer || layout.spec.biases || table_.cpu_expert.empty() || !host_.chooses_neurons(layout, 1))
            return;
        if (device_.info().emulated_host) {
            table_.sparse_cpu = accounted_sparse_factors(layout_.spec);
            return;
        }
        const Allowance allowance(seconds, alone_);
        for (const double wanted : kSparseShares) {
            double low = 1e-9, high = 1e3;
            for (int i = 0; i < 24; ++i) {
                const double middle = std::sqrt(low * high);
                (share_left_in(static_cast<float>(middle)) > wanted ? low : high) = middle;
            }
            const auto theta = static_cast<float>(high);
            RepeatedTime with, without;
            const double last =
                allowance.spent() + std::max(kLeastSparseS, seconds / static_cast<double>(std::size(kSparseShares)));
            std::int64_t row = 0;
            const kernels::NeuronCounts before = host_.neurons();
            const auto is_settled = [&] {
                return with.size() >= kFewestSparse && with.is_settled() && without.is_settled();
            };
            while (with.size() < 2 || (with.size() < kMostSparse && allowance.spent() < last && !is_settled())) {
                check();
                without.add(cpu_expert_us(1, 1, 0, row));
                with.add(cpu_expert_us(1, 1, theta, row));
                row = (row + 1) % kVariedRows;
            }
            const auto seen = static_cast<double>(host_.neurons().neurons - before.neurons);
            const double share = static_cast<double>(host_.neurons().active - before.active) / std::max(seen, 1.0);
            if (!with.is_settled() || !without.is_settled()) {  // to be measured when the machine is quiet
                table_.disturbed = true;
                continue;
            }
            const bool ascends = table_.sparse_cpu.empty() || share > table_.sparse_cpu.back().share + 0.01;
            if (ascends) table_.sparse_cpu.push_back({share, with.us() / without.us()});
        }
    }

    void time_weight_copy(double seconds) {
        const Allowance allowance(seconds, alone_);
        RepeatedTime time;
        for (double wall_s = 0; time.size() == 0 || (time.size() < kFewestSamples && allowance.covers(wall_s));) {
            check();
            const double begin = allowance.spent();
            time.add(weight_copy_us());
            wall_s = allowance.spent() - begin;
            if (time.size() == 0) break;
        }
        table_.weight_copy_us = time.us();
    }

    void time_activation_copy(double seconds) {
        table_.activation_copy = time_counts(
            seconds, [this](std::int64_t n) { return activation_copy_us(n); }, 4);
    }

    void time_hand_over() {
        std::vector<double> us;
        for (int i = 0; i < kFewestSamples; ++i) {
            check();
            us.push_back(hand_over_us());
        }
        table_.sync_us = std::max(0.0, median(us));
    }

    // Copies and CPU experts read the same DRAM: each is timed while the other runs all
    // the time.
    void time_side_by_side(double seconds) {
        if (table_.cpu_expert.empty()) return;
        const double copy_us = table_.weight_copy_us;
        const double expert_us = table_.cpu_expert.front().us;
        const double cpu_us = expert_us * static_cast<double>(n_active_);
        if (!(copy_us > 0) || !(cpu_us > 0)) return;
        const int copies = 2 + static_cast<int>(std::min<double>(kMostCopies - 2, std::ceil(3 * cpu_us / copy_us)));
        const int repeats = 1 + static_cast<int>(std::min<double>(kMostRepeats - 1, std::ceil(5 * copy_us / cpu_us)));

        const Allowance allowance(seconds, alone_);
        std::vector<double> cpu_slowdowns;
        std::vector<double> copy_slowdowns;
        for (double wall_s = 0; cpu_slowdowns.empty() || (cpu_slowdowns.size() < 3 && allowance.covers(wall_s));) {
            check();
            const double begin = allowance.spent();
            for (int i = 0; i < copies; ++i) copy_weights({});
            cpu_slowdowns.push_back(cpu_expert_us(1, 1) / expert_us);
            device_.host_wait(device_.record(Queue::kCopy));

            const DeviceEvent first = copy_weights({});
            const DeviceEvent second = copy_weights({});
            cpu_expert_us(1, repeats);
            device_.host_wait(second);
            copy_slowdowns.push_back(device_.elapsed_us(first, second) / copy_us);
            wall_s = allowance.spent() - begin;
        }
        table_.cpu_slowdown = std::clamp(median(cpu_slowdowns), 1.0, 10.0);
        table_.copy_slowdown = std::clamp(median(copy_slowdowns), 1.0, 10.0);
    }

    Backend& device_;
    CpuOperations& host_;
    const CalibrationRequest& request_;
    const std::function<void(double)>& progress_;
    const std::stop_token stop_;
    const kernels::ExpertLayout layout_;
    const std::int64_t n_active_;
    const bool has_device_;
    const bool is_timed_;      // otherwise accounted, or a test's
    const bool alone_;         // one thread computes all: its own time counts
    double expert_flops_ = 0;  // one token
    CostTable table_;
    std::int64_t largest_ = 1, n_rows_ = 0;
    std::size_t n_used_ = 0;
    std::size_t n_slots_used_ = 0;
    DeviceBlock device_inputs_, device_outputs_, device_row_token_;
    PinnedHost<float> inputs_, outputs_;  // as a step's are
    std::vector<std::int32_t> row_token_;
    std::vector<ExpertCall> calls_;
};

}  // namespace

CostTable calibrate(Backend& device, CpuOperations& host, const CalibrationRequest& request,
                    const std::function<void(double)>& progress, std::stop_token stop) {
    if (request.experts.empty()) throw Error(ErrorKind::kInternal, messages::calibration_without_experts);
    return Calibrator(device, host, request, progress, std::move(stop)).run();
}

std::optional<CostDrift> check_costs(Backend& device, CpuOperations& host, const CalibrationRequest& request,
                                     CostTable& kept, std::stop_token stop, bool& quiet) {
    quiet = false;
    if (request.experts.empty()) return {};
    CalibrationRequest few = request;
    few.largest = 1;
    const std::function<void(double)> silent;
    return Calibrator(device, host, few, silent, std::move(stop)).drift_from(kept, quiet);
}

Message run_unlike_forecast(double took_us, double forecast_us) {
    return messages::run_unlike_its_forecast(in_ms(took_us), in_ms(forecast_us));
}

Message cost_measured_again(const CostDrift& drift) {
    return messages::kept_cost_did_not_hold(drift.what, in_ms(drift.now_us), in_ms(drift.kept_us));
}

}  // namespace offstage::engine
