#pragma once
// The options of commands that load a model. Each function declares those of one subject;
// a command calls the functions that it needs, in the order of its --help.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "engine/plan/load_request.h"

namespace offstage::cli {

// The request to load a model, with fields that only the command line has.
struct ModelOptions : engine::LoadRequest {
    bool json = false;
    // As given; empty: not given.
    std::string quant_text;
    std::string policy_text = "auto";
    std::string active_share_text;  // "0.45", or the report of `sensitivity`
    // Whether the option was given; otherwise a comparison of policies switches it off.
    bool names_cache = false;
    bool names_prefetch = false;
    std::vector<std::string> nodes;  // other machines that help: names or addresses of paired ones
    std::string node_shape = "auto";
    std::string node_use = "measured";
    std::string node_activations = "f32";
};

inline constexpr const char* kModelHelp =
    "GGUF file, folder with config.json and *.safetensors, or synthetic:NAME?layers=N&seed=S "
    "(mixtral-8x7b, mixtral-mini, fine, qwen3-30b-a3b, deepseek-v2-lite, dbrx)";
inline constexpr const char* kModelContext =
    "Tokens of context; 0: the model's own, at most 32768, and 16384 where experts lack room";
inline constexpr const char* kTextContext = "Tokens of the windows that the text is fed in; 0: 2048";

void add_model_option(CLI::App& command, std::string& model);
void add_context_option(CLI::App& command, ModelOptions& options, const char* help);
void add_template_option(CLI::App& command, std::string& chat_template);
void add_compute_options(CLI::App& command, ModelOptions& options);
void add_device_options(CLI::App& command, ModelOptions& options);
// Of commands that run a model: its experts, theta, device, pace and products.
void add_run_options(CLI::App& command, ModelOptions& options, bool keeps_context);
void add_node_options(CLI::App& command, ModelOptions& options);
// For commands that answer: automatic unless given.
void add_drafts_option(CLI::App& command, ModelOptions& options,
                       engine::DraftMode mode = engine::DraftMode::kAuto);  // mode: unless given
// For commands with several conversations, one after another.
void add_kept_context_option(CLI::App& command, ModelOptions& options);
void add_quant_option(CLI::App& command, ModelOptions& options);
// Options for storing, moving and guessing experts during generation.
void add_expert_options(CLI::App& command, ModelOptions& options);
void add_sparse_options(CLI::App& command, ModelOptions& options);
void add_theta_option(CLI::App& command, ModelOptions& options);
void add_paced_option(CLI::App& command, ModelOptions& options);
// Dry runs and the routing that they draw. guess: the end of a sentence of help.
void add_dry_options(CLI::App& command, ModelOptions& options, const char* dry_help, const char* guess);
void add_json_option(CLI::App& command, bool& json);
// Checks only the form: opening the device shows whether it exists.
std::string check_device(const std::string& text);

// Reads "0.25", "auto" or "auto:0.01" into theta and theta_loss; false: none of these.
bool read_theta(const std::string& text, engine::LoadRequest& request);

// Throws Error if the file of --active-share cannot be read.
engine::LoadRequest load_request(const ModelOptions& options);
// For reading a text: without a --context option, windows of at most 2048 tokens.
engine::LoadRequest text_request(const ModelOptions& options);

}  // namespace offstage::cli
