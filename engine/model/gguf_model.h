#pragma once
// Models in GGUF files. Engine code uses Checkpoint::open and read_model_spec; this
// header is for their implementation and for tests.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/files/gguf.h"
#include "engine/model/checkpoint.h"
#include "engine/model/families/family.h"
#include "engine/model/model_spec.h"

namespace offstage::engine {

// All parts of a split file, NAME-00001-of-00003.gguf, in order; any other path alone.
// Throws Error (kNotFound) with the missing part.
std::vector<std::filesystem::path> gguf_parts_of(const std::filesystem::path& file);

// The name without -00001-of-00003 and .gguf, or another ending of such files.
std::string gguf_name(const std::filesystem::path& file);
// Whether a file accompanies a model, by its name: a vision tower (mmproj).
bool is_gguf_companion(const std::filesystem::path& file);
// The models in a folder, or where it has none in the folders in it, as repositories are
// laid out, or in those in these; split ones by their first part, companions left out.
// Sorted; empty where the folder cannot be listed.
std::vector<std::filesystem::path> gguf_models_in(const std::filesystem::path& folder);

// A file and, if it is one part of several, the other parts beside it. Tensors have the
// formats of FormatTraits with GGUF's numbers; others have supported_type false.
std::unique_ptr<Checkpoint> open_gguf(const std::filesystem::path& file);

// From the metadata of a file (of a split one, of its first part) and its tensors' names
// and shapes. Throws Error as reading config.json does, naming the metadata's keys.
// `notes`: read_model_spec()'s.
ModelSpec read_gguf_spec(const std::filesystem::path& file, std::vector<Message>* notes = nullptr);

}  // namespace offstage::engine
