#include "engine/text/text_normalizer.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <utf8proc.h>

#include "engine/error.h"
#include "engine/text/text_messages.h"
#include "engine/text/utf8.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMaxNormalizedBytes = 256u << 20;
constexpr std::size_t kMaxNormalizerSteps = 64;
constexpr int kMaxNormalizerDepth = 8;

void check_size(const std::string& text) {
    if (text.size() > kMaxNormalizedBytes) {
        throw Error(ErrorKind::kInvalidInput, messages::text_too_long_to_normalize);
    }
}

// One of Unicode's four normal forms. Texts whose bytes are all below `first_changed`
// stay unchanged: no character that begins with a smaller byte has another form.
std::string normal_form(std::string text, int options, unsigned char first_changed) {
    const auto stays = [&](char c) { return static_cast<unsigned char>(c) < first_changed; };
    if (std::all_of(text.begin(), text.end(), stays)) return text;
    utf8proc_uint8_t* found = nullptr;
    const utf8proc_ssize_t n =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                     &found, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | options));
    const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(found, std::free);
    if (n == UTF8PROC_ERROR_NOMEM) throw std::bad_alloc();
    if (n < 0) throw Error(ErrorKind::kInvalidInput, messages::text_not_tokenized, utf8proc_errmsg(n));
    text.assign(reinterpret_cast<const char*>(found), static_cast<std::size_t>(n));
    return text;
}

std::string lowercase(const std::string& text) {
    constexpr std::uint32_t kCapitalIWithDot = 0x130;  // the one character with two small letters
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::uint32_t c = next_character(text, at);
        if (c == kCapitalIWithDot) {
            out += "i\xCC\x87";
        } else {
            append_utf8(static_cast<std::uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))), out);
        }
    }
    return out;
}

PromptText replaced(const PromptText& text, const SplitPattern& pattern, const std::string& content) {
    PromptText out;
    for (const TextSpan& span : pattern.find(text.bytes)) {
        const std::size_t n = span.end - span.begin;
        if (span.is_match) {
            out.append(text.has_data(span.begin, n) ? PromptText::of_data(content) : PromptText(content));
            check_size(out.bytes);
        } else {
            out.append(text, span.begin, n);
        }
    }
    return out;
}

std::string_view stripped(std::string_view text, bool left, bool right) {
    while (left) {
        const std::size_t n = white_space_at(text);
        if (n == 0) break;
        text.remove_prefix(n);
    }
    while (right && !text.empty()) {
        std::size_t at = text.size() - 1;
        while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
        if (white_space_at(text.substr(at)) == 0) break;
        text = text.substr(0, at);
    }
    return text;
}

// Changes each stretch of one origin separately.
template <typename Change>
PromptText changed(const PromptText& text, const Change& change) {
    PromptText out;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.end_of_stretch(begin);
        std::string stretch = change(text.bytes.substr(begin, end - begin));
        out.append(text.has_data(begin, 1) ? PromptText::of_data(std::move(stretch)) : PromptText(std::move(stretch)));
        begin = end;
    }
    return out;
}

}  // namespace

TextNormalizer::TextNormalizer(const JsonPart& part) {
    if (!part.is_null()) add(part, 0);
}

void TextNormalizer::add(const JsonPart& part, int depth) {
    const std::string type = part.text("type");
    if (type == "Sequence") {
        if (depth >= kMaxNormalizerDepth) part.bad(messages::nested_less_deeply);
        for (const JsonPart& step : part.at("normalizers").items()) add(step, depth + 1);
        return;
    }
    if (steps_.size() >= kMaxNormalizerSteps) part.bad(messages::a_list_of_fewer_steps);
    if (type == "NFC") {
        steps_.push_back({.kind = Kind::kCompose});
    } else if (type == "NFD") {
        steps_.push_back({.kind = Kind::kDecompose});
    } else if (type == "NFKC") {
        steps_.push_back({.kind = Kind::kComposeCompatible});
    } else if (type == "NFKD") {
        steps_.push_back({.kind = Kind::kDecomposeCompatible});
    } else if (type == "Lowercase") {
        steps_.push_back({.kind = Kind::kLowercase});
    } else if (type == "Replace") {
        steps_.push_back({.kind = Kind::kReplace,
                          .pattern = SplitPattern::read(part.at("pattern")),
                          .content = part.text("content")});
    } else if (type == "Prepend") {
        steps_.push_back({.kind = Kind::kPrepend, .content = part.text("prepend")});
    } else if (type == "Strip") {
        steps_.push_back(
            {.kind = Kind::kStrip, .left = part.flag("strip_left", false), .right = part.flag("strip_right", false)});
    } else {
        part.at("type").unknown("NFC, NFD, NFKC, NFKD, Lowercase, Replace, Prepend, Strip, Sequence");
    }
}

PromptText TextNormalizer::apply(PromptText text) const {
    const auto to_form = [&](int options, unsigned char first_changed) {
        return changed(text, [&](std::string part) { return normal_form(std::move(part), options, first_changed); });
    };
    for (const Step& step : steps_) {
        switch (step.kind) {
            case Kind::kCompose:
                text = to_form(UTF8PROC_COMPOSE, 0xCC);  // U+0300 and above
                break;
            case Kind::kDecompose:
                text = to_form(UTF8PROC_DECOMPOSE, 0x80);
                break;
            case Kind::kComposeCompatible:
                text = to_form(UTF8PROC_COMPOSE | UTF8PROC_COMPAT, 0x80);
                break;
            case Kind::kDecomposeCompatible:
                text = to_form(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT, 0x80);
                break;
            case Kind::kLowercase:
                text = changed(text, lowercase);
                break;
            case Kind::kReplace:
                text = replaced(text, *step.pattern, step.content);
                break;
            case Kind::kPrepend:
                if (!text.empty()) {
                    PromptText prefixed(step.content);
                    prefixed.append(text);
                    text = std::move(prefixed);
                }
                break;
            case Kind::kStrip:
                text = text.part(stripped(text.bytes, step.left, step.right));
                break;
        }
        check_size(text.bytes);
    }
    return text;
}

}  // namespace offstage::engine
