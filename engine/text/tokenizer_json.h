#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace offstage::engine {

// tokenizer.json as Hugging Face tokenizers writes it, parsed but not checked further.
// The two large parts are kept out of the tree of values: 200,000 tokens with their
// merges are read in a fraction of a second.
struct TokenizerJson {
    nlohmann::json rest;                                      // an object, without model.vocab and model.merges
    std::vector<std::pair<std::string, std::int64_t>> vocab;  // in the file's order
    std::vector<std::pair<std::string, std::string>> merges;  // by rank; "a b" or ["a", "b"] in the file
    bool has_merges = false;                                  // a list of them, which may be empty
};

// kHead: only up to model.vocab, which is by far the largest part and the last in files
// of Hugging Face tokenizers; it and the rest are not read.
enum class JsonExtent : std::uint8_t { kWhole, kHead };

// `source`: the file's name in errors. Throws Error when `bytes` is not valid JSON, or
// model.vocab or model.merges is not of the form above.
TokenizerJson parse_tokenizer_json(std::string_view bytes, const std::string& source,
                                   JsonExtent extent = JsonExtent::kWhole);

}  // namespace offstage::engine
