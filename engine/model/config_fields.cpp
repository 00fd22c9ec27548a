#include "engine/model/config_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base_messages.h"
#include "engine/error.h"
#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

// Upper limits, far above any model and far below where a product of two of them would
// overflow.
constexpr std::int64_t kMaxDim = std::int64_t{1} << 24;
constexpr std::int64_t kMaxHidden = std::int64_t{1} << 20;
constexpr std::int64_t kMaxHeads = std::int64_t{1} << 16;
constexpr std::size_t kMostListedTokens = 1024;

}  // namespace

ConfigFields::ConfigFields(const json& object, const std::string& source, const KeyNames* names, std::string path)
    : JsonFields(object, source, std::move(path)), source_(source), names_(names) {}

std::string ConfigFields::named(const std::string& key) const {
    const auto found = names_ == nullptr ? KeyNames::const_iterator() : names_->find(key);
    return names_ == nullptr || found == names_->end() ? JsonFields::named(key) : found->second;
}

void ConfigFields::unsupported(const std::string& key, const MessageArgument& what,
                               const MessageArgument& expected) const {
    throw Error(ErrorKind::kUnsupported, messages::field_unsupported(source_, named(key), what, expected));
}

void ConfigFields::expect(const char* key, const std::string& supported) const {
    const std::string found = text(key, supported);
    if (found != supported) unsupported(key, in_quotes(found), in_quotes(supported));
}

std::int64_t ConfigFields::dim(const char* key, std::optional<std::int64_t> fallback) const {
    return integer(key, 1, kMaxDim, fallback);
}

std::int64_t ConfigFields::count(const char* key, std::int64_t low, std::int64_t high,
                                 std::optional<std::int64_t> fallback) const {
    return integer(key, low, high, fallback);
}

std::int64_t ConfigFields::optional_dim(const char* key, std::int64_t fallback) const {
    return has_value(key) ? integer(key, 0, kMaxDim) : fallback;
}

bool ConfigFields::flag(const char* key, bool fallback) const {
    return has_value(key) ? boolean(key, fallback) : fallback;
}

double ConfigFields::positive(const char* key, double fallback) const {
    return has_value(key) ? number(key, std::numeric_limits<float>::min(), 1e12) : fallback;
}

float ConfigFields::eps(const char* key, double fallback) const {
    return static_cast<float>(number(key, std::numeric_limits<float>::min(), 1.0, fallback));
}

std::string ConfigFields::quantization() const {
    if (!has_value("quantization_config")) return {};
    const JsonFields quantization = object("quantization_config");
    return quantization.has_value("quant_method") ? quantization.text("quant_method") : std::string();
}

void ConfigFields::check_quantization(bool in_mxfp4) const {
    if (!has_value("quantization_config")) return;
    const std::string method = quantization();
    if (in_mxfp4 && method == "mxfp4") return;
    // The tensors say what they hold (engine/model/quantized_tensor.h).
    if (method != "fp8" && method != "compressed-tensors" && method != "modelopt") {
        unsupported("quantization_config",
                    method.empty() ? MessageArgument(messages::a_quantized_checkpoint) : in_quotes(method),
                    messages::readable_weights);
    }
    // Weights that were rotated, or stored without their zeros.
    const auto is_set = [&](const char* key) {
        const nlohmann::json& fields = *find("quantization_config");
        const auto found = fields.find(key);
        if (found == fields.end() || found->empty()) return false;
        const auto format = found->is_object() ? found->find("format") : found->end();
        return format == found->end() || *format != "dense";
    };
    for (const char* const key : {"transform_config", "sparsity_config"}) {
        if (is_set(key)) {
            unsupported("quantization_config", in_quotes(method + ", " + key), messages::readable_weights);
        }
    }
}

void ConfigFields::read_common(ModelSpec& spec, std::optional<TokenId> default_bos, std::optional<TokenId> default_eos,
                               const SizeKeys& keys) const {
    expect("hidden_act", keys.activation);
    check_quantization(spec.family == &kGptOssMxfp4);
    spec.vocab_size = dim("vocab_size");
    spec.hidden_dim = integer(keys.hidden, 1, kMaxHidden);
    spec.max_context = integer(keys.context, 1, kLongestContext);
    spec.tied_embeddings = flag("tie_word_embeddings", false);
    if (keys.layers != nullptr) spec.layers.resize(static_cast<std::size_t>(integer(keys.layers, 1, kMostLayers)));
    spec.experts.hidden_dim = spec.hidden_dim;

    const std::vector<TokenId> bos = tokens("bos_token_id", spec.vocab_size, default_bos);
    if (bos.size() > 1) reject("bos_token_id", messages::one_token_id_or_null);
    if (!bos.empty()) spec.bos_token = bos.front();
    spec.eos_tokens = tokens("eos_token_id", spec.vocab_size, default_eos);
}

GroupedQuerySpec ConfigFields::heads(const ModelSpec& spec, const char* heads_key, const std::string& kv_key,
                                     std::int64_t n_kv_heads) const {
    GroupedQuerySpec a;
    a.n_heads = integer(heads_key, 1, kMaxHeads);
    a.n_kv_heads = n_kv_heads == kAsManyAsHeads ? a.n_heads : n_kv_heads;
    if (a.n_heads % a.n_kv_heads != 0) {
        reject(kv_key.c_str(), messages::a_divisor_without_key(in_quotes(heads_key), a.n_heads, a.n_kv_heads));
    }
    if (has_value("head_dim")) {
        a.head_dim = integer("head_dim", 2, kMostHeadDim);
        if (a.head_dim % 2 != 0) reject("head_dim", messages::an_even_number_for_rope);
    } else {
        a.head_dim = spec.hidden_dim / a.n_heads;
        if (spec.hidden_dim % a.n_heads != 0 || a.head_dim % 2 != 0) {
            reject("hidden_size", messages::an_even_multiple(in_quotes(heads_key), a.n_heads));
        }
        if (a.head_dim > kMostHeadDim) reject("head_dim", messages::an_integer_in_range(2, kMostHeadDim));
    }
    a.scale = 1.0f / std::sqrt(static_cast<float>(a.head_dim));
    return a;
}

GroupedQuerySpec ConfigFields::grouped_query(const ModelSpec& spec, std::int64_t default_kv_heads, double default_theta,
                                             std::optional<double> default_rotary_share) const {
    const std::int64_t n_kv_heads = has_value("num_key_value_heads") ? integer("num_key_value_heads", 1, kMaxHeads)
                                    : has("num_key_value_heads")     ? kAsManyAsHeads
                                                                     : default_kv_heads;
    GroupedQuerySpec a = heads(spec, "num_attention_heads", "num_key_value_heads", n_kv_heads);
    a.rope = rope(rotary_dim(a.head_dim, default_rotary_share), default_theta);
    return a;
}

std::optional<std::vector<bool>> ConfigFields::layers_of_type(const char* key, const std::string& wanted,
                                                              const std::string& other, std::size_t n_layers) const {
    if (!has_value(key)) return {};
    const json& types = *find(key);
    const Message expected = messages::a_list_of_layer_types(n_layers, in_quotes(wanted), in_quotes(other));
    if (!types.is_array() || types.size() != n_layers) reject(key, expected);
    std::vector<bool> found;
    for (const json& type : types) {
        if (type != wanted && type != other) {
            reject(key,
                   messages::a_list_of_layer_types_but(n_layers, in_quotes(wanted), in_quotes(other), describe(type)));
        }
        found.push_back(type == wanted);
    }
    return found;
}

MoeSpec ConfigFields::experts(ModelSpec& spec, std::int64_t ffn_dim, std::initializer_list<const char*> count_keys,
                              std::int64_t default_experts, std::int64_t default_active, const char* active_key) const {
    const auto* const found =
        std::find_if(count_keys.begin(), count_keys.end() - 1, [&](const char* key) { return has(key); });
    spec.experts.ffn_dim = ffn_dim;
    spec.experts.n_experts = count(*found, 1, kMostExperts, default_experts);
    const std::int64_t most = std::min<std::int64_t>(spec.experts.n_experts, kernels::kMostActiveExperts);
    spec.experts.n_active = count(active_key, 1, most, std::min(default_active, most));
    MoeSpec moe;
    moe.router.n_experts = static_cast<std::int32_t>(spec.experts.n_experts);
    moe.router.n_active = static_cast<std::int32_t>(spec.experts.n_active);
    return moe;
}

void ConfigFields::expert_groups(kernels::RouterSpec& router, std::int64_t default_groups,
                                 std::int64_t default_used) const {
    const std::int64_t n_groups =
        has_value("n_group") ? count("n_group", 1, kernels::kMostExpertGroups) : default_groups;
    if (router.n_experts % n_groups != 0) {
        reject("n_group", messages::a_divisor_of_experts(router.n_experts));
    }
    router.n_groups = static_cast<std::int32_t>(n_groups);
    router.n_groups_used = static_cast<std::int32_t>(has_value("topk_group") ? count("topk_group", 1, n_groups)
                                                                             : std::min(default_used, n_groups));
    if (router.n_active > router.n_experts / router.n_groups * router.n_groups_used) {
        reject("topk_group", messages::as_many_groups_as_hold(router.n_active));
    }
}

std::vector<TokenId> ConfigFields::tokens(const char* key, std::int64_t vocab_size,
                                          std::optional<TokenId> fallback) const {
    const json* found = find(key);
    if (found == nullptr) {
        if (fallback && *fallback < vocab_size) return {*fallback};
        return {};
    }
    if (found->is_null()) return {};
    if (found->is_array() && found->size() > kMostListedTokens) {
        reject(key, messages::at_most_so_many_tokens(kMostListedTokens));
    }
    std::vector<TokenId> ids;
    const auto add = [&](const json& value) {
        // A negative integer is kept as signed, a larger one than 64 bits as a float.
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= static_cast<std::uint64_t>(vocab_size)) {
            reject(key, found->is_array() ? messages::a_token_id_or_list_but(vocab_size - 1, describe(value))
                                          : messages::a_token_id_or_list(vocab_size - 1));
        }
        const auto id = value.get<TokenId>();
        if (std::find(ids.begin(), ids.end(), id) == ids.end() || !found->is_array()) ids.push_back(id);
    };
    if (found->is_array()) {
        std::for_each(found->begin(), found->end(), add);
    } else {
        add(*found);
    }
    return ids;
}

}  // namespace offstage::engine
