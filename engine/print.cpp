#include "engine/print.h"

#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace offstage::engine {

std::string print(const char* format, ...) {
    std::array<char, 1024> text{};
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text.data(), text.size(), format, arguments);
    va_end(arguments);
    return text.data();
}

double rounded(double share) {
    return std::round(share * 1e6) / 1e6;
}

}  // namespace offstage::engine
