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

// Parses config.json as transformers 4 and 5 write it. `source` names the file in
// messages. Throws Error: kInvalidModel names the key and what was expected; kUnsupported
// names the architecture and what is supported, or a feature that would change results if
// it were ignored. What the family's configuration class takes for a key that is absent
// is taken here.
ModelSpec parse_model_spec(std::string_view json, const std::string& source);

// The same of a configuration that is read already, of a family that is known.
// `names`: ConfigFields'.
ModelSpec read_model_spec(const nlohmann::json& config, const std::string& source, const Family& family,
                          const ConfigFields::KeyNames* names = nullptr);

// DIR/config.json, up to 4 MiB; nothing where there is none. Throws Error as above.
std::optional<nlohmann::json> read_config(const std::filesystem::path& directory);

// Of a *.gguf file: from its metadata. Of a folder: reads DIR/config.json and, when it is
// there, DIR/generation_config.json (for eos_token_id), each up to 4 MiB. Throws Error:
// kNotFound (no such folder, no config.json), kInvalidInput (the path of a file), and as
// above.
// `notes` gets what a person should know of the files besides, unless it is nullptr.
ModelSpec read_model_spec(const std::filesystem::path& model, std::vector<Message>* notes = nullptr);

}  // namespace offstage::engine
