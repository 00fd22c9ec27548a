#pragma once
// How two machines learn each other's keys. The node shows a code of eight words (88 bits
// of the system's randomness) and listens on a separate port until the code is used, was
// tried too often, or has expired. The desktop connects in TLS, in which each end
// presents its own certificate and accepts any; then each proves that it knows the code,
// with HMAC-SHA256 over both certificates of the connection. An attacker between them has
// other certificates, and so cannot prove anything.

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "engine/nodes/paired_peers.h"

namespace offstage::engine {

inline constexpr int kMostPairingTries = 3;

// The node's side: listens at `address` from its construction on.
class PairingOffer {
  public:
    // `service_port`: where the node serves. name: this machine's. Throws Error
    // (kInvalidInput).
    PairingOffer(std::filesystem::path state_folder, const std::string& address, int service_port, std::string name);
    ~PairingOffer();
    PairingOffer(const PairingOffer&) = delete;
    PairingOffer& operator=(const PairingOffer&) = delete;

    const std::string& code() const;
    int port() const;
    // Waits until a desktop has proven that it knows the code; returns it, paired. Throws
    // Error: kInvalidInput (the code is void), kCancelled (stop).
    PairedPeer wait(std::chrono::seconds lifetime, const std::stop_token& stop);

  private:
    class Service;
    struct State;
    std::unique_ptr<State> state_;
};

// The desktop's side: pairs with the node that shows `code` at `address`, and stores it
// in the folder under `name` (empty: the node's own). Throws Error: kInvalidInput (code
// or address, refused, not proven), kNotFound (not reached, not stored), kCancelled
// (stop: nothing was stored).
PairedPeer pair_with_node(const std::filesystem::path& folder, const std::string& address, const std::string& code,
                          const std::string& name, const std::stop_token& stop = {});

}  // namespace offstage::engine
