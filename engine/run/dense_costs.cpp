#include "engine/run/dense_costs.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/as_size.h"
#include "engine/device/cpu_backend.h"
#include "engine/device/emulated_accelerator.h"
#include "engine/error.h"
#include "engine/model/kv_layout.h"
#include "engine/model/weights.h"
#include "engine/plan/calibration.h"
#include "engine/plan/plan_messages.h"
#include "engine/plan/repeated_time.h"
#include "engine/statistics.h"

namespace offstage::engine {
namespace {

using ProbeClock = std::chrono::steady_clock;

constexpr std::uint64_t kMeasuredBytes = std::uint64_t{512} << 20;  // of weights that are read to measure
constexpr std::uint64_t kOtherBytes = std::uint64_t{128} << 20;
constexpr std::int64_t kMeasuredVocab = 16384;
constexpr std::int64_t kMeasuredFfnDim = 64;
constexpr double kMeasuredSeconds = 2;
constexpr double kProbedUs = 10000, kLongestCheckUs = 50000;
constexpr double kLongStepUs = 1000;  // other work interrupts it nearly always, where there is some
constexpr int kFewestRounds = 4, kMostStepRounds = 12;
constexpr std::size_t kMostStepChecks = 200;
constexpr int kMostStepMends = 4;
constexpr std::int64_t kPairTokens = 256;
constexpr std::int64_t kPausedLayers = 4, kPausedPast = 128;
constexpr std::size_t kPausedSteps = 32;
constexpr double kPausedSeconds = 0.5;

// `pasts`, ascending, and where more tokens before a step stop costing as much: windows,
// and as many keys as an indexer chooses.
std::vector<std::int64_t> with_windows(const ModelSpec& spec, std::vector<std::int64_t> pasts) {
    const std::int64_t last = pasts.back();
    for (const KvGroup& group : kv_layout_of(spec, {}).groups) {
        if (group.window > 0 && group.window < DenseProbe::kLongestPast) pasts.push_back(group.window);
        if (group.window >= last) pasts.push_back(DenseProbe::kLongestPast);
    }
    std::int64_t chosen = 0;  // tokens that the most chosen keys stand for
    for (std::int64_t l = 0; l < spec.n_layers(); ++l) {
        const PooledSpec* const pooled = spec.layers[as_size(l)].pooled();
        chosen = std::max(chosen, spec.attention_shape(l).top_k * (pooled != nullptr ? pooled->key_tokens : 1));
    }
    if (chosen > 0 && chosen < DenseProbe::kLongestPast) pasts.push_back(chosen);
    if (chosen >= last) pasts.push_back(DenseProbe::kLongestPast);
    std::sort(pasts.begin(), pasts.end());
    pasts.erase(std::unique(pasts.begin(), pasts.end()), pasts.end());
    return pasts;
}

// The costs of steps by `step_us(n_tokens, past)`; nothing: no time is left for that one.
// It always returns the cost of a single token.
template <typename StepUs>
DenseCosts costs_by(const StepUs& step_us, const ModelSpec& spec, std::vector<std::int64_t> pasts) {
    DenseCosts costs;
    const auto add_steps = [&](std::initializer_list<std::int64_t> sizes) {
        for (const std::int64_t n : sizes) {
            if (const std::optional<double> us = step_us(n, 0)) costs.step.push_back({n, *us});
        }
    };
    add_steps({1, 2, 4, 8, 16});
    for (const std::int64_t past : with_windows(spec, std::move(pasts))) {
        const std::optional<double> us = step_us(1, past);
        if (us) costs.past.push_back({past, std::max(0.0, *us - costs.step.front().us)});
    }
    add_steps({32, 64, 65, 128, 256, 512});
    const std::optional<double> alone = step_us(kPairTokens, 0);
    for (const std::int64_t past : with_windows(spec, {1024})) {
        const std::optional<double> after = step_us(kPairTokens, past);
        if (alone && after)
            costs.pairs.push_back({past, std::max(0.0, *after - *alone) / static_cast<double>(kPairTokens)});
    }
    return costs;
}

// A model small enough to be measured whole: between a running step's experts the caches
// hold the same data as in a real step.
bool is_small_model(const ModelSpec& whole, kernels::WeightType type) {
    return whole.experts.expert_bytes(type) * static_cast<std::uint64_t>(whole.experts.size()) <= kOtherBytes;
}

// A part of a model, so that measuring it reads little: the first n layers, a part of the
// vocabulary, thin experts unless it is small.
ModelSpec cut(const ModelSpec& whole, std::int64_t n_layers, bool small) {
    ModelSpec spec = whole;
    spec.layers.resize(static_cast<std::size_t>(n_layers));
    spec.vocab_size = std::min(whole.vocab_size, kMeasuredVocab);
    ExpertGrid& experts = spec.experts;
    experts.n_layers = 0;
    for (const LayerSpec& layer : spec.layers) experts.n_layers += layer.moe() != nullptr ? 1 : 0;
    if (!small) {
        std::int64_t thin = kMeasuredFfnDim;
        for (const kernels::ExpertLayout& layout : experts.file_layouts) {
            if (layout.down_rows_are_outputs) thin = std::max(thin, kernels::row_multiple(layout.down));
        }
        experts.ffn_dim = std::min(whole.experts.ffn_dim, thin);
        for (kernels::ExpertLayout& layout : experts.file_layouts) layout.ffn_dim = experts.ffn_dim;
    }
    // File formats, which may differ between layers, are all set to the first layer's.
    if (!experts.file_formats.empty()) {
        experts.file_formats.assign(static_cast<std::size_t>(experts.n_layers), experts.file_formats.front());
    }
    return spec;
}

std::string shape_of(const DenseProbeModel& model) {
    std::string text;
    for (const DenseTensor& tensor : dense_tensors(model.spec)) {
        text += std::to_string(static_cast<int>(tensor.role)) + ":" + std::to_string(tensor.n_rows) + "x" +
                std::to_string(tensor.n_cols) + " ";
    }
    for (std::int64_t l = 0; l < model.spec.n_layers(); ++l) {
        const kernels::AttentionShape shape = model.spec.attention_shape(l);
        text += std::to_string(shape.window) + "," + std::to_string(shape.top_k) + " ";
    }
    return std::to_string(std::hash<std::string>()(text)) + " top " + std::to_string(model.spec.experts.n_active) +
           " kv " + std::to_string(static_cast<int>(model.kv)) +
           (model.dense ? std::string(" in ") + kernels::name_of(*model.dense) : std::string());
}

std::string dense_key(const DenseProbeModel& model, const CostPlace& place) {
    const ModelSpec& spec = model.spec;
    return cost_key(place, model.type, spec.experts) + "|dense, steps of other tokens, " + shape_of(model);
}

// The part of a model's dense weights that is measured: some layers of a large one.
struct DenseExtent {
    bool small = false;
    std::int64_t n_layers = 0;  // measured layers
    // The first layers are measured separately too: left-out layers cost as much as the
    // layers after these.
    std::int64_t n_first = 0;
    std::size_t other_bytes = 0;  // read between two steps, in place of a token's experts
    double more_vocab = 0;        // the head's rows left out, divided by the measured rows

    bool cuts_layers() const { return n_first < n_layers; }
};

DenseExtent extent_of(const DenseProbeModel& model) {
    const ModelSpec& whole = model.spec;
    DenseExtent extent;
    extent.small = is_small_model(whole, model.type);
    const std::uint64_t layer_bytes =
        std::max<std::uint64_t>(1, dense_bytes_in(cut(whole, whole.n_layers(), extent.small), model.type) /
                                       static_cast<std::uint64_t>(whole.n_layers()));
    const auto many = static_cast<std::int64_t>(kMeasuredBytes / layer_bytes);
    extent.n_layers = std::min(whole.n_layers(), std::max<std::int64_t>(4, many));
    const bool cuts = extent.n_layers < whole.n_layers();
    extent.n_first = cuts ? std::max<std::int64_t>(1, extent.n_layers / 2) : extent.n_layers;
    if (!extent.small) {
        const std::uint64_t of_token = whole.experts.expert_bytes(model.type) *
                                       static_cast<std::uint64_t>(whole.experts.n_layers * whole.experts.n_active);
        extent.other_bytes = static_cast<std::size_t>(std::min<std::uint64_t>(kOtherBytes, of_token));
    }
    extent.more_vocab =
        static_cast<double>(whole.vocab_size) / static_cast<double>(std::min(whole.vocab_size, kMeasuredVocab)) - 1;
    return extent;
}

// Times steps of the first n layers. A repeated request for the same step adds to its
// earlier times.
class DenseTimes {
  public:
    DenseTimes(const DenseProbeModel& model, const DenseExtent& extent, std::int64_t n_layers, Backend& device,
               CpuOperations& operations, const std::stop_token& stop)
        : timer_(model.timer),
          stop_(stop),
          make_probe_([=, &model, &device, &operations] {
              return std::make_unique<DenseProbe>(model, cut(model.spec, n_layers, extent.small), device, operations,
                                                  false);
          }),
          alone_(operations.pool().n_threads() == 1 ? dynamic_cast<CpuBackend*>(&device) : nullptr),
          probe_(make_probe_()),
          others_(extent.other_bytes / sizeof(std::uint64_t)) {
        if (timer_ || extent.more_vocab == 0) return;
        RepeatedTime head;
        while (head.size() < 5 || (head.size() < DenseProbe::kMostTimes && !head.is_settled()))
            head.add(std::max(probe_->head_us(), DenseProbe::kLeastUs));
        more_head_us_ = head.us() * extent.more_vocab;
    }

    // goes_on: whether there is time for another, after so many and so long in sum.
    double step_us(std::int64_t n_tokens, std::int64_t past,
                   const std::function<bool(const RepeatedTime& time, double spent_us)>& goes_on) {
        RepeatedTime& time = times_[{n_tokens, past}];
        const std::size_t before = time.size();
        double spent_us = 0;
        do {
            if (stop_.stop_requested()) throw Error(ErrorKind::kCancelled, messages::calibration_cancelled);
            std::fill(others_.begin(), others_.end(), time.size() + 1);
            const bool own_time = alone_ != nullptr && time.us() > kLongStepUs;
            if (alone_ != nullptr) alone_->use_thread_time(own_time);
            const double waited_before = waited();
            const double us = timer_ ? timer_(n_tokens, past) : probe_->step_us(n_tokens, past);
            if (alone_ != nullptr) alone_->use_thread_time(false);
            time.add(std::max(us, DenseProbe::kLeastUs), own_time ? 0 : waited() - waited_before);
            spent_us += us;
        } while (time.size() < before + 2 || goes_on(time, spent_us));
        return us_of(time) + more_head_us_;
    }
    double guess_us() { return probe_->guess_us(); }
    // The next steps find all weights at other places of memory, which caches serve
    // better or worse: by a third in one of ten cases.
    void renew() {
        if (timer_) return;
        probe_.reset();
        probe_ = make_probe_();
    }
    void forget() { times_.clear(); }
    // Whether other work disturbed every measurement of such a step.
    bool is_disturbed(std::int64_t n_tokens, std::int64_t past) const {
        const auto found = times_.find({n_tokens, past});
        return found != times_.end() && found->second.all_disturbed();
    }
    bool is_settled(std::int64_t n_tokens, std::int64_t past) const { return times_.at({n_tokens, past}).is_settled(); }
    // Of what was timed so far.
    std::optional<double> known_us(std::int64_t n_tokens, std::int64_t past) const {
        const auto found = times_.find({n_tokens, past});
        return found != times_.end() ? std::optional(us_of(found->second) + more_head_us_) : std::nullopt;
    }
    // The wait of the computing threads for a core so far.
    double waited() const { return timer_ ? 0 : alone_ != nullptr ? own_wait_us() : waited_us(); }

  private:
    double us_of(const RepeatedTime& time) const {
        const std::chrono::duration<double, std::micro> us = ProbeClock::now() - begin_;
        return timer_ || engine::is_disturbed(us.count(), waited() - waited_before_) ? time.us() : time.quiet_us();
    }

    const StepTimer& timer_;
    const std::stop_token& stop_;
    const std::function<std::unique_ptr<DenseProbe>()> make_probe_;
    CpuBackend* const alone_;  // the device, if one thread computes all: its own time counts
    std::unique_ptr<DenseProbe> probe_;
    std::vector<std::uint64_t> others_;
    double more_head_us_ = 0;
    std::map<std::pair<std::int64_t, std::int64_t>, RepeatedTime> times_;
    const ProbeClock::time_point begin_ = ProbeClock::now();
    const double waited_before_ = waited();
};

// Times steps of one token as in a measurement; false: the stored costs do not hold.
// Without memory for it, they do. Where no other work came between, `kept` gets the time
// of now.
bool dense_costs_hold(const DenseProbeModel& model, DenseCosts& kept, Backend& device, CpuOperations& operations,
                      const MeasurementStore& cache, const std::stop_token& stop) {
    const DenseExtent extent = extent_of(model);
    try {
        DenseTimes times(model, extent, extent.n_layers, device, operations, stop);
        const double kept_us = extent.cuts_layers() ? kept.check_us : kept.step.front().us;
        bool is_first = true, quiet = false;
        const auto check = [&](bool& was_quiet) -> std::optional<CostDrift> {
            if (!std::exchange(is_first, false)) times.renew();
            times.forget();
            const double waited_before = times.waited();
            double all_us = 0;
            const double now_us = times.step_us(1, 0, [&](const RepeatedTime& time, double spent_us) {
                all_us = spent_us;
                return spent_us < kLongestCheckUs && time.size() < kMostStepChecks &&
                       (!time.is_settled() || spent_us < kProbedUs);
            });
            was_quiet = !is_disturbed(all_us, times.waited() - waited_before);
            if (has_drifted(kept_us, now_us, !was_quiet)) {
                return CostDrift{messages::a_token_beside_its_experts, kept_us, now_us};
            }
            if (was_quiet) retime(kept.step, kept.step.front().us * now_us / kept_us);
            return {};
        };
        const std::optional<CostDrift> drift = lasting_drift(check, quiet);
        if (drift) cache.add_note(cost_measured_again(*drift));
        return !drift && !(kept.disturbed && quiet);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory) throw;
        return true;
    }
}

// Points that take longer than a point of more tokens are timed again; remaining
// differences are noise.
void mend(std::vector<CostPoint>& points, const std::function<std::optional<double>(std::int64_t)>& time_again) {
    for (int i = 0; i < kMostStepMends; ++i) {
        const std::optional<FallingCost> falls = falling_cost(points);
        if (!falls) break;
        for (const std::size_t at : {falls->before, falls->after}) {
            if (const auto us = time_again(points[at].n_tokens)) points[at].us = *us;
        }
    }
    make_rising(points);
}

DenseCosts measured_dense(const DenseProbeModel& model, Backend& device, CpuOperations& operations,
                          const std::stop_token& stop) {
    const ModelSpec& whole = model.spec;
    const DenseExtent extent = extent_of(model);
    const MeasuringTime time_taken(operations.pool().n_threads() == 1 && device.shares_host_memory());
    const auto elapsed = [&] { return time_taken.seconds(); };
    const auto measure = [&](std::int64_t n, double seconds) {
        DenseTimes times(model, extent, n, device, operations, stop);
        // All steps in turn, several times: other work disturbs the machine for a while.
        // Short steps go on each time, as a thread that lost its core finds cold caches.
        bool settled = true;
        double last = 2 * seconds;  // until then steps of many tokens are timed
        const auto goes_on = [&](const RepeatedTime& time, double spent_us) {
            if (elapsed() >= seconds) return time.size() < 3 && elapsed() < 2 * seconds;
            return spent_us < kProbedUs;
        };
        const auto step_us = [&](std::int64_t n_tokens, std::int64_t past) -> std::optional<double> {
            if (n_tokens > 1 && elapsed() > last) return times.known_us(n_tokens, past);
            const double us = times.step_us(n_tokens, past, goes_on);
            settled = settled && times.is_settled(n_tokens, past);
            return us;
        };
        DenseCosts measured = costs_by(step_us, whole, {512, 2048});
        last = seconds;
        for (int round = 1; elapsed() < seconds && round < (settled ? kFewestRounds : kMostStepRounds); ++round) {
            settled = true;
            if (extent.small) times.renew();
            measured = costs_by(step_us, whole, {512, 2048});
        }
        last = 2 * seconds;
        const bool pairs_disturbed =
            times.is_disturbed(kPairTokens, 0) ||
            std::any_of(measured.pairs.begin(), measured.pairs.end(),
                        [&](const CostPoint& point) { return times.is_disturbed(kPairTokens, point.n_tokens); });
        if (pairs_disturbed) measured.pairs.clear();
        measured.disturbed = measured.disturbed || pairs_disturbed;
        mend(measured.step, [&](std::int64_t n_tokens) { return step_us(n_tokens, 0); });
        // Relative to the corrected step of one token.
        for (CostPoint& point : measured.past) {
            if (const auto us = step_us(1, point.n_tokens)) point.us = std::max(0.0, *us - measured.step.front().us);
        }
        mend(measured.past, [&](std::int64_t past) -> std::optional<double> {
            const auto us = step_us(1, past);
            return us ? std::optional(std::max(0.0, *us - measured.step.front().us)) : us;
        });
        // Steps that were always disturbed take no less than undisturbed ones of fewer
        // tokens, and at most in proportion.
        const auto bound = [&](std::vector<CostPoint>& points, const auto& never_alone) {
            const CostPoint* alone = nullptr;
            for (CostPoint& point : points) {
                if (!never_alone(point.n_tokens)) {
                    alone = &point;
                    continue;
                }
                measured.disturbed = true;
                if (alone == nullptr) continue;
                const double share = static_cast<double>(point.n_tokens) / static_cast<double>(alone->n_tokens);
                point.us = std::clamp(point.us, alone->us, alone->us * share);
            }
        };
        bound(measured.step, [&](std::int64_t n_tokens) { return times.is_disturbed(n_tokens, 0); });
        bound(measured.past, [&](std::int64_t past) { return times.is_disturbed(1, past); });
        make_rising(measured.pairs);
        measured.guess_us = times.guess_us();
        return measured;
    };
    DenseCosts costs = measure(extent.n_layers, kMeasuredSeconds);
    costs.check_us = costs.step.front().us;
    if (extent.cuts_layers()) {
        const DenseCosts first = measure(extent.n_first, 2 * kMeasuredSeconds);
        const double more = static_cast<double>(whole.n_layers() - extent.n_layers) /
                            static_cast<double>(extent.n_layers - extent.n_first);
        const auto extend = [more](double& us, double first_us) { us += std::max(0.0, us - first_us) * more; };
        extend(costs.guess_us, first.guess_us);
        costs.disturbed = costs.disturbed || first.disturbed;
        for (const auto list : {&DenseCosts::step, &DenseCosts::past, &DenseCosts::pairs}) {
            std::vector<CostPoint>& points = costs.*list;
            points.resize(std::min(points.size(), (first.*list).size()));
            for (std::size_t i = 0; i < points.size(); ++i) extend(points[i].us, (first.*list)[i].us);
            make_rising(points);
        }
    }
    costs.n_active = whole.experts.n_active;
    costs.measured_at = seconds_since_1970();
    return costs;
}

}  // namespace

DenseCosts account_dense(const DenseProbeModel& model, const HardwareProfile& profile) {
    kernels::ThreadPool pool(1);
    CpuOperations operations(pool, kernels::GemmMode::kF32);  // it has nothing to do
    HardwareProfile gpu = profile;
    gpu.host = HostProfile{"none", 1, 1, 1};  // nothing runs there; the real host's time is not to count
    const std::int64_t n_experts = model.spec.experts.n_experts;
    const std::int64_t n_active = model.spec.experts.n_active;
    EmulatedAccelerator device(gpu, operations, DenseProbe::kPlentyBytes,
                               [=](std::int64_t, std::int64_t, std::int64_t row, bool, std::int32_t* experts) {
                                   for (std::int64_t i = 0; i < n_active; ++i)
                                       experts[i] = static_cast<std::int32_t>((row * n_active + i) % n_experts);
                               });
    DenseProbe probe(model, model.spec, device, operations, true);
    const auto step_us = [&](std::int64_t n, std::int64_t past) { return std::optional(probe.step_us(n, past)); };
    DenseCosts costs = costs_by(step_us, model.spec, {256, 1024, DenseProbe::kLongestPast});
    costs.n_active = n_active;
    probe.set_guessing(true);
    costs.guess_us = std::max(0.0, probe.step_us(1, 0) - costs.step.front().us);
    return costs;
}

std::optional<DenseCosts> known_dense_costs(const DenseProbeModel& model, const CostPlace& place,
                                            const HardwareProfile* emulated, const MeasurementStore& cache) {
    if (emulated != nullptr) return account_dense(model, *emulated);
    DenseCosts costs;
    if (!cache.load(dense_key(model, place), costs)) return {};
    costs.n_active = model.spec.experts.n_active;
    return costs;
}

bool doubt_dense_costs(const DenseProbeModel& model, const CostPlace& place, const MeasurementStore& cache) {
    return raise_doubt<DenseCosts>(dense_key(model, place), cache);
}

PausedLayers measure_paused_layers(const DenseProbeModel& model, CpuOperations& operations,
                                   const std::function<void(bool first)>& pause, const std::stop_token& stop) {
    const bool small = is_small_model(model.spec, model.type);
    const ModelSpec spec =
        cut(model.spec, small ? model.spec.n_layers() : std::min(kPausedLayers, model.spec.n_layers()), small);
    try {
        CpuBackend cpu(operations.pool(), operations.form(), DenseProbe::kPlentyBytes);
        DenseProbe probe(model, spec, cpu, operations, false, pause);
        std::vector<double> with, without, pause_us;
        const auto begin = ProbeClock::now();
        const auto elapsed = [&] { return std::chrono::duration<double>(ProbeClock::now() - begin).count(); };
        while (with.size() < kPausedSteps && (with.size() < 3 || elapsed() < kPausedSeconds)) {
            for (const bool on : {false, true}) {
                if (stop.stop_requested()) return {};
                probe.pause_layers(on);
                const double us = probe.whole_step_us(1, kPausedPast);
                const std::vector<double>& paused = probe.pauses_us();
                const double all_us = std::accumulate(paused.begin(), paused.end(), 0.0);
                (on ? with : without).push_back(us - all_us);
                if (paused.size() > 1) {
                    pause_us.push_back((all_us - paused.front()) / static_cast<double>(paused.size() - 1));
                }
            }
        }
        with.erase(with.begin());
        without.erase(without.begin());
        const auto n_layers = static_cast<double>(spec.experts.n_layers);
        const double with_us = median(with);
        return {std::max(0.0, with_us - median(without)) / n_layers, with_us / n_layers,
                pause_us.empty() ? 0 : median(pause_us)};
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory) throw;
        return {};
    }
}

DenseCosts dense_costs(const DenseProbeModel& model, Backend& device, CpuOperations& operations,
                       const MeasurementStore& cache, const std::stop_token& stop, bool anew, bool checks) {
    if (const auto* emulated = dynamic_cast<const EmulatedAccelerator*>(&device))
        return account_dense(model, emulated->profile());
    CpuBackend cpu(operations.pool(), operations.form(), DenseProbe::kPlentyBytes);  // beside the budget
    Backend& where = device.shares_host_memory() ? cpu : device;
    const CostPlace place = place_of(where, operations);
    try {
        return kept_or_measured(
            known_dense_costs(model, place, nullptr, cache), anew || checks,
            [&](DenseCosts& kept) { return !anew && dense_costs_hold(model, kept, where, operations, cache, stop); },
            [&](CostDoubt doubt) {
                DenseCosts costs = measured_dense(model, where, operations, stop);
                costs.doubt = doubt;
                cache.store(dense_key(model, place), costs);
                return costs;
            });
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory) throw;
        return {};
    }
}

}  // namespace offstage::engine
