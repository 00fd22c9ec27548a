#include "engine/model/model_places.h"

#include <array>
#include <cstdlib>

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;

fs::path in_environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? fs::path() : fs::path(value);
}

// Empty without a folder.
fs::path below(const fs::path& folder, const char* path) {
    return folder.empty() ? fs::path() : folder / path;
}

fs::path at_home(const char* path) {
    return below(in_environment("HOME"), path);
}

fs::path in_cache(const char* path) {
    const fs::path cache = in_environment("XDG_CACHE_HOME");
    return below(cache.empty() ? at_home(".cache") : cache, path);
}

}  // namespace

std::string_view name_of(ModelOrigin origin) {
    constexpr std::array<std::string_view, 5> kNames = {"Hugging Face", "LM Studio", "llama.cpp", "Ollama", "folder"};
    return kNames[static_cast<std::size_t>(origin)];
}

fs::path hugging_face_folder() {
    const fs::path folder = in_environment("HF_HOME");
    return folder.empty() ? in_cache("huggingface") : folder;
}

std::vector<ModelPlace> model_places() {
    const auto either = [](const fs::path& first, const fs::path& second) { return first.empty() ? second : first; };
    std::vector<ModelPlace> places = {
        {ModelOrigin::kHuggingFace, either(in_environment("HF_HUB_CACHE"), below(hugging_face_folder(), "hub"))},
        {ModelOrigin::kLmStudio, at_home(".lmstudio/models")},
        {ModelOrigin::kLmStudio, at_home(".cache/lm-studio/models")},
        {ModelOrigin::kLlamaCpp, either(in_environment("LLAMA_CACHE"), in_cache("llama.cpp"))},
        {ModelOrigin::kOllama, either(in_environment("OLLAMA_MODELS"), at_home(".ollama/models"))},
        {ModelOrigin::kOllama, "/usr/share/ollama/.ollama/models"},
    };
    std::erase_if(places, [](const ModelPlace& place) { return place.folder.empty(); });
    return places;
}

}  // namespace offstage::engine
