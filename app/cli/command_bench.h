#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/model_options.h"
#include "engine/eval/scenarios.h"

namespace offstage::cli {

struct BenchOptions {
    ModelOptions model;
    std::int64_t prompt = 512;
    std::int64_t decode = 32;
    int repeats = 5;
    std::vector<engine::ThetaChoice> compared_thetas;
    // The paper's scenarios: decode, prefill, beam or all. Empty: the plain bench. Empty
    // lists: the paper's values.
    std::string scenario;
    std::vector<engine::ScenarioPolicy> compare;  // empty: the policy of the model options
    std::vector<std::int64_t> in, out, widths;
    std::string text;  // a file that prompts are taken from; empty: random tokens
    bool markdown = false;
};

// "balanced,static". Throws Error (kInvalidInput).
std::vector<engine::ScenarioPolicy> parse_policies(const std::string& list);
// bench --scenario.
int run_scenario_bench(const BenchOptions& options);

}  // namespace offstage::cli
