#pragma once
// The metadata of a GGUF file as a configuration that families read; for
// gguf_families.cpp.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/files/gguf_file.h"
#include "engine/model/config_fields.h"

namespace offstage::engine {

nlohmann::json json_of(const GgufValue& value);

// A file's metadata and tensors on their way to a configuration.
class GgufConfig {
  public:
    // The header must outlive this object.
    GgufConfig(std::string architecture, const GgufHeader& header)
        : architecture_(std::move(architecture)), metadata_(header.metadata) {
        for (const GgufTensor& tensor : header.tensors) add_tensor(tensor);
    }
    // Of a further part of a split file.
    void add_tensor(const GgufTensor& tensor) { shapes_.emplace(tensor.name, &tensor.shape); }

    // "block_count" is qwen3moe.block_count.
    std::string key(const std::string& name) const { return architecture_ + "." + name; }
    bool has(const std::string& name) const { return metadata_.has(key(name)); }
    const GgufMetadata& metadata() const { return metadata_; }

    // The configuration's `field` is what `name` says, if that is there; else the
    // fallback, unless it is null.
    void take(const std::string& field, const std::string& name, const nlohmann::json& fallback = nullptr);
    // The same of an object in the configuration, without a fallback.
    void take_into(nlohmann::json& object, const char* field, const std::string& name) const;
    void set(const std::string& field, const nlohmann::json& value) { config_[field] = value; }
    // A field that is found from a tensor or a key of another family's.
    void set(const std::string& field, const nlohmann::json& value, const std::string& from) {
        config_[field] = value;
        names_[field] = from;
    }

    // nullptr: there is none.
    const std::vector<std::int64_t>* shape_of(std::string_view name) const {
        const auto found = shapes_.find(name);
        return found == shapes_.end() ? nullptr : found->second;
    }
    bool has_tensor(std::string_view name) const { return shape_of(name) != nullptr; }
    // In the first layer that has one of this name, "ffn_down_exps.weight"; nullptr: none.
    const std::vector<std::int64_t>* shape_in_a_layer(const std::string& name) const;
    bool any_layer_has(const std::string& name) const { return shape_in_a_layer(name) != nullptr; }

    nlohmann::json& config() { return config_; }
    const ConfigFields::KeyNames& names() const { return names_; }

  private:
    std::string architecture_;
    const GgufMetadata& metadata_;
    std::unordered_map<std::string_view, const std::vector<std::int64_t>*> shapes_;
    nlohmann::json config_ = nlohmann::json::object();
    ConfigFields::KeyNames names_;
};

// ---- rotary positions, in gguf_rope.cpp

// rope_theta, and YaRN by the metadata.
void configure_gguf_rope(GgufConfig& c);
// The factors of LongRoPE, which are tensors of one part of a split file.
void add_long_rope(const GgufFile& part, GgufConfig& c);
// Divisors of the frequencies, a tensor too, once the family is configured.
void add_frequency_factors(const GgufFile& part, GgufConfig& c);

}  // namespace offstage::engine
