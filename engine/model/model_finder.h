#pragma once
// Models that other programs have fetched to this computer, where they lie. Nothing is
// copied, and of each file only the header is read.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/message.h"
#include "engine/model/model_places.h"

namespace offstage::engine {

class ChatTemplate;

// Of models that can be opened, by name, each once: "DeepseekV3", "Qwen3Moe".
std::vector<std::string> family_names();

struct FoundModel {
    // To open: a folder, a GGUF file, of a split one the first part, or one of several
    // manifests of Ollama's for the same file.
    std::filesystem::path path;
    std::string name;  // as its cache calls it: "Qwen3-30B-A3B-Q4_K_M", "qwen3:30b"
    ModelOrigin origin = ModelOrigin::kFolder;
    std::string publisher;       // "unsloth"; empty: not known
    std::string family;          // "Qwen3Moe"; if it is not supported, as in the file: "qwen3next"
    std::uint64_t bytes = 0;     // the files with weights; 0: not known
    double bits = 0;             // per weight, mean; 0: not known
    std::int64_t n_layers = 0;   // with experts
    std::int64_t n_experts = 0;  // in each
    // For a model that can be opened: in the file, in its folder, or stored by Ollama,
    // and it writes a first prompt.
    bool has_chat_template = false;
    Message problem;  // why it cannot be opened, a sentence; empty: it can
    bool supported() const { return problem.empty(); }
    // The problem is that its file ends too early: it may be still on its way.
    bool incomplete() const;
};

struct FoundModels {
    std::vector<FoundModel> models;  // Mixture-of-Experts models by name, usable ones first
    std::int64_t n_others = 0;       // models that are none
    std::vector<Message> problems;   // folders and manifests that could not be read, a sentence each
    // Places, and folders below them, that were read or wait for their files, each once:
    // where a model may come.
    std::vector<std::filesystem::path> folders;
    bool complete = true;  // false: stopped, or at kMostEntries
};

// The most entries of folders that one search reads.
inline constexpr std::int64_t kMostEntries = 10'000;

// Damaged files, folders without permission and circles of links do not end the search. A
// model at two places is found at the first. Any thread; takes seconds on a slow disk.
FoundModels find_models(std::span<const ModelPlace> places, const std::stop_token& stop = {});

// The cache's name for a model whose own file or folder has no useful name: NAME of
// .../models--ORG--NAME/snapshots/REVISION, NAME:TAG of one of Ollama's blobs or
// manifests. Empty: none.
std::string name_in_cache(const std::filesystem::path& model);

// The most bytes of a layer with a template or a system message.
inline constexpr std::size_t kMaxLayerBytes = 1u << 20;

// Ollama's data about a model.
struct OllamaManifest {
    std::string name;                                                     // NAME:TAG
    std::filesystem::path model, chat_template, params, system, adapter;  // blobs; empty: no such layer
    std::filesystem::path file = {};                                      // the manifest
    // Of ollama_manifest_of() for a blob: further names of it that have another template,
    // params or system, and no adapter: "a:b, c:d".
    std::string other_names = {};
    // Of ollama_manifest_of() for a manifest: another name of the same blob has another
    // template, so that this one comes before the file's own.
    bool template_first = false;
};
// Its chat template, in Jinja or in Ollama's language; nullptr: it has none. `bos` as for
// jinja_of_go_template(). Throws as parse_either_template() does.
std::unique_ptr<ChatTemplate> read_chat_template(const OllamaManifest& manifest, std::string_view bos);
// For a manifest in a folder of Ollama's: that one (throws Error where it is damaged).
// For a blob: of the manifests with it as their model the first by name whose template,
// params and system can be read, those with an adapter last. Nothing: neither of them.
std::optional<OllamaManifest> ollama_manifest_of(const std::filesystem::path& model);

}  // namespace offstage::engine
