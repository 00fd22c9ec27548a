#pragma once

#include <string>
#include <vector>

#include "engine/text/json_part.h"

namespace offstage::engine {

// The "decoder" of tokenizer.json: tokens, as the vocabulary writes them, back to text.
// Immutable; any thread.
class TokenDecoder {
  public:
    // ByteLevel, ByteFallback, Fuse, Replace, Strip, Metaspace and Sequence. Throws Error
    // naming the file and the field.
    explicit TokenDecoder(const JsonPart& part);
    static TokenDecoder byte_level();

    // Hugging Face tokenizers' decode(): valid UTF-8.
    std::string decode(std::vector<std::string> tokens) const;
    // The bytes that one token adds to a text already begun.
    std::string bytes_of(std::string token) const;
    // Whether decode() removes a space from the beginning of a text.
    bool strips_space() const { return strips_space_; }

  private:
    enum class Kind { kByteLevel, kByteFallback, kFuse, kReplace, kStrip, kMetaspace };
    struct Step {
        Kind kind;
        std::string from =
            {};               // kReplace: the replaced text; kStrip: the stripped one; kMetaspace: the sign for a blank
        std::string to = {};  // kReplace
        std::size_t start = 0;  // kStrip: so many at most, at either end; kMetaspace: 1 where the first one is dropped
        std::size_t stop = 0;
    };

    TokenDecoder() = default;
    void add(const JsonPart& part, int depth);

    std::vector<Step> steps_;
    bool strips_space_ = false;
};

}  // namespace offstage::engine
