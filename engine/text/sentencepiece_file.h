#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/indices.h"

namespace offstage::engine {

// The tokenizer's data from a sentencepiece tokenizer.model, besides the library that
// runs it.
struct SentencePieceFile {
    std::string serialized;  // pieces, trainer and normalizer specification; self tests and unknown records left out
    std::int64_t n_pieces = 0;
    std::vector<TokenId> user_defined;  // pieces that the library finds in any text, whole
    std::string unk_surface;
    bool add_dummy_prefix = true;
    bool remove_extra_whitespaces = true;
};

// Checks everything in the file that the library uses without checking, following
// sentencepiece_model.proto. (Release 0.1.97 reads out of bounds on a damaged normaliser
// map, and ends the process on some other errors.) Throws Error (kInvalidModel,
// kUnsupported) naming `source` if the file is damaged or has more than `max_pieces`
// pieces.
SentencePieceFile check_sentencepiece(std::string_view bytes, std::int64_t max_pieces, const std::string& source);

}  // namespace offstage::engine
