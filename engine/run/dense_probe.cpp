#include "engine/run/dense_probe.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/cpu_backend.h"
#include "engine/device/emulated_accelerator.h"
#include "engine/device/host_memory.h"
#include "engine/dispatch/dispatcher.h"
#include "engine/dispatch/expert_executor.h"
#include "engine/error.h"
#include "engine/experts/expert_store.h"
#include "engine/model/fingerprint.h"
#include "engine/model/weights.h"
#include "engine/plan/calibration.h"
#include "engine/plan/plan_messages.h"
#include "engine/quant/expert_source.h"
#include "engine/quant/random_rows.h"
#include "engine/run/device_weights.h"
#include "engine/run/forward.h"
#include "engine/run/kv_cache.h"
#include "engine/run/layers/router.h"
#include "engine/statistics.h"

namespace offstage::engine {
namespace {

using ProbeClock = std::chrono::steady_clock;

constexpr std::uint64_t kPlentyBytes = std::uint64_t{1} << 44;      // of addresses
constexpr std::uint64_t kMeasuredBytes = std::uint64_t{512} << 20;  // of weights that are read to measure
constexpr std::uint64_t kOtherBytes = std::uint64_t{128} << 20;
constexpr std::int64_t kMeasuredVocab = 16384;
constexpr std::int64_t kMeasuredFfnDim = 64;
constexpr double kMeasuredSeconds = 2;
constexpr double kProbedUs = 10000;
constexpr std::int64_t kPausedLayers = 4, kPausedPast = 128;
constexpr std::size_t kPausedSteps = 32;
constexpr double kPausedSeconds = 0.5;

// Weights of a model's shapes: vectors of ones, matrices of random numbers, or of nothing
// where nothing is computed.
class ProbeWeights final : public WeightSource {
  public:
    ProbeWeights(const DenseProbeModel& model, const ModelSpec& spec, bool dry)
        : spec_(spec), type_(model.type), dense_(model.dense), dry_(dry) {}

    kernels::WeightType expert_type() const override { return type_; }
    std::uint64_t dense_bytes() const override { return dense_bytes_in(spec_, type_); }
    void watch(BytesProgressFn, std::stop_token) override {}
    void advance() override {}

    DenseWeights load_dense(Arena& host) override {
        DenseWeights weights;
        for (const DenseTensor& tensor : dense_tensors(spec_)) {
            DenseWeight weight;
            weight.what = tensor;
            if (tensor.kind == DenseTensor::Kind::kVector) {
                weight.values.assign(static_cast<std::size_t>(tensor.n_weights()), 1.0f);
                if (tensor.role == TensorRole::kDecayRate) weight.values.assign(weight.values.size(), -1.0f);
                if (tensor.role == TensorRole::kRouter && !dry_) {
                    std::mt19937 random(7);
                    for (float& value : weight.values) value = static_cast<float>(random() >> 8) * 0x1p-24f - 0.5f;
                }
            } else {
                const kernels::WeightType stored = tensor.stored_type(type_);
                const bool packed = dense_.has_value() && is_quantized_to(tensor, stored, *dense_);
                if (!packed && tensor.kind == DenseTensor::Kind::kNetwork) {
                    const kernels::ExpertLayout layout = tensor.stored_network(type_);
                    weight.matrix = Matrix(host, layout, messages::measuring);
                    if (!dry_) fill_random_expert(layout, weight.matrix.memory.data());
                } else {
                    weight.matrix =
                        Matrix(host, packed ? *dense_ : stored, tensor.n_rows, tensor.n_cols, messages::measuring);
                    fill(weight.matrix.type, weight.matrix.memory.data(), weight.bytes(), tensor.n_cols);
                }
            }
            weights.tensors.push_back(std::move(weight));
        }
        return weights;
    }

    void pack_expert(LayerIndex, ExpertIndex, std::byte* block, kernels::ThreadPool&) override {
        if (!dry_) fill_random_expert(spec_.experts.layout(type_), block);
    }

  private:
    void fill(kernels::WeightType type, std::byte* out, std::size_t bytes, std::int64_t n_cols) const {
        if (dry_) return;
        const std::vector<std::byte> rows = random_rows(type, n_cols);
        for (std::size_t at = 0; at < bytes; at += rows.size())
            std::memcpy(out + at, rows.data(), std::min(rows.size(), bytes - at));
    }

    const ModelSpec& spec_;
    kernels::WeightType type_;
    std::optional<kernels::WeightType> dense_;
    bool dry_;
};

// Computes nothing: behind each layer's experts it calls what it was given, and counts what that takes.
class LayerPauses final : public ElsewhereExecutor {
  public:
    explicit LayerPauses(const std::function<void(bool first)>& pause) : pause_(pause) {}
    // Of the next token.
    void set_on(bool on) {
        on_ = on;
        us_.clear();
    }
    // Of the token's pauses.
    const std::vector<double>& us() const { return us_; }

    bool takes(std::int64_t, std::int64_t) const override { return false; }
    double expert_us(kernels::WeightType, std::int64_t) const override { return kNever; }
    double transfer_us(std::int64_t) const override { return kNever; }
    bool needs_host_inputs() const override { return false; }
    void submit(LayerWork&, std::span<const std::size_t>) override {}
    void complete(LayerWork&, std::span<const std::size_t>) override {
        if (!on_) return;
        const auto begin = ProbeClock::now();
        pause_(us_.empty());
        us_.push_back(std::chrono::duration<double, std::micro>(ProbeClock::now() - begin).count());
    }

  private:
    static constexpr double kNever = 1e15;
    const std::function<void(bool first)>& pause_;
    bool on_ = false;
    std::vector<double> us_;
};

// Enough of a model to make steps with, on a device.
class DenseProbe {
  public:
    static constexpr std::int64_t kMostTokens = 512;
    static constexpr std::int64_t kLongestPast = 4096;

    // spec: the model's, or less of it.
    DenseProbe(const DenseProbeModel& model, ModelSpec spec, Backend& device, CpuOperations& operations, bool dry)
        : spec_(std::move(spec)),
          device_(device),
          ram_("RAM", dry ? static_cast<MemorySource&>(addresses_) : host_memory_, kPlentyBytes),
          source_(model, spec_, dry),
          expert_source_(spec_.experts, source_, nullptr),
          plan_(plan()),
          weights_(source_.load_dense(own_memory()), spec_.n_layers(), device, operations),
          experts_(spec_.experts, expert_source_, plan_, device, own_memory(), operations.pool(), options(dry)),
          kv_(kv_layout_of(spec_, model.kv), rooms(), device, own_memory()),
          cost_(table()),
          dispatcher_(cost_, {PolicyKind::kBalanced, PolicyKind::kBalanced, false}),
          forward_(spec_, weights_, experts_, device, operations, dispatcher_, plan_.max_step, plan_.context) {
        dispatcher_.set_prefetch(PrefetchMode::kOff);
        tokens_.resize(static_cast<std::size_t>(kMostTokens));
        for (std::size_t i = 0; i < tokens_.size(); ++i) {
            tokens_[i] = static_cast<TokenId>(i * 37 % static_cast<std::size_t>(spec_.vocab_size));
        }
    }

    // One step of n tokens after `past` others, without the time of its routed experts.
    double step_us(std::int64_t n_tokens, std::int64_t past) {
        const double us = whole_step_us(n_tokens, past);
        return std::max(0.0, us - dispatcher_.totals().gpu_us - dispatcher_.totals().cpu_us);
    }
    // And with it.
    double whole_step_us(std::int64_t n_tokens, std::int64_t past) {
        past = std::min(past, kLongestPast);
        KvSequence sequence(kv_, plan_.context);
        if (past > 0 && sequence.prepare(past, device_)) sequence.commit(past);
        const Segment segment{&sequence, std::span(tokens_).first(static_cast<std::size_t>(n_tokens))};
        dispatcher_.reset_totals();
        const double begin = device_.now_us();
        if (forward_.step({&segment, 1}, Forward::Logits::kLast, {}) != Forward::Outcome::kDone) {
            throw Error(ErrorKind::kDevice,
                        messages::device_failed_in_calibration(device_name(device_.info()), device_.failure()));
        }
        return device_.now_us() - begin;
    }
    // Until the object goes.
    LayerPauses& add_pauses(const std::function<void(bool first)>& pause) {
        auto pauses = std::make_unique<LayerPauses>(pause);
        LayerPauses& added = *pauses;
        forward_.moe().add_executor(std::move(pauses));
        return added;
    }

    void set_guessing(bool guesses) { dispatcher_.set_prefetch(guesses ? PrefetchMode::kAlways : PrefetchMode::kOff); }

    // The gates of all layers but the first on one token: what guessing its experts
    // takes. Their weights are in the caches: the layer that they belong to reads them
    // as well.
    double guess_us() {
        const std::int64_t n_layers = spec_.experts.n_layers;
        const auto n_active = static_cast<std::size_t>(spec_.experts.n_active);
        const auto allocate = [&](std::size_t n) {
            return device_.memory().allocate(n * sizeof(float), MemoryUse::kWorkspace, messages::measuring);
        };
        const DeviceBlock in = allocate(static_cast<std::size_t>(spec_.hidden_dim));
        const DeviceBlock chosen = allocate(n_active);
        const DeviceBlock weights = allocate(n_active);
        device_.clear(spec_.hidden_dim, in.as<float>());
        double us = 0;
        for (std::int64_t layer = 1; layer < n_layers; ++layer) {
            const RouterWeights router = router_of(spec_, weights_, layer);
            const auto route_us = [&] {
                device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));
                const double begin = device_.now_us();
                device_.route(router.spec, router.arrays, in.as<float>(), 1, spec_.hidden_dim,
                              chosen.as<std::int32_t>(), weights.as<float>());
                device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));
                return device_.now_us() - begin;
            };
            route_us();
            us += median({route_us(), route_us(), route_us()});
        }
        return us;
    }

    // The head on one token.
    double head_us() {
        const DeviceBlock in = device_.memory().allocate(static_cast<std::size_t>(spec_.hidden_dim) * sizeof(float),
                                                         MemoryUse::kWorkspace, messages::measuring);
        const DeviceBlock out = device_.memory().allocate(static_cast<std::size_t>(spec_.vocab_size) * sizeof(float),
                                                          MemoryUse::kWorkspace, messages::measuring);
        const std::vector<float> ones(static_cast<std::size_t>(spec_.hidden_dim), 1.0f);
        device_.upload(in.data(), ones.data(), ones.size() * sizeof(float));
        device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));
        const double begin = device_.now_us();
        device_.multiply(weights_.logits(), in.as<float>(), 1, out.as<float>());
        device_.host_wait(device_.record(DeviceEvent::Queue::kCompute));
        return device_.now_us() - begin;
    }

  private:
    Arena& own_memory() { return device_.shares_host_memory() ? device_.memory() : ram_; }

    Plan plan() const {
        const bool shared = device_.shares_host_memory();
        Plan plan;
        plan.places.assign(static_cast<std::size_t>(spec_.experts.size()), shared ? Place::kRam : Place::kDevice);
        plan.context = kLongestPast + kMostTokens;
        plan.max_step = kMostTokens;
        plan.staging_slots = shared ? 0 : kDemandSlots + ExpertMover::kMostGuessedCopies;
        plan.duplicates = false;
        return plan;
    }

    // The whole context for windows too: what was before a step is not read in steps.
    std::vector<KvRoom> rooms() const {
        const KvRoom whole{kv_blocks_for(plan_.context) + kSpareKvBlocks, 0};
        std::vector<KvRoom> rooms;
        for (const KvGroup& group : kv_layout_of(spec_, {}).groups) {
            rooms.push_back(group.is_state ? KvRoom{kStateBlocks, 0} : whole);
        }
        return rooms;
    }

    static ExpertStore::Options options(bool dry) {
        ExpertStore::Options options;
        options.dry = dry;
        options.n_speculative = ExpertMover::kMostGuessedCopies;
        return options;
    }

    // Where experts are is decided; only whether there is a device counts.
    CostTable table() const {
        CostTable table;
        table.cpu_expert = {{1, 1}};
        if (!device_.shares_host_memory()) table.gpu_expert = {{1, 1}};
        return table;
    }

    const ModelSpec spec_;
    Backend& device_;
    HostMemory host_memory_;
    AddressSpace addresses_;
    Arena ram_;
    ProbeWeights source_;
    ExpertSource expert_source_;
    Plan plan_;
    DeviceWeights weights_;
    ExpertStore experts_;
    KvCache kv_;
    CostModel cost_;
    Dispatcher dispatcher_;
    Forward forward_;
    std::vector<TokenId> tokens_;
};

// `pasts`, ascending, and where more tokens before a step stop costing as much: windows.
std::vector<std::int64_t> with_windows(const ModelSpec& spec, std::vector<std::int64_t> pasts) {
    const std::int64_t last = pasts.back();
    for (const KvGroup& group : kv_layout_of(spec, {}).groups) {
        if (group.window > 0 && group.window < DenseProbe::kLongestPast) pasts.push_back(group.window);
        if (group.window >= last) pasts.push_back(DenseProbe::kLongestPast);
    }
    std::sort(pasts.begin(), pasts.end());
    pasts.erase(std::unique(pasts.begin(), pasts.end()), pasts.end());
    return pasts;
}

// What steps cost as `step_us(n_tokens, past)` says; nothing: there is no time left for
// that one. One token's is always said.
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
    constexpr std::int64_t kTokens = 256;
    const std::optional<double> alone = step_us(kTokens, 0);
    for (const std::int64_t past : with_windows(spec, {1024})) {
        const std::optional<double> after = step_us(kTokens, past);
        if (alone && after)
            costs.pairs.push_back({past, std::max(0.0, *after - *alone) / static_cast<double>(kTokens)});
    }
    return costs;
}

// A model small enough to be measured as it is: between a running step's experts the caches
// hold what they hold there.
bool is_small_model(const ModelSpec& whole, kernels::WeightType type) {
    return whole.experts.expert_bytes(type) * static_cast<std::uint64_t>(whole.experts.size()) <= kOtherBytes;
}

// Less of a model, so that measuring it reads no more than it must: the first n layers, a
// part of the vocabulary, thin experts unless it is small.
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
    // Of a file's blocks, whose layers may differ, all are as the first layer has them.
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
        text += std::to_string(model.spec.attention_shape(l).window) + " ";
    }
    return std::to_string(std::hash<std::string>()(text)) + " top " + std::to_string(model.spec.experts.n_active) +
           " kv " + std::to_string(static_cast<int>(model.kv)) +
           (model.dense ? std::string(" in ") + kernels::name_of(*model.dense) : std::string());
}

std::string dense_key(const DenseProbeModel& model, const CostPlace& place) {
    const ModelSpec& spec = model.spec;
    return CalibrationCache::key(place, model.type, spec.experts) + "|dense " + shape_of(model);
}

DenseCosts measured_dense(const DenseProbeModel& model, Backend& device, CpuOperations& operations,
                          const CalibrationCache& cache, const std::stop_token& stop, bool anew) {
    const ModelSpec& whole = model.spec;
    const CostPlace place = place_of(device, operations);
    if (!anew) {
        if (auto kept = known_dense_costs(model, place, nullptr, cache)) return *kept;
    }
    DenseCosts costs;

    const bool small = is_small_model(whole, model.type);
    // The layers that are left out cost as much as the second half of those that are not.
    const std::uint64_t layer_bytes =
        std::max<std::uint64_t>(1, dense_bytes_in(cut(whole, whole.n_layers(), small), model.type) /
                                       static_cast<std::uint64_t>(whole.n_layers()));
    const auto many = static_cast<std::int64_t>(kMeasuredBytes / layer_bytes);
    const std::int64_t n_layers = std::min(whole.n_layers(), std::max<std::int64_t>(4, many));
    const std::int64_t n_first = n_layers < whole.n_layers() ? std::max<std::int64_t>(1, n_layers / 2) : n_layers;
    // Between two steps the caches see as many other bytes as a token's experts have.
    const std::uint64_t expert_bytes = whole.experts.expert_bytes(model.type);
    const auto between =
        small ? 0
              : std::min<std::uint64_t>(kOtherBytes, expert_bytes * static_cast<std::uint64_t>(whole.experts.n_layers *
                                                                                               whole.experts.n_active));
    std::vector<std::uint64_t> others(between / sizeof(std::uint64_t));
    const auto begin = ProbeClock::now();
    const auto measure = [&](std::int64_t n, double seconds) {
        DenseProbe probe(model, cut(whole, n, small), device, operations, false);
        const double head_us = [&] {
            std::vector<double> us;
            for (int i = 0; i < 4; ++i) us.push_back(probe.head_us());
            return median(us);
        }();
        const double more_vocab =
            static_cast<double>(whole.vocab_size) / static_cast<double>(std::min(whole.vocab_size, kMeasuredVocab)) - 1;
        DenseCosts measured = costs_by(
            [&](std::int64_t n_tokens, std::int64_t past) -> std::optional<double> {
                const auto elapsed = [&] { return std::chrono::duration<double>(ProbeClock::now() - begin).count(); };
                if (n_tokens > 1 && elapsed() > 2 * seconds) return std::nullopt;
                std::vector<double> us;
                double spent_us = 0;
                do {
                    if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::calibration_cancelled);
                    std::fill(others.begin(), others.end(), us.size() + 1);
                    us.push_back(probe.step_us(n_tokens, past));
                    spent_us += us.back();
                    // Short steps go on for a while.
                } while (us.size() < 2 ||
                         ((us.size() < 7 || (us.size() < 50 && spent_us < kProbedUs)) && elapsed() < seconds));
                us.erase(us.begin());  // it touches memory, and makes products ready, that later ones find
                return median(us) + head_us * more_vocab;
            },
            whole, {512, 2048});
        measured.guess_us = probe.guess_us();
        return measured;
    };
    costs = measure(n_layers, kMeasuredSeconds);
    if (n_first < n_layers) {
        const DenseCosts first = measure(n_first, 2 * kMeasuredSeconds);
        const double more = static_cast<double>(whole.n_layers() - n_layers) / static_cast<double>(n_layers - n_first);
        const auto extend = [more](double& us, double first_us) { us += std::max(0.0, us - first_us) * more; };
        costs.step.resize(std::min(costs.step.size(), first.step.size()));
        costs.past.resize(std::min(costs.past.size(), first.past.size()));
        costs.pairs.resize(std::min(costs.pairs.size(), first.pairs.size()));
        extend(costs.guess_us, first.guess_us);
        for (std::size_t i = 0; i < costs.step.size(); ++i) extend(costs.step[i].us, first.step[i].us);
        for (std::size_t i = 0; i < costs.past.size(); ++i) extend(costs.past[i].us, first.past[i].us);
        for (std::size_t i = 0; i < costs.pairs.size(); ++i) extend(costs.pairs[i].us, first.pairs[i].us);
    }
    costs.n_active = whole.experts.n_active;
    cache.store(dense_key(model, place), costs);
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
    EmulatedAccelerator device(gpu, operations, kPlentyBytes,
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
                                            const HardwareProfile* emulated, const CalibrationCache& cache) {
    if (emulated != nullptr) return account_dense(model, *emulated);
    DenseCosts costs;
    if (!cache.load(dense_key(model, place), costs)) return {};
    costs.n_active = model.spec.experts.n_active;
    return costs;
}

PausedLayers measure_paused_layers(const DenseProbeModel& model, CpuOperations& operations,
                                   const std::function<void(bool first)>& pause, const std::stop_token& stop) {
    const bool small = is_small_model(model.spec, model.type);
    const ModelSpec spec =
        cut(model.spec, small ? model.spec.n_layers() : std::min(kPausedLayers, model.spec.n_layers()), small);
    try {
        CpuBackend cpu(operations.pool(), operations.form(), kPlentyBytes);
        DenseProbe probe(model, spec, cpu, operations, false);
        LayerPauses& pauses = probe.add_pauses(pause);
        std::vector<double> with, without, pause_us;
        const auto begin = ProbeClock::now();
        const auto elapsed = [&] { return std::chrono::duration<double>(ProbeClock::now() - begin).count(); };
        while (with.size() < kPausedSteps && (with.size() < 3 || elapsed() < kPausedSeconds)) {
            for (const bool on : {false, true}) {
                if (stop.stop_requested()) return {};
                pauses.set_on(on);
                const double us = probe.whole_step_us(1, kPausedPast);
                const std::vector<double>& paused = pauses.us();
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
                       const CalibrationCache& cache, const std::stop_token& stop, bool anew) {
    if (const auto* emulated = dynamic_cast<const EmulatedAccelerator*>(&device))
        return account_dense(model, emulated->profile());
    try {
        if (!device.shares_host_memory()) return measured_dense(model, device, operations, cache, stop, anew);
        CpuBackend cpu(operations.pool(), operations.form(), kPlentyBytes);  // beside the budget: given back at once
        return measured_dense(model, cpu, operations, cache, stop, anew);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory) throw;
        return {};
    }
}

}  // namespace offstage::engine
