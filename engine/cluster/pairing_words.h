#pragma once
// The code by which two machines learn each other's keys: eight words, 11 bits each. The
// words are made by rule, not taken from a list: 2048 pronounceable ones, each different
// from all others in its first four letters.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace offstage::engine {

inline constexpr std::size_t kPairingWords = 8;
inline constexpr std::uint32_t kPairingVocabulary = 2048;

// Four letters, alternately consonant and vowel: "bado", "zuri". number <
// kPairingVocabulary.
std::string pairing_word(std::uint32_t number);

// The written code: "bado zuri ...". numbers: each below kPairingVocabulary.
std::string pairing_code(const std::array<std::uint16_t, kPairingWords>& numbers);
// The same of random bytes: 11 bits of each pair.
std::string pairing_code(std::span<const unsigned char, 2 * kPairingWords> random);
// In the form of pairing_code(): blanks and hyphens between words, and capitals, do not
// matter. Throws Error (kInvalidInput) for text that is no code.
std::string normal_pairing_code(std::string_view text);

}  // namespace offstage::engine
