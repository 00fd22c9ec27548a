#include "engine/model/catalogue.h"

#include <nlohmann/json.hpp>
#include <string_view>

namespace offstage::engine {

extern const std::string_view kCatalogueJson;  // made of the file by CMake

namespace {

Catalogue read_catalogue() {
    const nlohmann::ordered_json file = nlohmann::ordered_json::parse(kCatalogueJson);  // compiled in, and tested
    Catalogue known;
    for (const auto& [name, config] : file.at("shapes").items()) known.shapes.push_back({name, config.dump()});
    for (const nlohmann::ordered_json& model : file.at("models")) {
        const std::vector<std::string> usual = {"q8_0", "q6_k", "q5_k", "q4_k", "q3_k", "q2_k"};
        known.models.push_back({.name = model.at("name"),
                                .shape = model.at("shape"),
                                .repository = model.at("repository"),
                                .gguf = model.value("gguf", ""),
                                .licence = model.at("licence"),
                                .good_for = model.at("good_for"),
                                .context = model.at("context"),
                                .types = model.value("types", usual)});
    }
    return known;
}

}  // namespace

const Catalogue& catalogue() {
    static const Catalogue known = read_catalogue();
    return known;
}

}  // namespace offstage::engine
