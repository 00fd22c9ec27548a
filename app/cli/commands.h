#pragma once
// One function per command of offstage-cli. Each returns the exit status and throws engine::Error for what failed.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/run/session.h"

namespace offstage::cli {

// What every command that loads a model takes.
struct ModelOptions {
    std::string model;
    std::string compute = "auto";
    int n_threads = 0;
    std::int64_t context = 0;
    bool json = false;
};

struct GenerateOptions {
    ModelOptions model;
    std::string prompt;
    std::string system;
    int max_tokens = 0;
    bool raw = false;
    engine::SamplerSettings sampler;
};

struct LogitsOptions {
    ModelOptions model;
    std::string tokens;  // "1,2,3"
    bool all = false;
};

struct BenchOptions {
    ModelOptions model;
    std::int64_t prompt = 512;
    std::int64_t decode = 32;
    int repeats = 5;
};

int run_info(const ModelOptions& options);
int run_generate(const GenerateOptions& options);
int run_chat(const GenerateOptions& options);
int run_logits(const LogitsOptions& options);
int run_bench(const BenchOptions& options);

engine::LoadRequest load_request(const ModelOptions& options);
// Progress on stderr when that is a terminal, nothing otherwise.
engine::LoadProgressFn progress_on_terminal();
// One JSON object and a line feed on stdout; text that is no UTF-8 (a path, say) is mended rather than refused.
void print_json(const nlohmann::ordered_json& object);

}  // namespace offstage::cli
