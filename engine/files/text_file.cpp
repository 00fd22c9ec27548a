#include "engine/files/text_file.h"

#include <fstream>
#include <system_error>

#include "engine/error.h"
#include "engine/files/files_messages.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMaxJsonBytes = 64u << 20;

}  // namespace

std::string shown_path(const std::filesystem::path& path) {
    const std::u8string text = path.generic_u8string();
    return {reinterpret_cast<const char*>(text.data()), text.size()};
}

std::optional<std::string> read_small_file(const std::filesystem::path& path, std::size_t max_bytes) {
    std::error_code failure;
    const auto status = std::filesystem::status(path, failure);
    if (!std::filesystem::exists(status)) {
        if (failure && failure != std::errc::no_such_file_or_directory && failure != std::errc::not_a_directory) {
            throw Error(ErrorKind::kNotFound, messages::text_file_cannot_be_read(shown_path(path), failure.message()));
        }
        return std::nullopt;
    }
    if (!std::filesystem::is_regular_file(status)) {
        throw Error(ErrorKind::kInvalidModel, messages::text_file_is_no_file(shown_path(path)));
    }
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Error(ErrorKind::kNotFound, messages::text_file_cannot_be_opened(shown_path(path)));
    // The size comes from reading, not from the directory: a file may grow, and some have
    // no size at all.
    std::string bytes;
    constexpr std::size_t kChunk = 1u << 16;
    while (file) {
        const std::size_t at = bytes.size();
        bytes.resize(at + kChunk);
        file.read(bytes.data() + at, static_cast<std::streamsize>(kChunk));
        bytes.resize(at + static_cast<std::size_t>(file.gcount()));
        if (bytes.size() > max_bytes) {
            throw Error(ErrorKind::kInvalidModel, messages::text_file_too_large(shown_path(path), max_bytes));
        }
    }
    if (!file.eof()) throw Error(ErrorKind::kInvalidModel, messages::text_file_cut_short(shown_path(path)));
    return bytes;
}

std::optional<nlohmann::json> read_json_object(const std::filesystem::path& path) {
    const std::optional<std::string> bytes = read_small_file(path, kMaxJsonBytes);
    if (!bytes) return std::nullopt;
    nlohmann::json value;
    try {
        value = nlohmann::json::parse(*bytes);
    } catch (const nlohmann::json::exception& e) {
        throw Error(ErrorKind::kInvalidModel, messages::text_file_no_json(shown_path(path)), e.what());
    }
    if (!value.is_object()) throw Error(ErrorKind::kInvalidModel, messages::text_file_no_json_object(shown_path(path)));
    return value;
}

}  // namespace offstage::engine
