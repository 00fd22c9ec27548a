#include "app/cli/commands.h"
#include "app/cli/model_options.h"
#include "app/cli/terminal_output.h"
#include "app/read_option.h"
#include "engine/cluster/cluster_bound.h"

namespace offstage::cli {
namespace {

struct ClusterOptions {
    std::string model;
    std::int64_t n_machines = 8;
    engine::Network network = engine::find_network("10gbe");
    engine::ClusterNode node;
    double card_usd = -1;         // of a network card; below 0: the network's
    std::string measured;         // parse_cluster_measured(); empty: nothing was
    std::int64_t prompt = 0;      // tokens; 0: no prompts in the table
    std::string measured_prompt;  // parse_prompt_measured(); empty: nothing was
    bool helpers = false;         // compare_shapes() with this desktop; its figures are the node's where they are 0
    double desktop_gbps = 0, desktop_tflops = 0;
    bool json = false;
};

void declare_cluster(CLI::App& command, ClusterOptions& options) {
    add_model_option(command, options.model);
    add_checked(command, "--machines", options.n_machines, CLI::Range(1, 1024),
                "Machines at most: a row for each number from 1 on");
    add_parsed(command, "--network", options.network, engine::find_network,
               "What joins them: 1gbe, 10gbe, rocev2 or infiniband")
        ->default_str("10gbe");
    add_parsed(command, "--node-memory", options.node.memory_bytes, parse_size,
               "Memory of a machine: 128GiB, bytes; 192000000000 unless given, a Mac Studio's as the rest");
    add_checked(command, "--node-gbps", options.node.memory_gbps, CLI::PositiveNumber,
                "Its bandwidth in 1e9 bytes per second");
    add_checked(command, "--node-tflops", options.node.tflops, CLI::PositiveNumber,
                "Its products of bf16 in 1e12 operations per second");
    CLI::Option* const price = command
                                   .add_option("--node-price", options.node.price_usd,
                                               "What a machine costs, in USD: a column says the speed for 1000 USD")
                                   ->check(CLI::PositiveNumber);
    command
        .add_option("--nic-price", options.card_usd,
                    "What a machine's network card costs, in USD; rocev2 339, infiniband 1267, others 0 unless given")
        ->check(CLI::NonNegativeNumber)
        ->needs(price);
    CLI::Option* const helpers =
        command.add_flag("--helpers", options.helpers,
                         "Beside the shape in which every machine has attention and router: one desktop with helpers, "
                         "and from which latency of a message on it is the slower one");
    command.add_option("--desktop-gbps", options.desktop_gbps, "That desktop's bandwidth; a node's unless given")
        ->check(CLI::PositiveNumber)
        ->needs(helpers);
    command.add_option("--desktop-tflops", options.desktop_tflops, "Its products; a node's unless given")
        ->check(CLI::PositiveNumber)
        ->needs(helpers);
    command.add_option("--measured", options.measured,
                       "What a token took on some of them, MACHINES:EXPERTS,EXCHANGE,REST in seconds: a column says "
                       "what to expect of the others");
    CLI::Option* const prompt =
        command
            .add_option("--prompt", options.prompt, "A table more: a prompt of so many tokens until its first token")
            ->check(CLI::Range(1, 1'000'000));
    command
        .add_option("--measured-prompt", options.measured_prompt,
                    "How fast such a prompt was read on some of them, MACHINES:TOKENS_PER_SECOND: a column says what "
                    "to expect of the others")
        ->needs(prompt);
    add_json_option(command, options.json);
}

int run_cluster(const ClusterOptions& options) {
    const engine::ClusterNode& node = options.node;
    const engine::ModelShape shape = engine::read_model_shape(options.model);
    engine::Network network = options.network;
    if (options.card_usd >= 0) network.card_usd = options.card_usd;
    engine::ClusterBounds bounds = engine::cluster_bounds(shape, node, network, options.n_machines);
    if (options.helpers) {
        engine::ClusterNode desktop = node;
        if (options.desktop_gbps > 0) desktop.memory_gbps = options.desktop_gbps;
        if (options.desktop_tflops > 0) desktop.tflops = options.desktop_tflops;
        engine::compare_shapes(bounds, shape, desktop);
    }
    if (!options.measured.empty()) engine::expect(bounds, engine::parse_cluster_measured(options.measured));
    if (options.prompt > 0) engine::bound_prompts(bounds, shape, options.prompt);
    if (!options.measured_prompt.empty()) {
        engine::expect_prompts(bounds, engine::parse_prompt_measured(options.measured_prompt));
    }
    print_report(bounds, options.json);
    return 0;
}

}  // namespace

void add_cluster(Commands& commands) {
    commands.add("cluster", "The least that a token can take with the experts on several machines; reads no weights",
                 declare_cluster, run_cluster);
}

}  // namespace offstage::cli
