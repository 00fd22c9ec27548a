#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <span>
#include <utility>

#include "engine/device/host_memory.h"
#include "engine/dispatch/dispatcher.h"
#include "engine/dispatch/expert_executor.h"
#include "engine/error.h"
#include "engine/experts/expert_store.h"
#include "engine/experts/prefetcher.h"
#include "engine/model/weights.h"
#include "engine/plan/plan_messages.h"
#include "engine/plan/repeated_time.h"
#include "engine/quant/expert_source.h"
#include "engine/quant/random_rows.h"
#include "engine/run/dense_costs.h"
#include "engine/run/device_weights.h"
#include "engine/run/forward.h"
#include "engine/run/kv_cache.h"
#include "engine/run/layers/router.h"
#include "engine/run/moe_layer.h"

namespace offstage::engine {
namespace {

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
            if (tensor.kind == DenseTensor::Kind::kVector && dry_ && tensor.n_weights() > 1) {
                weight.matrix =
                    Matrix(host, kernels::WeightType::kF32, tensor.n_rows, tensor.n_cols, messages::measuring);
            } else if (tensor.kind == DenseTensor::Kind::kVector) {
                weight.values.assign(static_cast<std::size_t>(tensor.n_weights()), 1.0f);
                if (tensor.role == TensorRole::kDecayRate) weight.values.assign(weight.values.size(), -1.0f);
                if (tensor.role == TensorRole::kRouter) {
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

// Computes nothing: after each layer's experts it calls the given function, and measures
// the time of the calls.
class LayerPauses final : public ElsewhereExecutor {
  public:
    explicit LayerPauses(const std::function<void(bool first)>& pause) : pause_(pause) {}
    // For the next token.
    void set_on(bool on) {
        on_ = on;
        us_.clear();
    }
    // The times of the token's pauses.
    const std::vector<double>& us() const { return us_; }

    bool takes(std::int64_t, std::int64_t) const override { return false; }
    double expert_us(kernels::WeightType, std::int64_t) const override { return kNever; }
    double transfer_us(std::int64_t) const override { return kNever; }
    bool needs_host_inputs() const override { return false; }
    void submit(LayerWork&, std::span<const std::size_t>) override {}
    void complete(LayerWork&, std::span<const std::size_t>) override {
        if (!on_) return;
        const auto begin = std::chrono::steady_clock::now();
        pause_(us_.empty());
        us_.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
    }

  private:
    static constexpr double kNever = 1e15;
    const std::function<void(bool first)>& pause_;
    bool on_ = false;
    std::vector<double> us_;
};

}  // namespace

struct DenseProbe::Parts {
    Parts(const DenseProbeModel& model, ModelSpec spec, Backend& device, CpuOperations& operations, bool dry)
        : spec_(std::move(spec)),
          device_(device),
          ram_("RAM", dry ? static_cast<MemorySource&>(addresses_) : host_memory_, kPlentyBytes),
          source_(model, spec_, dry),
          expert_source_(spec_.experts, source_, nullptr),
          plan_(plan()),
          experts_by_table_(model.experts != nullptr && device.shares_host_memory() &&
                            spec_.experts.ffn_dim == model.spec.experts.ffn_dim),
          weights_(source_.load_dense(own_memory()), spec_.n_layers(), device, operations),
          experts_(spec_.experts, expert_source_, plan_, device, own_memory(), operations.pool(), options(dry)),
          kv_(kv_layout_of(spec_, model.kv), rooms(), device, own_memory()),
          cost_(experts_by_table_ ? *model.experts : table()),
          dispatcher_(cost_, {PolicyKind::kBalanced, PolicyKind::kBalanced, false}),
          forward_(spec_, weights_, experts_, device, operations, dispatcher_, plan_.max_step, plan_.context) {
        dispatcher_.set_prefetch(PrefetchMode::kOff);
        tokens_.resize(static_cast<std::size_t>(2 * kMostTokens));
        for (std::size_t i = 0; i < tokens_.size(); ++i) {
            tokens_[i] = static_cast<TokenId>(i * 37 % static_cast<std::size_t>(spec_.vocab_size));
        }
    }

    Arena& own_memory() { return device_.shares_host_memory() ? device_.memory() : ram_; }

    Plan plan() const {
        const bool shared = device_.shares_host_memory();
        Plan plan;
        plan.places.assign(static_cast<std::size_t>(spec_.experts.size()), shared ? Place::kRam : Place::kDevice);
        plan.context = kLongestPast + kMostTokens;
        plan.max_step = kMostTokens;
        plan.staging_slots = shared ? 0 : kDemandSlots + Prefetcher::kMostGuessedCopies;
        plan.duplicates = false;
        return plan;
    }

    // The whole context for windows too: the keys before a step are not read in steps.
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
        options.n_speculative = Prefetcher::kMostGuessedCopies;
        return options;
    }

    // The places of experts are fixed; only the existence of a device counts.
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
    const bool experts_by_table_;
    DeviceWeights weights_;
    ExpertStore experts_;
    KvCache kv_;
    CostModel cost_;
    Dispatcher dispatcher_;
    Forward forward_;
    std::vector<TokenId> tokens_;
    std::int64_t first_token_ = 0;   // of the next step
    LayerPauses* pauses_ = nullptr;  // an executor of forward_
};

DenseProbe::DenseProbe(const DenseProbeModel& model, ModelSpec spec, Backend& device, CpuOperations& operations,
                       bool dry, const std::function<void(bool first)>& pause)
    : parts_(std::make_unique<Parts>(model, std::move(spec), device, operations, dry)) {
    if (!pause) return;
    auto pauses = std::make_unique<LayerPauses>(pause);
    parts_->pauses_ = pauses.get();
    parts_->forward_.moe().add_executor(std::move(pauses));
}

DenseProbe::~DenseProbe() = default;

double DenseProbe::step_us(std::int64_t n_tokens, std::int64_t past) {
    const Recorder& recorder = parts_->dispatcher_.recorder();
    const std::uint64_t first = recorder.n_events();
    const double us = whole_step_us(n_tokens, past);
    double experts_us = recorder.totals().gpu_us + recorder.totals().cpu_us;
    if (parts_->experts_by_table_) {
        experts_us = 0;
        for (std::uint64_t i = first; i < recorder.n_events(); ++i) experts_us += recorder.event(i).predicted_cpu_us;
    }
    return std::max(0.0, us - experts_us);
}

double DenseProbe::whole_step_us(std::int64_t n_tokens, std::int64_t past) {
    Backend& device = parts_->device_;
    past = std::min(past, kLongestPast);
    KvSequence sequence(parts_->kv_, parts_->plan_.context);
    if (past > 0 && sequence.prepare(past, device)) sequence.commit(past);
    std::int64_t& first_token = parts_->first_token_;
    const Segment segment{
        &sequence,
        std::span(parts_->tokens_).subspan(static_cast<std::size_t>(first_token), static_cast<std::size_t>(n_tokens))};
    first_token = (first_token + 1) % kMostTokens;
    parts_->dispatcher_.reset_totals();
    const double begin = device.now_us();
    if (parts_->forward_.step({&segment, 1}, Forward::Logits::kLast, {}) != Forward::Outcome::kDone) {
        throw Error(ErrorKind::kDevice,
                    messages::device_failed_in_calibration(device_name(device.info()), device.failure()));
    }
    return device.now_us() - begin;
}

void DenseProbe::set_guessing(bool guesses) {
    parts_->dispatcher_.set_prefetch(guesses ? PrefetchMode::kAlways : PrefetchMode::kOff);
}

double DenseProbe::guess_us() {
    const ModelSpec& spec = parts_->spec_;
    Backend& device = parts_->device_;
    const auto allocate = [&](std::size_t n) {
        return device.memory().allocate(n * sizeof(float), MemoryUse::kWorkspace, messages::measuring);
    };
    const auto n_active = static_cast<std::size_t>(spec.experts.n_active);
    const DeviceBlock in = allocate(static_cast<std::size_t>(spec.hidden_dim));
    const DeviceBlock chosen = allocate(n_active);
    const DeviceBlock weights = allocate(n_active);
    device.submit(ops::Clear{spec.hidden_dim, in.as<float>()});
    double us = 0;
    for (std::int64_t layer = 1; layer < spec.experts.n_layers; ++layer) {
        const RouterWeights router = router_of(spec, parts_->weights_, layer);
        const auto route_us = [&] {
            device.host_wait(device.record(DeviceEvent::Queue::kCompute));
            const double begin = device.now_us();
            device.submit(ops::Route{router.spec, router.arrays, in.as<float>(), 1, spec.hidden_dim,
                                     chosen.as<std::int32_t>(), weights.as<float>()});
            device.host_wait(device.record(DeviceEvent::Queue::kCompute));
            return device.now_us() - begin;
        };
        RepeatedTime time;
        while (time.size() < 5 || (time.size() < kMostTimes && !time.is_settled()))
            time.add(std::max(route_us(), kLeastUs));
        us += time.us();
    }
    return us;
}

double DenseProbe::head_us() {
    const ModelSpec& spec = parts_->spec_;
    Backend& device = parts_->device_;
    const DeviceBlock in = device.memory().allocate(static_cast<std::size_t>(spec.hidden_dim) * sizeof(float),
                                                    MemoryUse::kWorkspace, messages::measuring);
    const DeviceBlock out = device.memory().allocate(static_cast<std::size_t>(spec.vocab_size) * sizeof(float),
                                                     MemoryUse::kWorkspace, messages::measuring);
    const std::vector<float> ones(static_cast<std::size_t>(spec.hidden_dim), 1.0f);
    device.upload(in.data(), ones.data(), ones.size() * sizeof(float));
    device.host_wait(device.record(DeviceEvent::Queue::kCompute));
    const double begin = device.now_us();
    device.submit(ops::Multiply{parts_->weights_.logits(), in.as<float>(), 1, out.as<float>()});
    device.host_wait(device.record(DeviceEvent::Queue::kCompute));
    return device.now_us() - begin;
}

void DenseProbe::pause_layers(bool on) {
    parts_->pauses_->set_on(on);
}

const std::vector<double>& DenseProbe::pauses_us() const {
    return parts_->pauses_->us();
}

}  // namespace offstage::engine
