#include "engine/plan/sensitivity.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <new>
#include <vector>

#include "engine/error.h"
#include "engine/files/file_writer.h"
#include "engine/files/text_file.h"
#include "engine/json.h"
#include "engine/model/pack_neurons.h"
#include "engine/plan/plan_messages.h"
#include "engine/quant/quantizer.h"
#include "engine/quant/weight_format.h"
#include "engine/shape_limits.h"
#include "engine/telemetry/telemetry_messages.h"

namespace offstage::engine {
namespace {

using kernels::WeightType;
using nlohmann::json;

constexpr std::size_t kLargestSensitivityFile = std::size_t{64} << 20;
// An error of 1 equals leaving the weights out; a bad format may exceed it somewhat.
constexpr double kLargestError = 10;

void read_errors(const json& rows, const std::string& name, const std::string& source, const Sensitivity& shape,
                 std::vector<double>& errors) {
    const auto reject = [&](const std::string& where, const json& found, const MessageArgument& expected) {
        throw Error(ErrorKind::kInvalidModel,
                    messages::sensitivity_rejected(source, name, where, describe(found), expected));
    };
    if (!rows.is_array() || rows.size() != static_cast<std::size_t>(shape.n_layers)) {
        reject("", rows, messages::a_list_of_lists_counted(shape.n_layers));
    }
    for (std::size_t layer = 0; layer < rows.size(); ++layer) {
        const json& row = rows[layer];
        const std::string where = "[" + std::to_string(layer) + "]";
        if (!row.is_array() || row.size() != static_cast<std::size_t>(shape.n_experts)) {
            reject(where, row, messages::a_list_of_numbers_counted(shape.n_experts));
        }
        for (std::size_t expert = 0; expert < row.size(); ++expert) {
            const json& value = row[expert];
            const double error = value.is_number() ? value.get<double>() : -1;
            if (!(error >= 0 && error <= kLargestError)) {
                reject(where + "[" + std::to_string(expert) + "]", value, messages::a_number_to_10);
            }
            errors.push_back(error);
        }
    }
}

std::string in_json(const std::string& text) {
    return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

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

double Sensitivity::loss(WeightType format, std::int64_t layer, std::int64_t expert,
                         const Popularity& popularity) const {
    assert(popularity.n_layers == n_layers && popularity.n_experts == n_experts);
    const double e = error(format, layer, expert);
    return e * e * popularity.share(layer, expert) / static_cast<double>(popularity.n_active * n_layers);
}

Sensitivity parse_sensitivity(std::string_view text, const std::string& source) {
    if (text.size() > kLargestSensitivityFile) {
        throw Error(ErrorKind::kInvalidModel, messages::sensitivities_too_large(source, text.size()));
    }
    const json document = parse_json(text, source, {.max_depth = 8});
    const JsonFields fields(document, source);
    if (fields.text("format") != "offstage-sensitivity") fields.reject("format", "\"offstage-sensitivity\"");
    fields.integer("version", 1, 1);

    Sensitivity sensitivity;
    sensitivity.n_layers = fields.integer("n_layers", 1, kMostLayers);
    sensitivity.n_experts = fields.integer("n_experts", 1, kMostExperts);
    sensitivity.source = fields.text("source", "");
    fields.text("model", "");
    const json* errors = fields.find("errors");
    if (errors == nullptr || !errors->is_object()) fields.reject("errors", messages::an_object_of_formats);
    for (const auto& [name, rows] : errors->items()) {
        Sensitivity::Format format;
        try {
            format.format = parse_format(name);
        } catch (const Error& unknown) {
            throw Error(ErrorKind::kInvalidModel, messages::sensitivity_format_unknown(source, unknown.message()));
        }
        read_errors(rows, name, source, sensitivity, format.errors);
        sensitivity.formats.push_back(std::move(format));
    }
    return sensitivity;
}

Sensitivity read_sensitivity(const std::filesystem::path& file) {
    const std::optional<std::string> text = read_small_file(file, kLargestSensitivityFile);
    if (!text) throw Error(ErrorKind::kNotFound, messages::no_such_sensitivities(shown_path(file)));
    return parse_sensitivity(*text, shown_path(file));
}

std::string to_json(const Sensitivity& sensitivity, const std::string& model) {
    std::string text = "{\n  \"format\": \"offstage-sensitivity\",\n  \"version\": 1,\n  \"model\": " + in_json(model) +
                       ",\n  \"source\": " + in_json(sensitivity.source) +
                       ",\n  \"n_layers\": " + std::to_string(sensitivity.n_layers) +
                       ",\n  \"n_experts\": " + std::to_string(sensitivity.n_experts) + ",\n  \"errors\": {";
    bool first = true;
    for (const Sensitivity::Format& format : sensitivity.formats) {
        text += std::string(first ? "" : ",") + "\n    \"" + std::string(format_row(format.format).option) + "\": [";
        first = false;
        for (std::int64_t layer = 0; layer < sensitivity.n_layers; ++layer) {
            json row = json::array();
            for (std::int64_t expert = 0; expert < sensitivity.n_experts; ++expert) {
                row.push_back(format.errors[static_cast<std::size_t>(layer * sensitivity.n_experts + expert)]);
            }
            text += (layer == 0 ? "\n      " : ",\n      ") + row.dump();
        }
        text += "\n    ]";
    }
    return text + "\n  }\n}\n";
}

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
