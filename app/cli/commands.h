#pragma once
// The commands of offstage-cli, in the order of --help. Each has its own file, with its
// options and its work. It returns the exit status and throws engine::Error for failures.
// Writing to std::cout may throw OutputFailed (standard_output.h), which only main()
// catches.

#include "app/cli/command_line.h"

namespace offstage::cli {

void add_info(Commands& commands);
void add_generate(Commands& commands);
void add_models(Commands& commands);
void add_suggest(Commands& commands);
void add_get(Commands& commands);
void add_nodes(Commands& commands);
void add_chat(Commands& commands);
void add_serve(Commands& commands);
void add_logits(Commands& commands);
void add_tokenize(Commands& commands);
void add_bench(Commands& commands);
void add_profile(Commands& commands);
void add_calibrate(Commands& commands);
void add_plan(Commands& commands);
void add_perplexity(Commands& commands);
void add_quantize_report(Commands& commands);
void add_evaluate(Commands& commands);
void add_recall(Commands& commands);
void add_activations(Commands& commands);
void add_predict(Commands& commands);
void add_ablation(Commands& commands);
void add_sensitivity(Commands& commands);
void add_cluster(Commands& commands);
void add_replay(Commands& commands);
void add_help(Commands& commands);

}  // namespace offstage::cli
