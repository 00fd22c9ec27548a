#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/message.h"

namespace offstage::engine {

// A network between machines: figures for forecasts, never a measurement of the present
// network.
struct Network {
    std::string id;         // "10gbe"
    Message name;           // "10 Gbit Ethernet"
    double gbps = 0;        // one direction, 1e9 bytes per second
    double latency_us = 0;  // one message, software at both ends included where the source has it
    Message source;         // the origin of the figures, for the user
    double card_usd = 0;    // a machine's card for it; 0: machines have one already

    // Every machine gets the others' part of `bytes` and sends its own meanwhile.
    double all_reduce_us(double bytes) const { return latency_us + bytes / (gbps * 1e3); }
};

// Slowest first.
std::span<const Network> network_presets();
// Throws Error (kNotFound lists the existing ones).
const Network& find_network(const std::string& id);

// The price of so many machines of machine_usd with the network's cards, in USD; 0 if
// machine_usd is 0: not known.
double price_usd(std::int64_t n_machines, double machine_usd, const Network& network);

// This many equal machines, each connected to all others.
struct Cluster {
    std::int64_t n_machines = 1;
    Network network = find_network("10gbe");  // unused with one machine
};

}  // namespace offstage::engine
