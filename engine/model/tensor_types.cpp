#include "engine/model/tensor_types.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "engine/model/dense_tensors.h"
#include "engine/model/families/family.h"

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
    for (const DenseTensor& tensor : dense_tensors(spec)) {
        for (const TensorPart& part : spec.family->parts(spec, tensor)) table.add(role_name(spec, tensor), part.name);
    }
    constexpr std::array kMatrices = {"experts, gate", "experts, up", "experts, down"};
    for (std::int64_t l = 0; l < spec.experts.n_layers; ++l) {
        for (std::int64_t e = 0; e < spec.experts.n_experts; ++e) {
            const ExpertParts parts = spec.family->expert(spec, spec.layer_of(l), e);
            for (std::size_t i = 0; i < kMatrices.size(); ++i) {
                table.add(kMatrices[i], parts.matrices[i].name);
                table.add(kMatrices[i], parts.matrices[i].exponents);
            }
            if (!spec.experts.expert.biases) continue;
            for (const ExpertPart& bias : parts.biases) table.add("experts, biases", bias.name);
        }
    }
    return table.take();
}

}  // namespace offstage::engine
