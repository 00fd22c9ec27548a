#include "engine/nodes/paired_network.h"

#include <utility>

#include "engine/cluster/joined_nodes.h"
#include "engine/nodes/link_test.h"
#include "engine/nodes/node_channel.h"
#include "engine/nodes/node_server.h"
#include "engine/nodes/pairing.h"

namespace offstage::engine {
namespace {

class PairedNetwork final : public MachineNetwork {
  public:
    explicit PairedNetwork(std::filesystem::path folder) : folder_(std::move(folder)) { silence_grpc(); }

    std::vector<PairedMachine> machines() const override {
        const PairedPeers peers(folder_);
        std::vector<PairedMachine> machines;
        for (const PairedPeer& peer : peers.all()) machines.push_back(to_machine(peer));
        return machines;
    }
    std::string list_file() const override { return PairedPeers::list_file(folder_).string(); }
    std::string pairing_address(const std::string& text) const override { return node_address_of(text, kPairingPort); }
    PairedMachine pair(const std::string& address, const std::string& words, const std::string& name,
                       const std::stop_token& stop) override {
        return to_machine(pair_with_node(folder_, pairing_address(address), words, name, stop));
    }
    void remove(const std::string& name) override {
        PairedPeers peers(folder_);
        peers.remove(name);
    }
    MachineTest test(const std::string& name, const std::stop_token& stop) override {
        const PairedPeers peers(folder_);
        return test_link(address_of(peers.at(name), read_or_make_identity(folder_)), stop);
    }
    JoinMachinesFn joining(const std::vector<std::string>& names, const MachineUse& use) const override {
        const PairedPeers peers(folder_);
        std::vector<NodeAddress> addresses;
        for (const std::string& name : names) {
            if (const PairedPeer* const peer = peers.find(name); peer != nullptr)
                addresses.push_back(address_of(*peer, read_or_make_identity(folder_)));
        }
        if (addresses.empty()) return {};
        JoinSettings settings;
        settings.shape = use.shape;
        settings.use = use.always ? NodeUse::kAlways : NodeUse::kMeasured;
        settings.activations = use.halves_activations ? ActivationType::kBf16 : ActivationType::kF32;
        settings.desktop = name_of_this_machine();
        settings.forecasts = true;
        settings.waits = false;
        return offstage::engine::joining(std::move(addresses), settings);
    }

  private:
    static PairedMachine to_machine(const PairedPeer& peer) { return {peer.name, peer.address, peer.fingerprint}; }

    const std::filesystem::path folder_;
};

}  // namespace

std::unique_ptr<MachineNetwork> open_machine_network(std::filesystem::path folder) {
    return std::make_unique<PairedNetwork>(std::move(folder));
}

}  // namespace offstage::engine
