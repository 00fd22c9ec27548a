// Rotary positions in GGUF files: YaRN in the metadata, LongRoPE and Llama 3.1's scaling
// as tensors of factors.

#include <algorithm>
#include <cstring>

#include "engine/error.h"
#include "engine/model/gguf_config.h"
#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

// A factor of cos and sin in addition to those of the type of positions.
constexpr const char* kAmplitude = "amplitude";

// Factors of rotary positions; empty where this part has no tensor of that name and need
// not.
std::vector<float> factors_in(const GgufFile& part, std::string_view name, bool required) {
    const GgufHeader& header = part.header();
    const std::span<const std::byte> file = part.file().bytes();
    const auto found = std::find_if(header.tensors.begin(), header.tensors.end(),
                                    [name](const GgufTensor& tensor) { return tensor.name == name; });
    if (found == header.tensors.end() && !required) return {};
    if (found == header.tensors.end() || found->shape.size() != 1 || found->type != 0 ||
        found->shape[0] > kMostHeadDim ||
        static_cast<std::uint64_t>(found->shape[0]) > (file.size() - found->offset) / sizeof(float)) {
        throw Error(ErrorKind::kInvalidModel,
                    messages::rope_factors_missing(header.metadata.source(), in_quotes(name)));
    }
    std::vector<float> factors(static_cast<std::size_t>(found->shape[0]));
    if (!factors.empty()) std::memcpy(factors.data(), file.data() + found->offset, factors.size() * sizeof(float));
    return factors;
}

// If positions differ between layers, the factors of those without a window divide the
// frequencies of their pairs by 1, if the pairs turn, or by a huge number.
void add_turning_share(const std::string& source, const std::vector<float>& factors, GgufConfig& c) {
    constexpr float kNever = 1e20f;
    const auto first_still = std::find_if(factors.begin(), factors.end(), [](float f) { return f >= kNever; });
    const bool is_share = std::all_of(factors.begin(), first_still, [](float f) { return f == 1; }) &&
                          std::all_of(first_still, factors.end(), [](float f) { return f >= kNever; });
    if (!is_share) {
        throw Error(ErrorKind::kUnsupported, messages::rope_factors_unsupported(source));
    }
    // A quarter of a pair more, so that rounding loses none.
    const double n_turning = static_cast<double>(first_still - factors.begin()) + 0.25;
    json& full = c.config()["rope_parameters"]["full_attention"];
    full["rope_type"] = "proportional";
    full["partial_rotary_factor"] = std::min(1.0, n_turning / static_cast<double>(factors.size()));
}

}  // namespace

void configure_gguf_rope(GgufConfig& c) {
    c.take("rope_theta", "rope.freq_base", 10000.0);
    const std::string key = c.key("rope.scaling.type");
    std::string type(c.metadata().text(key, "linear"));
    if (type.empty()) type = "none";  // as Ollama writes it
    if (type == "longrope") return;   // add_long_rope() sees to it
    const char* const factor_name = c.has("rope.scaling.factor") ? "rope.scaling.factor" : "rope.scale_linear";
    const double factor = type == "none" ? 0 : c.metadata().number(c.key(factor_name), 0.0);
    json scaling = {{"rope_type", type == "none" ? "default" : type}, {"factor", factor == 0 ? 1.0 : factor}};
    c.name("factor", c.key(factor_name));
    c.take_into(scaling, kAmplitude, "rope.scaling.attn_factor");
    const bool is_plain = scaling["factor"] == 1.0 && !scaling.contains(kAmplitude);
    if (is_plain && (type == "none" || type == "linear" || type == "dynamic")) return;
    c.take_into(scaling, "original_max_position_embeddings", "rope.scaling.original_context_length");
    c.take_into(scaling, "beta_fast", "rope.scaling.yarn_beta_fast");
    c.take_into(scaling, "beta_slow", "rope.scaling.yarn_beta_slow");
    c.take_into(scaling, "attention_factor", "rope.scaling.yarn_attn_factor");
    c.set("rope_scaling", scaling, key);
}

void add_long_rope(const GgufFile& part, GgufConfig& c) {
    const std::vector<float> factors = factors_in(part, "rope_factors_short.weight", false);
    if (factors.empty()) return;
    json scaling = {{"rope_type", "longrope"},
                    {"short_factor", factors},
                    {"long_factor", factors_in(part, "rope_factors_long.weight", true)}};
    c.take_into(scaling, "original_max_position_embeddings", "rope.scaling.original_context_length");
    c.take_into(scaling, "attention_factor", "rope.scaling.attn_factor");
    c.name("short_factor", "rope_factors_short.weight");
    c.name("long_factor", "rope_factors_long.weight");
    c.set("rope_scaling", scaling, c.key("rope.scaling"));
}

// Divisors of the frequencies of pairs. The converter writes Llama 3.1's scaling so, of
// Mixtral's shape too: the same at every length.
void add_frequency_factors(const GgufFile& part, GgufConfig& c) {
    const char* const name = "rope_freqs.weight";
    std::vector<float> factors = factors_in(part, name, false);
    if (factors.empty()) return;
    const std::string& source = part.header().metadata.source();
    if (c.config().contains("rope_parameters")) {
        add_turning_share(source, factors, c);
        return;
    }
    const json other = c.config().value("rope_scaling", json::object());
    if (const std::string type = other.value("rope_type", "default"); type != "default" && type != "linear") {
        throw Error(ErrorKind::kUnsupported, messages::rope_factors_beside(source, in_quotes(type)));
    }
    for (float& factor : factors) factor *= static_cast<float>(other.value("factor", 1.0));
    json scaling = {{"rope_type", "longrope"}, {"short_factor", factors}, {"long_factor", factors}};
    if (other.contains(kAmplitude)) scaling[kAmplitude] = other[kAmplitude];
    c.take_into(scaling, "original_max_position_embeddings", "context_length");
    c.name("short_factor", name);
    c.name("long_factor", name);
    c.set("rope_scaling", scaling, name);
}

}  // namespace offstage::engine
