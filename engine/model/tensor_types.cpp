#include "engine/model/tensor_types.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <unordered_set>

#include "engine/device/host_buffer.h"
#include "engine/json.h"
#include "engine/model/dense_tensors.h"
#include "engine/model/families/family.h"
#include "engine/model/gguf_config.h"
#include "engine/model/model_messages.h"

namespace offstage::engine {
namespace {

const char* role_name(const ModelSpec& spec, const DenseTensor& tensor) {
    switch (tensor.role) {
        case TensorRole::kEmbedding:
            return "embedding";
        case TensorRole::kHead:
        case TensorRole::kHeadBias:
            return "output head";
        case TensorRole::kAttentionOutput:
        case TensorRole::kAttentionOutputBias:
            return "attention, output";
        case TensorRole::kRouter:
        case TensorRole::kSelectionBias:
            return "router";
        case TensorRole::kNetwork:
        case TensorRole::kSharedGate:
            return spec.layers[static_cast<std::size_t>(tensor.layer)].moe() != nullptr ? "shared experts"
                                                                                        : "dense networks";
        default:
            return tensor.kind == DenseTensor::Kind::kMatrix ? "attention, inputs" : "norms, biases";
    }
}

// Calls use(role, name) for every tensor that a role of the model reads, for some of them
// more than once; a name may be empty.
template <typename Use>
void for_each_name(const Checkpoint& checkpoint, const ModelSpec& of_files, const Use& use) {
    ModelSpec spec = of_files;
    spec.split_qkv.clear();  // families name the three together
    spec.stored.clear();
    if (spec.family->look != nullptr) spec.family->look(checkpoint, spec);
    for (const DenseTensor& tensor : dense_tensors(spec)) {
        for (const TensorPart& part : parts_in_checkpoint(spec, tensor)) {
            use(role_name(spec, tensor), part.name);
            use("scales", part.scale);
        }
    }
    constexpr std::array kMatrices = {"experts, gate", "experts, up", "experts, down"};
    for (std::int64_t l = 0; l < spec.experts.n_layers; ++l) {
        const std::int64_t n_apart = experts_apart(spec, spec.layer_of(l));
        for (std::int64_t e = 0; e < n_apart; ++e) {
            const ExpertParts parts = spec.family->expert(spec, spec.layer_of(l), e);
            for (auto i = static_cast<std::size_t>(spec.experts.expert.first_matrix()); i < kMatrices.size(); ++i) {
                use(kMatrices[i], parts.matrices[i].name);
                use(kMatrices[i], parts.matrices[i].exponents);
                use("scales", parts.matrices[i].scale);
            }
            if (!spec.experts.expert.biases) continue;
            for (const ExpertPart& bias : parts.biases) use("experts, biases", bias.name);
        }
    }
}

// The layer number in a name like model.layers.12.input_layernorm.weight; -1: none.
std::int64_t layer_in(std::string_view name) {
    for (const std::string_view before : {std::string_view("layers."), std::string_view("blk.")}) {
        const std::size_t at = name.find(before);
        if (at == std::string_view::npos) continue;
        std::int64_t layer = -1;
        const char* const begin = name.data() + at + before.size();
        const auto [end, error] = std::from_chars(begin, name.data() + name.size(), layer);
        if (error == std::errc() && end != name.data() + name.size() && *end == '.') return layer;
    }
    return -1;
}

// Of DeepSeek, GLM and Qwen: the projection of the token and the state before, their norms
// and an output of its own.
bool is_of_prediction(std::string_view name) {
    return std::ranges::any_of(std::array{"mtp", "nextn", "eh_proj", "enorm", "hnorm", "shared_head"},
                               [name](const char* word) { return name.find(word) != std::string_view::npos; });
}

UnusedTensors::Part part_of(std::string_view name, std::int64_t n_layers) {
    using Part = UnusedTensors::Part;
    const auto has = [name](std::string_view word) { return name.find(word) != std::string_view::npos; };
    constexpr std::array kOfVision = {
        "vision", "visual", "mm_projector", "multi_modal_projector", "vit_large_projector", "patch_merge_mlp"};
    if (std::ranges::any_of(kOfVision, has) || name.starts_with("v.") || name.starts_with("mm.")) return Part::kVision;
    if (has("audio") || name.starts_with("a.")) return Part::kAudio;
    const std::int64_t layer = layer_in(name);
    if (name.starts_with("mtp.") || has(".mtp.") || has(".nextn.") || layer >= n_layers) {
        return Part::kPredictionLayers;
    }
    return layer >= 0 ? Part::kLayers : Part::kOther;
}

class TypeTable {
  public:
    explicit TypeTable(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

    void add(const char* role, const std::string& name) {
        const TensorView* const tensor = name.empty() ? nullptr : checkpoint_.find(name);
        if (tensor == nullptr || !seen_.insert(tensor).second) return;
        auto& types = row(role).types;
        auto found = std::find_if(types.begin(), types.end(),
                                  [&](const TypeCount& count) { return count.type == tensor->type_name; });
        if (found == types.end()) found = types.insert(found, {tensor->type_name, 0, 0});
        ++found->n_tensors;
        found->bytes += tensor->bytes.size();
    }

    std::vector<RoleTypes> take() {
        for (RoleTypes& role : rows_) {
            std::stable_sort(role.types.begin(), role.types.end(),
                             [](const TypeCount& a, const TypeCount& b) { return a.bytes > b.bytes; });
        }
        return std::move(rows_);
    }

  private:
    RoleTypes& row(const char* role) {
        const auto found =
            std::find_if(rows_.begin(), rows_.end(), [&](const RoleTypes& row) { return row.role == role; });
        if (found != rows_.end()) return *found;
        rows_.push_back({role, {}});
        return rows_.back();
    }

    const Checkpoint& checkpoint_;
    std::vector<RoleTypes> rows_;
    std::unordered_set<const TensorView*> seen_;  // many experts share one
};

}  // namespace

std::vector<RoleTypes> types_by_role(const Checkpoint& checkpoint, const ModelSpec& spec) {
    TypeTable table(checkpoint);
    for_each_name(checkpoint, spec, [&](const char* role, const std::string& name) { table.add(role, name); });
    return table.take();
}

std::string dense_types(const std::vector<RoleTypes>& roles) {
    std::vector<TypeCount> all;
    for (const RoleTypes& role : roles) {
        if (role.role.starts_with("experts")) continue;
        for (const TypeCount& count : role.types) {
            const auto same = [&](const TypeCount& other) { return other.type == count.type; };
            const auto found = std::find_if(all.begin(), all.end(), same);
            (found != all.end() ? *found : all.emplace_back(TypeCount{count.type, 0, 0})).bytes += count.bytes;
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const TypeCount& a, const TypeCount& b) { return a.bytes > b.bytes; });
    std::string text;
    for (const TypeCount& count : all) text += (text.empty() ? "" : ", ") + count.type;
    return text;
}

std::vector<UnusedTensors> unused_tensors(const Checkpoint& checkpoint, const ModelSpec& spec) {
    // Read with the configuration (GGUF), or computed from it.
    std::unordered_set<std::string_view> read = {"rope_freqs.weight", "rope_factors_short.weight",
                                                 "rope_factors_long.weight"};
    std::unordered_set<std::string> names;
    for_each_name(checkpoint, spec, [&](const char*, const std::string& name) {
        if (!name.empty()) names.insert(name);
    });
    read.insert(names.begin(), names.end());
    std::vector<UnusedTensors> unused;
    bool predicts = false;
    for (const TensorView& tensor : checkpoint.tensors()) {
        if (read.contains(tensor.name) || is_redundant(tensor.name, spec)) continue;
        const UnusedTensors::Part part = part_of(tensor.name, spec.n_layers());
        predicts = predicts || (part == UnusedTensors::Part::kPredictionLayers && is_of_prediction(tensor.name));
        auto found = std::find_if(unused.begin(), unused.end(),
                                  [part](const UnusedTensors& known) { return known.part == part; });
        if (found == unused.end()) found = unused.insert(found, {part, tensor.name, 0, 0});
        ++found->n_tensors;
        found->bytes += tensor.bytes.size();
    }
    // Without what such layers alone have, those of a folder are the model's own, left out
    // by its config.json.
    for (UnusedTensors& part : unused) {
        const bool may_predict = predicts || part.first.starts_with("blk.");
        if (part.part == UnusedTensors::Part::kPredictionLayers && !may_predict) {
            part.part = UnusedTensors::Part::kLayers;
        }
    }
    std::sort(unused.begin(), unused.end(),
              [](const UnusedTensors& a, const UnusedTensors& b) { return a.part < b.part; });
    return unused;
}

const char* name_of(UnusedTensors::Part part) {
    constexpr const char* kNames[] = {"layers that predict further tokens", "vision tower", "audio tower",
                                      "tensors of the layers", "other tensors"};
    return kNames[static_cast<std::size_t>(part)];
}

Message describe(const UnusedTensors& unused) {
    const ByteSize size{unused.bytes};
    switch (unused.part) {
        case UnusedTensors::Part::kPredictionLayers:
            return messages::unused_prediction_layers(size, unused.n_tensors);
        case UnusedTensors::Part::kVision:
            return messages::unused_vision_tower(size, unused.n_tensors);
        case UnusedTensors::Part::kAudio:
            return messages::unused_audio_tower(size, unused.n_tensors);
        case UnusedTensors::Part::kLayers:
            return messages::unused_layer_tensors(size, unused.n_tensors, in_quotes(unused.first));
        case UnusedTensors::Part::kOther:
            break;
    }
    return messages::unused_tensors(size, unused.n_tensors, in_quotes(unused.first));
}

}  // namespace offstage::engine
