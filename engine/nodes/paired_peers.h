#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/error.h"
#include "engine/nodes/node_identity.h"

namespace offstage::engine {

// Another machine whose key this machine accepts.
struct PairedPeer {
    std::string name;
    std::string address;  // a node's, "host:port"; empty for a desktop
    std::string certificate_pem;
    std::string fingerprint;
};

// The machines that are paired with this one: peers.json of a folder. Several programs
// may read while one writes.
class PairedPeers {
  public:
    // Throws Error (kInvalidInput) for a file that breaks its form.
    explicit PairedPeers(std::filesystem::path folder);

    const std::vector<PairedPeer>& all() const { return peers_; }
    // By name, by address, or by the first digits (8 or more) of the fingerprint.
    const PairedPeer* find(const std::string& text) const;
    // As find(). Throws Error (kNotFound), listing the existing names.
    const PairedPeer& at(const std::string& text) const;
    bool trusts(const std::string& fingerprint) const;
    // Replaces one of the same key; a name that another has gets a number. Throws Error
    // (kNotFound) where it cannot be written.
    const PairedPeer& add(PairedPeer peer);
    // Throws Error (kNotFound): there is no such machine, or the file cannot be written.
    void remove(const std::string& text);
    static std::filesystem::path list_file(const std::filesystem::path& folder) { return folder / "peers.json"; }

  private:
    void store() const;

    std::filesystem::path folder_;
    std::vector<PairedPeer> peers_;
};

// "host" or "host:port" or "[v6]:port" as gRPC takes it. Throws Error (kInvalidInput).
std::string node_address_of(const std::string& text, int default_port);
inline constexpr int kNodePort = 7420, kPairingPort = 7421;

}  // namespace offstage::engine
