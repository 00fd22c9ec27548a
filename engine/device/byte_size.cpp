#include "engine/device/byte_size.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "engine/device/device_messages.h"
#include "engine/error.h"
#include "engine/json.h"

namespace offstage::engine {

std::optional<std::uint64_t> unit_bytes(std::string_view unit) {
    std::string lower(unit);
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (lower.empty() || lower == "b") return 1;
    const std::size_t power = std::string_view("kmgt").find(lower[0]);
    const std::string_view rest = std::string_view(lower).substr(1);
    if (power == std::string_view::npos || (rest != "" && rest != "b" && rest != "ib")) return std::nullopt;
    std::uint64_t bytes = 1;
    for (std::size_t i = 0; i <= power; ++i) bytes *= rest == "b" ? 1000 : 1024;
    return bytes;
}

std::uint64_t parse_bytes(const std::string& text, const std::string& what) {
    const auto reject = [&] {
        throw Error(ErrorKind::kInvalidInput, messages::byte_size_invalid(what, in_quotes(text)));
    };
    const std::size_t number_size = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::string_view number = std::string_view(text).substr(0, number_size);
    std::string_view rest = std::string_view(text).substr(number_size);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    const std::optional<std::uint64_t> unit = unit_bytes(rest);
    if (!unit || number.empty()) reject();

    std::uint64_t whole = 0;  // exact, where a double would round
    const char* const end = number.data() + number.size();
    if (const auto [stop, error] = std::from_chars(number.data(), end, whole); error == std::errc{} && stop == end) {
        if (whole > ~std::uint64_t{0} / *unit) reject();
        return whole * *unit;
    }
    double value = 0;
    const auto [stop, error] = std::from_chars(number.data(), end, value, std::chars_format::fixed);
    const double bytes = value * static_cast<double>(*unit);
    // A fraction of a byte is a slip: a unit left out.
    if (error != std::errc{} || stop != end || *unit == 1 || !(bytes < 0x1p64)) reject();
    return static_cast<std::uint64_t>(bytes);
}

}  // namespace offstage::engine
