#include "engine/plan/sensitivity_measurement.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <vector>

#include "engine/error.h"
#include "engine/files/file_writer.h"
#include "engine/model/pack_neurons.h"
#include "engine/plan/plan_messages.h"
#include "engine/quant/quantizer.h"

namespace offstage::engine {

using kernels::WeightType;

Sensitivity measure_sensitivity(const ExpertGrid& grid, WeightSource& master, kernels::ThreadPool& pool,
                                const std::function<void(std::int64_t done, std::int64_t all)>& progress,
                                const std::stop_token& stop) {
    Sensitivity sensitivity;
    sensitivity.n_layers = grid.n_layers;
    sensitivity.n_experts = grid.n_experts;
    sensitivity.source = "measured on every expert";
    if (grid.hidden_dim % kernels::kPackedBlock != 0) return sensitivity;

    // Blocks of a file are unpacked first.
    const bool of_file = kernels::traits_of(master.expert_type()).is_of_file();
    const WeightType type = of_file ? WeightType::kF32 : master.expert_type();
    const kernels::ExpertLayout layout = grid.layout(type);
    const std::size_t neuron_bytes = layout.neuron_bytes();
    std::uint64_t largest = 0;
    for (const WeightType format : grid.file_formats) largest = std::max(largest, grid.expert_bytes(format));
    const std::int64_t n_sampled = std::min(kSampledNeurons, grid.ffn_dim);
    std::vector<std::byte> block, blocks, sample, packed;
    try {
        block.resize(layout.bytes());
        blocks.resize(largest);
        sample.resize(static_cast<std::size_t>(n_sampled) * neuron_bytes);
        for (const kernels::FormatTraits& format : kernels::kFormats) {
            if (!format.is_packed()) continue;
            sensitivity.formats.push_back({format.type, {}});
            packed.resize(
                std::max(packed.size(), kernels::expert_layout(format.type, grid.hidden_dim, n_sampled).bytes()));
        }
    } catch (const std::bad_alloc&) {
        throw Error(ErrorKind::kOutOfMemory, messages::no_memory_to_measure_expert);
    }
    Quantizer quantizer(pool);
    const std::int64_t all = grid.size();
    for (std::int64_t i = 0; i < all; ++i) {
        if (stop.stop_requested()) throw Error(ErrorKind::kCancelled, messages::measuring_quantization_cancelled);
        const LayerIndex layer{static_cast<std::int32_t>(i / grid.n_experts)};
        master.pack_expert(layer, ExpertIndex{static_cast<std::int32_t>(i % grid.n_experts)},
                           of_file ? blocks.data() : block.data(), pool);
        if (of_file) {
            const kernels::ExpertLayout stored = grid.layout(grid.stored(master.expert_type(), layer.value));
            unpack_expert({blocks.data(), stored}, layout, block.data(), pool);
        }
        for (std::int64_t j = 0; j < n_sampled; ++j) {
            const std::int64_t neuron = j * grid.ffn_dim / n_sampled;
            std::memcpy(sample.data() + static_cast<std::size_t>(j) * neuron_bytes,
                        block.data() + static_cast<std::size_t>(neuron) * neuron_bytes, neuron_bytes);
        }
        const kernels::ExpertView neurons{sample.data(), kernels::expert_layout(type, grid.hidden_dim, n_sampled)};
        for (Sensitivity::Format& format : sensitivity.formats) {
            const kernels::ExpertLayout to = kernels::expert_layout(format.format, grid.hidden_dim, n_sampled);
            format.errors.push_back(quantizer.quantize_expert(neurons, to, packed.data(), stop).relative());
        }
        if (progress) progress(i + 1, all);
    }
    return sensitivity;
}

SensitivityCache::SensitivityCache(std::filesystem::path directory) : directory_(std::move(directory)) {}

std::filesystem::path SensitivityCache::file_of(const Fingerprint& model) const {
    const std::array<Fingerprint, 2> parts = {model, Fingerprint{kQuantizerVersion, kernels::kWeightTypes}};
    return directory_ / "sensitivity" / (combine(parts, 0).text() + ".json");
}

std::optional<Sensitivity> SensitivityCache::load(const Fingerprint& model, const ExpertGrid& grid) const {
    if (directory_.empty()) return {};
    try {
        Sensitivity kept = read_sensitivity(file_of(model));
        if (kept.n_layers != grid.n_layers || kept.n_experts != grid.n_experts) return {};
        return kept;
    } catch (const Error&) {
        return {};
    }
}

std::string SensitivityCache::store(const Fingerprint& model, const std::string& name,
                                    const Sensitivity& sensitivity) const {
    return directory_.empty() ? std::string() : write_file(file_of(model), to_json(sensitivity, name));
}

}  // namespace offstage::engine
