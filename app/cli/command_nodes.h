#pragma once
// offstage-cli nodes: the machines that are paired with this one. Without gRPC each
// command throws Error (kUnsupported).

#include <string>

namespace offstage::cli {

struct NodesOptions {
    std::string machine;  // name or address
    std::string name;     // of the paired machine
    bool json = false;
};

int run_nodes_list(const NodesOptions& options);
int run_nodes_pair(const NodesOptions& options);
int run_nodes_remove(const NodesOptions& options);
int run_nodes_test(const NodesOptions& options);

}  // namespace offstage::cli
