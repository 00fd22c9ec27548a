// Costs of a migration and of experts on disk, measured without a device.

#include "engine/plan/calibrate_host.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "engine/device/hardware.h"
#include "engine/device/host_buffer.h"
#include "engine/error.h"
#include "engine/json.h"
#include "engine/model/cold_reads.h"
#include "engine/model/weights.h"
#include "engine/plan/plan_messages.h"
#include "engine/plan/repeated_time.h"
#include "engine/quant/quantizer.h"
#include "engine/statistics.h"
#include "kernels/cpu_kernels.h"
#include "kernels/packed.h"

namespace offstage::engine {
namespace {

using Clock = std::chrono::steady_clock;
using kernels::WeightType;

constexpr std::int64_t kQuantizedWeights = std::int64_t{1} << 14;  // per sample: some milliseconds of HQQ
constexpr std::int64_t kHelpedWeights = std::int64_t{1} << 22;     // several pieces on their way to a device
constexpr double kQuantizedSeconds = 0.004;
constexpr std::size_t kQuantizedSamples = 3, kMostQuantizedSamples = 8;
constexpr std::int64_t kMostReads = 5;
constexpr std::int64_t kMostCachedReads = 32;  // more than the CPU's caches hold

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

void StoredAs<QuantizingSpeeds>::write(const QuantizingSpeeds& speeds, nlohmann::json& out) {
    out = nlohmann::json::object();
    for (std::size_t i = 0; i < speeds.size(); ++i) {
        if (speeds[i] > 0) out[kernels::name_of(static_cast<WeightType>(i))] = speeds[i];
    }
}

QuantizingSpeeds StoredAs<QuantizingSpeeds>::read(const JsonFields& fields) {
    constexpr double kFastest = 1e15;  // weights per second
    QuantizingSpeeds speeds{};
    for (std::size_t i = 0; i < speeds.size(); ++i) {
        speeds[i] = fields.number(kernels::name_of(static_cast<WeightType>(i)), 0, kFastest, 0.0);
    }
    return speeds;
}

QuantizingSpeeds quantizing_speeds(std::int64_t hidden_dim, const MeasurementStore& cache, std::stop_token stop,
                                   RowQuantizer* helper, const std::string& device) {
    QuantizingSpeeds speeds{};
    if (hidden_dim <= 0 || hidden_dim % kernels::kPackedBlock != 0) return speeds;
    const std::string key = "quantizing|" + detect_host().cpu_model + " " +
                            std::string(kernels::name_of(kernels::cpu_kernels().instruction_set)) + "|version " +
                            std::to_string(kQuantizerVersion) + "|" + std::to_string(kernels::kWeightTypes) +
                            " formats|rows of " + std::to_string(hidden_dim) +
                            (helper != nullptr ? "|with " + device : "");
    if (cache.load(key, speeds)) return speeds;

    // Random numbers like weights: almost normally distributed, all different.
    const auto neurons_of = [&](std::int64_t n_weights) {
        return std::max<std::int64_t>(1, n_weights / (3 * hidden_dim));
    };
    const std::int64_t most = neurons_of(helper != nullptr ? kHelpedWeights : kQuantizedWeights);
    std::vector<kernels::Bf16> weights(static_cast<std::size_t>(3 * most * hidden_dim));
    std::uint32_t state = 1;
    const auto uniform = [&] {
        state = state * 1664525u + 1013904223u;
        return static_cast<float>(state >> 8) * 0x1p-24f - 0.5f;
    };
    for (kernels::Bf16& weight : weights) weight = kernels::to_bf16(0.04f * (uniform() + uniform() + uniform()));
    kernels::ThreadPool one(1);
    Quantizer quantizer(one, QuantMethod::kHqq, helper);
    std::vector<std::byte> out;
    for (const kernels::FormatTraits& traits : kernels::kFormats) {
        if (!traits.is_packed()) continue;
        const WeightType format = traits.type;
        out.resize(kernels::expert_layout(format, hidden_dim, most).bytes());
        RepeatedTime us;
        double n_weights = 0;
        // Starting work on a device takes a fixed time: the number of neurons grows until
        // that no longer counts.
        for (std::int64_t n = neurons_of(kQuantizedWeights);;) {
            n = std::min(n, most);
            const kernels::ExpertView neurons{weights.data(), kernels::expert_layout(WeightType::kBf16, hidden_dim, n)};
            const auto begin = Clock::now();
            quantizer.quantize_expert(neurons, kernels::expert_layout(format, hidden_dim, n), out.data(), stop);
            const double seconds = seconds_since(begin);
            if (us.size() == 0 && seconds < kQuantizedSeconds && n < most) {
                n *= 4;
                continue;
            }
            us.add(std::max(seconds * 1e6, 1e-3));
            n_weights = static_cast<double>(3 * n * hidden_dim);
            if (us.size() >= kQuantizedSamples && (us.is_settled() || us.size() == kMostQuantizedSamples)) break;
        }
        speeds[static_cast<std::size_t>(format)] = n_weights / us.us() * 1e6;
    }
    cache.store(key, speeds);
    return speeds;
}

double measure_disk_read_us(WeightSource& master, std::int64_t n_layers, std::int64_t n_experts,
                            std::uint64_t expert_bytes, kernels::ThreadPool& pool, const std::stop_token& stop,
                            bool cold, double seconds) {
    const std::int64_t n = n_layers * n_experts;
    auto* const disk = dynamic_cast<ColdExperts*>(&master);
    if (n <= 0 || (cold && disk != nullptr && !disk->make_cold(LayerIndex{0}, ExpertIndex{0}))) return 0;
    std::optional<HostBuffer> block;
    try {
        block.emplace(static_cast<std::size_t>(expert_bytes), messages::measuring);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory) throw;
        return 0;
    }
    // Far apart, so that the system's read-ahead for one does not bring the next.
    const std::int64_t n_reads = std::min(n, cold ? kMostReads : kMostCachedReads);
    const auto read = [&](std::int64_t i) {
        if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::measuring_disk_cancelled);
        const std::int64_t index = i * n / n_reads;
        const LayerIndex layer{static_cast<std::int32_t>(index / n_experts)};
        const ExpertIndex expert{static_cast<std::int32_t>(index % n_experts)};
        if (cold && disk != nullptr) disk->make_cold(layer, expert);
        const auto start = Clock::now();
        master.pack_expert(layer, expert, block->data(), pool);
        return seconds_since(start) * 1e6;
    };
    const auto pass = [&](std::int64_t most) {
        std::vector<double> us;
        const auto begin = Clock::now();
        for (std::int64_t i = 0; i < most && (i == 0 || seconds_since(begin) < seconds); ++i) {
            us.push_back(read(i));
        }
        return us;
    };
    std::vector<double> us = pass(n_reads);
    if (!cold) us = pass(static_cast<std::int64_t>(us.size()));
    return median(us);
}

}  // namespace offstage::engine
