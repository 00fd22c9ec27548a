#pragma once

#include <memory>
#include <string>

#include "engine/model/model_config.h"
#include "engine/model/weights.h"
#include "engine/run/forward.h"
#include "engine/run/session.h"
#include "engine/text/chat_template.h"
#include "engine/text/tokenizer.h"
#include "kernels/gemm.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

// A model in memory with all that computing and talking with it needs. Built whole or not at all.
class LoadedModel {
  public:
    enum class Text { kWanted, kNotNeeded };  // kNotNeeded: logits and benches; the folder may lack a tokenizer

    // Throws Error; progress and stop as in Session::load.
    LoadedModel(const LoadRequest& request, Text text, const LoadProgressFn& progress, const std::stop_token& stop);
    LoadedModel(const LoadedModel&) = delete;
    LoadedModel& operator=(const LoadedModel&) = delete;

    const ModelConfig& config() const { return config_; }
    const ModelWeights& weights() const { return weights_; }
    kernels::ThreadPool& pool() { return *pool_; }
    Forward& forward() { return *forward_; }
    const Tokenizer* tokenizer() const { return tokenizer_.get(); }             // nullptr: none
    const ChatTemplate* chat_template() const { return chat_template_.get(); }  // nullptr: none
    const ModelSummary& summary() const { return summary_; }
    kernels::GemmMode mode() const { return mode_; }

  private:
    void describe(const LoadRequest& request);

    ModelConfig config_;
    std::unique_ptr<kernels::ThreadPool> pool_;
    ModelWeights weights_;
    std::unique_ptr<Tokenizer> tokenizer_;
    std::unique_ptr<ChatTemplate> chat_template_;
    kernels::GemmMode mode_ = kernels::GemmMode::kF32;
    std::unique_ptr<Forward> forward_;
    ModelSummary summary_;
};

// The folder that holds a model, from what a person named: the folder itself, or a file in it (config.json, a
// *.safetensors). Throws Error (kNotFound, kUnsupported).
std::filesystem::path model_directory(const std::string& model);

// Largest context that is taken unless the person asks for another, in tokens.
inline constexpr std::int64_t kDefaultContextLimit = 32768;
// Largest context that may be asked for: the KV cache's size stays far from the end of 64 bits.
inline constexpr std::int64_t kLargestContext = std::int64_t{1} << 24;

}  // namespace offstage::engine
