#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace offstage::engine {

// The alphabet of GPT-2's byte-level BPE, in which vocabularies write their tokens: each
// byte is one printable character, a space "\u0120" for instance.
std::string byte_level_text(std::string_view bytes);
// Nothing when `text` (UTF-8) holds a character that is not of the alphabet.
std::optional<std::string> byte_level_bytes(std::string_view text);

}  // namespace offstage::engine
