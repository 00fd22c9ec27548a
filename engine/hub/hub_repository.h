#pragma once

#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/hub/hub_connection.h"

namespace offstage::engine {

// "OWNER/NAME:TYPE" as a person writes it.
struct HubName {
    std::string repository = {};  // "unsloth/Qwen3-30B-A3B-GGUF"
    std::string type = {};        // "Q4_K_M"; empty: none was named
    std::string revision = {};    // of an address; empty: none was named
    std::string file = {};        // of an address, a path in the repository; empty: none was named
};
// A name without an owner is one of the catalogue's (engine/model/catalogue.h) and means
// the repository that it names. An address on the hub or at HF_ENDPOINT, of a repository
// or of one of its files, means that one. Throws Error (kInvalidInput).
HubName parse_hub_name(const std::string& text);

struct HubFile {
    std::string path;  // in the repository: "Q4_K_M/model-00001-of-00002.gguf"
    std::uint64_t bytes = 0;
    std::string sha256;    // of large files, 64 hexadecimal digits; empty: git_sha1 counts
    std::string git_sha1;  // of "blob SIZE\0" and the file, 40 digits
    const std::string& blob() const { return sha256.empty() ? git_sha1 : sha256; }  // its name in the cache
};

struct HubRepository {
    std::string name;
    std::string revision;  // as it was asked for: "main"
    std::string commit;    // 40 hexadecimal digits
    std::vector<HubFile> files;
};

// The listing of a repository: the hub's /api/models/NAME/revision/REVISION?blobs=true.
// `host`: for messages. Throws Error (kInvalidModel) for names, sizes or checksums that
// are none, and paths that climb out of their folder.
HubRepository parse_hub_listing(const std::string& text, const std::string& name, const std::string& revision,
                                const std::string& host);
// The files of a repository at `revision`, a branch, a tag or a commit; empty: "main".
// Throws Error as HubConnection::get() and parse_hub_listing().
HubRepository read_hub_repository(HubConnection& connection, const std::string& name, std::string revision,
                                  const std::stop_token& stop);

std::string path_on_hub(const HubRepository& repository, const HubFile& file);

// One model of a repository: a GGUF file, whole or split, or all that a folder with
// *.safetensors needs.
struct HubModel {
    std::string type;  // "Q4_K_M"; empty: safetensors
    std::vector<HubFile> files;
    std::uint64_t bytes() const;
    // What to open where `folder` has the files: the first part, or the folder itself.
    std::filesystem::path to_open(const std::filesystem::path& folder) const;
};
// By size.
std::vector<HubModel> models_of(const HubRepository& repository);
// The model that has this file. Otherwise that of this type, or for "Q4_K" the medium
// mixture Q4_K_M; without a type Q4_K_M, or the only one. Throws Error (kNotFound) with
// the types there are.
HubModel choose_model(const HubRepository& repository, const HubName& asked);

}  // namespace offstage::engine
