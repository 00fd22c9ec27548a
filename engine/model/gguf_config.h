#pragma once
// The metadata of a GGUF file as a configuration that families read; for
// gguf_families.cpp.

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/files/gguf_file.h"
#include "engine/model/config_fields.h"
#include "engine/model/gguf_tensor_names.h"

namespace offstage::engine {

nlohmann::json json_of(const GgufValue& value);

// A file's metadata and tensors on their way to a configuration.
class GgufConfig {
  public:
    // The header, of a split file's first part, must outlive this object.
    GgufConfig(const GgufNamedFamily& family, const GgufHeader& header)
        : family_(family), architecture_(header.metadata.text("general.architecture")), metadata_(header.metadata) {
        add_tensors(header);
    }
    // For a further part of a split file.
    void add_tensors(const GgufHeader& header) {
        for (const GgufTensor& tensor : header.tensors) {
            shapes_.emplace(gguf_tensor_name(&family_, tensor.name), &tensor.shape);
        }
    }

    // "block_count" is qwen3moe.block_count.
    std::string key(const std::string& name) const { return architecture_ + "." + name; }
    bool has(const std::string& name) const { return metadata_.has(key(name)); }
    const GgufMetadata& metadata() const { return metadata_; }

    // Sets the configuration's `field` to the value of `name`, if that exists; else to
    // the fallback, unless it is null. One number, or a list of numbers that are all
    // equal.
    void take(const std::string& field, const std::string& name, const nlohmann::json& fallback = nullptr);
    // The same for an object in the configuration, without a fallback.
    void take_into(nlohmann::json& object, const char* field, const std::string& name);
    void set(const std::string& field, const nlohmann::json& value) { config_[field] = value; }
    // A field that is found from a tensor or a key of another family's.
    void set(const std::string& field, const nlohmann::json& value, const std::string& from) {
        config_[field] = value;
        names_[field] = from;
    }

    // What messages call the field.
    void name(const std::string& field, const std::string& from) { names_[field] = from; }

    // nullptr: there is none.
    const std::vector<std::int64_t>* shape_of(std::string_view name) const {
        const auto found = shapes_.find(name);
        return found == shapes_.end() ? nullptr : found->second;
    }
    bool has_tensor(std::string_view name) const { return shape_of(name) != nullptr; }
    // The shape of the first layer's tensor with this name ("ffn_down_exps.weight");
    // nullptr: no layer has one.
    const std::vector<std::int64_t>* shape_in_a_layer(const std::string& name) const;
    bool any_layer_has(const std::string& name) const { return shape_in_a_layer(name) != nullptr; }
    bool layer_has(std::int64_t layer, const std::string& name) const {
        return has_tensor("blk." + std::to_string(layer) + "." + name);
    }
    // By name, as gguf_tensor_name() gives it.
    using Shapes = std::map<std::string, const std::vector<std::int64_t>*, std::less<>>;
    const Shapes& shapes() const { return shapes_; }

    nlohmann::json& config() { return config_; }
    const ConfigFields::KeyNames& names() const { return names_; }

  private:
    const GgufNamedFamily& family_;
    std::string architecture_;
    const GgufMetadata& metadata_;
    Shapes shapes_;
    nlohmann::json config_ = nlohmann::json::object();
    ConfigFields::KeyNames names_;
};

// ---- blocks, in gguf_blocks.cpp

// The number of the model's layers. Blocks after them predict further tokens; a key
// counts those, and either may be there without the other, which becomes a note.
std::int64_t count_gguf_layers(const GgufConfig& c, std::vector<Message>* notes);
// Parts of layers that exist if their tensors do: biases, and factors of the experts'
// outputs.
void take_optional_tensors(const GgufConfig& c, ModelSpec& spec);
// Throws Error (kUnsupported) naming a tensor of the language model that nothing reads:
// without it the model would compute something else.
void refuse_unread_tensors(const GgufConfig& c, const ModelSpec& spec);
// Tensors that change no result: the program computes their values itself, has them in
// another form, or does not round inputs to NVFP4. Of safetensors as well.
bool is_redundant(std::string_view tensor, const ModelSpec& spec);

// ---- families whose layers differ, in gguf_layers.cpp

// The recurrent layers, of that type, and the KV heads of the others. Where the heads of
// each layer are written, a recurrent one has 0.
void configure_recurrent_layers(GgufConfig& c, const char* type);
// Layers that are attention, recurrent or experts alone: by the KV heads and the
// network's size of each, one of which is 0, or both in a recurrent one.
void configure_single_layers(GgufConfig& c);
// Gives each layer separate heads and positions.
void configure_gemma4(GgufConfig& c);
// Which layers have a window, by attention.sliding_window_pattern: a list, or the period of
// those without.
void configure_windows(GgufConfig& c);
// Behind that: heads and sinks of layers with a window and of the others, from lists of
// heads and from the tensors.
void configure_heads_of_windows(GgufConfig& c);

// ---- rotary positions, in gguf_rope.cpp

// rope_theta, and YaRN by the metadata.
void configure_gguf_rope(GgufConfig& c);
// The factors of LongRoPE, which are tensors of one part of a split file.
void add_long_rope(const GgufFile& part, GgufConfig& c);
// Divisors of the frequencies, a tensor too, once the family is configured.
void add_frequency_factors(const GgufFile& part, GgufConfig& c);

}  // namespace offstage::engine
