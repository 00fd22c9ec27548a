#include "engine/run/model_defaults.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "engine/files/gguf_file.h"
#include "engine/files/text_file.h"
#include "engine/json.h"
#include "engine/model/model_finder.h"
#include "engine/model/model_messages.h"
#include "engine/print.h"
#include "engine/run/model_shape.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {
namespace {

// A field, its name in the three kinds of files, and its range.
struct Field {
    std::string_view name;
    const char* ollama;
    const char* gguf;
    const char* transformers;
    double least, most;
    void (*set)(SamplerSettings& sampler, double value);
    bool is_off_below = false;  // a number below `least` is that of no choice
};

constexpr std::array kFields = {
    Field{"temperature", "temperature", "general.sampling.temp", "temperature", 0, 100,
          [](SamplerSettings& s, double value) { s.temperature = static_cast<float>(value); }},
    Field{"top_k", "top_k", "general.sampling.top_k", "top_k", 0, 1e6,
          [](SamplerSettings& s, double value) { s.top_k = static_cast<int>(value); }},
    Field{"top_p", "top_p", "general.sampling.top_p", "top_p", 1e-6, 1,
          [](SamplerSettings& s, double value) { s.top_p = static_cast<float>(value); }},
    Field{"min_p", "min_p", "general.sampling.min_p", "min_p", 0, 1,
          [](SamplerSettings& s, double value) { s.min_p = static_cast<float>(value); }},
    Field{"repeat_penalty", "repeat_penalty", "general.sampling.penalty_repeat", "repetition_penalty", 0.01, 100,
          [](SamplerSettings& s, double value) { s.repeat_penalty = static_cast<float>(value); }},
    Field{"repeat_window", "repeat_last_n", "general.sampling.penalty_last_n", nullptr, -1, 1e6,
          [](SamplerSettings& s, double value) {
              s.repeat_window = std::max(0, static_cast<int>(value));  // -1: all
              if (value == 0) s.repeat_penalty = 1;                    // there, 0 looks at none
          }},
    Field{"seed", "seed", nullptr, nullptr, 1, 9e15,
          [](SamplerSettings& s, double value) { s.seed = static_cast<std::uint64_t>(value); }, true},
    Field{"max_tokens", "num_predict", nullptr, nullptr, 1, 1e6, [](SamplerSettings&, double) {}, true},
};

// Further parameters of Ollama's: the value with which they change nothing, or null where
// every value does.
const nlohmann::json& other_params() {
    static const nlohmann::json kOthers = nlohmann::json::parse(R"({
        "mirostat": 0, "tfs_z": 1, "typical_p": 1, "presence_penalty": 0, "frequency_penalty": 0,
        "mirostat_tau": null, "mirostat_eta": null, "penalize_newline": null, "num_keep": null, "num_batch": null,
        "num_gpu": null, "main_gpu": null, "num_thread": null, "numa": null, "low_vram": null, "f16_kv": null,
        "vocab_only": null, "use_mmap": null, "use_mlock": null})");
    return kOthers;
}

void leave_out(ModelDefaults& defaults, const std::string& name, const nlohmann::json& value) {
    defaults.unused_source = defaults.sampling_source;
    defaults.unused += (defaults.unused.empty() ? "" : ", ") + name + " " + describe(value).english();
}

void take(ModelDefaults& defaults, const Field& field, const char* key, const nlohmann::json& value) {
    const double given = value.is_number() ? value.get<double>() : std::nan("");
    if (given >= field.least && given <= field.most) {
        defaults.sampling.push_back({field.name, given});
    } else if (!(field.is_off_below && given < field.least) && !value.is_null()) {
        leave_out(defaults, key, value);
    }
}

void take_fields(ModelDefaults& defaults, const nlohmann::json& object, const char* Field::*name) {
    for (const Field& field : kFields) {
        if (field.*name != nullptr && object.contains(field.*name)) {
            take(defaults, field, field.*name, object[field.*name]);
        }
    }
}

bool is_field(const std::string& ollama) {
    return std::ranges::any_of(kFields, [&](const Field& one) { return ollama == one.ollama; });
}

void take_stops(ModelDefaults& defaults, const nlohmann::json& object, const char* key) {
    const nlohmann::json given = object.value(key, nlohmann::json());
    for (const nlohmann::json& text : given.is_array() ? given : nlohmann::json::array({given})) {
        if (text.is_string() && text != "") defaults.stops.push_back(text.get<std::string>());
    }
}

void read_params(ModelDefaults& defaults, const std::filesystem::path& file) {
    const auto params = read_json_object(file);
    if (!params) return;
    const nlohmann::json& others = other_params();
    take_fields(defaults, *params, &Field::ollama);
    take_stops(defaults, *params, "stop");
    for (const auto& [name, value] : params->items()) {
        const double given = value.is_number() ? value.get<double>() : 0;
        if (name == "num_ctx" && given >= 1 && given <= 1 << 24) {
            defaults.context = static_cast<std::int64_t>(given);
        } else if (others.contains(name) ? !others[name].is_null() && others[name] != value
                                         : name != "stop" && !is_field(name)) {
            leave_out(defaults, name, value);
        }
    }
}

}  // namespace

void ModelDefaults::apply(SamplerSettings& sampler, const std::function<bool(std::string_view)>& is_chosen) const {
    for (const Value& value : sampling) {
        const auto* const field =
            std::find_if(kFields.begin(), kFields.end(), [&](const Field& one) { return one.name == value.name; });
        if (field != kFields.end() && (!is_chosen || !is_chosen(value.name))) field->set(sampler, value.value);
    }
}

int ModelDefaults::max_tokens() const {
    for (const Value& value : sampling) {
        if (value.name == "max_tokens") return static_cast<int>(value.value);
    }
    return 0;
}

std::vector<ChatMessage> ModelDefaults::with_system(std::vector<ChatMessage> messages) const {
    const auto is_system = [](const ChatMessage& message) { return message.role == Role::kSystem; };
    if (!system.empty() && std::ranges::none_of(messages, is_system)) {
        messages.insert(messages.begin(), {Role::kSystem, system});
    }
    return messages;
}

std::vector<Message> ModelDefaults::notes() const {
    std::vector<Message> list;
    if (!name_note.empty()) list.push_back(name_note);
    std::string values;
    for (const Value& value : sampling) {
        values += (values.empty() ? "" : ", ") + std::string(value.name) + print(" %g", value.value);
    }
    if (context > 0) values += (values.empty() ? "" : ", ") + ("context " + std::to_string(context));
    if (!values.empty()) list.push_back(messages::sampling_of_model(sampling_source, values));
    if (!unused.empty()) list.push_back(messages::sampling_not_used(unused_source, unused));
    if (!system.empty()) list.push_back(messages::system_of_model(system_source));
    return list;
}

ModelDefaults read_model_defaults(const std::filesystem::path& named) {
    ModelDefaults defaults;
    const std::filesystem::path model = model_path(named);
    if (!is_gguf_path(model)) {
        defaults.sampling_source = "generation_config.json";
        const auto config = read_json_object(model / defaults.sampling_source);
        if (config) take_stops(defaults, *config, "stop_strings");
        if (!config || config->value("do_sample", nlohmann::json()) != true) return defaults;
        take_fields(defaults, *config, &Field::transformers);
        return defaults;
    }
    if (const auto manifest = ollama_manifest_of(std::filesystem::absolute(named).lexically_normal())) {
        if (!manifest->adapter.empty()) {
            throw Error(ErrorKind::kUnsupported, messages::ollama_adapter(manifest->name));
        }
        if (!manifest->other_names.empty()) {
            defaults.name_note = messages::ollama_name_of_several(manifest->name, manifest->other_names);
        }
        defaults.sampling_source = defaults.system_source = manifest->name + " (Ollama)";
        if (!manifest->params.empty()) read_params(defaults, manifest->params);
        if (!manifest->system.empty()) {
            defaults.system = read_small_file(manifest->system, kMaxLayerBytes).value_or("");
        }
        if (!defaults.sampling.empty()) return defaults;
    }
    const GgufFile file(model);
    const GgufMetadata& metadata = file.metadata();
    defaults.sampling_source = shown_path(model.filename());
    for (const Field& field : kFields) {
        if (field.gguf != nullptr && metadata.has(field.gguf)) {
            take(defaults, field, field.gguf, metadata.number(field.gguf));
        }
    }
    return defaults;
}

}  // namespace offstage::engine
