#include "engine/hub/hub_repository.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <numeric>

#include "engine/error.h"
#include "engine/hub/hub_messages.h"
#include "engine/json.h"
#include "engine/model/catalogue.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMostListingBytes = std::size_t{16} << 20;
constexpr std::int64_t kLargestFile = std::int64_t{1} << 44;
constexpr std::size_t kLongestFileName = 255;

bool is_hex(const std::string& text, std::size_t digits) {
    return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool is_plain_name(const std::string& text) {
    return !text.empty() && text != "." && text != ".." && std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
    });
}

// Calls `take` with what lies between slashes until that is false.
template <typename Take>
bool every_part(const std::string& path, Take take) {
    for (std::size_t at = 0; at <= path.size();) {
        const std::size_t end = std::min(path.find('/', at), path.size());
        if (!take(path.substr(at, end - at))) return false;
        at = end + 1;
    }
    return true;
}

// "main", "refs/pr/3".
bool is_revision_name(const std::string& text) {
    return every_part(text, is_plain_name);
}

// A path that stays below the folder that it is put into.
bool is_safe_path(const std::string& path) {
    return every_part(path, [](const std::string& part) {
        const bool has_control = std::any_of(part.begin(), part.end(), [](unsigned char c) { return c < 32; });
        return !part.empty() && part != "." && part != ".." && part.size() <= kLongestFileName && !has_control;
    });
}

std::string file_name(const std::string& path) {
    return path.substr(path.rfind('/') + 1);
}

std::string in_capitals(std::string text) {
    for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

bool has_suffix(const std::string& path, std::string_view suffix) {
    return path.size() >= suffix.size() && path.compare(path.size() - suffix.size(), suffix.size(), suffix) == 0;
}

// Without ".gguf" and "-00001-of-00002".
std::string stem_of(const std::string& path) {
    std::string stem = path.substr(0, path.size() - 5);
    const std::size_t of = stem.rfind("-of-");
    if (of != std::string::npos && of >= 6 && of + 9 == stem.size()) stem.resize(of - 6);
    return stem;
}

// The last word: "Q4_K_M" of "Model-Q4_K_M", "UD-Q4_K_XL" of "Model-UD-Q4_K_XL".
std::string type_of(const std::string& stem) {
    const std::string name = in_capitals(file_name(stem));
    std::size_t at = name.find_last_of("-.") + 1;
    if (at >= 3 && name.compare(at - 3, 3, "UD-") == 0) at -= 3;
    return name.substr(at);
}

bool belongs_to_folder(const std::string& path) {
    if (path.find('/') != std::string::npos) return false;
    for (const char* const suffix : {".safetensors", ".json", ".jinja", ".model"}) {
        if (has_suffix(path, suffix)) return true;
    }
    return path == "merges.txt" || path == "vocab.txt";
}

HubFile read_file_entry(const nlohmann::json& entry, const std::string& host, const std::string& repository) {
    const JsonFields fields(entry, repository, "siblings.");
    HubFile file;
    file.path = fields.text("rfilename");
    if (!is_safe_path(file.path)) {
        throw Error(ErrorKind::kInvalidModel, messages::hub_file_name_unsafe(repository, in_quotes(file.path)));
    }
    file.bytes = static_cast<std::uint64_t>(fields.integer("size", 0, kLargestFile));
    file.git_sha1 = fields.text("blobId", "");
    if (const nlohmann::json* lfs = fields.find("lfs"); lfs != nullptr && lfs->is_object()) {
        file.sha256 = fields.object("lfs").text("sha256");
    }
    if (file.sha256.empty() ? !is_hex(file.git_sha1, 40) : !is_hex(file.sha256, 64)) {
        throw Error(ErrorKind::kInvalidModel, messages::hub_answer_unreadable(host, repository, file.path));
    }
    return file;
}

// What stands behind the hub's server in the address of a page or a file there; empty for
// anything else.
std::string page_on_hub(const std::string& text) {
    std::vector<std::string> servers = {"huggingface.co/", "hf.co/"};
    if (!hub_host().empty()) {
        const std::string endpoint = hub_access().endpoint;
        servers.push_back(endpoint.substr(endpoint.find("//") + 2) + "/");
    }
    std::string page = text.substr(0, text.find_first_of("?#"));
    for (const std::string scheme : {"https://", "http://"}) {
        if (page.starts_with(scheme)) page.erase(0, scheme.size());
    }
    for (const std::string& server : servers) {
        if (in_capitals(page.substr(0, server.size())) != in_capitals(server)) continue;
        page.erase(0, server.size());
        while (page.ends_with('/')) page.pop_back();
        return page;
    }
    return {};
}

// The bytes that "%2F" stands for.
std::string percent_decoded(const std::string& text) {
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const std::string digits = text[i] == '%' ? text.substr(i + 1, 2) : std::string();
        if (digits.size() == 2 && digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos) {
            bytes += static_cast<char>(std::stoi(digits, nullptr, 16));
            i += 2;
        } else {
            bytes += text[i];
        }
    }
    return bytes;
}

// "OWNER/NAME/blob/REVISION/FILE", of which the end may be missing.
HubName name_of_page(std::string page) {
    HubName name;
    const auto next = [&] {
        const std::string part = page.substr(0, page.find('/'));
        page.erase(0, part.size() + 1);
        return part;
    };
    const std::string owner = next();
    name.repository = owner + "/" + next();
    const std::string view = next();
    if (view == "tree" || view == "blob" || view == "resolve") name.revision = percent_decoded(next());
    if (view == "blob" || view == "resolve") name.file = percent_decoded(page);
    return name;
}

}  // namespace

HubName parse_hub_name(const std::string& text) {
    HubName name;
    const std::size_t slash_before = text.rfind('/');
    const std::size_t colon = text.find(':', slash_before == std::string::npos ? 0 : slash_before);
    if (const std::string page = page_on_hub(text.substr(0, colon)); !page.empty()) {
        name = name_of_page(page);
    } else {
        name.repository = text.substr(0, colon);
    }
    if (colon != std::string::npos) name.type = text.substr(colon + 1);
    for (const CatalogueModel& model : catalogue().models) {
        if (in_capitals(model.name) != in_capitals(name.repository)) continue;
        name.repository = model.gguf.empty() ? model.repository : model.gguf;
    }
    const std::size_t slash = name.repository.find('/');
    if (slash == std::string::npos || !is_plain_name(name.repository.substr(0, slash)) ||
        !is_plain_name(name.repository.substr(slash + 1)) ||
        (colon != std::string::npos && !is_plain_name(name.type))) {
        throw Error(ErrorKind::kInvalidInput, messages::no_repository_name(text, hub_host()));
    }
    return name;
}

HubRepository parse_hub_listing(const std::string& text, const std::string& name, const std::string& revision,
                                const std::string& host) {
    const auto unreadable = [&](const std::string& what) {
        return Error(ErrorKind::kInvalidModel, messages::hub_answer_unreadable(host, name, what));
    };
    const nlohmann::json json = parse_json(text, name);
    if (!json.is_object()) throw unreadable(describe(json).english());
    const JsonFields fields(json, name);
    HubRepository repository{name, revision, fields.text("sha"), {}};
    if (!is_hex(repository.commit, 40)) throw unreadable("sha");
    const nlohmann::json* const siblings = fields.find("siblings");
    if (siblings == nullptr || !siblings->is_array()) throw unreadable("siblings");
    for (const nlohmann::json& entry : *siblings) {
        if (!entry.is_object()) throw unreadable("siblings");
        repository.files.push_back(read_file_entry(entry, host, name));
    }
    return repository;
}

HubRepository read_hub_repository(HubConnection& connection, const std::string& name, std::string revision,
                                  const std::stop_token& stop) {
    if (revision.empty()) revision = "main";
    if (!is_revision_name(revision)) throw Error(ErrorKind::kInvalidInput, messages::no_revision_name(revision));
    std::string path = "/api/models/" + name + "/revision/";
    for (const char c : revision) path += c == '/' ? std::string("%2F") : std::string(1, c);
    return parse_hub_listing(connection.get(path + "?blobs=true", name, kMostListingBytes, stop), name, revision,
                             connection.host());
}

std::string path_on_hub(const HubRepository& repository, const HubFile& file) {
    return "/" + repository.name + "/resolve/" + repository.commit + "/" + file.path;
}

std::uint64_t HubModel::bytes() const {
    return std::accumulate(files.begin(), files.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const HubFile& file) { return sum + file.bytes; });
}

std::filesystem::path HubModel::to_open(const std::filesystem::path& folder) const {
    if (type.empty()) return folder;
    const auto comes_first = [](const HubFile& a, const HubFile& b) { return a.path < b.path; };
    return folder / std::min_element(files.begin(), files.end(), comes_first)->path;
}

std::vector<HubModel> models_of(const HubRepository& repository) {
    std::map<std::string, HubModel> by_stem;
    HubModel folder;
    bool has_config = false, has_weights = false;
    // Mistral's folders have the same weights in a second layout.
    const bool has_index = std::any_of(repository.files.begin(), repository.files.end(),
                                       [](const HubFile& file) { return file.path == "model.safetensors.index.json"; });
    for (const HubFile& file : repository.files) {
        if (has_index && file.path.starts_with("consolidated")) continue;
        if (has_suffix(file.path, ".gguf")) {
            // Towers for images and importance matrices are no models.
            const std::string name = file_name(file.path);
            if (name.find("mmproj") != std::string::npos || name.find("imatrix") != std::string::npos) continue;
            const std::string stem = stem_of(file.path);
            by_stem[stem].type = type_of(stem);
            by_stem[stem].files.push_back(file);
        } else if (belongs_to_folder(file.path)) {
            has_config |= file.path == "config.json";
            has_weights |= has_suffix(file.path, ".safetensors");
            folder.files.push_back(file);
        }
    }
    std::vector<HubModel> models;
    for (auto& [stem, model] : by_stem) models.push_back(std::move(model));
    if (models.empty() && has_config && has_weights) models.push_back(std::move(folder));
    std::stable_sort(models.begin(), models.end(),
                     [](const HubModel& a, const HubModel& b) { return a.bytes() < b.bytes(); });
    return models;
}

HubModel choose_model(const HubRepository& repository, const HubName& asked) {
    const std::string& type = asked.type;
    const std::vector<HubModel> models = models_of(repository);
    if (models.empty()) throw Error(ErrorKind::kNotFound, messages::no_model_in_repository(repository.name));
    for (const HubModel& model : models) {
        const auto is_it = [&](const HubFile& file) { return file.path == asked.file; };
        if (std::any_of(model.files.begin(), model.files.end(), is_it)) return model;
    }
    const bool names_file = !asked.file.empty();
    if (type.empty() && models.size() == 1 && !names_file) return models.front();
    const std::string wanted = type.empty() ? "Q4_K" : in_capitals(type);
    for (const std::string& name : {wanted, wanted + "_M", "UD-" + wanted + "_XL"}) {
        for (const HubModel& model : models) {
            if (model.type == name && !names_file) return model;
        }
    }
    std::string types;
    for (const HubModel& model : models) {
        types += (types.empty() ? "" : ", ") + (model.type.empty() ? "safetensors" : model.type);
    }
    if (names_file) {
        throw Error(ErrorKind::kNotFound, messages::file_is_no_model(asked.file, repository.name, types));
    }
    if (type.empty()) throw Error(ErrorKind::kNotFound, messages::several_files_in_repository(repository.name, types));
    throw Error(ErrorKind::kNotFound, messages::no_such_file_in_repository(repository.name, type, types));
}

}  // namespace offstage::engine
