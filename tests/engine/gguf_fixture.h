#pragma once
// GGUF files as models: opened, and written again with something changed.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <QTemporaryDir>

#include "engine/eval/logits.h"
#include "engine/model/model_files.h"
#include "engine/run/loaded_model.h"
#include "engine/run/model_shape.h"
#include "tests/engine/gguf_parts.h"
#include "tests/engine/keep_costs.h"

namespace offstage::tests {

class GgufFixture {
  protected:
    engine::LoadRequest on(const std::string& model, const char* device = "cpu") const {
        engine::LoadRequest request;
        request.kv = engine::KvType::kF32;
        request.model = model;
        request.device = device;
        request.compute = engine::ComputeMode::kF32;
        request.n_threads = 1;  // tests run side by side, and threads would wait for each other
        request.cache_directory = cache_.path().toStdString();
        request.checks_costs = false;
        return request;
    }
    static std::unique_ptr<engine::LoadedModel> open(const engine::LoadRequest& request) {
        return std::make_unique<engine::LoadedModel>(test::keepCosts(request), engine::LoadedModel::Text::kNotNeeded,
                                                     engine::LoadProgressFn{}, std::stop_token{});
    }
    // For a file's tensors with these pairs, and the writer's present tensors.
    engine::ModelSpec specOf(const GgufParts& parts, GgufWriter writer) const {
        parts.copy(writer, 0, parts.n());
        return specOf(writer);
    }
    static engine::ModelSpec specOf(const GgufWriter& writer, std::vector<engine::Message>* notes = nullptr) {
        const QTemporaryDir folder;
        const std::filesystem::path path = std::filesystem::path(folder.path().toStdString()) / "changed.gguf";
        writer.write(path);
        return engine::read_model_spec(path, notes);
    }
    std::vector<std::vector<float>> logitsOf(const std::string& model) const {
        const std::vector<engine::TokenId> tokens = {3, 17, 40, 5, 22, 9, 31};
        return engine::compute_logits(*open(on(model)), tokens, true);
    }
    std::vector<std::vector<float>> logitsOf(const GgufWriter& writer) const {
        const QTemporaryDir folder;
        const std::filesystem::path path = std::filesystem::path(folder.path().toStdString()) / "changed.gguf";
        writer.write(path);
        return logitsOf(path.string());
    }

    QTemporaryDir cache_;
};

}  // namespace offstage::tests
