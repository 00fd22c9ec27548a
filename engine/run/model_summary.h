#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/formats.h"
#include "engine/message.h"
#include "engine/plan/neuron_thresholds.h"
#include "engine/run/model_defaults.h"

namespace offstage::engine {

struct TextOfModel;

struct ModelSummary {
    std::string name;    // folder name or synthetic name
    std::string source;  // as in the request
    std::string architecture;
    std::int64_t n_layers = 0;                // with experts
    std::vector<std::int32_t> layer_numbers;  // in the model, of the layers with experts; empty: 0, 1, 2, ...
    std::int64_t n_experts = 0;
    std::int64_t n_active = 0;
    std::int64_t hidden_dim = 0;
    std::int64_t ffn_dim = 0;
    std::int64_t vocab_size = 0;
    std::int64_t n_heads = 0;
    std::int64_t n_kv_heads = 0;
    std::int64_t head_dim = 0;
    std::int64_t context = 0;      // tokens this session holds
    std::int64_t max_context = 0;  // tokens the model was made for
    std::int64_t total_weights = 0;
    std::int64_t active_weights = 0;  // per token
    std::uint64_t weight_bytes = 0;   // in memory
    std::uint64_t active_bytes = 0;   // of these, the bytes that a decoded token reads (WeightReads)
    std::string weight_type;          // of the experts: "BF16", "Q4_K, Q6_K"
    FormatId expert_format{};         // of the first layer's in the file
    ExpertFormats expert_formats;
    std::span<const FormatRow> formats = format_rows();  // what FormatIds mean in this model
    std::string kv_type;                                 // "bf16": keys and values of the context
    double theta = 0;                                    // LoadRequest::theta: above 0 results are not the model's own
    bool accepts_guesses = false;       // NeuronGuesses::kAccept, where experts are copied without neurons
    double theta_loss = 0;              // LoadRequest::theta_loss: above 0 `theta` is the mean of the experts'
    NeuronThresholds thresholds;        // with the measured loss of each; empty: not measured
    std::string compute;                // "bf16" or "f32": products of batched multiplications
    std::string compute_origin;         // the origin of that choice, for the user (ComputeChoice)
    std::string device_compute;         // the device's own choice (DeviceProducts); empty: it has none
    std::string device_compute_origin;  // the origin of that one
    std::string instruction_set;        // "avx512_bf16"
    int n_threads = 0;
    bool has_tokenizer = false;
    bool has_chat_template = false;
    ModelDefaults defaults;
    bool thinks = false;                        // its chat template supports thoughts before answers
    std::vector<std::string> thinking_choices;  // "off", "on", "low", ...: GenerationRequest::thinking
    std::shared_ptr<const TextOfModel> text;    // for other threads that make prompts; nullptr: it has no tokenizer
    double load_s = 0;

    // The device.
    std::string device;       // "cpu", "cuda:0", "emulated:rtx-3060"
    std::string device_name;  // "NVIDIA H200"
    bool emulated = false;
    bool emulated_host = false;
    std::string policy;                 // "balanced (measured)", "static", "prefill transfer, decode static"
    std::int64_t resident_experts = 0;  // on the accelerator; on "cpu" all that are in RAM
    std::int64_t ram_experts = 0;       // with a copy in RAM
    std::int64_t total_experts = 0;
    std::uint64_t vram_budget_bytes = 0;
    std::uint64_t ram_budget_bytes = 0;
    std::uint64_t pinned_bytes = 0;
    double expected_hit_rate = 0;
    std::string popularity;         // the source of the placement's counts; empty: none
    std::vector<Message> notes;     // for the user: a shorter context, memory that could not be pinned
    std::size_t n_early_notes = 0;  // so many of these, the first, came as a LoadProgress::note already

    // The number of the i-th layer with experts, as ExpertId and LayerEvent count.
    std::int32_t layer_number(std::int64_t i) const {
        const auto at = static_cast<std::size_t>(i);
        return at < layer_numbers.size() ? layer_numbers[at] : static_cast<std::int32_t>(i);
    }
};

// The names of its tokens, each with a line's end; empty without a tokenizer.
std::string token_names(const ModelSummary& model);

}  // namespace offstage::engine
