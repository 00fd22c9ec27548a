#include "engine/files/gguf_file.h"

#include <array>
#include <fstream>
#include <string_view>
#include <system_error>

#include "engine/files/text_file.h"

namespace offstage::engine {

bool has_gguf_ending(const std::filesystem::path& path) {
    std::string ending = path.extension().string();
    for (char& letter : ending) {
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter + ('a' - 'A'));
    }
    return ending == ".gguf";
}

bool may_have_gguf_ending(const std::filesystem::path& path) {
    return has_gguf_ending(path) || path.extension() == ".bin" || path.extension() == ".ggml";
}

bool is_gguf_path(const std::filesystem::path& path) {
    std::error_code ignored;
    if (has_gguf_ending(path)) return !std::filesystem::is_directory(path, ignored);
    if (path.extension() == ".safetensors" || path.extension() == ".json") return false;
    if (!std::filesystem::is_regular_file(path, ignored)) return false;
    std::array<char, 4> magic{};
    std::ifstream(path, std::ios::binary).read(magic.data(), magic.size());
    return std::string_view(magic.data(), magic.size()) == "GGUF";
}

GgufFile::GgufFile(const std::filesystem::path& path)
    : file_(path), header_(parse_gguf(file_.bytes(), shown_path(path))) {
    require_nothing_lost();
}

}  // namespace offstage::engine
