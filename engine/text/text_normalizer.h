#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/text/prompt_text.h"
#include "engine/text/split_pattern.h"

namespace offstage::engine {

// The "normalizer" of tokenizer.json: changes a text before it is cut into words.
// Immutable; any thread.
class TextNormalizer {
  public:
    TextNormalizer() = default;  // does nothing
    // NFC, NFD, NFKC, NFKD (utf8proc), Lowercase, Replace, Prepend, Strip and Sequence.
    // Throws Error naming the file and the field; null: does nothing.
    explicit TextNormalizer(const JsonPart& part);

    bool empty() const { return steps_.empty(); }
    // `text` is valid UTF-8. Characters of data are not joined with their neighbours
    // outside. Throws Error (kInvalidInput) when it grows beyond all limits.
    PromptText apply(PromptText text) const;

  private:
    enum class Kind {
        kCompose,
        kDecompose,
        kComposeCompatible,
        kDecomposeCompatible,
        kLowercase,
        kReplace,
        kPrepend,
        kStrip
    };
    struct Step {
        Kind kind;
        std::optional<SplitPattern> pattern = {};  // kReplace
        std::string content = {};                  // kReplace, kPrepend
        bool left = false;                         // kStrip
        bool right = false;
    };

    void add(const JsonPart& part, int depth);

    std::vector<Step> steps_;
};

}  // namespace offstage::engine
