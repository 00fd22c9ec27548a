#include "engine/cluster/network.h"

#include <algorithm>
#include <vector>

#include "engine/cluster/cluster_messages.h"
#include "engine/error.h"

namespace offstage::engine {

std::span<const Network> network_presets() {
    // "Towards Building Private LLMs" (RACS '24): table 1 has its cluster's measurements
    // of one message over TCP and gRPC (1 ms) and the bandwidth of its 10 Gbit Ethernet;
    // the note to section 5.5 has the makers' figures for two network cards, and their
    // prices. The latency over TCP is the software's, so it is the same on the slower
    // wire, whose bandwidth is the line rate.
    static const std::vector<Network> presets = {
        {"1gbe", messages::ethernet_1g, 0.125, 1000, messages::network_figures_tcp_10g},
        {"10gbe", messages::ethernet_10g, 1.25, 1000, messages::network_figures_tcp_cluster},
        {"rocev2", messages::rocev2_25g, 3.125, 0.75, messages::network_figures_of_maker, 339},
        {"infiniband", messages::infiniband_200g, 25, 0.6, messages::network_figures_of_maker, 1267},
    };
    return presets;
}

const Network& find_network(const std::string& id) {
    const std::span<const Network> presets = network_presets();
    const auto found = std::find_if(presets.begin(), presets.end(), [&](const Network& n) { return n.id == id; });
    if (found != presets.end()) return *found;
    std::string ids;
    for (const Network& network : presets) ids += (ids.empty() ? "" : ", ") + network.id;
    throw Error(ErrorKind::kNotFound, messages::no_such_network(id, ids));
}

double price_usd(std::int64_t n_machines, double machine_usd, const Network& network) {
    if (machine_usd <= 0) return 0;
    return static_cast<double>(n_machines) * (machine_usd + (n_machines > 1 ? network.card_usd : 0));
}

}  // namespace offstage::engine
