// Replaces nodes_joined.cpp and nodes_paired.cpp in builds without gRPC.

#include "app/cli/command_messages.h"
#include "app/cli/command_nodes.h"
#include "app/cli/nodes_joined.h"
#include "engine/error.h"

namespace offstage::cli {
namespace {

[[noreturn]] void refuse() {
    throw engine::Error(engine::ErrorKind::kUnsupported, engine::messages::nodes_not_built);
}

}  // namespace

std::unique_ptr<NodesJoined> join_nodes(engine::LoadedModel&, const ModelOptions& options, bool) {
    if (!options.nodes.empty()) refuse();
    return nullptr;
}

std::unique_ptr<NodesJoined> join_nodes(engine::Session&, const ModelOptions& options) {
    if (!options.nodes.empty()) refuse();
    return nullptr;
}

void join_session(engine::Session&, const ModelOptions& options) {
    if (!options.nodes.empty()) refuse();
}

void report_nodes(const ModelOptions& options, const engine::FitEstimate&, nlohmann::ordered_json*) {
    if (!options.nodes.empty()) refuse();
}

int run_nodes_list(const NodesOptions&) {
    refuse();
}
int run_nodes_pair(const NodesOptions&) {
    refuse();
}
int run_nodes_remove(const NodesOptions&) {
    refuse();
}
int run_nodes_test(const NodesOptions&) {
    refuse();
}

}  // namespace offstage::cli
