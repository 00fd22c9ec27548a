#include <cstdint>

#include "engine/text/tokenizer.h"

namespace offstage::engine {
namespace {

constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

enum class Step { kWhole, kIncomplete, kInvalid };

struct Sequence {
    Step step;
    std::size_t n_bytes;  // whole: of the character; else 1, the byte that is passed over
};

// Unicode 15, table 3-7: the second byte carries the limits against overlong forms, surrogates and > U+10FFFF.
Sequence look_at(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t lead = byte(at);
    if (lead < 0x80) return {Step::kWhole, 1};
    if (lead < 0xC2 || lead > 0xF4) return {Step::kInvalid, 1};
    const std::size_t n = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    std::uint8_t low = 0x80;
    std::uint8_t high = 0xBF;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    for (std::size_t i = 1; i < n; ++i) {
        if (at + i >= text.size()) return {Step::kIncomplete, 1};
        if (byte(at + i) < low || byte(at + i) > high) return {Step::kInvalid, 1};
        low = 0x80;
        high = 0xBF;
    }
    return {Step::kWhole, n};
}

}  // namespace

std::size_t find_invalid_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const Sequence s = look_at(text, at);
        if (s.step != Step::kWhole) return at;
        at += s.n_bytes;
    }
    return std::string_view::npos;
}

std::string Utf8Stream::push(std::string_view bytes) {
    pending_ += bytes;
    std::string shown;
    shown.reserve(pending_.size());
    std::size_t at = 0;
    while (at < pending_.size()) {
        const Sequence s = look_at(pending_, at);
        if (s.step == Step::kIncomplete) break;
        if (s.step == Step::kWhole) {
            shown.append(pending_, at, s.n_bytes);
        } else {
            shown += kReplacementCharacter;  // one for each byte, as sentencepiece and Tokenizer::decode() do
        }
        at += s.n_bytes;
    }
    pending_.erase(0, at);
    return shown;
}

std::string Utf8Stream::finish() {
    std::string shown;
    for (std::size_t i = 0; i < pending_.size(); ++i) shown += kReplacementCharacter;
    pending_.clear();
    return shown;
}

}  // namespace offstage::engine
