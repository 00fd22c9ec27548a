// Rotary positions in a configuration. Source: transformers' modeling_rope_utils.py.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/error.h"
#include "engine/model/config_fields.h"
#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

double number_or(const JsonFields& rope, const char* key, double low, double high, double fallback) {
    return rope.has_value(key) ? rope.number(key, low, high) : fallback;
}

std::string type_of(const JsonFields& rope) {
    return rope.text(rope.has("rope_type") ? "rope_type" : "type", "default");
}

constexpr const char* kContext = "max_position_embeddings";
constexpr const char* kOriginalContext = "original_max_position_embeddings";

// The context of the first training: beside the positions if it is there, as transformers
// 5 prefers it, else among them, else the one under the key `otherwise`.
std::int64_t original_context(const ConfigFields& config, const JsonFields& rope, const char* otherwise) {
    if (!config.has_value(kOriginalContext) && rope.has_value(kOriginalContext)) {
        return rope.integer(kOriginalContext, 2, kLongestContext);
    }
    return config.count(config.has_value(kOriginalContext) ? kOriginalContext : otherwise, 2, kLongestContext);
}

// YaRN's; null: the ratio of the contexts.
double yarn_factor(const ConfigFields& config, const JsonFields& rope) {
    if (!rope.is_null("factor")) return rope.number("factor", 1.0, 1e6);
    return std::max(1.0, static_cast<double>(config.count(kContext, 1, kLongestContext)) /
                             static_cast<double>(original_context(config, rope, kContext)));
}

// LongRoPE (Ding and others, 2024): the frequency of each pair is divided by its own
// factor, which is another one beyond the context of the first training.
void read_long_rope(const ConfigFields& config, const JsonFields& rope, RopeSpec& result) {
    const auto scale = [&](const char* key) {
        const json* const list = rope.find(key);
        const auto n = static_cast<std::size_t>(result.dim / 2);
        const Message expected = messages::a_list_of_rope_factors(n);
        if (list == nullptr || !list->is_array() || list->size() != n) rope.reject(key, expected);
        std::vector<double> scales;
        for (const json& factor : *list) {
            const double value = factor.is_number() ? factor.get<double>() : 0;
            if (!(value >= 1e-6 && value <= 1e6)) {  // a file's own floats may be no number
                rope.reject(key, messages::a_list_of_rope_factors_but(n, describe(factor)));
            }
            scales.push_back(1 / value);
        }
        return scales;
    };
    result.frequency_scale = scale("short_factor");
    result.long_frequency_scale = scale("long_factor");
    result.original_context = original_context(config, rope, kOriginalContext);
    const auto original = static_cast<double>(result.original_context);
    const double contexts = static_cast<double>(config.count(kContext, 1, kLongestContext)) / original;
    const double factor = number_or(rope, "factor", 1e-3, 1e6, contexts);
    const double computed = factor <= 1 ? 1 : std::sqrt(1 + std::log(factor) / std::log(original));
    const double amplitude = number_or(rope, "attention_factor", 1e-3, 1e3, computed);
    result.amplitude = number_or(rope, "short_mscale", 1e-3, 1e3, amplitude);
    result.long_amplitude = number_or(rope, "long_mscale", 1e-3, 1e3, amplitude);
}

// Frequencies stay as they are up to the model's context.
void read_dynamic(const ConfigFields& config, const JsonFields& rope, RopeSpec& result) {
    if (rope.has_value("alpha")) {  // Hunyuan's: the same frequencies at every length
        if (result.dim <= 2) rope.reject("alpha", messages::more_than_one_pair_for_dynamic);
        const auto dim = static_cast<double>(result.dim);
        result.theta *= std::pow(rope.number("alpha", 1.0, 1e6), dim / (dim - 2));
        return;
    }
    result.dynamic_factor = rope.number("factor", 1.0, 1e6);
    result.dynamic_context = config.count(kContext, 1, kLongestContext);
    if (result.dim <= 2) rope.reject("rope_type", messages::more_than_one_pair_for_dynamic);
}

void read_yarn(const ConfigFields& config, const JsonFields& rope, RopeSpec& result) {
    Yarn yarn;
    yarn.original_context = original_context(config, rope, kContext);
    yarn.factor = yarn_factor(config, rope);
    const double fast = number_or(rope, "beta_fast", 0, 1e6, 0);
    const double slow = number_or(rope, "beta_slow", 0, 1e6, 0);
    yarn.beta_fast = fast > 0 ? fast : 32;
    yarn.beta_slow = slow > 0 ? slow : 1;
    yarn.truncated = !rope.has_value("truncate") || rope.boolean("truncate", true);
    if (result.theta <= 1) config.reject("rope_theta", messages::a_number_above_one_for_yarn);
    result.frequency_scale = yarn_frequency_scale(yarn, result.dim, result.theta);
    const double mscale = number_or(rope, "mscale", 0, 1e3, 0);
    const double all_dim = number_or(rope, "mscale_all_dim", 0, 1e3, 0);
    const double computed = mscale > 0 && all_dim > 0
                                ? yarn_mscale(yarn.factor, mscale) / yarn_mscale(yarn.factor, all_dim)
                                : yarn_mscale(yarn.factor, 1);
    result.amplitude = number_or(rope, "attention_factor", 1e-3, 1e3, computed);
}

// Llama 3.1: pairs that turn less than low_freq_factor times within the context of the
// first training are slowed down by the factor, those above high_freq_factor are not.
void read_llama3(const ConfigFields& config, const JsonFields& rope, RopeSpec& result) {
    const double factor = rope.number("factor", 1.0, 1e6);
    const double low = rope.number("low_freq_factor", 1e-3, 1e6);
    const double high = rope.number("high_freq_factor", 1e-3, 1e6);
    if (high <= low) rope.reject("high_freq_factor", messages::a_number_above_low_freq_factor);
    const auto original = static_cast<double>(original_context(config, rope, kContext));
    for (std::int64_t i = 0; i < result.dim / 2; ++i) {
        const double frequency = std::pow(result.theta, -2 * static_cast<double>(i) / static_cast<double>(result.dim));
        const double turns = original * frequency / (2 * std::numbers::pi);
        const double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
        result.frequency_scale.push_back((1 - kept) / factor + kept);
    }
}

// Over the whole head; a share of its pairs turns, the first ones.
void read_proportional(const JsonFields& rope, RopeSpec& result) {
    const double share = rope.number("partial_rotary_factor", 0.0, 1.0, 1.0);
    const auto n_turned = static_cast<std::size_t>(share * static_cast<double>(result.dim) / 2);
    result.frequency_scale.assign(static_cast<std::size_t>(result.dim / 2), 0.0);
    std::fill_n(result.frequency_scale.begin(), n_turned, 1.0 / rope.number("factor", 1.0, 1e6, 1.0));
}

}  // namespace

double yarn_mscale(double factor, double mscale) {
    return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

// As in transformers, a rope_scaling that is not empty hides rope_parameters, and the
// theta inside wins.
RopeSpec ConfigFields::rope(std::int64_t dim, double default_theta, double* softmax_factor) const {
    constexpr double kLow = 1.0;
    constexpr double kHigh = 1e12;
    RopeSpec result;
    result.dim = dim;
    result.theta = has_value("rope_theta") ? number("rope_theta", kLow, kHigh) : default_theta;
    for (const char* key : {"rope_scaling", "rope_parameters"}) {
        if (!has_value(key)) continue;
        const ConfigFields rope(*find(key), source_, names_, std::string(key) + ".");
        if (find(key)->empty()) continue;
        for (const auto& [name, value] : find(key)->items()) {
            if (!value.is_object()) continue;
            throw Error(ErrorKind::kUnsupported,
                        messages::rope_differs_between_layers(source_, key, in_quotes(name).substr(1)));
        }
        if (rope.has_value("rope_theta")) result.theta = rope.number("rope_theta", kLow, kHigh);
        const std::string type = type_of(rope);
        if (type == "longrope" || type == "su") {
            read_long_rope(*this, rope, result);
        } else if (type == "yarn") {
            read_yarn(*this, rope, result);
        } else if (type == "linear") {
            result.frequency_scale.assign(static_cast<std::size_t>(dim / 2), 1 / rope.number("factor", 1e-3, 1e6));
        } else if (type == "dynamic") {
            read_dynamic(*this, rope, result);
        } else if (type == "llama3") {
            read_llama3(*this, rope, result);
        } else if (type == "proportional") {
            read_proportional(rope, result);
        } else if (type != "default") {
            throw Error(ErrorKind::kUnsupported, messages::rope_type_unsupported(source_, key, in_quotes(type)));
        }
        // Queries and keys have one such factor each.
        if (const double all_dim = number_or(rope, "mscale_all_dim", 0, 1e3, 0);
            softmax_factor != nullptr && type != "default" && all_dim > 0) {
            const double factor = yarn_mscale(rope.number("factor", 1e-3, 1e6), all_dim);
            *softmax_factor = factor * factor;
        }
        const double amplitude = number_or(rope, "amplitude", 1e-3, 1e3, 1);  // GGUF's, of any type
        result.amplitude *= amplitude;
        result.long_amplitude *= amplitude;
        break;
    }
    return result;
}

std::int64_t ConfigFields::stretched_context() const {
    for (const char* key : {"rope_scaling", "rope_parameters"}) {
        if (!has_value(key) || find(key)->empty()) continue;
        const JsonFields rope = object(key);
        const std::string type = type_of(rope);
        const bool is_yarn = type == "yarn";
        const bool is_other = type != "linear" && (type != "dynamic" || rope.has_value("alpha"));
        if (!is_yarn && (is_other || !has_value(kContext))) return 0;
        const std::int64_t context =
            is_yarn ? original_context(*this, rope, kContext) : count(kContext, 1, kLongestContext);
        const double factor = is_yarn ? yarn_factor(*this, rope) : rope.number("factor", 1e-3, 1e6);
        return static_cast<std::int64_t>(std::min(static_cast<double>(context) * factor, double{kLongestContext}));
    }
    return 0;
}

std::int64_t ConfigFields::rotary_dim(std::int64_t head_dim, std::optional<double> default_share) const {
    const char* key = "partial_rotary_factor";
    double share = default_share.value_or(1);
    if (has_value(key)) share = number(key, 0.0, 1.0);
    for (const char* below : {"rope_parameters", "rope_scaling"}) {
        if (!has_value(below)) continue;
        const JsonFields rope = object(below);
        if (rope.has_value(key) && type_of(rope) != "proportional") share = rope.number(key, 0.0, 1.0);
    }
    if (!default_share.has_value() && share != 1) unsupported(key, describe(json(share)), "1");
    auto dim = static_cast<std::int64_t>(static_cast<double>(head_dim) * share);
    if (default_share.has_value() && has_value("rotary_dim")) {
        key = "rotary_dim";
        dim = integer(key, 2, head_dim);
    }
    if (dim < 2 || dim % 2 != 0) {
        reject(key, messages::an_even_share_of_head(head_dim));
    }
    return dim;
}

}  // namespace offstage::engine
