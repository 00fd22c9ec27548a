// Costs of one format: of its experts, and of quantizing to it.

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "engine/device/hardware.h"
#include "engine/device/host_buffer.h"
#include "engine/device/memory_size.h"
#include "engine/error.h"
#include "engine/plan/calibration.h"
#include "engine/plan/plan_messages.h"
#include "engine/plan/repeated_time.h"
#include "engine/quant/quantizer.h"
#include "engine/quant/random_rows.h"
#include "kernels/cpu_kernels.h"
#include "kernels/packed.h"

namespace offstage::engine {
namespace {

using kernels::WeightType;

// All samples together: larger than the caches, unless all of the model's experts fit in
// them as well.
constexpr std::uint64_t kFormatSampleBytes = std::uint64_t{256} << 20;
constexpr std::int64_t kQuantizedWeights = std::int64_t{1} << 14;  // per sample: some milliseconds of HQQ
constexpr std::int64_t kHelpedWeights = std::int64_t{1} << 22;     // several pieces on their way to a device
constexpr double kQuantizedSeconds = 0.004;
constexpr std::size_t kQuantizedSamples = 3, kMostQuantizedSamples = 8;
// Samples on the device: more than its second-level cache holds (72 MB on an RTX 4090, 50
// on an H100).
constexpr std::uint64_t kDeviceSampleBytes = std::uint64_t{256} << 20;
// Device memory to leave free for calibration's rows, after the first expert.
constexpr std::uint64_t kRoomLeft = std::uint64_t{64} << 20;

// Host memory, page-locked where the system lets us.
class Locked {
  public:
    Locked(Backend& device, std::size_t bytes) : device_(device), memory_(bytes, messages::measuring) {
        pinned_ = !device.shares_host_memory() && device.pin({memory_.data(), memory_.size()});
    }
    ~Locked() {
        if (pinned_) device_.unpin({memory_.data(), memory_.size()});
    }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

    std::byte* data() { return memory_.data(); }
    bool pinned() const { return pinned_; }

  private:
    Backend& device_;
    HostBuffer memory_;
    bool pinned_ = false;
};

// Interleaved rows of random bytes are random bytes.
std::vector<kernels::ExpertView> fill_samples(const FormatCalibration& wanted, std::size_t bytes, std::int64_t n,
                                              bool interleaved, std::byte* memory) {
    std::vector<kernels::ExpertView> samples;
    const kernels::ExpertLayout in_rows = wanted.grid.layout(wanted.format);
    kernels::ExpertLayout layout = in_rows;
    layout.interleaved = interleaved;
    for (std::int64_t i = 0; i < n; ++i) {
        std::byte* const block = memory + static_cast<std::size_t>(i) * bytes;
        fill_random_expert(in_rows, block);
        samples.push_back({block, layout});
    }
    return samples;
}

// A file's formats are called alike in all models.
std::string format_key(kernels::WeightType format, const ExpertGrid& grid) {
    if (!kernels::traits_of(format).is_of_file()) return kernels::name_of(format);
    const kernels::ExpertLayout layout = grid.layout(format);
    return std::string(kernels::name_of(layout.gate)) + "+" + kernels::name_of(layout.up) + "+" +
           kernels::name_of(layout.down);
}

}  // namespace

CostPlace place_of(const Backend& device, const CpuOperations& host) {
    // pool() is not const because it is handed out for work; only its size is read here.
    return {device.info(), const_cast<CpuOperations&>(host).pool().n_threads(), host.form()};
}

std::string cost_key(const CostPlace& place, kernels::WeightType format, const ExpertGrid& grid, bool pinned) {
    kernels::ExpertLayout layout = grid.layout(format);
    layout.interleaved = place.form.wants_interleaved();
    const bool copies_strips = place.device.kind != DeviceKind::kCpu && layout.has_strips();
    return place.device.fingerprint + "|" + cpu_model() + " x" + std::to_string(place.n_threads) + " " +
           std::string(kernels::name_of(kernels::cpu_kernels().instruction_set)) + "|" + kernels::name_of(place.form) +
           "|" + format_key(format, grid) + " " + std::to_string(grid.hidden_dim) + "x" + std::to_string(grid.ffn_dim) +
           (grid.expert.activation == kernels::Activation::kSilu
                ? ""
                : " activation " + std::to_string(static_cast<int>(grid.expert.activation))) +
           (grid.expert.biases ? " with biases" : "") + (copies_strips ? " from strips" : "") +
           (pinned ? "" : "|pageable");
}

CostTable calibrate_format(Backend& device, CpuOperations& host, const FormatCalibration& wanted,
                           const MeasurementStore& cache, const std::function<void(double)>& progress,
                           std::stop_token stop, bool* measured) {
    const std::size_t bytes = (wanted.grid.expert_bytes(wanted.format) + 255) / 256 * 256;
    const auto key = [&](bool pinned) { return cost_key(place_of(device, host), wanted.format, wanted.grid, pinned); };
    // Without a device that shares the work, the CPU is often measured for a few tokens
    // only.
    const bool host_only = device.shares_host_memory();
    CalibrationRequest request = wanted;
    const auto host_key = [&] {
        return key(false) +
               (request.largest < kFullCalibration ? "|up to " + std::to_string(request.largest) : std::string());
    };
    std::optional<CostTable> kept;
    if (!wanted.anew) {
        const auto find = [&](const std::string& kept_as) {
            CostTable table;
            if (!kept && cache.load(kept_as, table)) kept = std::move(table);
        };
        {
            // Whether memory can be locked may have changed since a calibration was
            // stored: try with one expert's bytes.
            const Locked probe(device, bytes);
            find(key(probe.pinned()));
        }
        // Those of fewer tokens would never be found behind these.
        if (host_only && kept) request.largest = std::max(request.largest, kFullCalibration);
        if (host_only) find(host_key());
    }
    // For a check and a measurement alike.
    std::vector<DeviceBlock> blocks;
    std::vector<std::byte*> slots;
    std::optional<Locked> memory;
    std::vector<kernels::ExpertView> samples;
    // Each call puts the samples at other places of memory, which caches may serve
    // better.
    const auto prepare = [&] {
        while (!memory && !host_only && (slots.size() < 2 || slots.size() * bytes < kDeviceSampleBytes) &&
               slots.size() < static_cast<std::size_t>(std::max<std::int64_t>(1, wanted.grid.size()))) {
            // Leave room for the buffers of the steps that are measured.
            const std::uint64_t room = device.memory().available_bytes();
            if (room < (slots.empty() ? bytes : kRoomLeft + bytes)) break;
            blocks.push_back(device.memory().allocate(bytes, MemoryUse::kStaging, messages::measuring));
            slots.push_back(blocks.back().data());
        }
        memory.reset();
        const auto free = static_cast<std::uint64_t>(std::max<std::int64_t>(0, memory_size().available_bytes));
        const auto n_samples = static_cast<std::int64_t>(
            std::clamp<std::uint64_t>(std::min(kFormatSampleBytes, free / 2) / bytes, 2,
                                      std::max<std::uint64_t>(2, static_cast<std::uint64_t>(wanted.grid.size()))));
        memory.emplace(device, static_cast<std::size_t>(n_samples) * bytes);
        samples = fill_samples(wanted, bytes, n_samples, host.wants_interleaved(), memory->data());
        request.experts = samples;
        request.device_slots = slots;
        request.pinned = memory->pinned();
        request.n_active = wanted.grid.n_active;
    };
    const auto holds = [&](CostTable& table) {
        bool quiet = false;
        const auto check = [&](bool& was_quiet) {
            prepare();
            return check_costs(device, host, request, table, stop, was_quiet);
        };
        const std::optional<CostDrift> drift = lasting_drift(check, quiet);
        if (drift) cache.add_note(cost_measured_again(*drift));
        return !drift && !(table.disturbed && quiet);
    };
    if (measured != nullptr) *measured = false;
    return kept_or_measured(kept, wanted.checks, holds, [&](CostDoubt doubt) {
        if (measured != nullptr) *measured = true;
        if (!memory) prepare();
        CostTable table = calibrate(device, host, request, progress, stop);
        table.doubt = doubt;
        if (!slots.empty() || host_only) cache.store(host_only ? host_key() : key(memory->pinned()), table);
        return table;
    });
}

QuantizingSpeeds quantizing_speeds(std::int64_t hidden_dim, const MeasurementStore& cache, std::stop_token stop,
                                   RowQuantizer* helper, const std::string& device) {
    QuantizingSpeeds speeds{};
    if (hidden_dim <= 0 || hidden_dim % kernels::kPackedBlock != 0) return speeds;
    const std::string key =
        "quantizing|" + cpu_model() + " " + std::string(kernels::name_of(kernels::cpu_kernels().instruction_set)) +
        "|version " + std::to_string(kQuantizerVersion) + "|" + std::to_string(kernels::kWeightTypes) +
        " formats|rows of " + std::to_string(hidden_dim) + (helper != nullptr ? "|with " + device : "");
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
            const auto begin = std::chrono::steady_clock::now();
            quantizer.quantize_expert(neurons, kernels::expert_layout(format, hidden_dim, n), out.data(), stop);
            const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
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

}  // namespace offstage::engine
