#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "engine/cluster/node_experts.h"

namespace offstage::engine {

// Serves a machine's experts to the desktops that are paired with it, each over one
// stream in TLS in which both ends present their key. A connection with another key ends
// in the handshake, without any information, not even the version. A node that one of the
// desktops has named is accepted once, for the exchange of shares only (NodePeers). Pairs
// made while it runs count at once.
class NodeServer {
  public:
    // Listens from now on at `address` ("host:port"; port 0: any). `log`: a line for each
    // desktop that comes and goes; any thread. The referents must outlive this object.
    // Throws Error: kInvalidInput (the address, the folder's files).
    NodeServer(NodeExperts& experts, const std::filesystem::path& state_folder, const std::string& address,
               std::function<void(const std::string& line)> log);
    // Informs the desktops, ends their requests, and closes the connections.
    ~NodeServer();
    NodeServer(const NodeServer&) = delete;
    NodeServer& operator=(const NodeServer&) = delete;

    int port() const;

  private:
    class Service;
    struct State;
    std::unique_ptr<State> state_;
};

// Before the first connection: stops gRPC and protobuf from writing to standard error,
// because their callers report errors.
void silence_grpc();

}  // namespace offstage::engine
