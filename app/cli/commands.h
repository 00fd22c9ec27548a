#pragma once
// One function per command of offstage-cli. Each returns the exit status and throws
// engine::Error for failures. Writing to std::cout may throw OutputFailed
// (standard_output.h), which only main() catches.

#include <cstdint>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cluster/cluster_bound.h"
#include "engine/experts/cache_policy.h"
#include "engine/run/session.h"

namespace offstage::cli {

// The options of every command that loads a model.
struct ModelOptions {
    std::string model;
    std::string compute = "auto";
    int n_threads = 0;
    std::string chat_template;  // a family's name, or a file; empty: the model's own
    std::int64_t context = 0;
    bool json = false;
    std::string device = "cpu";
    std::string vram;  // "6GiB"; empty: all
    std::string ram;
    std::string disk_reads;  // empty: auto
    std::string kv;          // "bf16"; empty: the default
    std::int64_t kept_context = 0;
    double theta = 0;
    double theta_loss = 0;       // --theta auto:LOSS
    std::string sparse_loading;  // empty: auto
    std::string neuron_guesses;  // empty: correct
    std::string neuron_cache;    // "500MiB"; empty: none
    std::string active_share;    // "0.45", or the report of `sensitivity`; empty: unknown
    std::string policy = "auto";
    std::string quant;    // "experts=hqq3,dense=8"; empty: as in the checkpoint
    std::string profile;  // of expert use; empty: the model's own
    bool paced = false;
    bool dry = false;
    std::string cache;            // empty: slru, but static where policies are compared
    bool no_cuda_graphs = false;  // see LoadRequest::cuda_graphs
    std::string prefetch;         // empty: auto, but off where policies are compared
    std::string prompt_loading;   // empty: lend
    double dry_repeat = 0;
    double dry_guess_recall = 1;
    double min_bits = 0;  // floors of quality; 0: not set
    double max_loss = 0;
    double max_kl = 0;
    std::vector<std::string> nodes;  // other machines that help: names or addresses of paired ones
    std::string node_shape = "auto";
    std::string node_use = "measured";
    std::string node_activations = "f32";
};

struct GenerateOptions {
    ModelOptions model;
    std::string prompt;       // "-": standard input
    std::string prompt_file;  // the same from a file, or "-"; empty: none
    std::string system;
    int max_tokens = 0;
    std::string thinking;  // one of ModelSummary::thinking_choices; empty: as the chat template does
    bool hide_thinking = false;
    bool raw = false;
    engine::SamplerSettings sampler;
    // Its fields and max_tokens that were set on the command line.
    std::set<std::string, std::less<>> chosen;
    engine::BeamSettings beam;
    int n_answers = 1;
    std::string replan_script;  // file; empty: none
    std::string trace;          // file to write the routing to; empty: none
};

struct LogitsOptions {
    ModelOptions model;
    std::string tokens;  // "1,2,3"
    bool all = false;
};

struct TokenizeOptions {
    std::string model;
    std::optional<std::string> text;  // none: standard input
    std::string chat_template;        // as ModelOptions::chat_template
    std::vector<std::string> chat;    // "ROLE:TEXT" each, or "-"; empty: plain text
    bool special = false;
    bool no_answer = false;
    bool json = false;
};

struct BenchOptions {
    ModelOptions model;
    std::int64_t prompt = 512;
    std::int64_t decode = 32;
    int repeats = 5;
    std::vector<engine::ThetaChoice> compared_thetas;
    // The paper's scenarios: decode, prefill, beam or all. Empty: the plain bench. Empty
    // lists: the paper's values.
    std::string scenario;
    std::string compare;  // policies, separated by commas; empty: the one of the model options
    std::vector<std::int64_t> in, out, widths;
    std::string text;  // a file that prompts are taken from; empty: random tokens
    bool markdown = false;
};

struct ProfileOptions {
    ModelOptions model;
    std::string text;  // file
    std::string out;
};

struct PlanOptions {
    ModelOptions model;
    std::int64_t prompt = 512;
    bool compare = false;
};

struct RecallOptions {
    ModelOptions model;
    std::string text;       // file
    std::string out;        // picture; empty: none
    std::string trace_out;  // empty: none
    std::vector<std::int64_t> distances = {1, 2, 10};
};

struct ActivationOptions {
    ModelOptions model;
    std::string text;  // file
    std::vector<double> bounds;
};

// The tasks for a model, and their files.
struct ChoiceOptions {
    std::string task;               // one of evaluation_tasks(), or of choice_tasks()
    std::vector<std::string> data;  // files; mmlu: or one folder
    std::string labels;             // file; empty: the labels are in the data
    std::string shots;              // mmlu: file or folder of solved questions; empty: none
    std::int64_t n_shots = 5;
    std::string subject;     // mmlu; empty: by the file's name
    std::int64_t limit = 0;  // tasks, chunks or tokens at most; 0: all
};

struct SensitivityOptions {
    ModelOptions model;
    std::string text;  // file
    bool special = false;
    std::vector<double> thetas = {0.05, 0.1, 0.15, 0.2, 0.25, 0.3};
    std::vector<double> losses;    // thresholds are chosen for each
    bool kept_thresholds = false;  // those kept beside the model are scored as well
    std::int64_t window = 512;
    std::int64_t stride = 256;
    std::int64_t limit = 0;    // tokens of the text at most; 0: all
    std::int64_t decode = 64;  // tokens; 0: speed is not measured
    std::string csv, svg;      // files to write; empty: none
    bool keep = false;         // beside the model, for the window
    ChoiceOptions choices;     // scored for each theta; its task is empty: none
};

struct PredictOptions {
    ModelOptions model;
    std::string text;  // file
    std::vector<double> thetas = {0.1, 0.25};
};

struct AblationOptions {
    ModelOptions model;
    std::int64_t prompt = 64;
    std::int64_t decode = 64;
    std::int64_t resident_per_layer = 2;
    double mean_bits = 0;  // 0: no row of formats chosen expert by expert
};

struct ReplayOptions {
    std::string trace;
    std::string policies = "all";  // names separated by commas
    std::vector<std::int64_t> slots;
    std::vector<std::string> residency;  // "25%", "25" or "0.25"
    std::string profile;                 // of expert use; empty: none
    std::string expert_bytes;            // "336MiB"; empty: not known
    engine::CacheSettings settings;
    std::int64_t ahead = 0;  // layers; 0: no speculative loading
    std::int64_t guesses = 2;
    std::string svg;                   // the file for a picture of the cache; empty: none
    std::vector<std::int64_t> layers;  // in the picture; empty: first, middle and last
    std::int64_t from = 0, tokens = 64;
    bool json = false;
};

// "25%" and "25": 0.25 of all experts. A number below 1 without a sign is that share
// itself. Throws Error.
double parse_residency(const std::string& text);

struct ClusterOptions {
    std::string model;
    std::int64_t n_machines = 8;
    std::string network = "10gbe";
    std::string memory;  // of a machine: "128GiB"; empty: node's
    engine::ClusterNode node;
    double card_usd = -1;  // of a network card; below 0: the network's
    std::string measured;  // parse_cluster_measured(); empty: nothing was
    bool helpers = false;  // compare_shapes() with this desktop; its figures are the node's where they are 0
    double desktop_gbps = 0, desktop_tflops = 0;
    bool json = false;
};

struct NodesOptions {
    std::string machine;  // name or address
    std::string name;     // of the paired machine
    bool json = false;
};

struct FinderOptions {
    std::vector<std::string> folders;  // besides the caches
    bool json = false;
};

struct ServeOptions {
    ModelOptions model;
    std::string listen = "127.0.0.1:8080";
    std::string token_file;            // empty: a token for this run only
    std::vector<std::string> origins;  // of web pages that may use the server
    std::int64_t queue = 16;           // requests that may wait
};

// perplexity and quantize-report.
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

struct EvaluateOptions : ChoiceOptions {
    ModelOptions model;
    bool results = false;  // each task's in the JSON
    bool special = false;
    std::int64_t window = 512;  // perplexity: tokens of a chunk or a window
    std::int64_t stride = 256;
    std::string kl_base;        // file to compare with
    std::string kl_base_write;  // file to write
};

int run_info(const ModelOptions& options);
int run_generate(GenerateOptions options);
int run_chat(GenerateOptions options);
int run_logits(const LogitsOptions& options);
int run_tokenize(const TokenizeOptions& options);
int run_bench(const BenchOptions& options);
int run_scenario_bench(const BenchOptions& options);
int run_profile(const ProfileOptions& options);
int run_calibrate(const ModelOptions& options);
int run_plan(const PlanOptions& options);
int run_recall(const RecallOptions& options);
int run_activations(const ActivationOptions& options);
int run_sensitivity(const SensitivityOptions& options);
int run_ablation(const AblationOptions& options);
int run_predict(const PredictOptions& options);
int run_cluster(const ClusterOptions& options);
int run_replay(const ReplayOptions& options);
int run_models(const FinderOptions& options);
// The machines that are paired with this one. Without gRPC these and join_nodes() throw
// Error (kUnsupported).
int run_nodes_list(const NodesOptions& options);
int run_nodes_pair(const NodesOptions& options);
int run_nodes_remove(const NodesOptions& options);
int run_nodes_test(const NodesOptions& options);
int run_serve(const ServeOptions& options);

// "a,b": a and b; an empty list is one empty name.
std::vector<std::string_view> split_list(std::string_view list);
// "all", or names separated by commas. Throws Error (kInvalidInput).
std::vector<engine::CacheKind> parse_cache_kinds(const std::string& list);

int run_perplexity(const PerplexityOptions& options);
int run_quantize_report(const PerplexityOptions& options);
int run_evaluate(const EvaluateOptions& options);
std::vector<std::string> evaluation_tasks();  // names

// Nothing where the path is empty. Throws Error (kInvalidInput) naming the file.
void write_or_throw(const std::string& path, const std::string& content);
// A text of at most 64 MiB. Throws Error (kNotFound, kInvalidModel).
std::string read_long_text(const std::string& path);
std::string read_standard_input();
// The prompt in the options, or in the file that they name, without its last line end.
// Throws as read_long_text() does.
std::string prompt_of(const GenerateOptions& options);
engine::LoadRequest load_request(const ModelOptions& options);
// The sampling of answers: from the options, and if they have none, the recommendation of
// the model's publisher.
void apply_defaults(const engine::ModelSummary& model, GenerateOptions& options);
// For reading a text: without a --context option, windows of at most 2048 tokens.
engine::LoadRequest text_request(const ModelOptions& options);
// Prints notes for the user about a loaded model to stderr, and a note that times are
// accounted if the device is emulated.
void print_notes(const engine::ModelSummary& model);
void print_notes(const engine::GenerationResult& answer);
void print_machine_notes(engine::Session& session);  // since the last call
// "0.25", "auto" or "auto:0.01" into theta and theta_loss; false: it is none of these.
bool read_theta(const std::string& text, ModelOptions& options);
// Loss that "auto" stands for, nats per token.
inline constexpr double kDefaultThetaLoss = 0.01;
// ", theta 0.25", appended to results that are not the model's own; otherwise nothing.
std::string theta_label(const engine::ModelSummary& model);
// Progress on stderr when that is a terminal; early notes always.
engine::LoadProgressFn progress_on_terminal();
// One JSON object and a line feed on stdout; invalid UTF-8 (in a path, say) is replaced
// rather than refused.
void print_json(const nlohmann::ordered_json& object);
// The report as JSON, or as text after its heading.
template <typename Report>
void print_report(const Report& report, bool json, const std::string& heading = {}) {
    if (json) return print_json(to_json(report));
    std::cout << heading << to_text(report) << std::flush;
}

}  // namespace offstage::cli
