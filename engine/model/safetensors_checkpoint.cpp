#include <algorithm>
#include <unordered_set>
#include <utility>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/model/config_fields.h"
#include "engine/model/mapped_checkpoint.h"
#include "engine/model/model_messages.h"
#include "engine/model/safetensors.h"

namespace offstage::engine {
namespace {

constexpr std::uint64_t kMaxIndexBytes = 64u << 20;

// Adds the tensors of one file: all of them, or those that an index names.
void add_file(const std::filesystem::path& path, const std::vector<std::string>* wanted, MappedCheckpoint& checkpoint) {
    MappedFile map(path);
    const std::string& name = map.file().path();
    std::vector<SafetensorsEntry> entries = parse_safetensors_header(map.bytes(), map.bytes().size(), name);
    if (wanted != nullptr) {
        std::unordered_set<std::string_view> missing(wanted->begin(), wanted->end());
        std::erase_if(entries, [&](const SafetensorsEntry& entry) { return missing.erase(entry.name) == 0; });
        if (!missing.empty()) {
            const std::string_view first = *std::min_element(missing.begin(), missing.end());
            throw Error(ErrorKind::kInvalidModel,
                        missing.size() == 1
                            ? messages::tensor_missing_by_index(name, in_quotes(first), checkpoint.source())
                            : messages::tensors_missing_by_index(name, in_quotes(first), checkpoint.source(),
                                                                 missing.size() - 1));
        }
    }
    std::vector<TensorView> tensors;
    tensors.reserve(entries.size());
    for (SafetensorsEntry& entry : entries) {
        tensors.push_back({std::move(entry.name), entry.type, std::move(entry.shape),
                           map.bytes().subspan(entry.begin, entry.end - entry.begin), entry.supported_type,
                           std::move(entry.type_name)});
    }
    checkpoint.add(std::move(map), std::move(tensors));
}

}  // namespace

std::unique_ptr<Checkpoint> open_safetensors_file(const std::filesystem::path& file) {
    auto checkpoint = std::make_unique<MappedCheckpoint>(file.string(), messages::readable_weights);
    add_file(file, nullptr, *checkpoint);
    checkpoint->finish();
    return checkpoint;
}

std::unique_ptr<Checkpoint> open_safetensors_shards(const std::filesystem::path& index_file) {
    const std::string text = RegularFile(index_file).read_all(kMaxIndexBytes);
    const std::vector<ShardContents> shards = parse_shard_index(text, index_file.string());
    auto checkpoint = std::make_unique<MappedCheckpoint>(index_file.string(), messages::readable_weights);
    for (const ShardContents& shard : shards) {
        const std::filesystem::path path = index_file.parent_path() / shard.file;
        std::error_code ignored;
        if (std::filesystem::symlink_status(path, ignored).type() == std::filesystem::file_type::not_found) {
            throw Error(ErrorKind::kNotFound,
                        messages::shard_missing(path.string(), index_file.string(), in_quotes(shard.tensors.front()),
                                                shard.tensors.size()));
        }
        add_file(path, &shard.tensors, *checkpoint);
    }
    checkpoint->finish();
    return checkpoint;
}

}  // namespace offstage::engine
