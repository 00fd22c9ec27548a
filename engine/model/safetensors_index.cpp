#include <map>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/model/model_messages.h"
#include "engine/model/safetensors.h"

namespace offstage::engine {
namespace {

// Checks only the letters of the name: in a Hugging Face cache the shards are links to
// files elsewhere, and following them is right.
bool stays_inside(const std::string& name) {
    for (const char letter : name) {
        if (static_cast<unsigned char>(letter) < 0x20) return false;  // a NUL would cut the name short
    }
    const std::filesystem::path path(name);
    if (!path.has_filename() || path.is_absolute()) return false;
    for (const auto& part : path) {
        if (part == "..") return false;
    }
    return true;
}

}  // namespace

std::vector<ShardContents> parse_shard_index(std::string_view text, const std::string& source) {
    const nlohmann::json document = parse_json(text, source);
    const JsonFields fields(document, source);
    const nlohmann::json* map = fields.find("weight_map");
    if (map == nullptr || !map->is_object() || map->empty()) {
        fields.reject("weight_map", messages::an_object_of_tensor_files);
    }
    std::map<std::string, std::vector<std::string>> tensors_of;
    for (const auto& [tensor, shard] : map->items()) {
        if (!shard.is_string() || !stays_inside(shard.get_ref<const std::string&>())) {
            throw Error(ErrorKind::kInvalidModel,
                        messages::shard_name_invalid(source, in_quotes(tensor), describe(shard)));
        }
        // One file under two spellings is read once.
        const std::filesystem::path file(shard.get_ref<const std::string&>());
        tensors_of[file.lexically_normal().string()].push_back(tensor);
    }
    std::vector<ShardContents> shards;
    shards.reserve(tensors_of.size());
    for (auto& [file, tensors] : tensors_of) shards.push_back({file, std::move(tensors)});
    return shards;
}

}  // namespace offstage::engine
