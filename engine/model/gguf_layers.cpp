// Families in GGUF files whose layers differ in more than the network: a layer's kind,
// heads and positions, from keys with a value for each layer.

#include <algorithm>

#include "engine/model/gguf_config.h"
#include "engine/model/model_messages.h"

namespace offstage::engine {

using nlohmann::json;

void configure_recurrent_layers(GgufConfig& c, const char* type) {
    const auto n_layers = c.config()["num_hidden_layers"].get<std::size_t>();
    const auto set_types = [&](const std::string& key, const auto& is_recurrent) {
        json types = json::array();
        for (std::size_t l = 0; l < n_layers; ++l) {
            types.push_back(is_recurrent(l) ? type : "full_attention");
        }
        c.set("layer_types", types, key);
    };
    const std::string heads_key = c.key("attention.head_count_kv");
    const GgufValue* const heads = c.metadata().find(heads_key);
    const auto* const of_layers = heads == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(heads);
    if (of_layers != nullptr) {
        const std::int64_t most = of_layers->empty() ? 0 : std::ranges::max(*of_layers);
        const bool one_number = std::ranges::all_of(*of_layers, [&](auto n) { return n == 0 || n == most; });
        if (of_layers->size() < n_layers || !one_number) {
            c.metadata().reject(heads_key, messages::one_number_of_heads(n_layers));
        }
        c.set("num_key_value_heads", most, heads_key);
        if (std::ranges::count(*of_layers, 0) > 0) set_types(heads_key, [&](auto l) { return (*of_layers)[l] == 0; });
    } else {
        c.take("num_key_value_heads", "attention.head_count_kv");
    }
    const std::string key = c.key("attention.recurrent_layers");
    const std::span<const std::int64_t> recurrent = c.metadata().integers(key);
    if (c.metadata().has(key) && recurrent.size() < n_layers) {
        c.metadata().reject(key, messages::a_list_of_booleans(n_layers));
    }
    if (!recurrent.empty()) set_types(key, [&](auto l) { return recurrent[l] != 0; });
}

void configure_single_layers(GgufConfig& c) {
    const auto n_layers = c.config()["num_hidden_layers"].get<std::size_t>();
    const auto of_layers = [&](const std::string& key) {
        const std::span<const std::int64_t> values = c.metadata().integers(key);
        if (values.size() < n_layers) c.metadata().reject(key, messages::a_number_for_each_layer(n_layers));
        return values;
    };
    const std::string heads_key = c.key("attention.head_count_kv");
    const std::span<const std::int64_t> heads = of_layers(heads_key), widths = of_layers(c.key("feed_forward_length"));
    const std::int64_t most = std::ranges::max(heads);
    json types = json::array();
    for (std::size_t l = 0; l < n_layers; ++l) {
        if (heads[l] != 0 && heads[l] != most) c.metadata().reject(heads_key, messages::one_number_of_heads(n_layers));
        types.push_back(heads[l] != 0 ? "full_attention" : widths[l] != 0 ? "moe" : "linear_attention");
    }
    c.set("num_key_value_heads", most, heads_key);
    c.set("layers_block_type", types, heads_key);
}

void configure_windows(GgufConfig& c) {
    const auto n_layers = c.config()["num_hidden_layers"].get<std::size_t>();
    const std::string key = c.key("attention.sliding_window_pattern");
    const GgufValue* const value = c.metadata().find(key);
    if (value == nullptr) return;
    if (std::holds_alternative<std::int64_t>(*value)) {
        c.take("sliding_window_pattern", "attention.sliding_window_pattern");
        return;
    }
    const std::span<const std::int64_t> windowed = c.metadata().integers(key);
    if (windowed.size() < n_layers) c.metadata().reject(key, messages::a_list_of_booleans(n_layers));
    json types = json::array();
    for (std::size_t l = 0; l < n_layers; ++l)
        types.push_back(windowed[l] != 0 ? "sliding_attention" : "full_attention");
    c.set("layer_types", types, key);
}

void configure_heads_of_windows(GgufConfig& c) {
    const auto n_layers = c.config()["num_hidden_layers"].get<std::size_t>();
    const json types = c.config().value("layer_types", json(std::vector<std::string>(n_layers, "full_attention")));
    const auto is_windowed = [&](std::size_t l) { return types[l] == "sliding_attention"; };
    const auto take = [&](const std::string& field, const std::string& name) {
        const std::string key = c.key(name);
        const GgufValue* const heads = c.metadata().find(key);
        const auto* const of_layers = heads == nullptr ? nullptr : std::get_if<std::vector<std::int64_t>>(heads);
        if (of_layers == nullptr) {
            c.take(field, name);
            c.take("swa_" + field, name);
            return;
        }
        if (of_layers->size() < n_layers) c.metadata().reject(key, messages::a_number_for_each_layer(n_layers));
        for (std::size_t l = 0; l < n_layers; ++l) {
            const std::string own = is_windowed(l) ? "swa_" + field : field;
            const json known = c.config().value(own, json());
            if (known.is_number() && known != (*of_layers)[l]) {
                c.metadata().reject(key, messages::one_number_of_heads(n_layers));
            }
            c.set(own, (*of_layers)[l], key);
        }
    };
    take("num_attention_heads", "attention.head_count");
    take("num_key_value_heads", "attention.head_count_kv");
    for (std::size_t l = 0; l < n_layers; ++l) {
        c.set(is_windowed(l) ? "add_swa_attention_sink_bias" : "add_full_attention_sink_bias",
              c.layer_has(static_cast<std::int64_t>(l), "attn_sinks.weight"));
    }
}

void configure_gemma4(GgufConfig& c) {
    const GgufMetadata& metadata = c.metadata();
    const auto n_layers = c.config()["num_hidden_layers"].get<std::int64_t>();
    const std::string pattern_key = c.key("attention.sliding_window_pattern");
    const std::span<const std::int64_t> windowed = metadata.integers(pattern_key);
    if (static_cast<std::int64_t>(windowed.size()) < n_layers) {
        metadata.reject(pattern_key, messages::a_list_of_booleans(n_layers));
    }
    const std::string heads_key = c.key("attention.head_count_kv");
    const GgufValue* const heads = metadata.find(heads_key);
    const bool has_list = heads != nullptr && std::holds_alternative<std::vector<std::int64_t>>(*heads);
    if (has_list && std::ssize(std::get<std::vector<std::int64_t>>(*heads)) < n_layers) {
        metadata.reject(heads_key, messages::a_number_for_each_layer(n_layers));
    }
    json types = json::array();
    json layers = json::object();
    bool values_from_keys = false;
    for (std::int64_t l = 0; l < n_layers; ++l) {
        const auto at = static_cast<std::size_t>(l);
        const bool has_window = windowed[at] != 0;
        types.push_back(has_window ? "sliding_attention" : "full_attention");
        const std::string size_key = c.key(has_window ? "attention.key_length_swa" : "attention.key_length");
        json& own = layers[std::to_string(l)];
        own["head_dim"] = metadata.integer(size_key, 1, 1 << 16);
        own["num_key_value_heads"] =
            has_list ? std::get<std::vector<std::int64_t>>(*heads)[at] : metadata.integer(heads_key, 1, 1 << 16);
        values_from_keys |= !has_window && !c.has_tensor("blk." + std::to_string(l) + ".attn_v.weight");
    }
    c.set("layer_types", types, pattern_key);
    c.set("per_layer_config", layers, c.key("attention.key_length"));
    c.set("attention_k_eq_v", values_from_keys);
    json full = {{"rope_theta", metadata.number(c.key("rope.freq_base"), 1e6)}};
    if (c.config().contains("rope_scaling")) full.update(c.config()["rope_scaling"]);  // for these layers only
    c.config().erase("rope_scaling");
    c.set("rope_parameters",
          {{"sliding_attention", {{"rope_theta", metadata.number(c.key("rope.freq_base_swa"), 1e4)}}},
           {"full_attention", full}},
          c.key("rope.freq_base"));
    c.take("final_logit_softcapping", "final_logit_softcapping");
    c.take("hidden_size_per_layer_input", "embedding_length_per_layer_input", 0u);
    c.take("num_kv_shared_layers", "attention.shared_kv_layers", 0u);
    c.take("top_k_experts", "expert_used_count");
    c.set("enable_moe_block", true);
    c.set("layer_scalars", c.any_layer_has("layer_output_scale.weight"));
}

}  // namespace offstage::engine
