#include "engine/text/pre_tokenizer.h"

#include <utility>

#include "engine/text/known_patterns.h"
#include "engine/text/text_messages.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMaxCuts = 64;
constexpr int kMaxPreTokenizerDepth = 8;
constexpr const char* kPunctuationPattern = R"([\p{P}$+<=>^`|~])";
constexpr const char* kWordsPattern = R"(\w+|[^\w\s]+)";
constexpr std::string_view kMetaspace = "\xE2\x96\x81";

}  // namespace

PreTokenizer::PreTokenizer(const JsonPart& part) {
    if (!part.is_null()) add(part, 0);
}

PreTokenizer::PreTokenizer(SplitPattern pattern) : byte_level_(true) {
    steps_.push_back({.pattern = std::move(pattern), .behavior = Behavior::kRemoved, .invert = true});
}

void PreTokenizer::add(const JsonPart& part, int depth) {
    static constexpr const char* kKnown =
        "Split, ByteLevel, Digits, Punctuation, Metaspace, Whitespace, WhitespaceSplit, Sequence";
    const std::string type = part.text("type");
    if (type == "Sequence") {
        if (depth >= kMaxPreTokenizerDepth) part.bad(messages::nested_less_deeply);
        for (const JsonPart& step : part.at("pretokenizers").items()) add(step, depth + 1);
        return;
    }
    if (steps_.size() >= kMaxCuts) part.bad(messages::a_list_of_fewer_steps);
    if (byte_level_) part.bad(messages::before_byte_level);
    const auto regex = [&](const char* pattern, Behavior behavior, bool invert = false) {
        steps_.push_back({.pattern = SplitPattern::regex(pattern, PatternSyntax::kOniguruma, part),
                          .behavior = behavior,
                          .invert = invert});
    };
    if (type == "Split") {
        SplitPattern pattern = SplitPattern::read(part.at("pattern"));
        steps_.push_back({.pattern = std::move(pattern),
                          .behavior = read_behavior(part, Behavior::kIsolated),
                          .invert = part.flag("invert", false)});
    } else if (type == "ByteLevel") {
        add_byte_level(part);
    } else if (type == "Digits") {
        regex(R"(\p{N})", part.flag("individual_digits", false) ? Behavior::kIsolated : Behavior::kContiguous);
    } else if (type == "Punctuation") {
        regex(kPunctuationPattern, read_behavior(part, Behavior::kIsolated));
    } else if (type == "Metaspace") {
        add_metaspace(part);
    } else if (type == "Whitespace") {
        regex(kWordsPattern, Behavior::kRemoved, true);
    } else if (type == "WhitespaceSplit") {
        regex(R"(\s)", Behavior::kRemoved);
    } else {
        part.at("type").unknown(kKnown);
    }
}

void PreTokenizer::add_byte_level(const JsonPart& part) {
    byte_level_ = true;
    if (part.flag("add_prefix_space", true)) steps_.push_back({.prefix_space = true});
    if (!part.flag("use_regex", true)) return;
    steps_.push_back({.pattern = SplitPattern::regex(kGpt2Pattern, PatternSyntax::kOniguruma, part)});
}

void PreTokenizer::add_metaspace(const JsonPart& part) {
    Step step;
    step.space = part.text("replacement", std::string(kMetaspace));
    if (step.space.empty()) part.at("replacement").bad(messages::a_text_of_a_character);
    const std::string scheme = part.text("prepend_scheme", part.flag("add_prefix_space", true) ? "always" : "never");
    if (scheme == "always") {
        step.prepend = Prepend::kAlways;
    } else if (scheme == "first") {
        step.prepend = Prepend::kFirst;
    } else if (scheme != "never") {
        part.at("prepend_scheme").unknown("always, first, never");
    }
    const std::string space = step.space;
    steps_.push_back(std::move(step));
    if (!part.flag("split", true)) return;
    steps_.push_back({.pattern = SplitPattern::literal(space, part), .behavior = Behavior::kMergedWithNext});
}

PreTokenizer::Behavior PreTokenizer::read_behavior(const JsonPart& part, Behavior otherwise) {
    const JsonPart behavior = part.at("behavior");
    if (behavior.is_null()) return otherwise;
    static constexpr std::pair<const char*, Behavior> kBehaviors[] = {
        {"Removed", Behavior::kRemoved},
        {"Isolated", Behavior::kIsolated},
        {"MergedWithPrevious", Behavior::kMergedWithPrevious},
        {"MergedWithNext", Behavior::kMergedWithNext},
        {"Contiguous", Behavior::kContiguous},
    };
    const std::string text = behavior.text();
    for (const auto& [name, value] : kBehaviors) {
        if (text == name) return value;
    }
    behavior.unknown("Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous");
}

namespace {

// Matches are joined to the span before them. A match after another one stays separate.
void merge_with_previous(std::vector<TextSpan>& spans) {
    std::size_t kept = 0;
    bool after_match = false;
    for (const TextSpan& span : spans) {
        if (span.is_match && !after_match && kept > 0) {
            spans[kept - 1].end = span.end;
        } else {
            spans[kept++] = span;
        }
        after_match = span.is_match;
    }
    spans.resize(kept);
}

void merge_with_next(std::vector<TextSpan>& spans) {
    std::size_t kept = spans.size();  // the beginning of the finished ones
    bool after_match = false;
    for (std::size_t i = spans.size(); i-- > 0;) {
        const TextSpan span = spans[i];
        if (span.is_match && !after_match && kept < spans.size()) {
            spans[kept].begin = span.begin;
        } else {
            spans[--kept] = span;
        }
        after_match = span.is_match;
    }
    spans.erase(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(kept));
}

void merge_equal(std::vector<TextSpan>& spans) {
    std::size_t kept = 0;
    bool was_match = false;
    for (const TextSpan& span : spans) {
        if (span.is_match == was_match && kept > 0) {
            spans[kept - 1].end = span.end;
        } else {
            spans[kept++] = span;
        }
        was_match = span.is_match;
    }
    spans.resize(kept);
}

}  // namespace

void PreTokenizer::split(const Step& step, Words& words) {
    std::vector<TextSpan> out;
    out.reserve(words.spans.size() + words.text.size() / 4);
    for (const TextSpan& word : words.spans) {
        std::vector<TextSpan> spans =
            step.pattern->find(std::string_view(words.text).substr(word.begin, word.end - word.begin));
        if (step.invert) {
            for (TextSpan& span : spans) span.is_match = !span.is_match;
        }
        if (step.behavior == Behavior::kMergedWithPrevious) merge_with_previous(spans);
        if (step.behavior == Behavior::kMergedWithNext) merge_with_next(spans);
        if (step.behavior == Behavior::kContiguous) merge_equal(spans);
        for (const TextSpan& span : spans) {
            if (span.begin == span.end || (step.behavior == Behavior::kRemoved && span.is_match)) continue;
            out.push_back({word.begin + span.begin, word.begin + span.end});
        }
    }
    words.spans = std::move(out);
}

void PreTokenizer::replace_spaces(const Step& step, bool is_first, Words& words) {
    Words out;
    for (const TextSpan& word : words.spans) {
        const std::size_t begin = out.text.size();
        const std::string_view text = std::string_view(words.text).substr(word.begin, word.end - word.begin);
        const bool begins = text.starts_with(' ') || text.starts_with(step.space);
        const bool wanted =
            step.prepend == Prepend::kAlways || (step.prepend == Prepend::kFirst && is_first && word.begin == 0);
        if (wanted && !begins) out.text += step.space;
        for (const char c : text) {
            if (c == ' ') {
                out.text += step.space;
            } else {
                out.text += c;
            }
        }
        out.spans.push_back({begin, out.text.size()});
    }
    words = std::move(out);
}

void PreTokenizer::prefix_spaces(Words& words) {
    Words out;
    for (const TextSpan& word : words.spans) {
        const std::size_t begin = out.text.size();
        if (words.text[word.begin] != ' ') out.text += ' ';
        out.text.append(words.text, word.begin, word.end - word.begin);
        out.spans.push_back({begin, out.text.size()});
    }
    words = std::move(out);
}

Words PreTokenizer::cut(std::string text, bool is_first) const {
    Words words;
    words.text = std::move(text);
    if (words.text.empty()) return words;
    words.spans.push_back({0, words.text.size()});
    for (const Step& step : steps_) {
        if (step.pattern) {
            split(step, words);
        } else if (step.prefix_space) {
            prefix_spaces(words);
        } else {
            replace_spaces(step, is_first, words);
        }
    }
    return words;
}

}  // namespace offstage::engine
