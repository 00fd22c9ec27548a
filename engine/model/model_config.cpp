#include "engine/model/model_config.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/model/file.h"
#include "engine/model/shape_limits.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxConfigBytes = 16u << 20;
constexpr const char* kMixtral = "MixtralForCausalLM";
constexpr const char* kModelFiles =
    "config.json, the tokenizer's files, and model.safetensors or model.safetensors.index.json with its shards";

// Upper limits, far above any model and far below where a product of two of them would overflow.
constexpr std::int64_t kMaxVocab = std::int64_t{1} << 24;
constexpr std::int64_t kMaxHidden = std::int64_t{1} << 20;
constexpr std::int64_t kMaxFfn = std::int64_t{1} << 24;
constexpr std::int64_t kMaxLayers = std::int64_t{1} << 16;
constexpr std::int64_t kMaxHeads = std::int64_t{1} << 16;
constexpr std::int64_t kMaxHeadDim = std::int64_t{1} << 16;
constexpr std::int64_t kMaxContext = std::numeric_limits<std::int32_t>::max();
// With at most 4 bytes per weight every byte count stays below 2^62.
constexpr double kMaxWeights = 0x1p60;

// What transformers' MixtralConfig takes for a key that is absent (4.36 to 5.23).
constexpr std::int64_t kDefaultKvHeads = 8;
constexpr double kDefaultRopeTheta = 1e6;
constexpr double kDefaultEps = 1e-5;
constexpr TokenId kDefaultBos = 1;
constexpr TokenId kDefaultEos = 2;

// Weights of a model that counts `n_experts` per layer. With Number = double: an estimate that cannot overflow.
template <typename Number>
Number count_weights(const ModelConfig& config, std::int64_t n_experts, bool whole_embedding) {
    const auto n = [](std::int64_t value) { return static_cast<Number>(value); };
    const Number attention =
        n(2) * n(config.hidden_dim) * n(config.head_dim) * (n(config.n_heads) + n(config.n_kv_heads));
    const Number norms = n(2) * n(config.hidden_dim);
    const Number router = n(config.n_experts) * n(config.hidden_dim);
    const Number experts = n(n_experts) * n(3) * n(config.hidden_dim) * n(config.ffn_dim);
    const Number vocabulary = n(config.vocab_size) * n(config.hidden_dim);
    // Tied: one matrix is both, and is read whole as the head, with the embedding's row in it.
    const Number embedding = config.tied_embeddings ? n(0) : whole_embedding ? vocabulary : n(config.hidden_dim);
    return n(config.n_layers) * (attention + norms + router + experts) + n(config.hidden_dim) + embedding + vocabulary;
}

void check_architecture(const JsonFields& fields, const std::string& source, ModelConfig& config) {
    const json* model_type = fields.find("model_type");
    if (model_type != nullptr && !model_type->is_string()) fields.reject("model_type", "\"mixtral\"");
    const json* list = fields.find("architectures");
    if (list == nullptr || list->is_null()) {
        // A configuration saved without its model has no architectures; its model_type says as much.
        if (model_type == nullptr)
            fields.reject("architectures", std::string("a list with one name, [\"") + kMixtral + "\"]");
        if (*model_type != "mixtral") {
            throw Error(ErrorKind::kUnsupported, source + ": \"model_type\" " + describe(*model_type) +
                                                     " is not supported; supported: \"mixtral\"");
        }
        config.architecture = kMixtral;
        return;
    }
    if (!list->is_array() || list->size() != 1 || !list->front().is_string()) {
        fields.reject("architectures", std::string("a list with one name, [\"") + kMixtral + "\"]");
    }
    config.architecture = list->front().get<std::string>();
    if (config.architecture != kMixtral) {
        throw Error(ErrorKind::kUnsupported, source + ": architecture " + in_quotes(config.architecture) +
                                                 " is not supported; supported: " + kMixtral);
    }
    if (model_type != nullptr && *model_type != "mixtral") {
        fields.reject("model_type", std::string("\"mixtral\", because \"architectures\" says ") + kMixtral);
    }
}

// Features that would change results if they were ignored.
void check_features(const JsonFields& fields, const std::string& source) {
    const auto unsupported = [&](const char* key, const std::string& what, const char* expected) {
        throw Error(ErrorKind::kUnsupported,
                    source + ": \"" + key + "\" is " + what + ", which is not supported; expected " + expected);
    };
    if (const std::string act = fields.text("hidden_act", "silu"); act != "silu") {
        unsupported("hidden_act", in_quotes(act), "\"silu\"");
    }
    for (const char* key : {"attention_bias", "mlp_bias"}) {
        if (fields.has_value(key) && fields.boolean(key, false)) unsupported(key, "true", "false");
    }
    if (fields.has_value("quantization_config")) {
        const JsonFields quantization(*fields.find("quantization_config"), source, "quantization_config.");
        const std::string method = quantization.has_value("quant_method") ? describe(*quantization.find("quant_method"))
                                                                          : "a quantized checkpoint";
        unsupported("quantization_config", method, "the weights as they were published, in BF16, F16 or F32");
    }
}

// transformers 4: "rope_theta" at the top and "rope_scaling"; 5: both in "rope_parameters". As in transformers, a
// rope_scaling that is not empty hides rope_parameters, and the theta inside wins.
double read_rope(const JsonFields& fields, const std::string& source) {
    constexpr double kLow = 1.0;
    constexpr double kHigh = 1e12;
    double theta = fields.has_value("rope_theta") ? fields.number("rope_theta", kLow, kHigh) : kDefaultRopeTheta;
    for (const char* key : {"rope_scaling", "rope_parameters"}) {
        if (!fields.has_value(key)) continue;
        const JsonFields rope(*fields.find(key), source, std::string(key) + ".");
        if (fields.find(key)->empty()) continue;
        const std::string type = rope.text(rope.has("rope_type") ? "rope_type" : "type", "default");
        if (type != "default") {
            throw Error(ErrorKind::kUnsupported, source + ": \"" + key + "\" asks for rope type " + in_quotes(type) +
                                                     ", which is not supported; expected \"default\"");
        }
        if (rope.has_value("partial_rotary_factor") && rope.number("partial_rotary_factor", 0.0, 1.0) != 1.0) {
            throw Error(ErrorKind::kUnsupported, source + ": \"" + key + ".partial_rotary_factor\" is " +
                                                     describe(*rope.find("partial_rotary_factor")) +
                                                     ", which is not supported; expected 1");
        }
        for (const auto& [name, value] : fields.find(key)->items()) {
            if (!value.is_object()) continue;
            throw Error(ErrorKind::kUnsupported, source + ": \"" + key + "." + in_quotes(name).substr(1) +
                                                     " is an object: rotary positions that differ between layers are "
                                                     "not supported; expected one set for all layers");
        }
        if (rope.has_value("rope_theta")) theta = rope.number("rope_theta", kLow, kHigh);
        break;
    }
    return theta;
}

// The ids of a key that holds one id, a list of ids or null. Absent: `fallback`, if that is a token at all.
std::vector<TokenId> read_tokens(const JsonFields& fields, const char* key, std::int64_t vocab_size,
                                 std::optional<TokenId> fallback) {
    const json* found = fields.find(key);
    if (found == nullptr) {
        if (fallback && *fallback < vocab_size) return {*fallback};
        return {};
    }
    if (found->is_null()) return {};
    const std::string expected =
        "a token id from 0 to " + std::to_string(vocab_size - 1) + ", a list of such ids, or null";
    std::vector<TokenId> tokens;
    const auto add = [&](const json& value) {
        // A negative integer is kept as signed, a larger one than 64 bits as a float.
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= static_cast<std::uint64_t>(vocab_size)) {
            fields.reject(key, expected + (found->is_array() ? ", but the list holds " + describe(value) : ""));
        }
        tokens.push_back(value.get<TokenId>());
    };
    if (found->is_array()) {
        std::for_each(found->begin(), found->end(), add);
    } else {
        add(*found);
    }
    return tokens;
}

void append_new(std::vector<TokenId>& tokens, const std::vector<TokenId>& more) {
    for (const TokenId token : more) {
        if (std::find(tokens.begin(), tokens.end(), token) == tokens.end()) tokens.push_back(token);
    }
}

void read_shapes(const JsonFields& fields, const std::string& source, ModelConfig& config) {
    config.vocab_size = fields.integer("vocab_size", 1, kMaxVocab);
    config.hidden_dim = fields.integer("hidden_size", 1, kMaxHidden);
    config.ffn_dim = fields.integer("intermediate_size", 1, kMaxFfn);
    config.n_layers = fields.integer("num_hidden_layers", 1, kMaxLayers);
    config.n_heads = fields.integer("num_attention_heads", 1, kMaxHeads);
    // Absent means 8 and null means "as many as query heads", both as in transformers.
    config.n_kv_heads = fields.is_null("num_key_value_heads")
                            ? config.n_heads
                            : fields.integer("num_key_value_heads", 1, kMaxHeads, kDefaultKvHeads);
    if (config.n_heads % config.n_kv_heads != 0) {
        fields.reject("num_key_value_heads", "a divisor of \"num_attention_heads\" (" + std::to_string(config.n_heads) +
                                                 "); without the key it is " + std::to_string(kDefaultKvHeads));
    }
    if (fields.has_value("head_dim")) {
        config.head_dim = fields.integer("head_dim", 2, kMaxHeadDim);
        if (config.head_dim % 2 != 0) fields.reject("head_dim", "an even number, for rotary positions");
    } else {
        config.head_dim = config.hidden_dim / config.n_heads;
        if (config.hidden_dim % config.n_heads != 0 || config.head_dim % 2 != 0) {
            fields.reject("hidden_size", "an even multiple of \"num_attention_heads\" (" +
                                             std::to_string(config.n_heads) + "), or a \"head_dim\" beside it");
        }
    }
    config.n_experts = fields.integer("num_local_experts", 1, kMostExperts);
    config.n_active = fields.integer("num_experts_per_tok", 1, config.n_experts);
    config.max_context = fields.integer("max_position_embeddings", 1, kMaxContext);
    config.sliding_window = fields.has_value("sliding_window") ? fields.integer("sliding_window", 1, kMaxContext) : 0;
    config.tied_embeddings = fields.has_value("tie_word_embeddings") && fields.boolean("tie_word_embeddings", false);

    const auto weights = count_weights<double>(config, config.n_experts, true);
    if (weights > kMaxWeights) {
        throw Error(ErrorKind::kInvalidModel,
                    source +
                        ": \"num_hidden_layers\", \"num_local_experts\", \"hidden_size\" and \"intermediate_size\" "
                        "together make more than 2^60 weights; expected a model that fits a machine");
    }
}

// A folder's file, or nothing when there is none.
std::optional<std::string> read_if_there(const std::filesystem::path& path) {
    std::error_code ignored;
    const auto status = std::filesystem::symlink_status(path, ignored);
    if (status.type() == std::filesystem::file_type::not_found) return {};
    return RegularFile(path).read_all(kMaxConfigBytes);
}

// Other formats that a person may have fetched, so that the message can name them.
std::string foreign_files(const std::filesystem::path& directory) {
    std::error_code code;
    std::filesystem::directory_iterator entry(directory, code);
    for (; !code && entry != std::filesystem::directory_iterator(); entry.increment(code)) {
        const std::filesystem::path extension = entry->path().extension();
        if (extension == ".gguf" || extension == ".bin" || extension == ".pth" || extension == ".pt") {
            return " (" + in_quotes(entry->path().filename().string()) +
                   " is there, a format that Offstage does not read)";
        }
    }
    return {};
}

}  // namespace

std::int64_t ModelConfig::total_weights() const {
    return count_weights<std::int64_t>(*this, n_experts, true);
}

std::int64_t ModelConfig::active_weights() const {
    return count_weights<std::int64_t>(*this, n_active, false);
}

ModelConfig parse_model_config(std::string_view text, const std::string& source) {
    const json document = parse_json(text, source);
    const JsonFields fields(document, source);
    ModelConfig config;
    check_architecture(fields, source, config);
    check_features(fields, source);
    read_shapes(fields, source, config);
    config.rope_theta = read_rope(fields, source);
    config.rms_norm_eps = fields.number("rms_norm_eps", std::numeric_limits<float>::min(), 1.0, kDefaultEps);

    const std::vector<TokenId> bos = read_tokens(fields, "bos_token_id", config.vocab_size, kDefaultBos);
    if (bos.size() > 1) fields.reject("bos_token_id", "one token id, or null");
    if (!bos.empty()) config.bos_token = bos.front();
    append_new(config.eos_tokens, read_tokens(fields, "eos_token_id", config.vocab_size, kDefaultEos));
    return config;
}

ModelConfig read_model_config(const std::filesystem::path& directory) {
    std::error_code code;
    const auto status = std::filesystem::status(directory, code);
    if (status.type() == std::filesystem::file_type::not_found) {
        throw Error(ErrorKind::kNotFound,
                    directory.string() + ": no such folder; expected a model's folder with " + kModelFiles);
    }
    if (!std::filesystem::exists(status)) {
        throw Error(ErrorKind::kNotFound, directory.string() + ": cannot be examined: " + code.message());
    }
    if (!std::filesystem::is_directory(status)) {
        throw Error(ErrorKind::kInvalidInput,
                    directory.string() + ": is a file; expected the model's folder, with " + kModelFiles);
    }
    const std::filesystem::path path = directory / "config.json";
    const std::optional<std::string> text = read_if_there(path);
    if (!text) {
        throw Error(ErrorKind::kNotFound, directory.string() +
                                              ": config.json is missing; expected a model's folder with " +
                                              kModelFiles + foreign_files(directory));
    }
    ModelConfig config = parse_model_config(*text, path.string());

    const std::filesystem::path generation_path = directory / "generation_config.json";
    if (const std::optional<std::string> generation_text = read_if_there(generation_path)) {
        const std::string source = generation_path.string();
        const json document = parse_json(*generation_text, source);
        const JsonFields fields(document, source);
        append_new(config.eos_tokens, read_tokens(fields, "eos_token_id", config.vocab_size, {}));
    }
    return config;
}

}  // namespace offstage::engine
