#include "engine/model/model_finder.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>

#include "engine/error.h"
#include "engine/files/files_messages.h"
#include "engine/files/gguf_file.h"
#include "engine/files/gguf_type.h"
#include "engine/files/text_file.h"
#include "engine/json.h"
#include "engine/model/checkpoint.h"
#include "engine/model/families/family.h"
#include "engine/model/gguf_model.h"
#include "engine/model/model_files.h"
#include "engine/model/model_messages.h"
#include "engine/model/weights.h"
#include "engine/shape_limits.h"
#include "engine/text/chat_template.h"
#include "engine/text/go_template.h"
#include "engine/text/tokenizer.h"

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kDepth = 4;  // folders in folders
constexpr std::string_view kRepository = "models--";
constexpr std::string_view kLayers = "application/vnd.ollama.image.";

bool is_folder(const fs::path& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored);
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c); });
    return text;
}

// models--ORG--NAME: ORG and NAME.
std::pair<std::string, std::string> repository_of(std::string_view folder) {
    folder.remove_prefix(kRepository.size());
    const std::size_t end = folder.find("--");
    if (end == std::string_view::npos) return {"", std::string(folder)};
    return {std::string(folder.substr(0, end)), std::string(folder.substr(end + 2))};
}

// ORG_REPOSITORY-GGUF_NAME, llama.cpp's name of a downloaded file: ORG and NAME. For
// other names: nothing, and the name.
std::pair<std::string, std::string> fetched_name_of(const std::string& file) {
    constexpr std::string_view kEnd = "-gguf_";
    const std::size_t repository_end = lower(file).find(kEnd);
    const std::size_t publisher_end = file.find('_');
    if (repository_end == std::string::npos || publisher_end >= repository_end) return {"", file};
    return {file.substr(0, publisher_end), file.substr(repository_end + kEnd.size())};
}

// A key that only configurations of Mixture-of-Experts models have, here or in the part
// that describes the language model.
bool has_experts(const json& config) {
    for (const char* key : {"num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts"}) {
        const auto found = config.find(key);
        if (found != config.end() && found->is_number() && *found > 1) return true;
    }
    for (const char* part : {"text_config", "llm_config", "ffn_config"}) {
        const auto found = config.find(part);
        if (found != config.end() && found->is_object() && has_experts(*found)) return true;
    }
    return false;
}

std::string architecture_of(const json& config) {
    const auto list = config.find("architectures");
    if (list != config.end() && list->is_array() && !list->empty() && list->front().is_string()) {
        return list->front().get<std::string>();
    }
    const auto type = config.find("model_type");
    return type != config.end() && type->is_string() ? type->get<std::string>() : std::string();
}

std::string family_name(std::string architecture) {
    for (const std::string_view end : {"ForCausalLM", "ForConditionalGeneration"}) {
        if (architecture.ends_with(end)) architecture.erase(architecture.find(end));
    }
    return architecture;
}

// The blob of a manifest's layer of this type; empty: it has none. Throws Error where its
// digest is none.
fs::path layer_of(const json& manifest, const std::string& source, const fs::path& root, std::string_view type) {
    const auto layers = manifest.find("layers");
    if (layers == manifest.end() || !layers->is_array()) return {};
    for (const json& layer : *layers) {
        if (!layer.is_object() || layer.value("mediaType", json()) != std::string(kLayers) + std::string(type))
            continue;
        constexpr std::string_view kStart = "sha256:";
        const json digest = layer.value("digest", json());
        const std::string text = digest.is_string() ? digest.get<std::string>() : std::string();
        if (!text.starts_with(kStart) || text.size() == kStart.size() ||
            text.find_first_not_of("0123456789abcdef", kStart.size()) != std::string::npos) {
            JsonFields(layer, source).reject("digest", messages::sha256_digits);
        }
        return root / "blobs" / ("sha256-" + text.substr(kStart.size()));
    }
    return {};
}

// Also throws the Errors of reading JSON.
OllamaManifest read_manifest(const fs::path& root, const fs::path& manifest, const std::string& name) {
    const auto object = read_json_object(manifest);
    const auto layer = [&](std::string_view type) {
        return object ? layer_of(*object, shown_path(manifest), root, type) : fs::path();
    };
    return {name, layer("model"), layer("template"), layer("params"), layer("system"), layer("adapter"), manifest};
}

// Throws the Errors of a load that reads the layers params and system.
void check_settings(const OllamaManifest& manifest) {
    if (!manifest.params.empty()) static_cast<void>(read_json_object(manifest.params));
    if (!manifest.system.empty()) static_cast<void>(read_small_file(manifest.system, kMaxLayerBytes));
}

bool can_read_layers(const OllamaManifest& manifest) {
    try {
        static_cast<void>(read_chat_template(manifest, {}));
        check_settings(manifest);
        return true;
    } catch (const Error&) {
        return false;
    }
}

// What ollama_manifest_of() gives for a blob, from all manifests.
std::optional<OllamaManifest> used_manifest_of(const fs::path& blob, const std::vector<OllamaManifest>& all) {
    std::vector<const OllamaManifest*> plain;
    const OllamaManifest* used = nullptr;
    for (const OllamaManifest& one : all) {
        if (one.model.filename() != blob.filename()) continue;
        if (one.adapter.empty()) plain.push_back(&one);
        if (used == nullptr) used = &one;
    }
    if (used == nullptr) return {};
    if (!plain.empty()) used = plain.front();
    if (plain.size() > 1) {
        const auto good =
            std::find_if(plain.begin(), plain.end(), [](const auto* one) { return can_read_layers(*one); });
        if (good != plain.end()) used = *good;
    }
    OllamaManifest chosen = *used;
    for (const OllamaManifest* one : plain) {
        const auto layers = [](const OllamaManifest& m) { return std::tie(m.chat_template, m.params, m.system); };
        if (layers(*one) != layers(*used)) chosen.other_names += (chosen.other_names.empty() ? "" : ", ") + one->name;
    }
    return chosen;
}

// Whether it writes a first prompt.
bool is_usable(const std::unique_ptr<ChatTemplate>& chat) {
    try {
        if (chat != nullptr) chat->render({{Role::kUser, "Hi"}}, {"<s>", "</s>"}, true);
    } catch (const Error&) {
        return false;
    }
    return chat != nullptr;
}

// Whether `one` is a name of the same file with another template than `own`, which has
// one.
bool has_other_template(const OllamaManifest& one, const OllamaManifest& own) {
    return one.model == own.model && one.adapter.empty() && !own.chat_template.empty() &&
           one.chat_template != own.chat_template;
}

// REGISTRY/NAMESPACE/NAME/TAG as Ollama shows it, without default parts.
std::string ollama_name(const fs::path& manifest) {
    std::string name = manifest.parent_path().generic_string();
    for (const std::string_view usual : {"registry.ollama.ai/", "library/"}) {
        if (name.starts_with(usual)) name.erase(0, usual.size());
    }
    return name + ":" + manifest.filename().string();
}

// ROOT of ROOT/manifests/.../TAG, a file, where there is ROOT/blobs as well; empty: it
// is not such a file.
fs::path ollama_root_of(const fs::path& manifest) {
    std::error_code ignored;
    fs::path folder = manifest.parent_path();
    for (int depth = 0; depth <= kDepth && folder.has_relative_path(); ++depth, folder = folder.parent_path()) {
        if (folder.filename() != "manifests" || !is_folder(folder.parent_path() / "blobs")) continue;
        return fs::is_regular_file(manifest, ignored) ? folder.parent_path() : fs::path();
    }
    return {};
}

class ModelSearch {
  public:
    explicit ModelSearch(const std::stop_token& stop) : stop_(stop) {}

    void look_in(const ModelPlace& place) {
        origin_ = place.origin;
        publisher_.clear();
        taken_.clear();
        if (origin_ == ModelOrigin::kOllama) {
            std::vector<OllamaManifest> all;
            each_manifest(place.folder, [&](const fs::path& manifest, const std::string& name) {
                try {
                    all.push_back(read_manifest(place.folder, manifest, name));
                } catch (const Error& error) {
                    found_.problems.push_back(error.message());
                }
            });
            std::map<fs::path, std::vector<const OllamaManifest*>> names_of;  // a blob
            for (const OllamaManifest& manifest : all) {
                if (!manifest.model.empty()) names_of[manifest.model].push_back(&manifest);
            }
            for (const auto& [blob, names] : names_of) look_at_blob(blob, names);
            return;
        }
        for (const fs::path& entry : list(place.folder)) {
            if (!entry.filename().string().starts_with(kRepository)) continue;
            if (is_folder(entry / "snapshots")) {
                look_in_repository(entry);
            } else if (is_folder(entry)) {
                found_.folders.push_back(entry);
            }
        }
        publisher_.clear();
        taken_.clear();
        if (origin_ != ModelOrigin::kHuggingFace) look_in_folder(place.folder, {}, {}, kDepth);
    }

    // `found`: the manifest, and the model's name.
    void each_manifest(const fs::path& root, const std::function<void(const fs::path&, const std::string&)>& found) {
        const std::function<void(const fs::path&, int)> look = [&](const fs::path& folder, int depth) {
            for (const fs::path& entry : list(folder)) {
                if (is_folder(entry)) {
                    if (depth > 1) look(entry, depth - 1);
                } else if (!entry.filename().string().starts_with('.')) {
                    found(entry, ollama_name(entry.lexically_relative(root / "manifests")));
                }
            }
        };
        look(root / "manifests", kDepth + 1);
    }

    FoundModels finish() {
        found_.complete = found_.complete && !stop_.stop_requested();
        std::sort(found_.models.begin(), found_.models.end(), [](const FoundModel& a, const FoundModel& b) {
            const auto order = [](const FoundModel& m) { return std::tuple(!m.supported(), lower(m.name), m.path); };
            return order(a) < order(b);
        });
        std::sort(found_.folders.begin(), found_.folders.end());
        found_.folders.erase(std::unique(found_.folders.begin(), found_.folders.end()), found_.folders.end());
        return std::move(found_);
    }

  private:
    // Sorted; empty where the folder is not there.
    std::vector<fs::path> list(const fs::path& folder) {
        std::vector<fs::path> entries;
        std::error_code code;
        fs::directory_iterator entry(folder, code);
        for (; !code && entry != fs::directory_iterator(); entry.increment(code)) {
            if (stop_.stop_requested()) return {};
            if (n_entries_ == kMostEntries) {
                found_.complete = false;
                break;
            }
            ++n_entries_;
            entries.push_back(entry->path());
        }
        if (code && code != std::errc::no_such_file_or_directory && code != std::errc::not_a_directory) {
            found_.problems.push_back(messages::cannot_be_listed(shown_path(folder), code.message()));
        }
        if (!code) found_.folders.push_back(folder);
        std::sort(entries.begin(), entries.end());
        return entries;
    }

    // Each file or folder is visited once, by whichever link.
    bool is_new(const fs::path& path) {
        std::error_code code;
        const fs::path real = fs::canonical(path, code);
        return seen_.insert(code ? path : real).second;
    }

    // The revisions of a repository share files: each model counts in the first that has
    // it.
    void look_in_repository(const fs::path& repository) {
        const auto [publisher, name] = repository_of(repository.filename().string());
        publisher_ = publisher;
        std::vector<fs::path> revisions = list(repository / "snapshots");
        const auto changed = [](const fs::path& path) {
            std::error_code code;
            const auto time = fs::last_write_time(path, code);
            return code ? fs::file_time_type::min() : time;
        };
        std::stable_sort(revisions.begin(), revisions.end(),
                         [&](const fs::path& a, const fs::path& b) { return changed(a) > changed(b); });
        std::string main;
        try {
            main = read_small_file(repository / "refs" / "main", 4096).value_or("");
        } catch (const Error&) {
            main.clear();  // then the newest is preferred
        }
        main.erase(std::find_if(main.begin(), main.end(), [](char c) { return c == '\n' || c == '\r' || c == ' '; }),
                   main.end());
        std::stable_partition(revisions.begin(), revisions.end(),
                              [&](const fs::path& path) { return path.filename() == main; });
        taken_.clear();
        for (const fs::path& revision : revisions) look_in_folder(revision, {}, name, kDepth);
    }

    // `inside`: the folder's path in its place or revision. `name`: the model's, if this
    // is a model's folder; empty: the folder's.
    void look_in_folder(const fs::path& folder, const fs::path& inside, const std::string& name, int depth) {
        if (stop_.stop_requested() || !is_folder(folder) || !is_new(folder)) return;
        std::map<std::string, fs::path> files;  // for a split one, its first existing part
        std::vector<fs::path> folders;
        bool has_config = false;
        std::uint64_t bytes = 0;
        for (const fs::path& entry : list(folder)) {
            const std::string file = entry.filename().string();
            if (file.starts_with('.') || file.starts_with(kRepository)) continue;
            std::error_code code;
            if (is_folder(entry)) {
                folders.push_back(entry);
            } else if (may_have_gguf_ending(entry) && is_gguf_path(entry)) {
                if (!is_gguf_companion(entry)) files.try_emplace(gguf_name(entry), entry);
            } else if (entry.extension() == ".safetensors") {
                const std::uint64_t size = fs::file_size(entry, code);
                bytes += code ? 0 : size;
            } else {
                has_config = has_config || file == "config.json";
            }
        }
        for (const auto& [file_name, path] : files) {
            if (!is_new(path) || !taken_.insert(inside / file_name).second) continue;
            if (origin_ != ModelOrigin::kLlamaCpp || !publisher_.empty()) {
                look_at_file(path, file_name);
                continue;
            }
            const auto [publisher, name_there] = fetched_name_of(file_name);
            publisher_ = publisher;
            look_at_file(path, name_there);
            publisher_.clear();
        }
        if (has_config && bytes > 0 && taken_.insert(inside / "").second) {
            look_at_folder(folder, name.empty() ? folder.filename().string() : name, bytes);
        }
        for (const fs::path& entry : folders) {
            if (depth <= 1) break;
            if (origin_ == ModelOrigin::kLmStudio && depth == kDepth) publisher_ = entry.filename().string();
            look_in_folder(entry, inside / entry.filename(), {}, depth - 1);
        }
    }

    // `names`: all manifests with this blob as their model. Where they are several, each
    // is opened by its own path.
    void look_at_blob(const fs::path& blob, const std::vector<const OllamaManifest*>& names) {
        std::error_code ignored;
        const bool is_there = fs::symlink_status(blob, ignored).type() != fs::file_type::not_found;
        const bool is_new_here = is_new(blob);
        for (const OllamaManifest* const manifest : names) {
            // With an adapter it is another model.
            if (stop_.stop_requested() || (manifest->adapter.empty() && !is_new_here)) continue;
            const std::size_t n_before = found_.models.size();
            beside_ = *manifest;
            beside_.template_first = std::any_of(names.begin(), names.end(), [&](const OllamaManifest* one) {
                return has_other_template(*one, *manifest);
            });
            if (is_there) {
                look_at_file(blob, manifest->name);
            } else {
                FoundModel model = begin(blob, manifest->name);
                model.problem = messages::ollama_blob_missing(shown_path(blob), manifest->name, manifest->name);
                found_.models.push_back(std::move(model));
            }
            beside_ = {};
            if (names.size() > 1 && found_.models.size() > n_before) found_.models.back().path = manifest->file;
        }
    }

    FoundModel begin(const fs::path& path, const std::string& name) const {
        FoundModel model;
        model.path = path;
        model.name = name;
        model.origin = origin_;
        model.publisher = publisher_;
        return model;
    }

    // Runs an operation that fails on a damaged or unsupported file, and keeps the
    // reason.
    template <typename Look>
    void add(FoundModel model, const Look& look) {
        try {
            if (!look(model)) return;
        } catch (const Error& error) {
            model.problem = error.message();
        } catch (const std::exception& error) {
            model.problem = from_outside(error.what());
        }
        found_.models.push_back(std::move(model));
    }

    static void take(FoundModel& model, ModelSpec& spec) {
        model.family = family_name(std::string(spec.architecture));
        model.n_layers = spec.experts.n_layers;
        model.n_experts = spec.experts.n_experts;
        auto checkpoint = Checkpoint::open(model.path);
        const auto bytes = static_cast<double>(checkpoint->total_bytes());
        kernels::ThreadPool pool(1);
        open_weights(std::move(checkpoint), spec, false, pool);  // all tensors are there
        if (model.bits == 0) model.bits = 8 * bytes / static_cast<double>(spec.total_weights());
    }

    void look_at_folder(const fs::path& folder, const std::string& name, std::uint64_t bytes) {
        add(begin(folder, name), [&](FoundModel& model) {
            model.bytes = bytes;
            const auto config = read_config(folder);
            if (!config) return false;
            static_cast<void>(JsonFields(*config, shown_path(folder / "config.json")));  // an object
            if (!has_experts(*config)) {
                ++found_.n_others;
                return false;
            }
            model.family = family_name(architecture_of(*config));
            ModelSpec spec = read_model_spec(folder);
            take(model, spec);
            Tokenizer::check(folder, spec.vocab_size);
            model.has_chat_template = is_usable(ChatTemplate::read(folder));
            static_cast<void>(read_json_object(folder / "generation_config.json"));
            return true;
        });
    }

    void look_at_file(const fs::path& path, const std::string& name) {
        add(begin(path, name), [&](FoundModel& model) {
            const GgufFile first(path);
            const GgufMetadata& metadata = first.metadata();
            if (metadata.has("general.architecture")) {
                model.family = metadata.text("general.architecture");
                model.n_experts = metadata.integer(model.family + ".expert_count", 0, kMostExperts, 0);
                if (model.n_experts < 2) {
                    found_.n_others += model.family == "clip" ? 0 : 1;
                    return false;
                }
                model.n_layers = metadata.integer(model.family + ".block_count", 1, kMostLayers, 0);
            } else if (!metadata.has("split.count")) {
                return false;  // other things are kept in such files too
            }
            if (!beside_.adapter.empty()) throw Error(ErrorKind::kUnsupported, messages::ollama_adapter(name));
            const std::vector<fs::path> parts = gguf_parts_of(path);
            model.path = parts.front();
            double weights = 0, stored = 0;
            for (const fs::path& part : parts) {
                std::optional<GgufFile> other;
                const GgufFile& file = part == path ? first : other.emplace(part);
                model.bytes += file.file().file().size_bytes();
                for (const GgufTensor& tensor : file.header().tensors) {
                    const GgufType type = gguf_type(tensor.type);
                    if (type.weights == 0) continue;
                    double n = 1;
                    for (const std::int64_t dimension : tensor.shape) n *= static_cast<double>(dimension);
                    weights += n;
                    stored += n / static_cast<double>(type.weights) * static_cast<double>(type.bytes);
                }
            }
            if (weights > 0) model.bits = 8 * stored / weights;
            ModelSpec spec = read_gguf_spec(model.path);
            take(model, spec);
            std::optional<GgufFile> front;  // the first part has the metadata on texts
            if (model.path != path) front.emplace(model.path);
            const GgufMetadata& texts = front ? front->metadata() : metadata;
            Tokenizer::check(texts, spec.vocab_size);
            auto chat = beside_.template_first ? read_chat_template(beside_, {}) : ChatTemplate::read(texts);
            if (chat == nullptr)
                chat = beside_.template_first ? ChatTemplate::read(texts) : read_chat_template(beside_, {});
            model.has_chat_template = is_usable(chat);
            check_settings(beside_);
            return true;
        });
    }

    const std::stop_token stop_;
    FoundModels found_;
    std::int64_t n_entries_ = 0;
    ModelOrigin origin_ = ModelOrigin::kFolder;
    std::string publisher_;
    OllamaManifest beside_;  // what Ollama keeps beside the file that is looked at
    std::set<fs::path> seen_;
    std::set<fs::path> taken_;  // models found inside the place, or the revisions visited before
};

}  // namespace

bool FoundModel::incomplete() const {
    return problem.is(messages::file_incomplete) || problem.is(messages::file_header_incomplete);
}

FoundModels find_models(std::span<const ModelPlace> places, const std::stop_token& stop) {
    ModelSearch search(stop);
    for (const ModelPlace& place : places) search.look_in(place);
    return search.finish();
}

std::string name_in_cache(const fs::path& model) {
    const fs::path parent = model.parent_path();
    if (parent.filename() == "snapshots") {
        const std::string repository = parent.parent_path().filename().string();
        return repository.starts_with(kRepository) ? repository_of(repository).second : std::string();
    }
    const auto manifest = ollama_manifest_of(model);
    return manifest ? manifest->name : std::string();
}

std::unique_ptr<ChatTemplate> read_chat_template(const OllamaManifest& manifest, std::string_view bos) {
    if (manifest.chat_template.empty()) return nullptr;
    const auto text = read_small_file(manifest.chat_template, kMaxLayerBytes);
    if (!text) return nullptr;
    const std::string source = shown_path(manifest.chat_template);
    return ChatTemplate::parse(jinja_of_go_template(*text, source, bos), source);  // Ollama knows no other language
}

std::optional<OllamaManifest> ollama_manifest_of(const fs::path& model) {
    const bool is_blob = model.parent_path().filename() == "blobs" && model.filename().string().starts_with("sha256-");
    const fs::path root = is_blob ? model.parent_path().parent_path() : ollama_root_of(model);
    if (root.empty()) return {};
    std::optional<OllamaManifest> own;
    std::vector<OllamaManifest> all;
    ModelSearch({}).each_manifest(root, [&](const fs::path& manifest, const std::string& called) {
        try {
            all.push_back(read_manifest(root, manifest, called));
            if (manifest == model) own = all.back();
        } catch (const Error&) {
            if (manifest == model) throw;
            // Another model's.
        }
    });
    if (is_blob) return used_manifest_of(model, all);
    if (own) {
        own->template_first = std::any_of(all.begin(), all.end(),
                                          [&](const OllamaManifest& one) { return has_other_template(one, *own); });
    }
    return own;
}

std::vector<std::string> family_names() {
    std::map<std::string, std::string> names;  // by themselves in lower case: "PhiMoE" is also written "Phimoe"
    for (const Family* family : families()) {
        std::string name = family_name(std::string(family->architecture));
        std::replace(name.begin(), name.end(), '_', '.');  // "Qwen3_5Moe"
        std::string key = name;
        std::transform(key.begin(), key.end(), key.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        names.try_emplace(std::move(key), std::move(name));
    }
    std::vector<std::string> all;
    for (auto& [key, name] : names) all.push_back(std::move(name));
    return all;
}

}  // namespace offstage::engine
