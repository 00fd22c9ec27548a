#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace offstage::engine {

struct SentencePiece {
    std::string_view text;
    float score = 0;
    std::uint32_t type = 1;  // sentencepiece_model.proto's: normal, unknown, control, user defined, unused, byte
};

// A tokenizer.model of the BPE type with these pieces, by rising id, and a normalizer
// that changes only blanks; check_sentencepiece() reads it. `add_dummy_prefix`: a text
// begins with a blank.
std::string write_sentencepiece(std::span<const SentencePiece> pieces, bool add_dummy_prefix);

}  // namespace offstage::engine
