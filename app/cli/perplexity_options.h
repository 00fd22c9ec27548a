#pragma once
// The options that perplexity and quantize-report have in common.

#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/model_options.h"

namespace offstage::cli {

struct PerplexityOptions {
    ModelOptions model;
    std::string text;  // file
    bool special = false;
    std::string answers_after;  // empty: every token counts
    std::int64_t window = 512;
    std::int64_t stride = 256;
    std::vector<std::string> formats;  // quantize-report: FormatRow::option of experts; empty: all
    bool keep = false;                 // quantize-report: beside the model
};

// --model, --text, how it is scored, and where the model runs. Returns --text.
CLI::Option* add_perplexity_options(CLI::App& command, PerplexityOptions& options);

}  // namespace offstage::cli
