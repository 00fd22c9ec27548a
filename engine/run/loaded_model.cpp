#include "engine/run/loaded_model.h"

#include <algorithm>
#include <chrono>

#include "engine/error.h"
#include "engine/model/synthetic.h"

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Passes progress on at most about 30 times a second, and always the end.
BytesProgressFn throttled(const LoadProgressFn& progress, std::string stage) {
    if (!progress) return {};
    return [&progress, stage = std::move(stage), last = Clock::time_point{}](std::uint64_t done,
                                                                             std::uint64_t total) mutable {
        const auto now = Clock::now();
        if (done < total && now - last < std::chrono::milliseconds(33)) return;
        last = now;
        progress({stage, done, total});
    };
}

kernels::GemmMode resolve_mode(ComputeMode compute, const ModelWeights& weights, kernels::ThreadPool& pool) {
    if (compute == ComputeMode::kF32) return kernels::GemmMode::kF32;
    if (compute == ComputeMode::kBf16) return kernels::GemmMode::kBf16;
    // Products of float32 weights stay in float32: rounding them would lose what the checkpoint holds.
    if (weights.experts.type() == kernels::WeightType::kF32) return kernels::GemmMode::kF32;
    return kernels::Gemm(pool).faster_mode();
}

}  // namespace

fs::path model_directory(const std::string& model) {
    fs::path path(model);
    std::error_code failure;
    const fs::file_status status = fs::status(path, failure);
    if (!fs::exists(status)) {
        throw Error(ErrorKind::kNotFound, "There is no model at " + model + "; expected a folder with config.json.");
    }
    if (fs::is_directory(status)) return path;
    const std::string extension = path.extension().string();
    if (extension == ".gguf") {
        throw Error(ErrorKind::kUnsupported, path.filename().string() +
                                                 " is a GGUF file, which Offstage does not read yet; expected a folder "
                                                 "with config.json and *.safetensors.");
    }
    if (path.filename() != "config.json" && extension != ".safetensors" &&
        !path.filename().string().ends_with(".index.json")) {
        throw Error(ErrorKind::kUnsupported, path.filename().string() +
                                                 " is no model file; expected a folder with config.json, or its "
                                                 "config.json or *.safetensors.");
    }
    return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

LoadedModel::LoadedModel(const LoadRequest& request, Text text, const LoadProgressFn& progress,
                         const std::stop_token& stop) {
    const auto start = Clock::now();
    if (request.context < 0 || request.context > kLargestContext) {
        throw Error(ErrorKind::kInvalidInput, "The context is " + std::to_string(request.context) +
                                                  " tokens; expected 1 to " + std::to_string(kLargestContext) +
                                                  ", or 0 for the model's own.");
    }
    pool_ = std::make_unique<kernels::ThreadPool>(request.n_threads);
    if (is_synthetic(request.model)) {
        const SyntheticModel model = parse_synthetic(request.model);
        config_ = model.config;
        weights_ = draw_weights(model, *pool_, throttled(progress, "Drawing weights"), stop);
        summary_.name = model.name;
    } else {
        const fs::path directory = model_directory(request.model);
        config_ = read_model_config(directory);
        if (text == Text::kWanted) {
            tokenizer_ = Tokenizer::open(directory, config_.vocab_size);
            chat_template_ = ChatTemplate::read(directory);
        }
        const auto checkpoint = Checkpoint::open(directory);
        weights_ = load_weights(*checkpoint, config_, request.compute == ComputeMode::kBf16, *pool_,
                                throttled(progress, "Packing weights"), stop);
        summary_.name = fs::weakly_canonical(directory).filename().string();
    }
    mode_ = resolve_mode(request.compute, weights_, *pool_);
    forward_ = std::make_unique<Forward>(config_, weights_, *pool_, mode_);
    describe(request);
    summary_.load_s = std::chrono::duration<double>(Clock::now() - start).count();
}

void LoadedModel::describe(const LoadRequest& request) {
    summary_.source = request.model;
    summary_.architecture = config_.architecture;
    summary_.n_layers = config_.n_layers;
    summary_.n_experts = config_.n_experts;
    summary_.n_active = config_.n_active;
    summary_.hidden_dim = config_.hidden_dim;
    summary_.ffn_dim = config_.ffn_dim;
    summary_.vocab_size = config_.vocab_size;
    summary_.n_heads = config_.n_heads;
    summary_.n_kv_heads = config_.n_kv_heads;
    summary_.head_dim = config_.head_dim;
    summary_.max_context = config_.max_context;
    summary_.context = request.context > 0 ? request.context : std::min(config_.max_context, kDefaultContextLimit);
    summary_.total_weights = config_.total_weights();
    summary_.active_weights = config_.active_weights();
    summary_.weight_bytes = weights_.total_bytes();
    summary_.weight_type = kernels::name_of(weights_.experts.type());
    summary_.compute = kernels::name_of(mode_);
    summary_.instruction_set = kernels::name_of(kernels::cpu_kernels().instruction_set);
    summary_.n_threads = pool_->n_threads();
    summary_.has_tokenizer = tokenizer_ != nullptr;
    summary_.has_chat_template = chat_template_ != nullptr;
}

}  // namespace offstage::engine
