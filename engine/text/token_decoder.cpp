#include "engine/text/token_decoder.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "engine/base_messages.h"
#include "engine/text/byte_level.h"
#include "engine/text/text_messages.h"
#include "engine/text/utf8.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMaxDecoderSteps = 64;
constexpr int kMaxDecoderDepth = 8;
constexpr std::int64_t kMaxStripped = 1024;
constexpr std::string_view kReplacementText = "\xEF\xBF\xBD";

// "<0x0A>"
std::optional<char> fallback_byte(const std::string& token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
    unsigned value = 0;
    const auto [end, failure] = std::from_chars(token.data() + 3, token.data() + 5, value, 16);
    if (failure != std::errc() || end != token.data() + 5) return std::nullopt;
    return static_cast<char>(static_cast<unsigned char>(value));
}

std::string with_replaced(const std::string& text, const std::string& from, const std::string& to) {
    std::string out;
    for (std::size_t at = 0;;) {
        const std::size_t found = text.find(from, at);
        if (found == std::string::npos) return out + text.substr(at);
        out += text.substr(at, found - at) + to;
        at = found + from.size();
    }
}

std::string with_stripped(std::string_view text, const std::string& what, std::size_t start, std::size_t stop) {
    for (; start > 0 && text.starts_with(what); --start) text.remove_prefix(what.size());
    for (; stop > 0 && text.ends_with(what); --stop) text.remove_suffix(what.size());
    return std::string(text);
}

// Byte tokens in a row are one character or several; where they are none, each is U+FFFD.
void join_fallback_bytes(std::vector<std::string>& tokens) {
    std::vector<std::string> out;
    std::string bytes;
    const auto end_run = [&] {
        if (bytes.empty()) return;
        if (find_invalid_utf8(bytes) != std::string::npos) {
            std::string replaced;
            for (std::size_t i = 0; i < bytes.size(); ++i) replaced += kReplacementText;
            bytes = std::move(replaced);
        }
        out.push_back(std::exchange(bytes, {}));
    };
    for (std::string& token : tokens) {
        if (const auto byte = fallback_byte(token)) {
            bytes += *byte;
            continue;
        }
        end_run();
        out.push_back(std::move(token));
    }
    end_run();
    tokens = std::move(out);
}

std::string joined(const std::vector<std::string>& tokens) {
    std::string text;
    for (const std::string& token : tokens) text += token;
    return text;
}

}  // namespace

TokenDecoder::TokenDecoder(const JsonPart& part) {
    add(part, 0);
    for (const Step& step : steps_) {
        strips_space_ = strips_space_ || (step.start > 0 && (step.kind == Kind::kMetaspace || step.from == " "));
    }
}

TokenDecoder TokenDecoder::byte_level() {
    TokenDecoder decoder;
    decoder.steps_.push_back({.kind = Kind::kByteLevel});
    return decoder;
}

void TokenDecoder::add(const JsonPart& part, int depth) {
    const std::string type = part.text("type");
    if (type == "Sequence") {
        if (depth >= kMaxDecoderDepth) part.bad(messages::nested_less_deeply);
        for (const JsonPart& step : part.at("decoders").items()) add(step, depth + 1);
        return;
    }
    if (steps_.size() >= kMaxDecoderSteps) part.bad(messages::a_list_of_fewer_steps);
    const auto not_empty = [](const JsonPart& field) {
        std::string text = field.text();
        if (text.empty()) field.bad(messages::a_text_of_a_character);
        return text;
    };
    const auto count = [&](const char* name) {
        const std::int64_t n = part.number(name, 0);
        if (n < 0 || n > kMaxStripped) {
            part.at(name).bad(messages::a_number_in_range(0, kMaxStripped));
        }
        return static_cast<std::size_t>(n);
    };
    if (type == "ByteLevel") {
        steps_.push_back({.kind = Kind::kByteLevel});
    } else if (type == "ByteFallback") {
        steps_.push_back({.kind = Kind::kByteFallback});
    } else if (type == "Fuse") {
        steps_.push_back({.kind = Kind::kFuse});
    } else if (type == "Replace") {
        steps_.push_back(
            {.kind = Kind::kReplace, .from = not_empty(part.at("pattern").at("String")), .to = part.text("content")});
    } else if (type == "Strip") {
        steps_.push_back({.kind = Kind::kStrip,
                          .from = not_empty(part.at("content")),
                          .start = count("start"),
                          .stop = count("stop")});
    } else if (type == "Metaspace") {
        const std::string scheme =
            part.text("prepend_scheme", part.flag("add_prefix_space", true) ? "always" : "never");
        steps_.push_back({.kind = Kind::kMetaspace,
                          .from = part.text("replacement", "\xE2\x96\x81"),
                          .start = scheme == "never" ? std::size_t{0} : std::size_t{1}});
        if (steps_.back().from.empty()) part.at("replacement").bad(messages::a_text_of_a_character);
    } else {
        part.at("type").unknown("ByteLevel, ByteFallback, Fuse, Replace, Strip, Metaspace, Sequence");
    }
}

std::string TokenDecoder::decode(std::vector<std::string> tokens) const {
    for (const Step& step : steps_) {
        switch (step.kind) {
            case Kind::kByteLevel: {
                std::string bytes;
                for (const std::string& token : tokens) bytes += byte_level_bytes(token).value_or(token);
                tokens = {to_valid_utf8(bytes)};
                break;
            }
            case Kind::kByteFallback:
                join_fallback_bytes(tokens);
                break;
            case Kind::kFuse:
                tokens = {joined(tokens)};
                break;
            case Kind::kReplace:
                for (std::string& token : tokens) token = with_replaced(token, step.from, step.to);
                break;
            case Kind::kStrip:
                for (std::string& token : tokens) token = with_stripped(token, step.from, step.start, step.stop);
                break;
            case Kind::kMetaspace:
                for (std::size_t i = 0; i < tokens.size(); ++i) {
                    tokens[i] = with_replaced(tokens[i], step.from, i == 0 && step.start > 0 ? "" : " ");
                }
                break;
        }
    }
    return joined(tokens);
}

std::string TokenDecoder::bytes_of(std::string token) const {
    bool fused = false;
    for (const Step& step : steps_) {
        if (step.kind == Kind::kByteLevel) token = byte_level_bytes(token).value_or(token);
        if (step.kind == Kind::kByteFallback) {
            if (const auto byte = fallback_byte(token)) return {*byte};
        }
        fused = fused || step.kind == Kind::kFuse;
        if (step.kind == Kind::kReplace) token = with_replaced(token, step.from, step.to);
        if (step.kind == Kind::kMetaspace) token = with_replaced(token, step.from, " ");
        if (step.kind == Kind::kStrip && !fused) token = with_stripped(token, step.from, step.start, step.stop);
    }
    return token;
}

}  // namespace offstage::engine
