#include "engine/plan/sensitivity.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <vector>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/model/pack_neurons.h"
#include "engine/plan/plan_messages.h"
#include "engine/quant/quantizer.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

using kernels::WeightType;
using nlohmann::json;

// An error of 1 equals leaving the weights out; a bad format may exceed it somewhat.
constexpr double kLargestError = 10;

}  // namespace

Sensitivity Sensitivity::typical(std::int64_t n_layers, std::int64_t n_experts) {
    Sensitivity sensitivity;
    sensitivity.n_layers = n_layers;
    sensitivity.n_experts = n_experts;
    sensitivity.source = "typical of HQQ";
    for (const kernels::FormatTraits& format : kernels::kFormats) {
        if (!format.is_packed()) continue;
        sensitivity.formats.push_back(
            {format.type, std::vector<double>(static_cast<std::size_t>(n_layers * n_experts), format.typical_error)});
    }
    return sensitivity;
}

double Sensitivity::error(WeightType format, std::int64_t layer, std::int64_t expert) const {
    for (const Format& measured : formats) {
        if (measured.format == format) return measured.errors[static_cast<std::size_t>(layer * n_experts + expert)];
    }
    return 0;
}

void StoredAs<Sensitivity>::write(const Sensitivity& sensitivity, json& out) {
    out = {{"n_layers", sensitivity.n_layers},
           {"n_experts", sensitivity.n_experts},
           {"source", sensitivity.source},
           {"errors", json::object()}};
    for (const Sensitivity::Format& format : sensitivity.formats) {
        out["errors"][kernels::name_of(format.format)] = format.errors;
    }
}

Sensitivity StoredAs<Sensitivity>::read(const JsonFields& fields) {
    Sensitivity read;
    read.n_layers = fields.integer("n_layers", 1, kMostLayers);
    read.n_experts = fields.integer("n_experts", 1, kMostExperts);
    read.source = fields.text("source");
    if (!fields.has("errors")) fields.reject("errors", "an object");
    const JsonFields errors = fields.object("errors");
    for (const kernels::FormatTraits& format : kernels::kFormats) {
        if (!errors.has(format.name)) continue;
        read.formats.push_back({format.type, stored_numbers(errors, format.name, kLargestError,
                                                            static_cast<std::size_t>(read.n_layers * read.n_experts))});
    }
    return read;
}

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
    kernels::ExpertSpec spec = grid.expert;
    spec.biases = false;  // they are not quantized
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
                std::max(packed.size(), kernels::expert_layout(format.type, grid.hidden_dim, n_sampled, spec).bytes()));
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
        const kernels::ExpertView neurons{sample.data(),
                                          kernels::expert_layout(type, grid.hidden_dim, n_sampled, spec)};
        for (Sensitivity::Format& format : sensitivity.formats) {
            const kernels::ExpertLayout to = kernels::expert_layout(format.format, grid.hidden_dim, n_sampled, spec);
            format.errors.push_back(quantizer.quantize_expert(neurons, to, packed.data(), stop).relative());
        }
        if (progress) progress(i + 1, all);
    }
    return sensitivity;
}

}  // namespace offstage::engine
