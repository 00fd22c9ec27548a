#include "engine/cluster/network.h"

#include <algorithm>
#include <vector>

#include "engine/error.h"

namespace offstage::engine {

std::span<const Network> network_presets() {
    // "Towards Building Private LLMs" (RACS '24): table 1 has what its cluster measured for one message over TCP and
    // gRPC (1 ms) and the bandwidth of its 10 Gbit Ethernet; the note to section 5.5 has what two network cards' makers
    // claim. The latency over TCP is the software's, so it is the same on the slower wire, whose bandwidth is the line
    // rate.
    static const std::vector<Network> presets = {
        {"1gbe", "1 Gbit Ethernet", 0.125, 1000, "line rate; 1 ms a message over TCP, as measured on 10 Gbit Ethernet"},
        {"10gbe", "10 Gbit Ethernet", 1.25, 1000, "line rate; 1 ms a message over TCP, measured on a cluster of four"},
        {"rocev2", "RoCEv2, 25 Gbit", 3.125, 0.75, "line rate and latency as the network card's maker gives them"},
        {"infiniband", "InfiniBand, 200 Gbit", 25, 0.6, "line rate and latency as the network card's maker gives them"},
    };
    return presets;
}

const Network& find_network(const std::string& id) {
    const std::span<const Network> presets = network_presets();
    const auto found = std::find_if(presets.begin(), presets.end(), [&](const Network& n) { return n.id == id; });
    if (found != presets.end()) return *found;
    std::string ids;
    for (const Network& network : presets) ids += (ids.empty() ? "" : ", ") + network.id;
    throw Error(ErrorKind::kNotFound, "There is no network \"" + id + "\"; there are " + ids + ".");
}

}  // namespace offstage::engine
