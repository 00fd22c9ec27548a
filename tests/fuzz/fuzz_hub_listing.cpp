// Any bytes as a hub's listing: an engine::Error, or files that lie below their folder.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "engine/error.h"
#include "engine/hub/hub_repository.h"

namespace {

void require(bool kept, const char* promise) {
    if (kept) return;
    std::fprintf(stderr, "broken promise: %s\n", promise);
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace offstage::engine;
    try {
        const std::string text(reinterpret_cast<const char*>(data), size);
        const HubRepository repository = parse_hub_listing(text, "maker/model", "main", "hub");
        for (const HubFile& file : repository.files) {
            const std::filesystem::path path = std::filesystem::path("/a/b") / file.path;
            require(path.lexically_normal().string().starts_with("/a/b/"), "a path does not climb");
            require(file.blob().find_first_not_of("0123456789abcdef") == std::string::npos, "a blob is a checksum");
        }
        for (const HubModel& model : models_of(repository)) {
            require(!model.files.empty(), "a model has files");
            require(!model.to_open("/a").empty(), "a model has something to open");
        }
    } catch (const Error& error) {
        require(error.kind() == ErrorKind::kInvalidModel, "errors are of one kind");
    }
    return 0;
}
