#include "engine/model/gguf_config.h"

#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"

namespace offstage::engine {

using nlohmann::json;

json json_of(const GgufValue& value) {
    struct ToJson {
        json operator()(std::monostate) const { return json::array(); }
        json operator()(std::string_view text) const { return std::string(text); }
        json operator()(const std::vector<std::string_view>& list) const { return json::array_t(list.size()); }
        json operator()(bool flag) const { return flag; }
        json operator()(double number) const { return number; }
        // Families read token ids as unsigned numbers.
        json operator()(std::int64_t number) const {
            return number < 0 ? json(number) : json(static_cast<std::uint64_t>(number));
        }
        json operator()(const std::vector<std::int64_t>& list) const { return list; }
        json operator()(const std::vector<double>& list) const { return list; }
    };
    return std::visit(ToJson(), value);
}

void GgufConfig::take(const std::string& field, const std::string& name, const json& fallback) {
    names_[field] = key(name);
    if (const GgufValue* const value = metadata_.find(key(name))) {
        config_[field] = json_of(one_number(*value));
        if (config_[field].is_array()) metadata_.reject(key(name), messages::one_number_for_all_layers);
    } else if (!fallback.is_null()) {
        config_[field] = fallback;
    }
}

void GgufConfig::take_into(json& object, const char* field, const std::string& name) {
    names_[field] = key(name);
    if (const GgufValue* const value = metadata_.find(key(name))) object[field] = json_of(one_number(*value));
}

const std::vector<std::int64_t>* GgufConfig::shape_in_a_layer(const std::string& name) const {
    const std::int64_t n_layers = metadata_.integer(key("block_count"), 1, kMostLayers);
    for (std::int64_t l = 0; l < n_layers; ++l) {
        if (const auto* const shape = shape_of("blk." + std::to_string(l) + "." + name)) return shape;
    }
    return nullptr;
}

}  // namespace offstage::engine
