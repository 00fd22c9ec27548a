#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/json.h"
#include "engine/message.h"
#include "engine/model/model_spec.h"

namespace offstage::engine {

// config.json for the families: JsonFields with shared checks. Throws Error as those do:
// kInvalidModel with file, key, actual and expected value; kUnsupported for a feature
// that would change results if it were ignored.
class ConfigFields : public JsonFields {
  public:
    // The origin of each key, for messages about a configuration that was made from
    // another file.
    using KeyNames = std::map<std::string, std::string>;

    // All must outlive this object.
    ConfigFields(const nlohmann::json& object, const std::string& source, const KeyNames* names = nullptr,
                 std::string path = {});

    const std::string& source() const { return source_; }
    const KeyNames* names() const { return names_; }
    [[noreturn]] void unsupported(const std::string& key, const MessageArgument& what,
                                  const MessageArgument& expected) const;
    // If the key exists, only this text is supported.
    void expect(const char* key, const std::string& supported) const;

    // ---- sizes, limited so that no product of them overflows. Without a fallback the
    // key is required.
    std::int64_t dim(const char* key, std::optional<std::int64_t> fallback = {}) const;
    std::int64_t count(const char* key, std::int64_t low, std::int64_t high,
                       std::optional<std::int64_t> fallback = {}) const;
    // The value, or `fallback` where the key is absent or null.
    std::int64_t optional_dim(const char* key, std::int64_t fallback) const;
    bool flag(const char* key, bool fallback) const;          // null counts as absent
    double positive(const char* key, double fallback) const;  // at most 1e12; null counts as absent
    float eps(const char* key, double fallback) const;

    // Refuses what quantized_tensor.h and, with `in_mxfp4`, the family cannot read.
    void check_quantization(bool in_mxfp4) const;
    // quantization_config's quant_method; empty if not given.
    std::string quantization() const;

    // vocab_size, hidden_size, max_position_embeddings, tie_word_embeddings, bos and eos;
    // num_hidden_layers layers that are still empty. Checks hidden_act, and that the
    // weights are not quantized other than spec.family allows.
    struct SizeKeys {
        const char* hidden = "hidden_size";
        const char* context = "max_position_embeddings";
        const char* layers = "num_hidden_layers";  // nullptr: the family counts them
        const char* activation = "silu";           // hidden_act must be this
    };
    void read_common(ModelSpec& spec, std::optional<TokenId> default_bos, std::optional<TokenId> default_eos,
                     const SizeKeys& keys) const;
    void read_common(ModelSpec& spec, std::optional<TokenId> default_bos, std::optional<TokenId> default_eos) const {
        read_common(spec, default_bos, default_eos, {});
    }
    // num_attention_heads, num_key_value_heads (absent: default_kv_heads; null, or absent
    // and kAsManyAsHeads: as many as heads), head_dim (absent: hidden_size / heads),
    // scale 1 / sqrt(head_dim). Rotary positions over the whole head or, in a family with
    // a default_rotary_share, over rotary_dim values of it, or over the share
    // partial_rotary_factor.
    static constexpr std::int64_t kAsManyAsHeads = 0;
    GroupedQuerySpec grouped_query(const ModelSpec& spec, std::int64_t default_kv_heads, double default_theta,
                                   std::optional<double> default_rotary_share = {}) const;
    // The heads' sizes and scale, without positions; kAsManyAsHeads: one for each. The
    // keys are those of the two numbers.
    GroupedQuerySpec heads(const ModelSpec& spec, const char* heads_key, const std::string& kv_key,
                           std::int64_t n_kv_heads) const;
    // A list of n_layers words, each one of two, or nothing where it is absent: whether a
    // layer's is the first of them.
    std::optional<std::vector<bool>> layers_of_type(const char* key, const std::string& type, const std::string& other,
                                                    std::size_t n_layers) const;
    std::optional<std::vector<bool>> layers_of_type(const std::string& type, std::size_t n_layers) const {
        return layers_of_type("layer_types", type, "full_attention", n_layers);
    }
    std::optional<std::vector<bool>> windowed_layers(std::size_t n_layers) const {
        return layers_of_type("sliding_attention", n_layers);
    }
    // The number and size of the experts, into the spec and its router. The first of
    // `count_keys` that is there counts, or the last; active_key has those of a token.
    MoeSpec experts(ModelSpec& spec, std::int64_t ffn_dim, std::initializer_list<const char*> count_keys,
                    std::int64_t default_experts, std::int64_t default_active,
                    const char* active_key = "num_experts_per_tok") const;
    // n_group and topk_group, for experts that were read; absent: these.
    void expert_groups(kernels::RouterSpec& router, std::int64_t default_groups, std::int64_t default_used) const;

    // Rotary positions of `dim` values: rope_theta with rope_scaling (transformers 4) or
    // rope_parameters (5); types default, linear, dynamic, yarn, longrope, llama3
    // and proportional. softmax_factor: set where scaled positions have an
    // mscale_all_dim, for families that scale attention by it. In rope_fields.cpp.
    RopeSpec rope(std::int64_t dim, double default_theta, double* softmax_factor = nullptr) const;
    // Tokens that positions scaled by a factor (linear, dynamic, yarn) are made for: of
    // the context of the first training, which max_position_embeddings may still say. 0:
    // there are none.
    std::int64_t stretched_context() const;

    // The ids of a key that holds one id, a list of ids or null. Absent: `fallback`, if
    // that is a token at all.
    std::vector<TokenId> tokens(const char* key, std::int64_t vocab_size, std::optional<TokenId> fallback) const;

  protected:
    std::string named(const std::string& key) const override;

  private:
    std::int64_t rotary_dim(std::int64_t head_dim, std::optional<double> default_share) const;
    const std::string& source_;
    const KeyNames* names_;
};

// YaRN's factor of cos and sin.
double yarn_mscale(double factor, double mscale);

}  // namespace offstage::engine
