#include "engine/model/prediction_layer.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <utility>

#include "engine/error.h"
#include "engine/model/model_messages.h"

namespace offstage::engine {
namespace {

constexpr const char* kProjection = "prediction.projection.weight";
constexpr const char* kTokenNorm = "prediction.token_norm.weight";
constexpr const char* kStateNorm = "prediction.state_norm.weight";

// Qwen3-Next's, GLM-4.5's and DeepSeek-V3's layers were compared with a reference of
// their arithmetic (tests/golden/make_prediction_golden.py); the others are like one of
// them.
constexpr std::array<std::string_view, 7> kKnownClasses = {
    "Qwen3NextForCausalLM", "Qwen3_5MoeForConditionalGeneration", "Qwen3_5MoeForCausalLM",
    "Glm4MoeForCausalLM",   "Glm4vMoeForConditionalGeneration",   "Glm4MoeLiteForCausalLM",
    "DeepseekV3ForCausalLM"};

std::string final_norm_of(const ModelSpec& layer) {
    DenseTensor norm;
    norm.role = TensorRole::kFinalNorm;
    norm.kind = DenseTensor::Kind::kVector;
    norm.n_rows = 1;
    norm.n_cols = layer.hidden_dim;
    return layer.family->parts(layer, norm).front().name;
}

// What the files call the parts that no other layer has: below the layer's name, or
// beside it (Qwen). Embedding and head are in some files once more.
struct OwnName {
    std::string_view in_file;
    const char* ours;  // nullptr: the final norm; "": not needed
};
constexpr OwnName kBelowTheLayer[] = {
    {"eh_proj.weight", kProjection},      {"nextn.eh_proj.weight", kProjection},
    {"enorm.weight", kTokenNorm},         {"nextn.enorm.weight", kTokenNorm},
    {"hnorm.weight", kStateNorm},         {"nextn.hnorm.weight", kStateNorm},
    {"shared_head.norm.weight", nullptr}, {"nextn.shared_head_norm.weight", nullptr},
    {"embed_tokens.weight", ""},          {"nextn.embed_tokens.weight", ""},
    {"shared_head.head.weight", ""},      {"nextn.shared_head_head.weight", ""},
};
constexpr OwnName kBesideTheLayer[] = {{"fc.weight", kProjection},
                                       {"pre_fc_norm_embedding.weight", kTokenNorm},
                                       {"pre_fc_norm_hidden.weight", kStateNorm},
                                       {"norm.weight", nullptr}};

// A tensor's name in a model that is this layer alone; empty: it is not the layer's.
std::string name_in_layer(std::string_view name, std::int64_t number, const std::string& final_norm) {
    const auto below = [&](std::string_view prefix) {
        if (!name.starts_with(prefix)) return false;
        name.remove_prefix(prefix.size());
        return true;
    };
    const auto own = [&](std::span<const OwnName> names) -> const OwnName* {
        for (const OwnName& one : names) {
            if (one.in_file == name) return &one;
        }
        return nullptr;
    };
    const auto named = [&](const OwnName& found) {
        return found.ours == nullptr ? final_norm : std::string(found.ours);
    };
    const std::string digits = std::to_string(number) + ".";
    const bool in_gguf = below("blk." + digits);
    if (in_gguf || below("model.layers." + digits) || below("model.language_model.layers." + digits) ||
        below("mtp.layers.0.") || below("model.mtp.layers.0.")) {
        if (const OwnName* const found = own(kBelowTheLayer)) return named(*found);
        return (in_gguf ? "blk.0." : "model.layers.0.") + std::string(name);
    }
    if (!below("mtp.") && !below("model.mtp.")) return {};
    const OwnName* const found = own(kBesideTheLayer);
    return found == nullptr ? std::string() : named(*found);
}

// Another checkpoint's tensors under other names.
class RenamedTensors final : public Checkpoint {
  public:
    RenamedTensors(const Checkpoint& whole, std::vector<TensorView> tensors)
        : whole_(whole), tensors_(std::move(tensors)) {
        for (const TensorView& tensor : tensors_) {
            by_name_.emplace(tensor.name, &tensor);
            total_bytes_ += tensor.bytes.size();
        }
    }

    std::span<const TensorView> tensors() const override { return tensors_; }
    const TensorView* find(std::string_view name) const override {
        const auto found = by_name_.find(name);
        return found == by_name_.end() ? nullptr : found->second;
    }
    void release(std::span<const std::byte> bytes) const override { whole_.release(bytes); }
    void prefetch(std::span<const std::byte> bytes) const override { whole_.prefetch(bytes); }
    void require_readable(std::span<const std::byte> bytes) const override { whole_.require_readable(bytes); }
    std::uint64_t n_lost() const override { return whole_.n_lost(); }
    void require_nothing_lost(std::uint64_t before) const override { whole_.require_nothing_lost(before); }
    void expect_scattered_reads(bool scattered) const override { whole_.expect_scattered_reads(scattered); }
    std::uint64_t total_bytes() const override { return total_bytes_; }
    std::string source() const override { return whole_.source(); }

  private:
    const Checkpoint& whole_;
    const std::vector<TensorView> tensors_;
    std::map<std::string_view, const TensorView*> by_name_;
    std::uint64_t total_bytes_ = 0;
};

}  // namespace

ModelSpec prediction_spec(const ModelSpec& model) {
    ModelSpec spec = model;
    spec.predicts = true;
    spec.tied_embeddings = false;
    spec.safetensors = {};
    spec.max_context = std::min(model.max_context, kMostPredictionContext);
    // The last one with experts that keeps keys: of recurrent layers it has none.
    const auto last = std::find_if(model.layers.rbegin(), model.layers.rend(), [](const LayerSpec& layer) {
        return layer.moe() != nullptr && layer.has_attention() && layer.kept_size() == 0;
    });
    assert(last != model.layers.rend());
    spec.layers = {*last};
    spec.number_moe_layers();
    return spec;
}

std::unique_ptr<Checkpoint> prediction_tensors(const Checkpoint& whole, const ModelSpec& model) {
    if (model.predicts || std::ranges::find(kKnownClasses, model.architecture) == kKnownClasses.end()) return nullptr;
    const std::string final_norm = final_norm_of(prediction_spec(model));
    std::vector<TensorView> tensors;
    const TensorView* models_norm = nullptr;
    for (const TensorView& tensor : whole.tensors()) {
        if (tensor.name == final_norm) models_norm = &tensor;
        std::string name = name_in_layer(tensor.name, model.n_layers(), final_norm);
        if (name.empty()) continue;
        tensors.push_back(tensor);
        tensors.back().name = std::move(name);
    }
    const auto has = [&](std::string_view name) { return std::ranges::find(tensors, name, &TensorView::name); };
    const auto projection = has(kProjection);
    if (projection == tensors.end()) return nullptr;
    const std::int64_t n = model.hidden_dim, multiple = kernels::row_multiple(projection->type);
    if (kernels::is_blocks(projection->type) && n % multiple != 0) {
        throw Error(ErrorKind::kUnsupported,
                    messages::tensor_blocks_split(whole.source(), projection->name, multiple, n));
    }
    // A row's two halves are two rows here, in turns those of the token and of the state.
    if (projection->shape == std::vector<std::int64_t>{n, 2 * n}) projection->shape = {2 * n, n};
    if (has(final_norm) == tensors.end() && models_norm != nullptr) tensors.push_back(*models_norm);
    return std::make_unique<RenamedTensors>(whole, std::move(tensors));
}

std::vector<TensorPart> prediction_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::int64_t n = spec.hidden_dim;
    if (tensor.kind == DenseTensor::Kind::kMatrix) {
        return {{kProjection, {2 * n, n}, 2, tensor.role == TensorRole::kPredictionToken ? 0 : 1, 1}};
    }
    DenseTensor final_norm = tensor;  // stored alike
    final_norm.role = TensorRole::kFinalNorm;
    std::vector<TensorPart> parts = spec.family->parts(spec, final_norm);
    parts.front().name = tensor.role == TensorRole::kPredictionTokenNorm ? kTokenNorm : kStateNorm;
    return parts;
}

}  // namespace offstage::engine
