#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace offstage::engine {

// The sizes of a model: the keys of its config.json that its family reads.
struct CatalogueShape {
    std::string name;    // "qwen3-30b-a3b"
    std::string config;  // JSON
};

// A model that people run, as it is published.
struct CatalogueModel {
    std::string name;                // "Qwen3-30B-A3B-Instruct-2507"
    std::string shape;               // a CatalogueShape's name
    std::string repository;          // on the Hugging Face hub: "Qwen/Qwen3-30B-A3B-Instruct-2507"
    std::string gguf;                // a repository with GGUF files of it; empty: none is named
    std::string licence;             // "Apache-2.0"
    std::string good_for;            // "chat", "code", "reasoning"
    std::int64_t context = 0;        // tokens
    std::vector<std::string> types;  // of the usual files, most bits first: "q8_0", "q4_k"
};

struct Catalogue {
    std::vector<CatalogueShape> shapes;
    std::vector<CatalogueModel> models;
};

// resources/models/catalogue.json, which is compiled into the program. Any thread.
const Catalogue& catalogue();

}  // namespace offstage::engine
