#pragma once
// The options of commands that answer: generate and chat.

#include <CLI/CLI.hpp>
#include <optional>
#include <set>
#include <string>

#include "app/cli/model_options.h"
#include "engine/run/session.h"

namespace offstage::cli {

struct GenerateOptions {
    ModelOptions model;
    std::optional<std::string> prompt;       // "-": standard input
    std::optional<std::string> prompt_file;  // the same from a file, or "-"
    std::string system;
    int max_tokens = 0;
    std::string thinking;  // one of ModelSummary::thinking_choices; empty: as the chat template does
    bool hide_thinking = false;
    bool raw = false;
    bool special = false;  // with `raw`: special tokens written out in the prompt count as tokens
    engine::SamplerSettings sampler;
    // Its fields and max_tokens that were set on the command line.
    std::set<std::string, std::less<>> chosen;
    engine::BeamSettings beam;
    int n_answers = 1;
    std::string grammar, json_schema;  // files that the answer's form is in; empty: any text
    std::string replan_script;         // file; empty: none
    std::string trace;                 // file to write the routing to; empty: none
    std::string prompt_cache;          // GenerationRequest::kept_in
};

// A prompt, or where it is.
void add_prompt_options(CLI::App& command, GenerateOptions& options, const char* help);
void add_sampler_options(CLI::App& command, GenerateOptions& options);

// The prompt in the options, or in the file that they name, without its last line end.
// Throws as read_long_text() does.
std::string prompt_of(const GenerateOptions& options);
// The sampling of answers: from the options, and if they have none, the recommendation of
// the model's publisher.
void apply_defaults(const engine::ModelSummary& model, GenerateOptions& options);

}  // namespace offstage::cli
