#include "engine/plan/device_products.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "engine/error.h"
#include "engine/plan/calibration.h"
#include "engine/plan/compute_choice.h"
#include "engine/plan/plan_messages.h"

namespace offstage::engine {
namespace {

using DeviceOrigin = DeviceProducts::Origin;

using kernels::ByteInputTypes;
using kernels::WeightType;

constexpr std::int64_t kRows = 8192;
constexpr std::int64_t kTrialColumns = 4096;
constexpr std::int64_t kManyInputs = 256;
constexpr int kTurns = 7;
constexpr int kProducts = 4;  // that are timed together: one takes little longer than to start it

// Products of the device's own with random bytes as weights: what numbers these are
// changes no time.
class DeviceTrial {
  public:
    explicit DeviceTrial(Backend& device) : device_(device) {
        Backend::StepShape step;
        step.n_tokens = kManyInputs;
        step.hidden_dim = kTrialColumns;
        device.reserve(step);
        std::minstd_rand random(1);
        weights_host_.resize(static_cast<std::size_t>(kRows) * kernels::row_bytes(WeightType::kQ8_0, kTrialColumns));
        for (std::byte& byte : weights_host_) byte = static_cast<std::byte>(random() >> 8);
        inputs_host_.resize(static_cast<std::size_t>(kManyInputs * kTrialColumns));
        std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
        for (float& value : inputs_host_) value = uniform(random);
        weights_ = allocate(weights_host_.size());
        inputs_ = allocate(inputs_host_.size() * sizeof(float));
        outputs_ = allocate(static_cast<std::size_t>(kManyInputs * kRows) * sizeof(float));
        device.upload(weights_.data(), weights_host_.data(), weights_host_.size());
        device.upload(inputs_.data(), inputs_host_.data(), inputs_host_.size() * sizeof(float));
        device.host_wait(device.record(DeviceEvent::Queue::kCompute));
    }
    ~DeviceTrial() { device_.host_wait(device_.record(DeviceEvent::Queue::kCompute)); }
    DeviceTrial(const DeviceTrial&) = delete;
    DeviceTrial& operator=(const DeviceTrial&) = delete;

    double run_us(WeightType type, bool many, bool byte_inputs) {
        device_.set_byte_inputs(byte_inputs ? ByteInputTypes::all() : ByteInputTypes());
        const kernels::WeightView weight{weights_.data(), type, kRows, kTrialColumns};
        const DeviceEvent begin = device_.record(DeviceEvent::Queue::kCompute);
        for (int i = 0; i < kProducts; ++i) {
            device_.multiply(weight, inputs_.as<float>(), many ? kManyInputs : 1, outputs_.as<float>());
        }
        const DeviceEvent end = device_.record(DeviceEvent::Queue::kCompute);
        device_.host_wait(end);
        return device_.elapsed_us(begin, end) / kProducts;
    }

  private:
    DeviceBlock allocate(std::size_t bytes) {
        return device_.memory().allocate(bytes, MemoryUse::kWorkspace, messages::measuring_products);
    }

    Backend& device_;
    std::vector<std::byte> weights_host_;
    std::vector<float> inputs_host_;
    DeviceBlock weights_, inputs_, outputs_;
};

DeviceProductTimes measure(const DeviceProductTimer& timer) {
    DeviceProductTimes times;
    for (const kernels::FormatTraits& format : kernels::kFormats) {
        if (!format.is_blocks()) continue;
        constexpr double kNever = std::numeric_limits<double>::infinity();
        DeviceProductTimes::Times& of_type = times.types[format.type];
        of_type = {kNever, kNever, kNever, kNever};
        for (int turn = 0; turn < kTurns; ++turn) {
            const auto time = [&](bool many, bool byte_inputs, double& shortest) {
                shortest = std::min(shortest, timer(format.type, many, byte_inputs));
            };
            time(false, false, of_type.few_float_us);
            time(false, true, of_type.few_bytes_us);
            time(true, false, of_type.many_float_us);
            time(true, true, of_type.many_bytes_us);
        }
    }
    times.measured_on = today();
    return times;
}

// Nothing: the device has no room, or failed.
std::optional<DeviceProductTimes> measure(Backend& device) {
    std::optional<DeviceProductTimes> times;
    try {
        DeviceTrial trial(device);
        // The first product of a kind loads its code.
        for (const bool many : {false, true}) trial.run_us(WeightType::kQ4K, many, true);
        times = measure([&](WeightType type, bool many, bool bytes) { return trial.run_us(type, many, bytes); });
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory) throw;
    }
    device.set_byte_inputs({});
    if (device.ok()) return times;
    device.clear_failure();
    return {};
}

// What needs no measurement; nothing: the cache, or a measurement, is to say.
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
    return "device products|" + device.info().fingerprint;
}

// Of a device without rounding.
std::optional<DeviceProducts> kept(Backend& device, const CalibrationCache& cache) {
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

ByteInputTypes faster_inputs(const DeviceProductTimes& times) {
    ByteInputTypes types;
    for (const auto& [type, us] : times.types) {
        if (us.few_bytes_us * kProductMargin < us.few_float_us) types.few |= ByteInputTypes::bit(type);
        if (us.many_bytes_us * kProductMargin < us.many_float_us) types.many |= ByteInputTypes::bit(type);
    }
    return types;
}

DeviceProducts known_device_products(Backend& device, ComputeMode asked, WeightType weights,
                                     const CalibrationCache& cache) {
    if (auto products = without_measurement(device, asked, weights)) return *products;
    return kept(device, cache).value_or(DeviceProducts{{}, DeviceOrigin::kNotYet, {}});
}

DeviceProducts choose_device_products(Backend& device, ComputeMode asked, WeightType weights,
                                      const CalibrationCache& cache, const DeviceProductTimer& timer) {
    const DeviceProducts known = known_device_products(device, asked, weights, cache);
    if (known.origin != DeviceOrigin::kNotYet) return known;
    const std::optional<DeviceProductTimes> times = timer ? measure(timer) : measure(device);
    if (!times) return {{}, DeviceOrigin::kNoRoom, {}};
    cache.store(key_of(device), *times);
    // Read again: of two programs that measure at the same time, both go by what is kept in the end.
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
    return "int8 inputs with " + few + (many == few ? "" : ", of many tokens with " + many);
}

const char* inputs_of(const DeviceProducts& products, WeightType type, bool many) {
    return (many ? products.types.rounds_many(type) : products.types.rounds_few(type)) ? "int8" : "f32";
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
