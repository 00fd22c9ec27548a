#include "engine/plan/product_choice.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "engine/device/hardware.h"
#include "engine/error.h"
#include "engine/json.h"
#include "engine/plan/plan_messages.h"
#include "kernels/cpu_kernels.h"

namespace offstage::engine {
namespace {

using kernels::GemmMode;
using kernels::ProductForm;
using kernels::TrialProduct;
using Origin = ComputeChoice::Origin;

std::string key_of_machine() {
    return "products|" + cpu_model() + " " + std::string(kernels::name_of(kernels::cpu_kernels().instruction_set)) +
           "|oneDNN " + std::string(kernels::Gemm::library_version());
}

struct TimedProduct {
    TrialProduct product;
    const char* stored_as;
    double ProductTimes::*us;
};
constexpr std::array<TimedProduct, 7> kTimedProducts = {{
    {TrialProduct::kManyF32, "f32_us", &ProductTimes::f32_us},
    {TrialProduct::kManyBf16, "bf16_us", &ProductTimes::bf16_us},
    {TrialProduct::kManyBlocksF32, "blocks_f32_us", &ProductTimes::blocks_f32_us},
    {TrialProduct::kManyBlocksBf16, "blocks_bf16_us", &ProductTimes::blocks_bf16_us},
    {TrialProduct::kManyByteInputs, "byte_prompts_us", &ProductTimes::byte_prompts_us},
    {TrialProduct::kFewFloatInputs, "float_inputs_us", &ProductTimes::float_inputs_us},
    {TrialProduct::kFewByteInputs, "byte_inputs_us", &ProductTimes::byte_inputs_us},
}};

ProductTimes measure_products(const ProductTimer& timer) {
    ProductTimes times;
    for (int turn = 0; turn < kProductTurns; ++turn) {
        for (std::size_t i = 0; i < kTimedProducts.size(); ++i) {
            // The order changes from turn to turn.
            const TimedProduct& timed = kTimedProducts[turn % 2 == 0 ? i : kTimedProducts.size() - 1 - i];
            double& shortest = times.*timed.us;
            const double us = timer(timed.product);
            shortest = turn == 0 ? us : std::min(shortest, us);
        }
    }
    times.measured_on = today();
    return times;
}

ProductTimes measure_products() {
    kernels::ThreadPool one_thread(1);
    kernels::ProductTrial trial(one_thread);
    for (const TrialProduct product : {TrialProduct::kManyF32, TrialProduct::kManyBf16, TrialProduct::kManyBlocksF32,
                                       TrialProduct::kManyBlocksBf16}) {
        trial.run_us(product);  // makes the primitives
    }
    return measure_products([&](TrialProduct product) { return trial.run_us(product); });
}

}  // namespace

void StoredAs<ProductTimes>::write(const ProductTimes& times, nlohmann::json& out) {
    out["measured_on"] = times.measured_on;
    for (const TimedProduct& timed : kTimedProducts) out[timed.stored_as] = times.*timed.us;
}

ProductTimes StoredAs<ProductTimes>::read(const JsonFields& fields) {
    ProductTimes times;
    for (const TimedProduct& timed : kTimedProducts) times.*timed.us = fields.number(timed.stored_as, 0, kLongestUs);
    times.measured_on = fields.text("measured_on");
    return times;
}

std::string today() {
    return date_of(std::time(nullptr));
}

std::string date_of(std::int64_t seconds) {
    const std::time_t now = seconds;
    std::tm date{};
    localtime_r(&now, &date);
    std::array<char, 16> text{};
    return std::strftime(text.data(), text.size(), "%Y-%m-%d", &date) > 0 ? text.data() : "";
}

ProductForm faster_form(const ProductTimes& times) {
    const bool bf16 = times.bf16_us * kProductMargin < times.f32_us;
    const bool few_bytes = times.byte_inputs_us * kProductMargin < times.float_inputs_us;
    const bool many_bytes =
        times.byte_prompts_us * kProductMargin < (bf16 ? times.blocks_bf16_us : times.blocks_f32_us);
    return {bf16 ? GemmMode::kBf16 : GemmMode::kF32, few_bytes, few_bytes && many_bytes};
}

std::optional<ComputeChoice> kept_compute(kernels::WeightType weights, const MeasurementStore& cache) {
    if (weights == kernels::WeightType::kF32) return ComputeChoice{GemmMode::kF32, Origin::kWeights, {}};
    ComputeChoice choice;
    if (!cache.load(key_of_machine(), choice.times)) return {};
    choice.form = faster_form(choice.times);
    choice.origin = Origin::kKept;
    return choice;
}

ComputeChoice choose_compute(std::optional<ProductForm> asked, kernels::WeightType weights,
                             const MeasurementStore& cache, const ProductTimer& timer) {
    if (asked) return {*asked, Origin::kAskedFor, {}};
    if (auto kept = kept_compute(weights, cache)) return *kept;
    cache.store(key_of_machine(), timer ? measure_products(timer) : measure_products());
    // Read again: if two programs measure at the same time, both use the version stored
    // last.
    if (auto kept = kept_compute(weights, cache)) {
        kept->origin = Origin::kMeasured;
        return *kept;
    }
    return {GemmMode::kF32, Origin::kCannotKeep, {}};
}

std::string describe(const ComputeChoice& choice) {
    std::array<char, 240> text{};
    switch (choice.origin) {
        case Origin::kAskedFor:
            return "asked for";
        case Origin::kWeights:
            return "the weights are float32";
        case Origin::kMeasured:
        case Origin::kKept:
            std::snprintf(
                text.data(), text.size(),
                "measured on %s and kept for this machine: f32 takes %.2f ms where bf16 takes %.2f and int8 %.2f, "
                "and float inputs of a file's blocks %.2f where int8 takes %.2f",
                choice.times.measured_on.c_str(), choice.times.f32_us / 1e3, choice.times.bf16_us / 1e3,
                choice.times.byte_prompts_us / 1e3, choice.times.float_inputs_us / 1e3,
                choice.times.byte_inputs_us / 1e3);
            return text.data();
        case Origin::kCannotKeep:
            return "a measured choice could not be kept, so that f32 is used, as in every such case";
    }
    return {};
}

namespace {

constexpr std::array<const char*, kAllProductRows.size()> kProductRowNames = {"few", "many", "small_experts"};

using DeviceOrigin = DeviceProducts::Origin;

using kernels::ByteInputTypes;
using kernels::ProductRows;
using kernels::WeightType;

// Products of the device with random bytes as weights: the values do not affect the time.
class DeviceTrial {
  public:
    DeviceTrial(Backend& device, const DeviceTrialShape& shape) : device_(device), shape_(shape) {
        Backend::StepShape step;
        step.n_tokens = shape.n_inputs;
        step.hidden_dim = std::max({shape.n_columns, shape.hidden_dim, shape.wide_hidden_dim});
        step.ffn_dim = shape.ffn_dim;
        step.n_experts = step.n_active = shape.n_experts;
        device.reserve(step);
        std::minstd_rand random(1);
        std::vector<std::byte> piece(matrix_bytes(WeightType::kQ8_0));
        for (std::byte& byte : piece) byte = static_cast<std::byte>(random() >> 8);
        std::vector<float> inputs(static_cast<std::size_t>(shape.n_inputs * step.hidden_dim));
        std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
        for (float& value : inputs) value = uniform(random);
        std::vector<std::int32_t> tokens;  // for each row of the experts
        for (std::int64_t row = 0; row < n_expert_rows(); ++row) {
            tokens.push_back(static_cast<std::int32_t>(row % shape.n_inputs));
        }
        std::vector<std::int32_t> chosen(static_cast<std::size_t>(std::max(shape.n_wide, shape.n_narrow)));
        const std::vector<std::int32_t> first_token(chosen.size());
        std::iota(chosen.begin(), chosen.end(), 0);

        weights_ = allocate(weight_bytes());
        inputs_ = allocate(inputs.size() * sizeof(float));
        tokens_ = allocate(tokens.size() * sizeof(std::int32_t));
        chosen_ = allocate(chosen.size() * sizeof(std::int32_t));
        first_token_ = allocate(chosen.size() * sizeof(std::int32_t));
        blocks_ = allocate(2 * chosen.size() * sizeof(std::byte*));
        outputs_ = allocate(
            static_cast<std::size_t>(std::max({shape.n_inputs * shape.n_rows, n_expert_rows() * shape.hidden_dim,
                                               shape.n_wide * shape.wide_hidden_dim})) *
            sizeof(float));
        for (std::size_t at = 0; at < weights_.size(); at += piece.size()) {
            device.upload(weights_.as<std::byte>() + at, piece.data(), std::min(piece.size(), weights_.size() - at));
        }
        device.upload(inputs_.data(), inputs.data(), inputs.size() * sizeof(float));
        device.upload(tokens_.data(), tokens.data(), tokens.size() * sizeof(std::int32_t));
        device.upload(chosen_.data(), chosen.data(), chosen.size() * sizeof(std::int32_t));
        device.upload(first_token_.data(), first_token.data(), first_token.size() * sizeof(std::int32_t));
        device.host_wait(device.record(DeviceEvent::Queue::kCompute));
    }
    ~DeviceTrial() { device_.host_wait(device_.record(DeviceEvent::Queue::kCompute)); }
    DeviceTrial(const DeviceTrial&) = delete;
    DeviceTrial& operator=(const DeviceTrial&) = delete;

    // Of many rows: microseconds of one product. Of few: of the whole sequence.
    double run_us(WeightType type, ProductRows rows, bool byte_inputs) {
        device_.set_byte_inputs(byte_inputs ? ByteInputTypes::all() : ByteInputTypes());
        if (rows == ProductRows::kFew) return token_us(type);
        const std::vector<ExpertCall> calls =
            rows == ProductRows::kManyOfSmallExperts ? expert_calls(type) : std::vector<ExpertCall>();
        const double us = time_us([&] {
            for (int i = 0; i < shape_.n_products; ++i) {
                if (calls.empty()) {
                    multiply(type, 0, shape_.n_inputs);
                } else {
                    device_.submit(
                        ops::Experts{calls, inputs_.as<float>(), tokens_.as<std::int32_t>(), outputs_.as<float>()});
                }
            }
        });
        return us / shape_.n_products;
    }

  private:
    // Repeated sequences are kept back at first, then become a graph, which is started
    // from then on.
    static constexpr int kUntilReplayed = 3;

    double token_us(WeightType type) {
        const std::size_t stride = rounded(matrix_bytes(type));
        const std::size_t n_matrices = std::max<std::size_t>(1, weights_.size() / stride);
        std::vector<std::byte*> blocks;
        const kernels::ExpertLayout wide = layout(type, shape_.wide_hidden_dim, wide_ffn_dim_);
        const kernels::ExpertLayout narrow = layout(type, shape_.hidden_dim, shape_.ffn_dim);
        for (const auto& [of_layout, n] : {std::pair(wide, shape_.n_wide), std::pair(narrow, shape_.n_narrow)}) {
            for (std::int64_t e = 0; e < n; ++e) blocks.push_back(expert(of_layout, e, n));
        }
        device_.upload(blocks_.data(), blocks.data(), blocks.size() * sizeof(std::byte*));
        double us = 0;
        for (int i = 0; i <= kUntilReplayed; ++i) {
            us = time_us([&] {
                device_.begin_repeated(0);
                for (std::size_t m = 0; m < n_matrices; ++m) multiply(type, m * stride, 1);
                compute_chosen(wide, 0, shape_.n_wide);
                compute_chosen(narrow, shape_.n_wide, shape_.n_narrow);
                device_.end_repeated();
            });
        }
        return us;
    }
    template <typename Submit>
    double time_us(const Submit& submit) {
        const DeviceEvent begin = device_.record(DeviceEvent::Queue::kCompute);
        submit();
        const DeviceEvent end = device_.record(DeviceEvent::Queue::kCompute);
        device_.host_wait(end);
        return device_.elapsed_us(begin, end);
    }
    void multiply(WeightType type, std::size_t offset, std::int64_t n) {
        device_.submit(ops::Multiply{{weights_.as<std::byte>() + offset, type, shape_.n_rows, shape_.n_columns},
                                     inputs_.as<float>(),
                                     n,
                                     outputs_.as<float>()});
    }
    // n experts of the list from `first` on.
    void compute_chosen(const kernels::ExpertLayout& layout, std::int64_t first, std::int64_t n) {
        device_.submit(ops::ChosenExperts{.layout = layout,
                                          .blocks = blocks_.as<std::byte*>() + first,
                                          .chosen = chosen_.as<std::int32_t>(),
                                          .n = n,
                                          .inputs = inputs_.as<float>(),
                                          .row_token = first_token_.as<std::int32_t>(),
                                          .out = outputs_.as<float>()});
    }

    static constexpr std::size_t rounded(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
    std::size_t matrix_bytes(WeightType type) const {
        return static_cast<std::size_t>(shape_.n_rows) * kernels::row_bytes(type, shape_.n_columns);
    }
    static kernels::ExpertLayout layout(WeightType type, std::int64_t hidden_dim, std::int64_t ffn_dim) {
        kernels::ExpertLayout layout = kernels::expert_layout(type, hidden_dim, ffn_dim);
        layout.down_rows_are_outputs = true;  // as in files
        return layout;
    }
    // For the matrices in turn, and one expert of each kind at least. On small GPUs the
    // wide experts become narrower.
    std::size_t weight_bytes() {
        const ArenaUsage usage = device_.memory().usage();
        const std::uint64_t most = std::min(shape_.weight_bytes, (usage.budget_bytes - usage.used_bytes) / 8);
        const auto largest = [](const kernels::ExpertLayout& layout) { return rounded(layout.bytes()); };
        while (largest(layout(WeightType::kQ8_0, shape_.wide_hidden_dim, wide_ffn_dim_)) > most &&
               wide_ffn_dim_ % 512 == 0) {
            wide_ffn_dim_ /= 2;
        }
        return std::max({static_cast<std::size_t>(most), 2 * rounded(matrix_bytes(WeightType::kQ8_0)),
                         largest(layout(WeightType::kQ8_0, shape_.wide_hidden_dim, wide_ffn_dim_)),
                         largest(layout(WeightType::kQ8_0, shape_.hidden_dim, shape_.ffn_dim))});
    }
    // Experts share bytes where there is no room for all of them.
    std::byte* expert(const kernels::ExpertLayout& layout, std::int64_t e, std::int64_t n) const {
        const std::size_t apart = (weights_.size() - layout.bytes()) / static_cast<std::size_t>(n) / 256 * 256;
        return weights_.as<std::byte>() + static_cast<std::size_t>(e) * apart;
    }
    std::int64_t n_expert_rows() const { return shape_.n_experts * shape_.n_rows_of_each; }
    std::vector<ExpertCall> expert_calls(WeightType type) const {
        const kernels::ExpertLayout of_type = layout(type, shape_.hidden_dim, shape_.ffn_dim);
        std::vector<ExpertCall> calls;
        for (std::int64_t e = 0; e < shape_.n_experts; ++e) {
            ExpertCall& call = calls.emplace_back();
            call.weights = {expert(of_type, e, shape_.n_experts), of_type};
            call.first_row = e * shape_.n_rows_of_each;
            call.n_rows = shape_.n_rows_of_each;
        }
        return calls;
    }
    DeviceBlock allocate(std::size_t bytes) {
        return device_.memory().allocate(bytes, MemoryUse::kWorkspace, messages::measuring_products);
    }

    Backend& device_;
    DeviceTrialShape shape_;
    std::int64_t wide_ffn_dim_ = shape_.wide_ffn_dim;
    DeviceBlock weights_, inputs_, tokens_, chosen_, first_token_, blocks_, outputs_;
};

DeviceProductTimes measure(const DeviceProductTimer& timer, const DeviceTrialShape& shape) {
    DeviceProductTimes times;
    for (const kernels::FormatTraits& format : kernels::kFormats) {
        if (!format.is_blocks()) continue;
        constexpr double kNever = std::numeric_limits<double>::infinity();
        auto& of_type = times.types[format.type];
        of_type.fill({kNever, kNever});
        for (int turn = 0; turn < std::max(shape.n_turns, shape.n_few_turns); ++turn) {
            for (const ProductRows rows : kAllProductRows) {
                if (turn >= (rows == ProductRows::kFew ? shape.n_few_turns : shape.n_turns)) continue;
                DeviceProductTimes::Pair& shortest = of_type[static_cast<std::size_t>(rows)];
                shortest.float_us = std::min(shortest.float_us, timer(format.type, rows, false));
                shortest.bytes_us = std::min(shortest.bytes_us, timer(format.type, rows, true));
            }
        }
    }
    times.measured_on = today();
    return times;
}

// The choice if it needs no measurement; nothing: it comes from the cache or a
// measurement.
std::optional<DeviceProducts> without_measurement(Backend& device, ComputeMode asked, WeightType weights) {
    if (kernels::is_plain(weights) || !device.set_byte_inputs({})) return DeviceProducts();
    if (asked == ComputeMode::kAuto) return {};
    DeviceProducts products;
    products.origin = DeviceOrigin::kAskedFor;
    if (asked == ComputeMode::kInt8) products.types = ByteInputTypes::all();
    device.set_byte_inputs(products.types);
    return products;
}

std::string key_of(const Backend& device) {
    return "device products of tokens, laid out|" + device.info().fingerprint;
}

// For a device that does not round at present.
std::optional<DeviceProducts> kept(Backend& device, const MeasurementStore& cache) {
    DeviceProductTimes times;
    if (!cache.load(key_of(device), times)) return {};
    const DeviceProducts products{faster_inputs(times), DeviceOrigin::kKept, times.measured_on};
    device.set_byte_inputs(products.types);
    return products;
}

std::string names_of(std::uint64_t types) {
    std::string names;
    for (const kernels::FormatTraits& format : kernels::kFormats) {
        if ((types & ByteInputTypes::bit(format.type)) == 0) continue;
        if (!names.empty()) names += ' ';
        names += format.name;
    }
    return types == ByteInputTypes::all().few ? "all types" : names.empty() ? "none" : names;
}

}  // namespace

void StoredAs<DeviceProductTimes>::write(const DeviceProductTimes& times, nlohmann::json& out) {
    out["measured_on"] = times.measured_on;
    for (const auto& [type, us] : times.types) {
        nlohmann::json& of_type = out[kernels::name_of(type)];
        for (const ProductRows rows : kAllProductRows) {
            const std::string name = kProductRowNames[static_cast<std::size_t>(rows)];
            of_type[name + "_float_us"] = us[static_cast<std::size_t>(rows)].float_us;
            of_type[name + "_bytes_us"] = us[static_cast<std::size_t>(rows)].bytes_us;
        }
    }
}

DeviceProductTimes StoredAs<DeviceProductTimes>::read(const JsonFields& fields) {
    DeviceProductTimes times;
    times.measured_on = fields.text("measured_on");
    for (const kernels::FormatTraits& format : kernels::kFormats) {
        if (!fields.has(format.name)) continue;
        const JsonFields type = fields.object(format.name);
        for (const ProductRows rows : kAllProductRows) {
            const std::string name = kProductRowNames[static_cast<std::size_t>(rows)];
            times.types[format.type][static_cast<std::size_t>(rows)] = {
                type.number((name + "_float_us").c_str(), 0, kLongestUs),
                type.number((name + "_bytes_us").c_str(), 0, kLongestUs)};
        }
    }
    return times;
}

ByteInputTypes faster_inputs(const DeviceProductTimes& times) {
    ByteInputTypes types;
    for (const auto& [type, us] : times.types) {
        for (const ProductRows rows : kAllProductRows) {
            const DeviceProductTimes::Pair& of_rows = us[static_cast<std::size_t>(rows)];
            const double margin = rows == ProductRows::kFew ? 1 : kProductMargin;
            if (of_rows.bytes_us * margin < of_rows.float_us) types.of(rows) |= ByteInputTypes::bit(type);
        }
    }
    return types;
}

std::optional<DeviceProductTimes> measure_device_products(Backend& device, const DeviceTrialShape& shape) {
    std::optional<DeviceProductTimes> times;
    try {
        DeviceTrial trial(device, shape);
        // The first product of a kind loads its code.
        for (const ProductRows rows : kAllProductRows) trial.run_us(WeightType::kQ4K, rows, true);
        times = measure([&](auto... product) { return trial.run_us(product...); }, shape);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory) throw;
    }
    device.set_byte_inputs({});
    if (device.ok()) return times;
    device.clear_failure();
    return {};
}

DeviceProducts known_device_products(Backend& device, ComputeMode asked, WeightType weights,
                                     const MeasurementStore& cache) {
    if (auto products = without_measurement(device, asked, weights)) return *products;
    return kept(device, cache).value_or(DeviceProducts{{}, DeviceOrigin::kNotYet, {}});
}

DeviceProducts choose_device_products(Backend& device, ComputeMode asked, WeightType weights,
                                      const MeasurementStore& cache, const DeviceProductTimer& timer) {
    DeviceProducts known = known_device_products(device, asked, weights, cache);
    if (known.origin != DeviceOrigin::kNotYet) return known;
    const std::optional<DeviceProductTimes> times = timer ? measure(timer, {}) : measure_device_products(device);
    if (!times) return {{}, DeviceOrigin::kNoRoom, {}};
    cache.store(key_of(device), *times);
    // Read again: if two programs measure at the same time, both use the version stored
    // last.
    if (auto products = kept(device, cache)) {
        products->origin = DeviceOrigin::kMeasured;
        return *products;
    }
    return {{}, DeviceOrigin::kCannotKeep, {}};
}

std::string name_of(const DeviceProducts& products) {
    if (products.origin == DeviceOrigin::kNoChoice) return {};
    if (products.types == ByteInputTypes()) return "float32 inputs";
    const std::string few = names_of(products.types.few);
    const std::string many = names_of(products.types.many);
    const std::string small = names_of(products.types.small_experts);
    return "int8 inputs with " + few + (many == few ? "" : ", of many tokens with " + many) +
           (small == many ? "" : ", of many tokens with small experts with " + small);
}

const char* inputs_of(const DeviceProducts& products, WeightType type, ProductRows rows) {
    return products.types.rounds(type, rows) ? "int8" : "f32";
}

std::string describe(const DeviceProducts& products) {
    switch (products.origin) {
        case DeviceOrigin::kNoChoice:
            return {};
        case DeviceOrigin::kAskedFor:
            return "asked for";
        case DeviceOrigin::kMeasured:
        case DeviceOrigin::kKept:
            return "measured on " + products.measured_on + " and kept for this device";
        case DeviceOrigin::kNotYet:
            return "the first model that is loaded measures it once for this device";
        case DeviceOrigin::kNoRoom:
            return "the device had no room to measure what is faster, so that inputs stay float32";
        case DeviceOrigin::kCannotKeep:
            return "a measured choice could not be kept, so that inputs stay float32, as in every such case";
    }
    return {};
}

}  // namespace offstage::engine
