#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace offstage::engine {

// The alphabet of GPT-2's byte-level BPE, in which vocabularies write their tokens: each
// byte is one printable character, for example a space "\u0120".
std::string byte_level_text(std::string_view bytes);
// Nothing if `text` (UTF-8) has a character outside of the alphabet.
std::optional<std::string> byte_level_bytes(std::string_view text);

}  // namespace offstage::engine
