#include "engine/model/model_files.h"

#include <algorithm>
#include <array>
#include <optional>
#include <system_error>
#include <utility>

#include "engine/error.h"
#include "engine/files/files_messages.h"
#include "engine/files/gguf_file.h"
#include "engine/files/mapped_file.h"
#include "engine/json.h"
#include "engine/model/families/family.h"
#include "engine/model/gguf_model.h"
#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxConfigBytes = 4u << 20;
constexpr JsonLimits kConfigLimits = {.max_values = 200'000};
// With at most 4 bytes per weight every byte count stays below 2^62.
constexpr double kMaxWeights = 0x1p60;

std::string supported(std::string_view Family::*name) {
    std::string names;
    for (const Family* family : families()) {
        if (!names.empty()) names += ", ";
        names += family->*name;
    }
    return names;
}

const Family* find_family(std::string_view Family::*name, const std::string& value) {
    const auto found = std::find_if(families().begin(), families().end(),
                                    [&](const Family* family) { return family->*name == value; });
    return found == families().end() ? nullptr : *found;
}

// Model types whose family has another name: Kimi-K2 is a DeepSeek-V3.
constexpr std::array<std::pair<std::string_view, std::string_view>, 1> kOtherNames = {{{"kimi_k2", "deepseek_v3"}}};

std::string name_of_family(const json& model_type) {
    const auto& name = model_type.get_ref<const std::string&>();
    for (const auto& [other, usual] : kOtherNames) {
        if (name == other) return std::string(usual);
    }
    return name;
}

const Family& family_of(const JsonFields& fields, const std::string& source) {
    const json* model_type = fields.find("model_type");
    const Message one_name = messages::a_list_with_one_name(supported(&Family::architecture));
    if (model_type != nullptr && !model_type->is_string()) {
        fields.reject("model_type", messages::one_of(supported(&Family::model_type)));
    }
    const json* list = fields.find("architectures");
    if (list == nullptr || list->is_null()) {
        // A configuration saved without its model has no architectures; then model_type
        // is used.
        if (model_type == nullptr) fields.reject("architectures", one_name);
        const Family* const family = find_family(&Family::model_type, name_of_family(*model_type));
        if (family == nullptr) {
            refuse_by_name(source, model_type->get_ref<const std::string&>());
            throw Error(ErrorKind::kUnsupported, messages::model_type_unsupported(source, describe(*model_type),
                                                                                  supported(&Family::model_type)));
        }
        return *family;
    }
    if (!list->is_array() || list->size() != 1 || !list->front().is_string()) fields.reject("architectures", one_name);
    const auto architecture = list->front().get<std::string>();
    const Family* const family = find_family(&Family::architecture, architecture);
    if (family == nullptr) {
        refuse_by_name(source, architecture);
        throw Error(ErrorKind::kUnsupported, messages::architecture_unsupported(source, in_quotes(architecture),
                                                                                supported(&Family::architecture)));
    }
    if (model_type != nullptr && name_of_family(*model_type) != family->model_type) {
        fields.reject("model_type", messages::model_type_of_architecture(family->model_type, family->architecture));
    }
    return *family;
}

// Before anything is counted in whole numbers, or expert by expert.
void check_size(const ModelSpec& spec, const std::string& source) {
    if (spec.experts.size() > kMostExpertsInAll) {
        throw Error(ErrorKind::kInvalidModel,
                    messages::too_many_experts_in_all(source, spec.experts.n_layers, spec.experts.n_experts,
                                                      spec.experts.size(), kMostExpertsInAll));
    }
    double weights = static_cast<double>(spec.experts.size()) * spec.experts.expert.n_matrices() *
                     static_cast<double>(spec.experts.hidden_dim) * static_cast<double>(spec.experts.ffn_dim);
    for (const DenseTensor& tensor : dense_tensors(spec)) {
        weights += static_cast<double>(tensor.n_rows) * static_cast<double>(tensor.n_cols);
    }
    if (weights > kMaxWeights) {
        throw Error(ErrorKind::kInvalidModel, messages::model_too_large_to_count(source));
    }
}

// A file of the folder, or nothing if it does not exist.
std::optional<std::string> read_if_there(const std::filesystem::path& path) {
    std::error_code ignored;
    const auto status = std::filesystem::symlink_status(path, ignored);
    if (status.type() == std::filesystem::file_type::not_found) return {};
    return RegularFile(path).read_all(kMaxConfigBytes);
}

// The name of a file in another format that the user may have downloaded, for the
// message; otherwise nothing.
std::string foreign_file(const std::filesystem::path& directory) {
    std::error_code code;
    std::filesystem::directory_iterator entry(directory, code);
    for (; !code && entry != std::filesystem::directory_iterator(); entry.increment(code)) {
        const std::filesystem::path extension = entry->path().extension();
        if (extension == ".bin" || extension == ".pth" || extension == ".pt") {
            return in_quotes(entry->path().filename().string());
        }
    }
    return {};
}

ModelSpec spec_of(const json& document, const std::string& source) {
    return read_model_spec(document, source, family_of(JsonFields(document, source), source));
}

std::optional<json> read_json_if_there(const std::filesystem::path& path) {
    const std::optional<std::string> text = read_if_there(path);
    return text ? parse_json(*text, path.string(), kConfigLimits) : std::optional<json>();
}

}  // namespace

std::optional<json> read_config(const std::filesystem::path& directory) {
    return read_json_if_there(directory / "config.json");
}

ModelSpec parse_model_spec(std::string_view text, const std::string& source) {
    return spec_of(parse_json(text, source, kConfigLimits), source);
}

ModelSpec read_model_spec(const json& document, const std::string& source, const Family& family,
                          const ConfigFields::KeyNames* names) {
    const ConfigFields config(document, source, names);
    ModelSpec spec;
    spec.family = &family;
    spec.architecture = family.architecture;
    family.read(config, spec);
    spec.max_context = std::max(spec.max_context, config.stretched_context());
    try {
        spec.number_moe_layers();
    } catch (const Error& error) {
        throw Error(error.kind(), messages::in_file(source, error.message()));
    }
    check_size(spec, source);
    return spec;
}

ModelSpec read_model_spec(const std::filesystem::path& directory, std::vector<Message>* notes) {
    if (is_gguf_path(directory)) return read_gguf_spec(directory, notes);
    std::error_code code;
    const auto status = std::filesystem::status(directory, code);
    if (status.type() == std::filesystem::file_type::not_found) {
        throw Error(ErrorKind::kNotFound, messages::no_model_folder(directory.string()));
    }
    if (!std::filesystem::exists(status)) {
        throw Error(ErrorKind::kNotFound, messages::cannot_be_examined(directory.string(), code.message()));
    }
    if (!std::filesystem::is_directory(status)) {
        throw Error(ErrorKind::kInvalidInput, messages::model_folder_is_a_file(directory.string()));
    }
    const std::optional<json> config = read_config(directory);
    if (!config) {
        const std::vector<std::filesystem::path> models = gguf_models_in(directory);
        if (models.size() > 1) {
            throw Error(ErrorKind::kNotFound,
                        messages::many_gguf_models(directory.string(), models.size(),
                                                   in_quotes(models.front().lexically_relative(directory).string())));
        }
        const std::string foreign = foreign_file(directory);
        throw Error(ErrorKind::kNotFound, foreign.empty()
                                              ? messages::config_missing(directory.string())
                                              : messages::config_missing_foreign_files(directory.string(), foreign));
    }
    ModelSpec spec = spec_of(*config, (directory / "config.json").string());

    const std::filesystem::path generation_path = directory / "generation_config.json";
    if (const std::optional<json> generation = read_json_if_there(generation_path)) {
        const std::string source = generation_path.string();
        const ConfigFields fields(*generation, source);
        for (const TokenId token : fields.tokens("eos_token_id", spec.vocab_size, {})) {
            if (std::find(spec.eos_tokens.begin(), spec.eos_tokens.end(), token) == spec.eos_tokens.end()) {
                spec.eos_tokens.push_back(token);
            }
        }
    }
    return spec;
}

}  // namespace offstage::engine
