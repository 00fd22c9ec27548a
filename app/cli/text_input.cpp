#include "app/cli/text_input.h"

#include <iostream>
#include <iterator>
#include <optional>

#include "app/cli/command_messages.h"
#include "engine/error.h"
#include "engine/files/text_file.h"

namespace offstage::cli {

std::string read_long_text(const std::string& path) {
    constexpr std::size_t kLongestText = std::size_t{64} << 20;
    std::optional<std::string> text = engine::read_small_file(path, kLongestText);
    if (!text) throw engine::Error(engine::ErrorKind::kNotFound, engine::messages::no_such_text(path));
    return std::move(*text);
}

std::string read_standard_input() {
    return {std::istreambuf_iterator<char>(std::cin), {}};
}

std::vector<std::string_view> split_list(std::string_view list) {
    std::vector<std::string_view> items;
    std::size_t begin = 0;
    while (true) {
        const std::size_t end = list.find(',', begin);
        items.push_back(list.substr(begin, end - begin));
        if (end == std::string_view::npos) return items;
        begin = end + 1;
    }
}

}  // namespace offstage::cli
