#include "engine/text/known_patterns.h"

namespace offstage::engine {
namespace {

constexpr const char* kContractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
constexpr const char* kLead = "[^\\r\\n\\p{L}\\p{N}]?";
constexpr const char* kBlanks = "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

}  // namespace

std::string cl100k_pattern(const Cl100kStyle& style) {
    const std::string marks = style.marks ? "\\p{M}" : "";
    return std::string(kContractions) + "|" + kLead + "[\\p{L}" + marks + "]+|" + style.digits + "| ?[^\\s\\p{L}" +
           marks + "\\p{N}]+[\\r\\n]*|" + kBlanks;
}

std::string o200k_pattern(const O200kStyle& style) {
    const std::string han = style.han_apart ? "&&[^\\p{Han}]" : "";
    const std::string capitals = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}" + han + "]";
    const std::string small = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}" + han + "]";
    const std::string end = style.contractions ? std::string(kContractions) + "?|" : "|";
    return (style.han_apart ? "[\\p{Han}]+|" : "") + (kLead + capitals) + "*" + small + "+" + end + kLead + capitals +
           "+" + small + "*" + end + style.digits + "| ?[^\\s\\p{L}\\p{N}]+[\\r\\n" + style.after_signs + "]*|" +
           kBlanks;
}

}  // namespace offstage::engine
