#pragma once
// Other machines, as used by a window: paired, tested, joined. An interface, so that a
// window can be built without a network.

#include <stop_token>
#include <string>
#include <vector>

#include "engine/cluster/node_protocol.h"
#include "engine/cluster/node_shape.h"
#include "engine/run/joined_machines.h"

namespace offstage::engine {

struct PairedMachine {
    std::string name;
    std::string address;      // "host:port", where it serves
    std::string fingerprint;  // of its key
};

// The figures of a link without a model: nothing is computed.
struct MachineTest {
    double latency_us = 0;  // round trip of a small message, median
    double mbps = 0;        // 1e6 bytes per second, one direction
    NodeState state;        // of the other machine
};

// How joined machines are used.
struct MachineUse {
    bool always = false;              // NodeUse::kAlways; otherwise only if the forecast is faster
    bool halves_activations = false;  // they go over the network in bf16, and are rounded
    NodeShape shape = NodeShape::kAuto;
};

// The machines that are paired with this one. Any thread, one call at a time. Nothing
// connects but pair(), test() and what joining() makes, once it is called.
class MachineNetwork {
  public:
    virtual ~MachineNetwork() = default;
    // Throws Error if the file with the machines cannot be read.
    virtual std::vector<PairedMachine> machines() const = 0;
    // The file that machines() reads; other programs may write it too. Empty: there is
    // none.
    virtual std::string list_file() const { return {}; }
    // "host" or "host:port" of a machine that shows a pairing code, as it will be
    // connected to. Throws Error (kInvalidInput).
    virtual std::string pairing_address(const std::string& text) const = 0;
    // Waits for the other machine, some seconds at most. Throws Error; kCancelled where a
    // stop was requested: nothing was stored.
    virtual PairedMachine pair(const std::string& address, const std::string& words, const std::string& name,
                               const std::stop_token& stop) = 0;
    virtual void remove(const std::string& name) = 0;
    virtual MachineTest test(const std::string& name, const std::stop_token& stop) = 0;
    // The machines of these names, without those that are not paired.
    virtual JoinMachinesFn joining(const std::vector<std::string>& names, const MachineUse& use) const = 0;
};

}  // namespace offstage::engine
