#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/message.h"
#include "engine/model/config_fields.h"
#include "engine/model/model_spec.h"

namespace offstage::engine {

// Parses config.json as written by transformers 4 and 5. `source`: the file's name for
// messages. Throws Error: kInvalidModel with the key and the expected value; kUnsupported
// with the architecture and the supported ones, or a feature that would change results if
// it were ignored. Missing keys get the default of the family's configuration class.
ModelSpec parse_model_spec(std::string_view json, const std::string& source);

// The same for an already parsed configuration of a known family. `names`: ConfigFields'.
ModelSpec read_model_spec(const nlohmann::json& config, const std::string& source, const Family& family,
                          const ConfigFields::KeyNames* names = nullptr);

// DIR/config.json, up to 4 MiB; nothing if it does not exist. Throws Error as above.
std::optional<nlohmann::json> read_config(const std::filesystem::path& directory);

// For a *.gguf file: from its metadata. For a folder: reads DIR/config.json and, if it
// exists, DIR/generation_config.json (for eos_token_id), each up to 4 MiB. Throws Error:
// kNotFound (no such folder, no config.json), kInvalidInput (the path of a file), and as
// above. `notes`, unless nullptr, gets notes about the files for the user.
ModelSpec read_model_spec(const std::filesystem::path& model, std::vector<Message>* notes = nullptr);

}  // namespace offstage::engine
