#include "engine/text/split_pattern.h"

#include <algorithm>
#include <new>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "engine/error.h"
#include "engine/text/encoding_watch.h"
#include "engine/text/text_messages.h"
#include "engine/text/utf8.h"

namespace offstage::engine {
namespace {

// Steps of PCRE2 ("match limit"). Words take a few dozen. A match that takes more is
// tried again with more, up to a limit for the whole text: enough for any run of blanks
// or letters that a pattern reads once, and quickly reached by a pattern that takes a
// polynomial or exponential number of steps.
constexpr std::uint32_t kFirstSteps = 2'000;
constexpr std::uint64_t kBaseSteps = 20'000'000;
constexpr std::uint64_t kStepsPerByte = 64;
constexpr std::uint32_t kMaxHeapKiB = 64u << 10;

struct FreeMatchState {
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
    void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
template <typename T>
using Pcre2 = std::unique_ptr<T, FreeMatchState>;

// The result of a match; one for each thread, because it is used only between two calls.
struct MatchState {
    Pcre2<pcre2_match_data> data{pcre2_match_data_create(1, nullptr)};
    Pcre2<pcre2_match_context> context{pcre2_match_context_create(nullptr)};

    MatchState() {
        if (data == nullptr || context == nullptr) throw std::bad_alloc();
        pcre2_set_heap_limit(context.get(), kMaxHeapKiB);
    }
};

MatchState& match_state() {
    thread_local MatchState state;
    return state;
}

std::string message_of(int code) {
    PCRE2_UCHAR text[256] = {};
    pcre2_get_error_message(code, text, sizeof text);
    return reinterpret_cast<const char*>(text);
}

PCRE2_SPTR units(std::string_view text) {
    return reinterpret_cast<PCRE2_SPTR>(text.data());
}

[[noreturn]] void throw_too_many_steps(std::size_t at) {
    throw Error(ErrorKind::kInvalidInput, messages::tokenizer_pattern_too_slow(at));
}

}  // namespace

struct SplitPattern::Code {
    std::string literal;  // when it is no regular expression
    Pcre2<pcre2_code> regex;

    // The next match in `text` from `at` on. Its steps beyond the first are subtracted
    // from `steps`.
    bool match(std::string_view text, std::size_t at, std::uint64_t& steps, TextSpan& found) const;
};

SplitPattern::SplitPattern(std::unique_ptr<Code> code) : code_(std::move(code)) {}
SplitPattern::SplitPattern(SplitPattern&&) noexcept = default;
SplitPattern& SplitPattern::operator=(SplitPattern&&) noexcept = default;
SplitPattern::~SplitPattern() = default;

SplitPattern SplitPattern::regex(const std::string& pattern, PatternSyntax syntax, const JsonPart& where) {
    const std::size_t invalid = find_invalid_utf8(pattern);
    // "(*" begins PCRE2's own instructions, which neither syntax has.
    if (pattern.empty() || invalid != std::string::npos || pattern.starts_with("(*"))
        where.bad(messages::a_regular_expression);
    const std::string translated = translate_pattern(pattern, syntax);
    const Pcre2<pcre2_compile_context> context(pcre2_compile_context_create(nullptr));
    if (context == nullptr) throw std::bad_alloc();
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context.get(), 100);
    const std::uint32_t lines = syntax == PatternSyntax::kOniguruma ? PCRE2_MULTILINE : PCRE2_DOLLAR_ENDONLY;
    int failure = 0;
    PCRE2_SIZE at = 0;
    auto code = std::make_unique<Code>();
    code->regex.reset(pcre2_compile(units(translated), translated.size(),
                                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | lines, &failure, &at,
                                    context.get()));
    if (code->regex == nullptr) {
        throw Error(ErrorKind::kUnsupported,
                    messages::tokenizer_pattern_refused(where.file(), where.field(), message_of(failure)),
                    "at " + std::to_string(at) + " of " + translated);
    }
    pcre2_jit_compile(code->regex.get(), PCRE2_JIT_COMPLETE);  // if it fails, the interpreter runs it
    return SplitPattern(std::move(code));
}

SplitPattern SplitPattern::literal(const std::string& text, const JsonPart& where) {
    if (text.empty()) where.bad(messages::a_text_of_a_character);
    auto code = std::make_unique<Code>();
    code->literal = text;
    return SplitPattern(std::move(code));
}

SplitPattern SplitPattern::read(const JsonPart& part) {
    if (part.value().is_object() && part.has("Regex")) {
        const JsonPart regex_part = part.at("Regex");
        return regex(regex_part.text(), PatternSyntax::kOniguruma, regex_part);
    }
    if (part.value().is_object() && part.has("String")) return literal(part.text("String"), part.at("String"));
    part.bad(messages::an_object_with_regex);
}

bool SplitPattern::Code::match(std::string_view text, std::size_t at, std::uint64_t& steps, TextSpan& found) const {
    if (regex == nullptr) {
        found.begin = text.find(literal, at);
        found.end = found.begin + literal.size();
        return found.begin != std::string_view::npos;
    }
    const MatchState& state = match_state();
    std::uint32_t options = PCRE2_NO_UTF_CHECK;
    for (std::uint64_t limit = kFirstSteps;;) {
        pcre2_set_match_limit(state.context.get(), static_cast<std::uint32_t>(limit));
        const int result =
            pcre2_match(regex.get(), units(text), text.size(), at, options, state.data.get(), state.context.get());
        if (result == PCRE2_ERROR_NOMATCH) return false;
        if (result >= 0) {
            const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(state.data.get());
            found.begin = std::max(bounds[0], at);  // \K may have moved it
            found.end = std::max(bounds[1], found.begin);
            return true;
        }
        if (result == PCRE2_ERROR_JIT_STACKLIMIT) {
            options |= PCRE2_NO_JIT;
        } else if (result == PCRE2_ERROR_MATCHLIMIT) {
            steps -= std::min(steps, limit);
            if (steps == 0) throw_too_many_steps(at);
            limit = std::min<std::uint64_t>({limit * 8, steps, 0xFFFFFFFFu});
        } else {
            throw_too_many_steps(at);  // of memory
        }
    }
}

std::vector<TextSpan> SplitPattern::find(std::string_view text) const {
    std::vector<TextSpan> spans;
    std::uint64_t steps = kBaseSteps + kStepsPerByte * text.size();
    std::size_t from = 0;  // beginning of the next search
    std::size_t last = 0;  // end of the last match
    bool any = false;
    EncodingWatch::Counter watch;
    while (from <= text.size()) {
        watch.count();
        TextSpan found;
        found.is_match = true;
        if (!code_->match(text, from, steps, found)) break;
        if (found.begin == found.end && any && found.begin == last) {  // nothing, and after a match: one character on
            if (from >= text.size()) break;
            from += character_bytes(text, from);
            continue;
        }
        if (found.begin > last) spans.push_back({last, found.begin, false});
        spans.push_back(found);
        from = last = found.end;
        any = true;
    }
    if (last < text.size()) spans.push_back({last, text.size(), false});
    return spans;
}

}  // namespace offstage::engine
