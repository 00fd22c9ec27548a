#include "engine/cluster/pairing_words.h"

#include <optional>
#include <vector>

#include "engine/cluster/node_messages.h"
#include "engine/error.h"

namespace offstage::engine {
namespace {

// 16 * 4 * 16 * 2 = 2048. Consonants that sound different.
constexpr std::string_view kConsonants = "bdfghjklmnprstvz";
constexpr std::string_view kFirstVowels = "aiou";
constexpr std::string_view kLastVowels = "ao";
static_assert(16 * 4 * 16 * 2 == kPairingVocabulary);
static_assert(kConsonants.size() == 16 && kFirstVowels.size() == 4 && kLastVowels.size() == 2);

std::optional<std::uint16_t> number_of(std::string_view word) {
    if (word.size() != 4) return {};
    const std::size_t a = kConsonants.find(word[0]), b = kFirstVowels.find(word[1]), c = kConsonants.find(word[2]),
                      d = kLastVowels.find(word[3]);
    if (a == word.npos || b == word.npos || c == word.npos || d == word.npos) return {};
    return static_cast<std::uint16_t>(((a * 4 + b) * 16 + c) * 2 + d);
}

}  // namespace

std::string pairing_word(std::uint32_t number) {
    return {kConsonants[number / 128 % 16], kFirstVowels[number / 32 % 4], kConsonants[number / 2 % 16],
            kLastVowels[number % 2]};
}

std::string pairing_code(const std::array<std::uint16_t, kPairingWords>& numbers) {
    std::string code;
    for (const std::uint16_t number : numbers) {
        if (!code.empty()) code += ' ';
        code += pairing_word(number);
    }
    return code;
}

std::string pairing_code(std::span<const unsigned char, 2 * kPairingWords> random) {
    std::array<std::uint16_t, kPairingWords> numbers{};
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] = static_cast<std::uint16_t>((random[2 * i] << 8 | random[2 * i + 1]) % kPairingVocabulary);
    }
    return pairing_code(numbers);
}

std::string normal_pairing_code(std::string_view text) {
    std::vector<std::string> words(1);
    for (const char c : text) {
        if (c == ' ' || c == '-' || c == '\t' || c == '\r' || c == '\n') {
            if (!words.back().empty()) words.emplace_back();
        } else {
            words.back() += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
    }
    if (words.back().empty()) words.pop_back();
    std::array<std::uint16_t, kPairingWords> numbers{};
    for (std::size_t i = 0; i < words.size() && i < numbers.size(); ++i) {
        const auto number = number_of(words[i]);
        if (!number) throw Error(ErrorKind::kInvalidInput, messages::pairing_word_unknown(words[i].substr(0, 32)));
        numbers[i] = *number;
    }
    if (words.size() != kPairingWords) {
        throw Error(ErrorKind::kInvalidInput, messages::pairing_words_missing(kPairingWords, words.size()));
    }
    return pairing_code(numbers);
}

}  // namespace offstage::engine
