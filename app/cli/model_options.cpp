#include "app/cli/model_options.h"

#include <algorithm>
#include <charconv>

#include "app/read_option.h"
#include "engine/eval/theta_report.h"
#include "engine/formats.h"
#include "engine/run/model_shape.h"
#include "engine/text/family_templates.h"

namespace offstage::cli {
namespace {

// The loss for "auto", nats per token.
constexpr double kDefaultThetaLoss = 0.01;

}  // namespace

void add_model_option(CLI::App& command, std::string& model) {
    command.add_option("--model", model, kModelHelp)->required();
}

void add_context_option(CLI::App& command, ModelOptions& options, const char* help) {
    add_checked(command, "--context", options.context, CLI::NonNegativeNumber, help);
}

void add_template_option(CLI::App& command, std::string& chat_template) {
    command.add_option("--chat-template", chat_template,
                       "Chat template in the place of the model's own, or where it has none: a file, in Jinja or as "
                       "Ollama writes them, or a family's: " +
                           engine::family_template_names());
}

void add_compute_options(CLI::App& command, ModelOptions& options) {
    add_compute_option(
        command, options,
        "How products are formed on the CPU: f32 throughout (exact is the same); bf16 for prompts, their "
        "attention included; int8: inputs in 8 bits for the blocks of a GGUF file and for int8 and HQQ; "
        "or auto: bf16 and int8 each where it is faster by a quarter on this machine, measured once and "
        "kept (offstage-cli info says which)");
    add_threads_option(command, options);
}

std::string check_device(const std::string& text) {
    const auto numbered = [](std::string_view rest) {
        return !rest.empty() && rest.find_first_not_of("0123456789") == std::string_view::npos;
    };
    if (text == "cpu" || text == "cuda") return {};
    if (text.starts_with("cuda:") && numbered(std::string_view(text).substr(5))) return {};
    if (text.starts_with("emulated:") && text.size() > 9) return {};
    return "\"" + text + "\" is no device; expected cpu, cuda, cuda:N or emulated:PROFILE";
}

void add_device_options(CLI::App& command, ModelOptions& options) {
    add_checked(command, "--device", options.device, check_device,
                "cpu, cuda, cuda:N, or emulated:PROFILE (a name in resources/hardware, or a .json file)");
    add_parsed(command, "--vram", options.vram_bytes, parse_size,
               "Memory to use of the device: 6GiB, 512MiB, bytes; all unless given");
    add_parsed(command, "--ram", options.ram_bytes, parse_size,
               "Memory to use of the machine; all that is free unless given");
    add_parsed(command, "--disk-reads", options.disk_reads, engine::parse_disk_reads,
               "How experts on disk are read: direct, past the system's cache, several at a time and beside what "
               "is computed; cached, through the mapped file; auto (unless given): direct where free "
               "memory has no room for all experts");
    add_parsed(command, "--kv", options.kv, engine::parse_kv_type,
               "What keys and values of the context are kept in: bf16 (unless given), int8 (half of that), or f32 "
               "(exact)");
    add_read(
        command, "--policy",
        [&options](const std::string& text) { options.dispatch = engine::parse_dispatch(options.policy_text = text); },
        "How experts are shared out: auto, balanced, static, threshold, transfer, layers, or "
        "prefill=P,decode=P")
        ->default_str("auto");
    command.add_option("--profile", options.popularity_file,
                       "Profile of expert use (offstage-cli profile), for placement");
}

void add_node_options(CLI::App& command, ModelOptions& options) {
    command
        .add_option("--node", options.nodes,
                    "Another machine that computes experts, by the name or address under which it is paired "
                    "(offstage-cli nodes pair); may be given more than once. Unless given: none, and no connection")
        ->expected(1)
        ->take_all();
    add_checked(command, "--node-shape", options.node_shape, CLI::IsMember({"helpers", "decentralised", "auto"}),
                "Who does what: helpers, this machine makes every step and others compute experts for it; "
                "decentralised, each machine makes every step and computes a share of the experts; auto, what is "
                "forecast to be faster");
    add_checked(command, "--node-use", options.node_use, CLI::IsMember({"measured", "always"}),
                "When such a machine computes the experts that it holds: measured, where that is forecast to be "
                "soonest; always, wherever they are not on this machine's accelerator (helpers)");
    add_checked(command, "--node-activations", options.node_activations, CLI::IsMember({"f32", "bf16"}),
                "What goes over the network: f32 (exact), or bf16 (half of that)");
}

void add_kept_context_option(CLI::App& command, ModelOptions& options) {
    add_checked(command, "--kept-context", options.kept_context, CLI::NonNegativeNumber,
                "Tokens of other conversations that stay in RAM beside the context, so that going back to one "
                "does not read it again; without it they stay in what the running one leaves of the context");
}

void add_quant_option(CLI::App& command, ModelOptions& options) {
    std::string formats;
    for (const engine::FormatRow& row : engine::format_rows()) {
        if (row.for_experts && row.bits < 16) formats += (formats.empty() ? "" : "|") + std::string(row.option);
    }
    add_read(
        command, "--quant",
        [&options](const std::string& text) { options.quant = engine::parse_quant(options.quant_text = text); },
        "Weights in fewer bits: experts=" + formats + ", dense=16|8|4, or both, separated by a comma");
}

void add_expert_options(CLI::App& command, ModelOptions& options) {
    add_quant_option(command, options);
    command
        .add_option("--min-bits", options.quality.min_mean_bits,
                    "Lets each expert have the format that is best for speed, with so many bits per weight in the mean")
        ->check(CLI::PositiveNumber);
    command
        .add_option("--max-loss", options.quality.max_loss,
                    "The same, up to so much predicted loss (squared relative error, weighted by use)")
        ->check(CLI::PositiveNumber);
    command
        .add_option(
            "--max-kl", options.quality.max_kl,
            "One floor for bits and neurons: lets the planner choose formats and what is skipped (as --theta "
            "does), whichever is forecast to be fastest, up to so many nats per token in sum. Only what was "
            "measured beside the model is chosen (quantize-report --keep, sensitivity --keep); each was "
            "measured alone, so that the sum is an estimate. With --theta: that one, and formats up to the rest")
        ->check(CLI::PositiveNumber);
    add_read(
        command, "--cache",
        [&options](const std::string& text) {
            options.cache = engine::parse_cache_kind(text);
            options.names_cache = true;
        },
        "Which experts copied on demand stay on the device: static, lru-layer, lru, lfu or slru. Unless given: "
        "slru; static where policies are compared, since each would find what the last one left")
        ->check(CLI::IsMember({"static", "lru-layer", "lru", "lfu", "slru"}));
    add_read(
        command, "--prefetch",
        [&options](const std::string& text) {
            options.prefetch = engine::parse_prefetch(text);
            options.names_prefetch = true;
        },
        "Speculative loading of the next layer's experts: off, always, or auto (while live tokens show a "
        "gain). Unless given: auto; off where policies are compared")
        ->check(CLI::IsMember({"off", "auto", "always"}));
    command.add_flag_callback(
        "--no-cuda-graphs", [&options] { options.cuda_graphs = false; },
        "On an NVIDIA GPU: start each kernel of a token by itself, for comparisons. Results are the same");
    add_parsed(command, "--prompt-loading", options.prompt_loading, engine::parse_prompt_loading,
               "How a prompt's experts come to the device: on-demand, ahead (the next layer's before its router "
               "has run), or lend (the same, with places of other experts as further buffers where that pays). "
               "Unless given: lend")
        ->check(CLI::IsMember({"on-demand", "ahead", "lend"}));
}

void add_drafts_option(CLI::App& command, ModelOptions& options, engine::DraftMode mode) {
    options.drafts = mode;
    const bool is_bench = mode == engine::DraftMode::kOff;  // which has no tokens to compare
    add_parsed(
        command, "--drafts", options.drafts, engine::parse_drafts,
        std::string("Up to 4 further tokens at a step, drafted from what the conversation said before (prompt lookup), "
                    "by the model's own layer for that where its files have one") +
            (is_bench ? "" : ", or by --draft-model") +
            ": off, always, or auto (while live tokens show a gain). The answer is the same. Unless given: " +
            std::string(engine::name_of(mode)))
        ->check(CLI::IsMember({"off", "auto", "always"}));
    if (is_bench) return;
    command
        .add_option("--draft-model", options.draft_model,
                    "A smaller model with the same tokens, which drafts on the CPU. --ram does not count its memory")
        ->type_name("PATH");
}

void add_sparse_options(CLI::App& command, ModelOptions& options) {
    add_parsed(command, "--sparse-loading", options.sparse_loading, engine::parse_sparse_loading,
               "With a theta: copy experts to the device without the neurons that are skipped: off, always (for "
               "measuring), or auto (where finding and gathering the others takes less time than it saves). "
               "Unless given: auto")
        ->check(CLI::IsMember({"off", "auto", "always"}));
    add_parsed(command, "--neuron-guesses", options.neuron_guesses, engine::parse_neuron_guesses,
               "Where neurons were guessed for an expert and it needs others: correct (copy those that are missing) "
               "or accept (compute with the guess, as CORM does; results change). Unless given: correct")
        ->check(CLI::IsMember({"correct", "accept"}));
    add_parsed(command, "--neuron-cache", options.neuron_cache_bytes, parse_size,
               "With a theta: so much of the device's memory keeps the neurons of experts that were copied, so "
               "that those are not copied again, e.g. 500MiB. Unless given: none");
    command.add_option("--active-share", options.active_share_text,
                       "With a theta: the share of a token's neurons that is active, where none were counted yet "
                       "(forecasts, dry runs): a number above 0 and at most 1, or a report of sensitivity --json");
}

void add_theta_option(CLI::App& command, ModelOptions& options) {
    command
        .add_option_function<std::string>(
            "--theta",
            [&options](const std::string& text) {
                if (!read_theta(text, options)) {
                    throw CLI::ValidationError("--theta", text + " is no number from 0 on, auto or auto:LOSS");
                }
            },
            "Skip neurons of the experts whose activation |act(w1 . x)| is at most this: less is read and "
            "computed, and results are no longer the model's own; 0: none is skipped. auto or auto:LOSS: for each "
            "expert the one that sensitivity --thresholds-for-loss --keep has chosen, for a loss of at most LOSS "
            "(0.01) nats per token")
        ->type_name("T|auto[:LOSS]")
        ->default_str("0");
    add_sparse_options(command, options);
}

void add_paced_option(CLI::App& command, ModelOptions& options) {
    command.add_flag("--paced", options.paced, "An emulated device answers no faster than the device would");
}

void add_json_option(CLI::App& command, bool& json) {
    command.add_flag("--json", json, "Print one JSON object on stdout and nothing else there");
}

void add_dry_options(CLI::App& command, ModelOptions& options, const char* dry_help, const char* guess) {
    command.add_flag("--dry", options.dry, dry_help);
    add_checked(command, "--dry-repeat", options.dry_repeat, CLI::Range(0.0, 0.99),
                "Of the drawn routing: chance that a token's choice is the one of the token before");
    add_checked(command, "--dry-guess-recall", options.dry_guess_recall, CLI::Range(0.0, 1.0),
                std::string("Of the drawn routing: chance that ") + guess);
}

bool read_theta(const std::string& text, engine::LoadRequest& request) {
    constexpr std::string_view kAuto = "auto";
    const auto number = [](std::string_view digits, double& value) {
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        return error == std::errc() && end == digits.data() + digits.size() && value >= 0;
    };
    request.theta = request.theta_loss = 0;
    if (!text.starts_with(kAuto)) return number(text, request.theta);
    request.theta_loss = kDefaultThetaLoss;
    const std::string_view rest = std::string_view(text).substr(kAuto.size());
    if (rest.empty()) return true;
    return rest.front() == ':' && number(rest.substr(1), request.theta_loss) && request.theta_loss > 0;
}

engine::LoadRequest load_request(const ModelOptions& options) {
    engine::LoadRequest request = options;
    if (!options.active_share_text.empty()) {
        request.active_share = engine::read_active_share(options.active_share_text, options.theta);
    }
    return request;
}

engine::LoadRequest text_request(const ModelOptions& options) {
    // Long enough for the routing to see contexts, short enough that attention stays
    // cheap.
    constexpr std::int64_t kWindow = 2048;
    engine::LoadRequest request = load_request(options);
    request.text_needs = engine::TextNeeds::kTokenizer;
    if (request.context == 0) {
        request.context = std::min(kWindow, engine::read_model_shape(options.model).spec.max_context);
    }
    request.learn_placement = false;
    return request;
}

void add_run_options(CLI::App& command, ModelOptions& options, bool keeps_context) {
    add_expert_options(command, options);
    add_theta_option(command, options);
    add_device_options(command, options);
    if (keeps_context) add_kept_context_option(command, options);
    add_paced_option(command, options);
    add_compute_options(command, options);
}

}  // namespace offstage::cli
