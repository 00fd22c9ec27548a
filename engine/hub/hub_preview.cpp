#include "engine/hub/hub_preview.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <stdlib.h>

#include "engine/error.h"
#include "engine/files/gguf.h"
#include "engine/files/mapped_file.h"
#include "engine/hub/hub_messages.h"
#include "engine/hub/hub_workers.h"
#include "engine/hub/partial_file.h"

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kFirstBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kLongestHeader = std::uint64_t{128} << 20;

bool has_weights(const HubFile& file) {
    const std::string suffix = fs::path(file.path).extension().string();
    return suffix == ".gguf" || suffix == ".safetensors";
}

// The header is complete when it parses and ends within the first `n_bytes` of the file:
// behind them are zeros.
bool has_gguf_header(const fs::path& path, std::uint64_t n_bytes, bool must_parse) {
    const MappedFile file(path);
    try {
        return parse_gguf(file.bytes(), path.filename().string()).data_offset <= n_bytes;
    } catch (const Error& error) {
        if (must_parse || error.kind() != ErrorKind::kInvalidModel) throw;
        return false;
    }
}

// A safetensors file begins with the length of its header in 8 bytes, little-endian.
std::uint64_t safetensors_header(const fs::path& path) {
    std::uint64_t bytes = 0;
    const MappedFile file(path);
    std::memcpy(&bytes, file.bytes().data(), std::min(sizeof bytes, file.bytes().size()));
    return bytes + sizeof bytes;
}

// Writes the file's header, or all of a file without weights, to `path`.
void get_header(HubConnection& connection, const HubDownload& download, const HubFile& file, const fs::path& path,
                const std::stop_token& stop) {
    const OpenedFile out(path, O_RDWR | O_CREAT);
    out.set_size(file.bytes);
    std::uint64_t at = 0;
    const auto get_to = [&](std::uint64_t end) {
        end = std::min(end, file.bytes);
        if (end <= at) return;
        const auto take = [&](std::string_view bytes) {
            out.write(at, bytes);
            at += bytes.size();
        };
        connection.get_part(path_on_hub(download.repository, file), {at, end}, file.bytes, take, stop);
    };
    const std::uint64_t longest = std::min(kLongestHeader, file.bytes);
    if (!has_weights(file)) {
        if (file.bytes > kLongestHeader) {
            throw Error(ErrorKind::kInvalidModel, messages::hub_answer_too_long(connection.host(), file.path));
        }
        get_to(file.bytes);
    } else if (path.extension() == ".gguf") {
        get_to(kFirstBytes);
        while (!has_gguf_header(path, at, at == longest)) {
            if (at == file.bytes) return;  // it ends before its weights would begin
            if (at == longest) {
                throw Error(ErrorKind::kInvalidModel, messages::hub_answer_too_long(connection.host(), file.path));
            }
            get_to(std::min(longest, 2 * at));
        }
    } else {
        get_to(sizeof(std::uint64_t));
        get_to(std::min(longest, safetensors_header(path)));
    }
}

}  // namespace

HubPreview::HubPreview(const HubDownload& download, const std::stop_token& stop) {
    std::error_code failure;
    std::string name = (fs::temp_directory_path(failure) / "offstage-XXXXXX").string();
    if (failure || ::mkdtemp(name.data()) == nullptr) {
        throw Error(ErrorKind::kInvalidInput, messages::cannot_write_model(name, std::strerror(errno)));
    }
    folder_ = name;
    const fs::path snapshot = snapshot_folder(folder_, download.repository);  // the model has the cache's name
    try {
        const auto get = [&](HubConnection& connection, std::size_t i, const std::stop_token& ends) {
            const HubFile& file = download.model.files[i];
            const fs::path path = snapshot / file.path;
            fs::create_directories(path.parent_path());
            get_header(connection, download, file, path, ends);
        };
        for_each_with_connection(download.access, download.connections, download.model.files.size(), stop, get);
    } catch (...) {
        fs::remove_all(folder_, failure);
        throw;
    }
    model_ = download.model.to_open(snapshot);
}

HubPreview::~HubPreview() {
    std::error_code failure;
    fs::remove_all(folder_, failure);
}

}  // namespace offstage::engine
