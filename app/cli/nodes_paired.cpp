#include <iostream>
#include <string>

#include "app/cli/command_nodes.h"
#include "app/cli/terminal_output.h"
#include "engine/nodes/link_test.h"
#include "engine/nodes/node_channel.h"
#include "engine/nodes/node_server.h"
#include "engine/nodes/pairing.h"
#include "engine/print.h"

namespace offstage::cli {
namespace {

nlohmann::ordered_json to_json(const engine::PairedPeer& peer) {
    return {{"name", peer.name}, {"address", peer.address}, {"fingerprint", peer.fingerprint}};
}

}  // namespace

int run_nodes_list(const NodesOptions& options) {
    const engine::PairedPeers peers(engine::machines_folder());
    if (options.json) {
        nlohmann::ordered_json json = {{"nodes", nlohmann::ordered_json::array()}};
        for (const engine::PairedPeer& peer : peers.all()) json["nodes"].push_back(to_json(peer));
        print_json(json);
        return 0;
    }
    if (peers.all().empty()) std::cout << "No machine is paired with this one." << std::endl;
    for (const engine::PairedPeer& peer : peers.all()) {
        std::cout << peer.name << "  " << peer.address << "  " << peer.fingerprint.substr(0, 16) << std::endl;
    }
    return 0;
}

int run_nodes_pair(const NodesOptions& options) {
    engine::silence_grpc();
    const std::string address = engine::node_address_of(options.machine, engine::kPairingPort);
    std::cerr << "The eight words that offstage-node pair shows: " << std::flush;
    std::string code;
    std::getline(std::cin, code);
    const engine::PairedPeer peer = engine::pair_with_node(engine::machines_folder(), address, code, options.name);
    if (options.json) {
        print_json(to_json(peer));
    } else {
        std::cout << "Paired with " << peer.name << ", which serves at " << peer.address << ". --node " << peer.name
                  << " uses it." << std::endl;
    }
    return 0;
}

int run_nodes_remove(const NodesOptions& options) {
    const std::filesystem::path folder = engine::machines_folder();
    engine::PairedPeers peers(folder);
    peers.remove(options.machine);
    return 0;
}

int run_nodes_test(const NodesOptions& options) {
    engine::silence_grpc();
    const std::filesystem::path folder = engine::machines_folder();
    const engine::PairedPeers peers(folder);
    const engine::PairedPeer& peer = peers.at(options.machine);
    const engine::MachineTest test = engine::test_link(engine::address_of(peer, engine::read_or_make_identity(folder)));
    if (options.json) {
        print_json({{"name", peer.name},
                    {"round_trip_us", test.latency_us},
                    {"mb_per_s", test.mbps},
                    {"experts", test.state.n_held},
                    {"desktops", test.state.n_desktops},
                    {"ram_used_bytes", test.state.ram_used_bytes},
                    {"ram_bytes", test.state.ram_bytes}});
        return 0;
    }
    std::cout << engine::print("%s: %.2f ms there and back, %.0f MB/s; it holds %llu experts in %s of %s",
                               peer.name.c_str(), test.latency_us / 1e3, test.mbps,
                               static_cast<unsigned long long>(test.state.n_held),
                               engine::format_bytes(test.state.ram_used_bytes).c_str(),
                               engine::format_bytes(test.state.ram_bytes).c_str())
              << std::endl;
    return 0;
}

}  // namespace offstage::cli
