#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/text/split_pattern.h"

namespace offstage::engine {

// A text cut into words; spans of `text`, in order.
struct Words {
    std::string text;
    std::vector<TextSpan> spans;
};

// The "pre_tokenizer" of tokenizer.json: how a normalized text is cut into words, across
// which no token reaches. Immutable; any thread.
class PreTokenizer {
  public:
    PreTokenizer() = default;  // the whole text is one word
    // Split, ByteLevel, Digits, Punctuation, Metaspace, Whitespace, WhitespaceSplit and
    // Sequence, with the options that Hugging Face tokenizers gives them. Throws Error
    // naming the file and the field; null: one word.
    explicit PreTokenizer(const JsonPart& part);
    // For a tiktoken file: the matches of one pattern.
    explicit PreTokenizer(SplitPattern pattern);

    // Whether words are bytes, as ByteLevel makes them, not characters.
    bool is_byte_level() const { return byte_level_; }
    // `is_first`: the text does not follow another one or a special token.
    Words cut(std::string text, bool is_first) const;

  private:
    enum class Behavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };
    enum class Prepend { kNever, kFirst, kAlways };
    struct Step {
        std::optional<SplitPattern> pattern = {};
        Behavior behavior = Behavior::kIsolated;
        bool invert = false;
        std::string space = {};  // Metaspace: stands for a blank; empty: another step
        Prepend prepend = Prepend::kNever;
        bool prefix_space = false;  // ByteLevel
    };

    void add(const JsonPart& part, int depth);
    void add_metaspace(const JsonPart& part);
    void add_byte_level(const JsonPart& part);
    static Behavior read_behavior(const JsonPart& part, Behavior otherwise);
    static void split(const Step& step, Words& words);
    static void replace_spaces(const Step& step, bool is_first, Words& words);
    static void prefix_spaces(Words& words);

    std::vector<Step> steps_;
    bool byte_level_ = false;
};

}  // namespace offstage::engine
