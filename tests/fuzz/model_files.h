#pragma once
// The guarantees of parsers of model files, checked on any input: either an engine::Error
// or a value that keeps its contract. Each function returns the first broken guarantee,
// or "". Shared by the fuzz targets and by the tests that read the stored inputs.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/error.h"
#include "engine/model/checkpoint.h"
#include "engine/model/model_files.h"
#include "engine/model/safetensors.h"

namespace offstage::tests {

__extension__ typedef unsigned __int128 Wide;

constexpr const char* kSource = "input.file";

inline std::string check_error(const engine::Error& error) {
    if (!std::string_view(error.what()).starts_with(kSource)) return "a message that does not name the file";
    if (error.kind() != engine::ErrorKind::kInvalidModel && error.kind() != engine::ErrorKind::kUnsupported) {
        return "an error of another kind than kInvalidModel or kUnsupported";
    }
    return {};
}

inline std::string check_entries(const std::vector<engine::SafetensorsEntry>& entries, std::uint64_t data_begin,
                                 std::uint64_t file_bytes) {
    std::uint64_t end = data_begin;
    std::set<std::string> names;
    for (const engine::SafetensorsEntry& entry : entries) {
        if (entry.begin != end || entry.end < entry.begin)
            return "a tensor that does not begin where the last one ends";
        end = entry.end;
        if (!names.insert(entry.name).second) return "a name twice";
        Wide n_elements = 1;
        for (const std::int64_t dim : entry.shape) {
            if (dim < 0) return "a negative dimension";
            n_elements *= static_cast<Wide>(dim);
            if (n_elements > file_bytes * 2) return "more elements than half bytes in the file";
        }
        const bool known = entry.type_name == "BF16" || entry.type_name == "F16" || entry.type_name == "F32";
        if (known != entry.supported_type) return "a wrong supported_type";
        if (known && n_elements * kernels::bytes_per_weight(entry.type) != entry.end - entry.begin) {
            return "bytes that are not shape x dtype";
        }
    }
    if (end != file_bytes) return "tensors that do not end where the file ends";
    return {};
}

inline std::string check_safetensors_file(std::span<const std::byte> file, std::uint64_t file_bytes) {
    try {
        const auto entries = engine::parse_safetensors_header(file, file_bytes, kSource);
        std::uint64_t header_bytes = 0;
        std::memcpy(&header_bytes, file.data(), sizeof header_bytes);
        return check_entries(entries, 8 + header_bytes, file_bytes);
    } catch (const engine::Error& error) {
        return check_error(error);
    }
}

// Reads the input twice: as a file, and as a header's text after 8 bytes that give the
// number of data bytes. The second form keeps a header readable when a mutation changes
// its length, and needs no data.
inline std::string check_safetensors(std::span<const std::byte> input) {
    if (std::string broken = check_safetensors_file(input, input.size()); !broken.empty()) return broken;
    if (input.size() < 8) return {};
    std::uint64_t data_bytes = 0;
    std::memcpy(&data_bytes, input.data(), sizeof data_bytes);
    std::vector<std::byte> file(input.begin(), input.end());
    const std::uint64_t header_bytes = file.size() - 8;
    std::memcpy(file.data(), &header_bytes, sizeof header_bytes);
    if (data_bytes > UINT64_MAX / 4) data_bytes = UINT64_MAX / 4;  // no file is larger; the checks above need the room
    return check_safetensors_file(file, file.size() + data_bytes);
}

inline std::string check_model_config(std::string_view text) {
    try {
        const engine::ModelSpec c = engine::parse_model_spec(text, kSource);
        for (const std::int64_t n :
             {c.vocab_size, c.hidden_dim, c.experts.ffn_dim, c.n_layers(), c.experts.n_layers, c.experts.n_experts,
              c.experts.n_active, c.max_context, c.total_weights(), c.active_weights()}) {
            if (n <= 0) return "a size that is not positive";
        }
        for (std::int64_t l = 0; l < c.n_layers(); ++l) {
            const engine::LayerSpec& layer = c.layers[static_cast<std::size_t>(l)];
            const std::int64_t kept_size = layer.kept_size();
            const bool has_keys = layer.has_attention() && kept_size == 0;
            const kernels::AttentionShape shape = has_keys ? c.attention_shape(l) : c.largest_attention();
            if (kept_size < 0) return "a size of a state that is not positive";
            if (shape.n_heads <= 0 || shape.n_kv_heads <= 0 || shape.key_dim <= 0 || shape.value_dim <= 0) {
                return "a size of attention that is not positive";
            }
            if (shape.n_heads % shape.n_kv_heads != 0) return "n_kv_heads that does not divide n_heads";
            if (shape.rotary_dim % 2 != 0 || shape.rotary_first + shape.rotary_dim > shape.key_dim) {
                return "rotary values that are no pairs of a head";
            }
            if (shape.window < 0) return "a negative window";
            const kernels::AttentionShape indexer = c.indexer_shape(l);
            if (shape.top_k < 0 || indexer.top_k > shape.top_k) return "a choice of keys out of range";
            if (indexer.n_heads < 0 || indexer.rotary_dim > indexer.key_dim) return "an indexer's size out of range";
            if (!std::isfinite(shape.scale) || shape.scale <= 0) return "a scale out of range";
            const engine::MoeSpec* const moe = layer.moe();
            if (moe == nullptr) continue;
            const kernels::RouterSpec& router = moe->router;
            if (router.n_experts != c.experts.n_experts || router.n_active != c.experts.n_active) {
                return "a router of other sizes than the experts";
            }
            if (router.n_experts % router.n_groups != 0 || router.n_groups_used > router.n_groups ||
                router.n_active > router.n_experts / router.n_groups * router.n_groups_used) {
                return "groups that do not hold the active experts";
            }
            if (!std::isfinite(router.scale)) return "a router's scale out of range";
        }
        if (c.experts.n_active > c.experts.n_experts) return "more active experts than experts";
        if (c.active_weights() > c.total_weights()) return "more active weights than weights";
        if (c.total_weights() > INT64_MAX / 4) return "more bytes than 64 bits hold";
        if (!std::isfinite(c.norm.eps) || c.norm.eps <= 0) return "an eps out of range";
        if (c.bos_token < -1 || c.bos_token >= c.vocab_size) return "a bos_token outside the vocabulary";
        for (const engine::TokenId token : c.eos_tokens) {
            if (token < 0 || token >= c.vocab_size) return "an eos token outside the vocabulary";
        }
        if (std::set(c.eos_tokens.begin(), c.eos_tokens.end()).size() != c.eos_tokens.size())
            return "an eos token twice";
        return {};
    } catch (const engine::Error& error) {
        return check_error(error);
    }
}

inline std::string check_shard_index(std::string_view text) {
    try {
        std::set<std::string> files;
        std::set<std::string> tensors;
        for (const engine::ShardContents& shard : engine::parse_shard_index(text, kSource)) {
            if (!files.insert(shard.file).second) return "a file twice";
            if (shard.tensors.empty()) return "a file without tensors";
            if (shard.file.find('\0') != std::string::npos) return "a NUL in a file's name";
            const auto path = ("/folder" / std::filesystem::path(shard.file)).lexically_normal().string();
            if (!path.starts_with("/folder/")) return "a file outside the folder";
            for (const std::string& tensor : shard.tensors) {
                if (!tensors.insert(tensor).second) return "a tensor twice";
            }
        }
        return {};
    } catch (const engine::Error& error) {
        return check_error(error);
    }
}

}  // namespace offstage::tests
