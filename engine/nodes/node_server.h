#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "engine/cluster/node_experts.h"

namespace offstage::engine {

// Serves a machine's experts to the desktops that are paired with it, each over one
// stream in TLS in which both ends show their key. A connection with another key ends in
// the handshake: it learns nothing, not even the version; but that of a node which one of
// the desktops has named is let in, once, and for the exchange of shares alone (NodePeers).
// Pairs made while it runs count at once.
class NodeServer {
  public:
    // Listens from now on at `address` ("host:port"; port 0: any). `log`: a line for each
    // desktop that comes and goes; any thread. The referents must outlive this object.
    // Throws Error: kInvalidInput (the address, the folder's files).
    NodeServer(NodeExperts& experts, const std::filesystem::path& state_folder, const std::string& address,
               std::function<void(const std::string& line)> log);
    // Tells the desktops, ends their requests, and closes the connections.
    ~NodeServer();
    NodeServer(const NodeServer&) = delete;
    NodeServer& operator=(const NodeServer&) = delete;

    int port() const;

  private:
    class Service;
    struct State;
    std::unique_ptr<State> state_;
};

// Before the first connection: neither gRPC nor protobuf writes to standard error by itself, as what
// goes wrong is reported by those who use it.
void silence_grpc();

}  // namespace offstage::engine
