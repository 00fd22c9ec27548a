#include "engine/plan/measurement_store.h"

#include <algorithm>

#include "engine/error.h"
#include "engine/files/file_writer.h"
#include "engine/files/text_file.h"
#include "engine/json.h"
#include "engine/name_hash.h"
#include "engine/plan/plan_messages.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

constexpr std::size_t kLargestMeasurementFile = std::size_t{64} << 20;
constexpr int kMeasurementVersion = 5;

std::filesystem::path file_of(const std::filesystem::path& folder, const std::string& key) {
    return folder / (name_hash(key) + ".json");  // the key inside decides
}

}  // namespace

MeasurementStore::MeasurementStore(const std::filesystem::path& directory, const char* folder)
    : directory_(directory), folder_(directory / folder) {}

bool MeasurementStore::load_json(const std::string& key, const char* field,
                                 const std::function<void(const JsonFields&)>& read) const {
    if (directory_.empty()) return false;
    try {
        const std::filesystem::path file = file_of(folder_, key);
        const std::optional<std::string> text = read_small_file(file, kLargestMeasurementFile);
        if (!text) return false;
        const std::string source = shown_path(file);
        const json document = parse_json(*text, source, {.max_depth = 8});
        const JsonFields fields(document, source);
        if (fields.text("format") != "offstage-calibration" ||
            fields.integer("version", 0, 1'000'000) != kMeasurementVersion || fields.text("key") != key ||
            fields.find(field) == nullptr) {
            return false;
        }
        read(JsonFields(*fields.find(field), source));
        return true;
    } catch (const Error&) {
        return false;
    }
}

std::string MeasurementStore::store_json(const std::string& key, const char* field,
                                         const std::function<void(json&)>& write) const {
    if (directory_.empty()) return {};
    json document = {{"format", "offstage-calibration"}, {"version", kMeasurementVersion}, {"key", key}};
    write(document[field]);
    std::string failure =
        write_file(file_of(folder_, key), document.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
    if (!failure.empty()) problem_ = messages::measurement_not_kept(directory_.string(), failure);
    return failure;
}

std::vector<double> stored_numbers(const JsonFields& fields, const std::string& key, double most,
                                   std::optional<std::size_t> n) {
    const json* const found = fields.find(key.c_str());
    const auto is_in_range = [&](const json& value) {
        return value.is_number() && value.get<double>() >= 0 && value.get<double>() <= most;
    };
    if (found == nullptr || !found->is_array() || (n && found->size() != *n) ||
        !std::all_of(found->begin(), found->end(), is_in_range)) {
        fields.reject(key.c_str(), "a list of numbers");
    }
    return found->get<std::vector<double>>();
}

}  // namespace offstage::engine
