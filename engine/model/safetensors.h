#pragma once
// Checkpoints in safetensors files. Engine code uses Checkpoint::open; this header is for
// its implementation and for tests.

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/checkpoint.h"

namespace offstage::engine {

std::unique_ptr<Checkpoint> open_safetensors_file(const std::filesystem::path& file);
std::unique_ptr<Checkpoint> open_safetensors_shards(const std::filesystem::path& index_file);

// One shard and the tensors that the index places in it.
struct ShardContents {
    std::string file;  // relative, without "..", so inside the folder of the index (or where a link there leads)
    std::vector<std::string> tensors;
};

// Parses model.safetensors.index.json: {"metadata": {...}, "weight_map": {"TENSOR":
// "FILE", ...}}. The metadata is not read: its total_size is wrong in many published
// checkpoints, and each shard's own header is exact. Returns the shards in the order of
// their names. Throws Error (kInvalidModel).
std::vector<ShardContents> parse_shard_index(std::string_view json, const std::string& source);

}  // namespace offstage::engine
