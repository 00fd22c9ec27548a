#include "app/cli/command_nodes.h"

#include "app/cli/commands.h"
#include "app/cli/model_options.h"

namespace offstage::cli {
namespace {

void declare_nodes_list(CLI::App& command, NodesOptions& options) {
    add_json_option(command, options.json);
}

void declare_nodes_pair(CLI::App& command, NodesOptions& options) {
    command.add_option("ADDRESS", options.machine, "HOST or HOST:PORT, as that command shows it")->required();
    command.add_option("--name", options.name, "What to call it here; its own name unless given");
    add_json_option(command, options.json);
}

void declare_nodes_remove(CLI::App& command, NodesOptions& options) {
    command.add_option("MACHINE", options.machine, "Its name or address")->required();
}

void declare_nodes_test(CLI::App& command, NodesOptions& options) {
    command.add_option("MACHINE", options.machine, "Its name or address")->required();
    add_json_option(command, options.json);
}

}  // namespace

void add_nodes(Commands& commands) {
    Commands nodes =
        commands.add_group("nodes", "Other machines that compute experts: those that are paired with this one");
    nodes.add("list", "Their names, addresses and keys", declare_nodes_list, run_nodes_list);
    nodes.add("pair", "Pair with the machine on which offstage-node pair shows a code; asks for its eight words",
              declare_nodes_pair, run_nodes_pair);
    nodes.add("remove", "Forget a machine and its key", declare_nodes_remove, run_nodes_remove);
    nodes.add("test", "Latency and rate of the connection to a machine", declare_nodes_test, run_nodes_test);
}

}  // namespace offstage::cli
