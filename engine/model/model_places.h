#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace offstage::engine {

enum class ModelOrigin : std::uint8_t { kHuggingFace, kLmStudio, kLlamaCpp, kOllama, kFolder };
// "Hugging Face", "LM Studio", "llama.cpp", "Ollama", "folder".
std::string_view name_of(ModelOrigin origin);

struct ModelPlace {
    ModelOrigin origin = ModelOrigin::kFolder;
    std::filesystem::path folder;
};

// The caches of this user, whether they are there or not:
//
//   Hugging Face  HF_HUB_CACHE, else "hub" in hugging_face_folder():
//                 models--ORG--NAME/snapshots/REVISION/...: links to blobs; refs/main:
//                 the revision that comes first
//   LM Studio     ~/.lmstudio/models and ~/.cache/lm-studio/models:
//                 PUBLISHER/REPOSITORY/...
//   llama.cpp     LLAMA_CACHE, else XDG_CACHE_HOME/llama.cpp, else ~/.cache/llama.cpp:
//                 files, or Hugging Face's layout
//   Ollama        OLLAMA_MODELS, else ~/.ollama/models; and
//                 /usr/share/ollama/.ollama/models:
//                 manifests/REGISTRY/NAMESPACE/NAME/TAG: JSON; its layer of type
//                 application/vnd.ollama.image.model is blobs/sha256-HEX, a GGUF file;
//                 others are its template, params and system message
//
// Source: huggingface_hub's constants.py, llama.cpp's common.cpp, Ollama's docs/faq.md.
std::vector<ModelPlace> model_places();
// HF_HOME, else XDG_CACHE_HOME/huggingface, else ~/.cache/huggingface; empty without any.
std::filesystem::path hugging_face_folder();

}  // namespace offstage::engine
