#include "engine/text/byte_level.h"

#include <array>
#include <cstdint>

#include "engine/text/utf8.h"

namespace offstage::engine {
namespace {

constexpr int kNoByte = -1;

struct ByteAlphabet {
    std::array<std::string, 256> text;
    std::array<int, 512> byte_of;  // by code point
};

// Printable bytes of Latin 1 stand for themselves, the others for U+0100 and the
// following characters.
ByteAlphabet make_alphabet() {
    ByteAlphabet alphabet;
    alphabet.byte_of.fill(kNoByte);
    std::uint32_t next = 0x100;
    for (std::uint32_t b = 0; b < 256; ++b) {
        const bool itself = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
        const std::uint32_t c = itself ? b : next++;
        append_utf8(c, alphabet.text[b]);
        alphabet.byte_of[c] = static_cast<int>(b);
    }
    return alphabet;
}

const ByteAlphabet& byte_alphabet() {
    static const ByteAlphabet alphabet = make_alphabet();
    return alphabet;
}

}  // namespace

std::string byte_level_text(std::string_view bytes) {
    std::string text;
    for (const char c : bytes) text += byte_alphabet().text[static_cast<unsigned char>(c)];
    return text;
}

std::optional<std::string> byte_level_bytes(std::string_view text) {
    const ByteAlphabet& alphabet = byte_alphabet();
    std::string bytes;
    bytes.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::uint32_t c = next_character(text, at);
        if (c >= alphabet.byte_of.size() || alphabet.byte_of[c] == kNoByte) return std::nullopt;
        bytes += static_cast<char>(static_cast<unsigned char>(alphabet.byte_of[c]));
    }
    return bytes;
}

}  // namespace offstage::engine
